"""Tells rows of several conversations from the messages of one."""

import re
from collections.abc import Sequence

from turnwise.schemas.jsonio import JsonValue

_NO_LETTER = re.compile(r"[^a-z]")
_END = re.compile(r"u?u?id$|key$")
_NAMES = frozenset(
    (
        *("conversation", "conv", "convo", "session", "thread", "chat", "dialog", "dialogue", "ticket"),
        "genaiconversation",
    )
)
_SHOWN = 60
_REMEDY = "messages of one list are one conversation; join the rows by a mapping in the config"


def check_one_conversation(messages: Sequence[JsonValue]) -> None:
    """Checks that the messages of a list do not state ids of several conversations.

    Raises:
        ValueError: They do; one line that names the column and what to do.
    """
    keys = dict.fromkeys(key for each in messages if isinstance(each, dict) for key in each)
    for key in filter(_names_conversation, keys):
        ids = _ids(messages, key)
        if len(ids) > 1:
            shown = ", ".join(repr(name[:_SHOWN]) for name in ids[:2])
            count = f"{len(ids)} conversations ({shown}{', ...' if len(ids) > 2 else ''})"
            raise ValueError(f"rows of {count}, by {key[:_SHOWN]!r}: {_REMEDY}: conversation_id, message")


def _names_conversation(key: str) -> bool:
    return _END.sub("", _NO_LETTER.sub("", key.lower())) in _NAMES


def _ids(messages: Sequence[JsonValue], key: str) -> list[str]:
    values = (each.get(key) for each in messages if isinstance(each, dict))
    return list(dict.fromkeys(str(one) for one in values if isinstance(one, str | int) and one != ""))
