"""Prints text safely: escapes control characters, line ends and bidirectional marks of untrusted text."""

import logging
import os
import shutil
import sys
import threading
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, zip_longest
from textwrap import wrap
from typing import TextIO

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Invisible letters and marks: fillers, the grapheme joiner, an empty Braille cell.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
LONGEST_NAME = 60
LONGEST_LINE = 4000
LONGEST_PLACE = 160
_NAMES_SHOWN = 20
_NARROWEST = 20
_NARROWEST_CELL = 8


def printable(text: str, width: int = LONGEST_LINE) -> str:
    r"""Returns a text as one line of at most `width` columns, with all invisible characters escaped.

    Control characters, line ends, bidirectional marks, zero-width characters, lone surrogates and unassigned
    characters are escaped as in JSON (`\u001b`). The middle of a longer text is replaced by an ellipsis.
    """
    if text.isascii() and text.isprintable():
        shown = [*text] if len(text) > width else text
    else:
        shown = [_shown(char) for char in text]
    if columns("".join(shown)) <= width:
        return "".join(shown)
    head = _fitting(shown, (width - 1) // 2)
    tail = _fitting(shown[::-1], width - 1 - columns("".join(head)))
    return "".join([*head, "…", *tail[::-1]])


def _shown(char: str) -> str:
    if (char.isprintable() or unicodedata.category(char) == "Zs") and char not in _INVISIBLE:
        return char
    if char in _SHORT:
        return _SHORT[char]
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def _fitting(parts: "list[str] | str", width: int) -> list[str]:
    widths = accumulate(map(columns, parts))
    return [part for part, used in zip(parts, widths, strict=True) if used <= width]


def names_text(names: Sequence[str], width: int = LONGEST_NAME) -> str:
    """Returns the first names, each at most `width` columns wide, and the number of others."""
    shown = ", ".join(printable(name, width) for name in names[:_NAMES_SHOWN])
    return shown + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")


def columns(text: str) -> int:
    """Returns the width of a printable text in terminal columns."""
    if text.isascii():
        return len(text)
    shown = [char for char in text if unicodedata.category(char) not in ("Mn", "Me")]
    return len(shown) + sum(unicodedata.east_asian_width(char) in "WF" for char in shown)


def terminal_width(without_one: int = 120) -> int:
    """Returns the columns of the terminal, or so many where the output is none."""
    return shutil.get_terminal_size((without_one, 24)).columns


def clipped(text: str, width: int) -> str:
    """Returns the start of a printable text that fits into `width` columns."""
    return text if columns(text) <= width else "".join(_fitting(text, width))


def wrapped(text: str, width: int, indent: str = "  ") -> list[str]:
    """Returns the lines of a printable text that fit into `width` columns; all but the first are indented."""
    most = max(width, _NARROWEST)
    if len(text) != columns(text):
        most = max(most // 2, _NARROWEST)
    return wrap(text, most, subsequent_indent=indent, break_on_hyphens=False) or [""]


def cut(text: str, width: int) -> str:
    """Returns a printable text that fits into `width` columns, with a mark at its end if it was cut."""
    return text if columns(text) <= width else f"{clipped(text, width - 1)}…"


def padded(text: str, width: int) -> str:
    """Returns a printable text, padded with spaces to `width` columns."""
    return text + " " * (width - columns(text))


def aligned(rows: Sequence[Sequence[str]], widths: Sequence[int] | None = None) -> list[str]:
    """Returns the lines of a table of printable cells, in columns of `widths`; None: as wide as they are."""
    sizes = widths or [max(map(columns, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(padded, row, sizes)).rstrip() for row in rows]


def fitted(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Returns the lines of a table, whose cells but the first of a row are wrapped where it is too wide."""
    lines = aligned(rows)
    if max(map(columns, lines)) <= width:
        return lines
    size = max((width - max(columns(row[0]) for row in rows)) // (len(rows[0]) - 1) - 2, _NARROWEST_CELL)
    split = ([[row[0]], *(wrap(cell, size) or [""] for cell in row[1:])] for row in rows)
    return aligned([parts for row in split for parts in zip_longest(*row, fillvalue="")])


def say(text: str, file: TextIO | None = None) -> None:
    """Prints lines. Untrusted parts must have been passed through `printable`."""
    file = file or sys.stdout
    with reader_may_end(file):
        print("\n".join(printable(line, sys.maxsize) for line in text.split("\n")), file=file)


@contextmanager
def reader_may_end(file: TextIO) -> Iterator[None]:
    """Drops what is printed in the body and later if the reader of a stream, such as `head`, has ended."""
    try:
        yield
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, file.fileno())
        os.close(nowhere)


def complain(text: str) -> None:
    """Prints one line to standard error, with the name of the command as prefix."""
    say(printable(f"turnwise: {_shareable(text)}"), sys.stderr)


def complain_at_length(text: str) -> None:
    """Prints lines to standard error."""
    for line in text.rstrip("\n").split("\n"):
        say(printable(_shareable(line)), sys.stderr)


def _shareable(text: str) -> str:
    """Returns a message with the passwords of the addresses in it replaced."""
    if "://" not in text:
        return text
    from turnwise.schemas.jsonio import without_passwords  # late: the help needs no JSON

    return without_passwords(text)


class PrintableFormatter(logging.Formatter):
    """Formats log records with control characters escaped; tracebacks stay on several lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns a record as text; of a request that Beam repeats, without the traceback."""
        text = record.getMessage()
        if record.name == "apache_beam.utils.retry":
            text = " ".join(text.partition("Traceback for above")[0].split())
        message = printable(_shareable(text))
        plain = logging.makeLogRecord({**record.__dict__, "msg": message, "args": None})
        return "\n".join(printable(line) for line in super().format(plain).split("\n"))


def log_to_terminal(layout: str, *filters: logging.Filter | Callable[[logging.LogRecord], bool]) -> None:
    """Logs warnings and errors of all libraries to standard error, escaped and filtered."""
    handler = logging.StreamHandler()
    for wanted in filters:
        handler.addFilter(wanted)
    handler.setFormatter(PrintableFormatter(layout))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


def guard_terminal() -> None:
    """Escapes logs and tracebacks of this process; what goes to a closed stream (`>&-`) is dropped."""
    # The file takes the stream's free number, too, which else the next file that is written would have.
    closed = (os.fdopen(os.open(os.devnull, os.O_WRONLY), "w") for _ in range(2))
    sys.stdout, sys.stderr = sys.stdout or next(closed), sys.stderr or next(closed)
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot encode must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # Beam logs this when it is imported without its extra gcp.
    log_to_terminal("%(message)s", lambda record: not str(record.msg).startswith("apitools not found"))
    sys.excepthook = lambda kind, error, _: _print_traceback(error)
    threading.excepthook = lambda given: _print_traceback(given.exc_value)


def _print_traceback(error: BaseException | None) -> None:
    if error is not None:
        say("".join(traceback.format_exception(error)).rstrip("\n"), sys.stderr)
