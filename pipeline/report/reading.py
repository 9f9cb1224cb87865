"""Text about the conversations to read first."""

from collections.abc import Mapping, Sequence

from turnwise.pipeline.io.terminal import clipped, columns, printable

_SHOWN = 3
_WIDTH = 110
_LONGEST_ID = 40
_MARK = "…"


def reading_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Returns the lines about the first three conversations, at most 110 columns each; "" if there are none.

    Args:
        rows: Conversations in the order of reading.
    """
    lines = [_line(row) for row in rows[:_SHOWN]]
    return "\n".join(["\nread first:", *lines]) if lines else ""


def _line(row: Mapping[str, object]) -> str:
    name = printable(str(row["conversation_id"]).rsplit("/", 1)[-1], _LONGEST_ID)
    version = str(row["app_version"] or "").rsplit("/", 1)[-1]
    shown = f" ({printable(version, _LONGEST_ID // 2)})" if version else ""
    line = f"  {name}{shown}: {printable(str(row['why'] or ''))}"
    return line if columns(line) <= _WIDTH else f"{clipped(line, _WIDTH - 1)}{_MARK}"
