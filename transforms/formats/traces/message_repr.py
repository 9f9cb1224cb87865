"""Objects of Python that a writer left as their text: calls of OpenAI Agents, messages of LlamaIndex."""

import ast
import re
from collections.abc import Iterable, Iterator

from turnwise.transforms.formats.traces.message import MessageCall

_START = "ResponseFunctionToolCall("
_LONGEST = 100_000
_OBJECTS = re.compile(
    r"""<[\w.]+(\ object\b|\ at\ 0x|\().*>             # <async_generator object f at 0x7f>, <TextNode(id_=1)>
    |[A-Z]\w*\(\w+=['"<\[({A-Z\d].*\)                # ChatMessage(role=<MessageRole.USER: 'user'>, ...)
    |[A-Z]\w*\(\w+=[A-Z]\w*\(\w+=.*\.\.\.             # StopEvent(result=AgentOutput(response=ChatMessag...
    |\w+='[^']*'(\ \w+=(['"<\[({\d]|None).*){2}(?<=['">\])}\de])  # id='4f' source='user' metadata={} ...
    """,
    re.VERBOSE | re.DOTALL,
)


def repr_calls(texts: Iterable[str]) -> Iterator[MessageCall]:
    """Yields the calls in texts that are such representations; they are parsed, never evaluated."""
    for text in texts:
        if is_repr_call(text):
            found = _keywords(text)
            if found.get("name"):
                yield MessageCall(found.get("name"), found.get("arguments"), found.get("call_id"))


def is_repr_call(text: str) -> bool:
    """Returns whether a text is the representation of a call."""
    return text.startswith(_START) and len(text) <= _LONGEST


def is_object(text: str) -> bool:
    """Returns whether a text is how Python writes an object, and so nobody's words."""
    return _OBJECTS.fullmatch(text.strip()) is not None and not is_repr_call(text)


def _keywords(text: str) -> dict[str, str]:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {}
    if not isinstance(tree, ast.Call):
        return {}
    named = {key.arg: key.value for key in tree.keywords if key.arg}
    return {k: v.value for k, v in named.items() if isinstance(v, ast.Constant) and isinstance(v.value, str)}
