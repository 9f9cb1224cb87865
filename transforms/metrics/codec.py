"""Metrics as bytes, for state, for shuffles between workers, and for what is kept beside the output."""

from collections import Counter

import msgspec

from turnwise.transforms.metrics.quantiles import Bins
from turnwise.transforms.metrics.repeats import Repeats
from turnwise.transforms.metrics.state import MetricsState, Units
from turnwise.transforms.metrics.tally import Tally

_VERSION = 1


class _EncodedTally(msgspec.Struct, array_like=True):
    """A Tally; its sums exceed 64 bits and stand as big-endian two's complement."""

    criterion: str
    turn: int | None
    scored: int
    unscored: int
    errors: int
    total: bytes
    squares: bytes
    passes: int
    fails: int
    sketch: Bins | None
    voted: int = 0
    flipped: int = 0


class _EncodedSum(msgspec.Struct, array_like=True):
    """An entry of CES sums; totals of nanoseconds may exceed 64 bits."""

    turn: int | None
    kind: str
    tool: str
    first: bytes
    second: bytes


class _EncodedState(msgspec.Struct, array_like=True):
    """A MetricsState. New fields go to the end, with a default; a change of old ones needs a new version."""

    version: int
    conversations: int
    turns: int
    passes: int
    fails: int
    tallies: list[_EncodedTally]
    ces: list[_EncodedSum]
    sampled_out: dict[str, int]
    repeats: dict[str, dict[str, tuple[int, int]]]
    are_repeats_full: bool
    slices: dict[str, bytes]
    panels: list[tuple[str, bool, dict[str, int]]] = []
    units: tuple[dict[int, int], int, int] = ({}, 0, 0)


def packed(state: MetricsState) -> bytes:
    """Returns sums as MessagePack."""
    return msgspec.msgpack.encode(
        _EncodedState(
            _VERSION,
            state.conversations,
            state.turns,
            state.passes,
            state.fails,
            [_packed_tally(*key, tally) for key, tally in state.tallies.items()],
            [_EncodedSum(*key, _bytes(first), _bytes(second)) for key, (first, second) in state.ces.items()],
            state.sampled_out,
            state.repeats.cases,
            state.repeats.is_full,
            {name: packed(own) for name, own in state.slices.items()},
            [(*key, counts) for key, counts in state.panels.items()],
            (state.units.kept, state.units.level, state.units.total),
        )
    )


def unpacked(data: bytes) -> MetricsState:
    """Returns the sums that were packed.

    Raises:
        ValueError: It is nothing that `packed` gave, or of another version of it.
    """
    found = _DECODER.decode(data)
    if found.version != _VERSION:
        raise ValueError(f"metrics of version {found.version} cannot be read, only of version {_VERSION}")
    return MetricsState(
        found.conversations,
        found.turns,
        found.passes,
        found.fails,
        {(tally.criterion, tally.turn): _unpacked_tally(tally) for tally in found.tallies},
        {(pair.turn, pair.kind, pair.tool): [_int(pair.first), _int(pair.second)] for pair in found.ces},
        Counter(found.sampled_out),
        Repeats(found.repeats, found.are_repeats_full),
        {name: unpacked(own) for name, own in found.slices.items()},
        {(name, is_whole): Counter(counts) for name, is_whole, counts in found.panels},
        Units(*found.units),
    )


def _packed_tally(criterion: str, turn: int | None, tally: Tally) -> _EncodedTally:
    return _EncodedTally(
        criterion,
        turn,
        tally.scored,
        tally.unscored,
        tally.errors,
        _bytes(tally.total),
        _bytes(tally.squares),
        tally.passes,
        tally.fails,
        tally.sketch,
        tally.voted,
        tally.flipped,
    )


def _unpacked_tally(found: _EncodedTally) -> Tally:
    return Tally(
        found.scored,
        found.unscored,
        found.errors,
        _int(found.total),
        _int(found.squares),
        found.passes,
        found.fails,
        found.sketch,
        found.voted,
        found.flipped,
    )


def _bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)


def _int(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


_DECODER = msgspec.msgpack.Decoder(_EncodedState)
