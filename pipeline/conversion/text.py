"""Conversions as text."""

from collections.abc import Iterator, Mapping

from turnwise.pipeline.io.terminal import counted, printable, wrapped
from turnwise.schemas.inspection import Conversion

_SHOWN = 5
_LONGEST = 2_000


def conversion_text(done: Conversion, width: int) -> str:
    """Returns what was written, what the target does not hold, and what was not converted."""
    return "\n".join(_lines(done, width))


def _lines(done: Conversion, width: int) -> Iterator[str]:
    given = [counted(done.conversations, "conversation")] if done.conversations or not done.cases else []
    given += [counted(done.cases, "eval case")] if done.cases else []
    where = f" in {printable(done.output)}" if done.output else ""
    yield f"{' and '.join(given)} read, {counted(done.written, 'record')} written as {done.to}{where}"
    yield from _counts("left out", done.skipped, width)
    yield from _counts(f"not held by {done.to}", done.not_held, width)
    yield from _counts(f"stated by {done.to} only", done.added, width)
    yield from _counts("to be looked at", done.notes, width)
    if done.lost_count:
        yield f"not converted: {done.lost_count}"
        for one in done.lost[:_SHOWN]:
            place = f"{one.source}:{one.position}" if one.position else one.source
            yield from wrapped(printable(f"  {place}: {one.reason}", _LONGEST), width, " " * 4)
        if done.lost_count > _SHOWN:
            yield f"  ... and {done.lost_count - _SHOWN} more"


def _counts(said: str, counts: Mapping[str, int], width: int) -> Iterator[str]:
    """Yields numbers by name, the greatest first."""
    if counts:
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        shown = ", ".join(f"{printable(name, _LONGEST)} {count}" for name, count in ordered)
        yield from wrapped(f"{said}: {shown}", width)
