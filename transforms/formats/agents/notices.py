"""What Claude Code itself writes in the user's place."""

import re
from collections.abc import Sequence

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.messages.dialogue import Dialogue

_IDE = re.compile(r"<(ide_\w+|system-reminder)>.*?</\1>\s*", re.DOTALL)
_TASK = "<task-notification>"
_COMMAND = re.compile(r"<command-name>\s*([^<]+?)\s*</command-name>")
_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_CAVEAT, _TRIED = "Caveat:", 100
_SKILL = "Base directory for this skill:"


def typed_command(content: JsonValue, entry: JsonObject, following: JsonObject) -> str | None:
    """Returns the command that the user typed; None: the entry is none, or it gave the agent nothing to do.

    Args:
        content: What the entry's message holds.
        entry: A line of the log.
        following: The next line: the prompt that the program made of the command, if it gave the agent one.
    """
    name = _COMMAND.search(content) if isinstance(content, str) else None
    if not (name and following.get("isMeta") and following.get("parentUuid") == entry.get("uuid")):
        return None
    if _CAVEAT in str(following.get("message"))[:_TRIED]:
        return None
    args = _ARGS.search(str(content))
    return f"{name[1]} {args[1].strip() if args else ''}".strip()


def last_words(result: JsonObject) -> str:
    """Returns the text of a line that ends a turn, or else the JSON of its structured output."""
    said, structured = result.get("result"), result.get("structured_output")
    if not said and structured is not None:
        return structured if isinstance(structured, str) else dump_json(structured).decode()
    return said if isinstance(said, str) else ""


def users_blocks(blocks: Sequence[JsonObject], log: Dialogue) -> list[JsonObject]:
    """Returns the blocks of a user's message without what the program wrote; empty: nothing else is in it.

    That is what the editor shows, reminders, news of background tasks, and the text of a skill after the call
    of the tool `Skill`.
    """
    return [found for block in blocks if (found := _users(block, log)) is not None]


def _users(block: JsonObject, log: Dialogue) -> JsonObject | None:
    text = block.get("text")
    if block.get("type") != "text" or not isinstance(text, str):
        return block
    start = text.lstrip()
    if start.startswith(_TASK) or (start.startswith(_SKILL) and _calls_skill(log)):
        return None
    own = _IDE.sub("", text) if "<ide_" in text or "<system-reminder>" in text else text
    return block if own == text else {**block, "text": own} if own.strip() else None


def _calls_skill(log: Dialogue) -> bool:
    return bool(log.turns) and any(call.name == "Skill" for call in log.turns[-1].tool_calls)
