"""What frameworks write in the user's place: another agent's acts, and notes to try again."""

import re
from collections.abc import Sequence

_CONTEXT = re.compile(
    r"For context:(?: below is a transcript of what another agent did, quoted between <<<[^\[]*)?\s*"
)
_ACT = re.compile(
    r"\[[^\]\n]+\] (?:(?:said|thought): ?|called tool `?\S+`? with parameters:|`?\S+`? tool returned result:)"
)
_CODE = frozenset(("executable_code", "executableCode", "code_execution_result", "codeExecutionResult"))
AGAIN = "\n\nFix the errors and try again."
"""How Pydantic AI ends a note to try again."""
_RETRY = re.compile(
    r"(?:Validation feedback:\n|\d+ validation errors?:(?: \[|\n```json\n)|Unknown tool name: '|"
    r"Responses without text or tool calls are|Plain text responses are not permitted, please ).*"
    + re.escape(AGAIN)
    + r"|Your previous response failed the application's validation \(this is automated feedback[^\n]*:\n"
    r"<pyai:(validation_errors|retry_feedback)>\n.*\n</pyai:\1>",
    re.DOTALL,
)


def is_context(texts: Sequence[str], parts: Sequence[str]) -> bool:
    """Returns whether a message is google-adk's report of another agent's acts.

    Args:
        texts: Texts of the message: a preamble and the acts, or all in one text.
        parts: Types of its other parts.
    """
    opening = _CONTEXT.match(texts[0]) if texts else None
    if opening is None:
        return False
    acts = [each for each in (texts[0][opening.end() :], *texts[1:]) if each.strip()]
    return all(map(_ACT.match, acts)) and (bool(acts) or not _CODE.isdisjoint(parts))


def is_retry(text: str) -> bool:
    """Returns whether a text is Pydantic AI's note that a reply was not valid."""
    return text.endswith((AGAIN, ">")) and _RETRY.fullmatch(text) is not None
