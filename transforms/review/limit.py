"""Limits the size of transcripts, with a mark at every cut and counts of what was left out."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from turnwise.schemas.jsonio import JsonValue, dump_json
from turnwise.schemas.rows import MOST_BYTES, LeftOut, Transcript, TranscriptTurn


class _TranscriptLimits(NamedTuple):
    """Characters of a text or value, and entries of a list, at most."""

    characters: int
    entries: int


_STEPS = (
    _TranscriptLimits(8_000, 200),
    _TranscriptLimits(2_000, 50),
    _TranscriptLimits(500, 20),
    _TranscriptLimits(100, 5),
)
_WHOLE_KEYS = frozenset(("index", "label", "seconds", "effect"))
_VALUES = frozenset(("args", "result", "variables"))


def limited(transcript: Transcript, kept: int | None = None, most: int = MOST_BYTES) -> Transcript:
    """Returns a transcript whose compact JSON has at most `most` bytes, shortened where it is longer.

    Long texts and values are shortened first, in four steps of 8,000 to 100 characters, and long lists to
    their first entries. Then turns are left out: the turn with the index `kept` stays, then the first and
    the last ones, as far as there is room.
    """
    if _size(transcript) <= most:
        return transcript
    for limits in _STEPS:
        cut = _Cut(limits)
        found = cut.transcript(transcript)
        if _size(found) <= most:
            return found
    return _without_turns(found, cut.left_out, kept, most)


def _size(transcript: Transcript) -> float:
    """Returns the number of bytes of the compact JSON; infinite: it cannot be written as it is."""
    try:
        return len(dump_json(cast(JsonValue, transcript)))
    except ValueError:  # a lone surrogate
        return float("inf")


class _Cut:
    """Shortens the parts of a transcript, and counts what is left out."""

    def __init__(self, limits: _TranscriptLimits) -> None:
        self._limits = limits
        self.left_out: LeftOut = {"turns": 0, "entries": 0, "characters": 0}

    def transcript(self, transcript: Transcript) -> Transcript:
        """Returns a shortened copy."""
        turns = [cast(TranscriptTurn, self._part(turn)) for turn in transcript["turns"]]
        expected = transcript["expected"] and self._part(transcript["expected"])
        return {"turns": turns, "expected": expected, "cut": True, "left_out": self.left_out}

    def _part(self, part: Any) -> Any:
        return {key: value if key in _WHOLE_KEYS else self._value(key, value) for key, value in part.items()}

    def _value(self, key: str, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._text(value)
        if key in _VALUES:
            return self._any(value)
        if isinstance(value, list):
            self.left_out["entries"] += max(0, len(value) - self._limits.entries)
            return [self._value("", each) for each in value[: self._limits.entries]]
        return self._part(value) if isinstance(value, dict) else value

    def _text(self, text: str) -> str:
        clean = text.encode("utf-8", "replace").decode()
        more = len(clean) - self._limits.characters
        if more <= 0:
            return clean
        self.left_out["characters"] += more
        return f"{clean[: self._limits.characters]}… [{more:,} characters left out]"

    def _any(self, value: JsonValue) -> JsonValue:
        """Returns a value as it is, or the start of its JSON text."""
        try:
            text = dump_json(value).decode()
        except ValueError:
            text = repr(value)
        else:
            if len(text) <= self._limits.characters:
                return value
        return self._text(text)


def _without_turns(transcript: Transcript, left_out: LeftOut, kept: int | None, most: int) -> Transcript:
    """Returns a transcript without the turns that it has no room for."""
    turns = transcript["turns"]
    room = most - _size({**transcript, "turns": []}) - 64
    chosen = set()
    for place in _by_weight(turns, kept):
        size = len(dump_json(cast(JsonValue, turns[place]))) + 1
        if size <= room:
            room -= size
            chosen.add(place)
    left_out["turns"] = len(turns) - len(chosen)
    return {**transcript, "turns": [turns[place] for place in sorted(chosen)]}


def _by_weight(turns: Sequence[TranscriptTurn], kept: int | None) -> list[int]:
    """Returns the places of the turns: the one to keep, then alternately from the start and from the end."""
    last = len(turns) - 1
    places = [place for i in range(len(turns) // 2 + 1) for place in (i, last - i)]
    named = [place for place, turn in enumerate(turns) if turn["index"] == kept]
    return list(dict.fromkeys([*named, *(place for place in places if 0 <= place <= last)]))
