"""What Claude Code itself writes in the user's place."""

import re
from collections.abc import Sequence

from turnwise.schemas.values import JsonObject
from turnwise.transforms.formats.messages.dialogue import Dialogue

_IDE = re.compile(r"<(ide_\w+|system-reminder)>.*?</\1>\s*", re.DOTALL)
_TASK = "<task-notification>"
_SKILL = "Base directory for this skill:"


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
