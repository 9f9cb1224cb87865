"""Names the format that a record is nearest to, and what is missing."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.registry import FORMATS, formats_in_order
from turnwise.transforms.formats.unread import snake

_TRIED = 100
_SIMILAR = 0.8


class Nearness(NamedTuple):
    """How much a record has of what the records of a format have.

    Attributes:
        score: Number of the format's keys that the record has, less that of the missing ones; one that is
            misspelt counts as neither.
        missing: Missing keys, each with the key that may be meant.
    """

    score: int
    missing: list[tuple[str, str | None]]


def nearest_format(record: JsonObject) -> str | None:
    """Returns which format a record is nearest to and what is missing, one line; None: it is near to none."""
    return _nearest(tuple(islice(record, _TRIED)), FORMATS.changes)


@lru_cache(maxsize=256)
def _nearest(keys: tuple[str, ...], changes: int) -> str | None:
    found = [
        (nearness(keys, wanted), each)
        for each in formats_in_order()
        for wanted in (each.keys, *each.other_keys)
        if wanted
    ]
    # A record that misses no key of a format that it is not in is rather one that misses a few of another's.
    near, kind = max(found, key=lambda one: (one[0].score, bool(one[0].missing), -len(one[0].missing)))
    if near.score < 0:
        return None
    if not near.missing:
        return f"its keys do not hold what they hold in the nearest format, {kind.name} ({kind.help})"
    missing = ", ".join(f"{key} (is it {meant}?)" if meant else key for key, meant in near.missing)
    is_or_are = "is" if len(near.missing) == 1 else "are"
    return f"{missing} {is_or_are} missing for the nearest format, {kind.name} ({kind.help})"


def nearness(keys: Sequence[str], wanted: Sequence[str]) -> Nearness:
    """Returns how much there is of the keys of a format."""
    others = {snake(key): key for key in keys if key not in wanted}
    missing: list[tuple[str, str | None]] = []
    score = 0
    for key in wanted:
        if key in keys:
            score += 1
            continue
        near = get_close_matches(snake(key), list(others), n=1, cutoff=_SIMILAR)
        score -= not near
        meant = others[near[0]] if near else None
        missing.append((key, meant if meant is None or meant.isprintable() else repr(meant)))
    return Nearness(score, missing)
