"""Infers the effect of a tool from its name and description."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from turnwise.schemas.tools import GUESS, Effect, ToolEffect
from turnwise.transforms.effects import verbs

WRITING = verbs.IDEMPOTENT | verbs.REPEATABLE
_KNOWN = verbs.READING | WRITING
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
_PART = re.compile(r"__+|[^\w-]+")
_VERSION = re.compile(r"v\d*")
_RUNNING_ON = re.compile(r"(?:get|fetch|find|lookup|search)[a-z]{3,}")


class InferredVerb(NamedTuple):
    """An effect and the verb that it was inferred from.

    Attributes:
        verb: The deciding verb; "": none is known.
    """

    effect: Effect
    verb: str


@lru_cache(maxsize=4096)
def infer_effect(name: str, description: str | None = None) -> ToolEffect:
    """Infers the effect of a tool from the verb of its name.

    A prefix (`server__`, `service.`) counts only if the rest holds no known verb. A name without a known verb
    is a read if it ends in an information noun (`order_status`) or is a conversion (`litre_to_gallon`). Else
    the first word of the description decides; without it the effect is `write`, because the list of reading
    verbs is closed. Loading tools (`load_tools`) is a read.

    Args:
        name: Name in camelCase, snake_case or kebab-case.
        description: Description of the tool; None: unknown.
    """
    effect, verb = _named(name) or _described(description) or InferredVerb("write", "")
    return ToolEffect(effect, effect != "write" or verb in verbs.IDEMPOTENT, verb in verbs.DESTRUCTIVE, GUESS)


@lru_cache(maxsize=4096)
def is_toggle(name: str) -> bool:
    """Returns whether a tool toggles a state, by the verb of its name."""
    found = _named(name)
    return found is not None and found.verb in verbs.TOGGLING


def _named(name: str) -> InferredVerb | None:
    parts = [words for part in _PART.split(name) if (words := words_of(part))]
    found = _read(parts[-1]) if parts else None
    if found is None and len(parts) > 1:
        found = _read([word for words in parts for word in words])
    return found


def words_of(name: str) -> list[str]:
    """Splits a name into lower-case words, without versions and numbers."""
    words = [word.lower() for word in _WORD.findall(name)]
    words = [word for word in words if not _VERSION.fullmatch(word)]
    joined: list[str] = []
    for word in words:
        phrase = verbs.PHRASES.get((joined[-1], word)) if joined else None
        joined[-1:] = [phrase] if phrase else [*joined[-1:], word]
    return joined


def _read(words: Sequence[str]) -> InferredVerb | None:
    """Returns the effect of the words of a name; None: they hold no known verb."""
    head, last = words[0], words[-1]
    if _hands_over(words):
        return InferredVerb("handoff", head)
    if head in verbs.PREPARING and last in verbs.TOOLS:
        return InferredVerb("read", "")
    if head in verbs.WEAK and len(words) > 1:
        return _read(words[1:])
    verb = _verb(words)
    if verb is None:
        is_known = last in verbs.INFORMATION | verbs.READING or "to" in words[1:-1]
        return InferredVerb("read", "") if is_known or _RUNNING_ON.fullmatch(head) else None
    joined = (b for a, b in pairwise(words) if a in verbs.JOINING and b in WRITING)
    if verb in verbs.READING:
        verb = next(joined, verb)
    return InferredVerb("write" if verb in WRITING else "read", verb)


def _verb(words: Sequence[str]) -> str | None:
    """Returns the deciding verb: the first word, else the last, else any."""
    head, last = words[0], words[-1]
    clear = [word for word in words if word in _KNOWN and word not in verbs.NOUNS_TOO]
    if head in verbs.READING or head in clear:
        return head
    if clear:
        return last if last in clear else clear[0]
    says_what_is_known = len(words) > 1 and last in verbs.FACTS | verbs.READING
    return head if head in WRITING and not says_what_is_known else None


def _hands_over(words: Sequence[str]) -> bool:
    head, rest, last = words[0], set(words[1:]), words[-1]
    if head in verbs.ASKING and rest & verbs.HUMANS:
        return True
    if head in verbs.READING:
        return False
    if head in verbs.PASSING and rest and words[1] not in verbs.MONEY and last not in verbs.MONEY:
        return bool(rest & verbs.PERSONS | rest & verbs.CONVERSATION) or words[:2] == ["transfer", "to"]
    if head in verbs.REACHING or last in verbs.PASSING:
        return not verbs.PERSONS.isdisjoint(words)
    if head in verbs.ENDING and rest & verbs.CONVERSATION:
        return True
    return not verbs.HANDING.isdisjoint(words)


def _described(description: str | None) -> InferredVerb | None:
    """Returns the effect of a description's first word (`Returns ...` reads, `Sends ...` writes)."""
    first = words_of((description or "").strip()[:40])[:1]
    for word in first:
        if word in ("return", "returns", "given"):
            return InferredVerb("read", "")
        for stem in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("d")):
            if stem in _KNOWN:
                return InferredVerb("write" if stem in WRITING else "read", stem)
    return None
