"""Reads from the tables of a run which conversations missed a gate."""

from collections.abc import Iterator, Sequence

from turnwise.pipeline.io.sinks.base import table_rows
from turnwise.pipeline.io.terminal import LONGEST_NAME, printable
from turnwise.schemas.values import JsonObject
from turnwise.transforms.scoring.verdict import STATUS

NAMES_SHOWN = 20
LONGEST_PLACE = 160
_READING = ("read", "parse", "parse_case")


def missed_conversations(directory: str, output_format: str, criterion: str) -> list[str]:
    """Returns the ids of the conversations that failed a criterion or are undecided on it, each once.

    Args:
        directory: The complete output of a run.
        output_format: Suffix of its tables.
        criterion: Name of a criterion, or `evaluation_status`.
    """
    found = _without_pass(directory, output_format) if criterion == STATUS else ()
    others = () if criterion == STATUS else _failed(directory, output_format, criterion)
    return list(dict.fromkeys([*found, *others]))


def _failed(directory: str, output_format: str, criterion: str) -> Iterator[str]:
    mark = f'"criterion":"{criterion}"'.encode()
    for table in ("scores", "failures"):
        for row in _rows(directory, table, output_format, mark):
            is_whole = table == "failures" or row["turn_index"] is None
            if row["criterion"] == criterion and is_whole and row.get("outcome") != "PASS":
                yield row["conversation_id"] or ""


def _without_pass(directory: str, output_format: str) -> Iterator[str]:
    for row in _rows(directory, "results", output_format, b""):
        if row["evaluation_status"] != "PASS":
            yield row["conversation_id"]


def lost_places(directory: str, output_format: str) -> list[str]:
    """Returns source and position of the records and cases of a run that were lost, each once."""
    places = (
        f"{row['source']}:{row['position']}" if row["position"] else str(row["source"])
        for row in _rows(directory, "failures", output_format, b"")
        if row["stage"] in _READING and row["source"] is not None
    )
    return list(dict.fromkeys(places))


def _rows(directory: str, table: str, output_format: str, mark: bytes) -> Iterator[JsonObject]:
    """Yields the rows of a table; those that do not hold a text may be left out."""
    from apache_beam.io.filesystems import FileSystems  # the Python API needs only the names

    pattern = FileSystems.join(directory, f"{table}-*.{output_format}")
    for path in sorted(file.path for found in FileSystems.match([pattern]) for file in found.metadata_list):
        with FileSystems.open(path) as file:
            yield from table_rows(file, table, output_format, mark)


def names_text(names: Sequence[str], width: int = LONGEST_NAME) -> str:
    """Returns the first names, each at most `width` columns wide, and the number of others."""
    shown = ", ".join(printable(name, width) for name in names[:NAMES_SHOWN])
    return shown + (f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else "")
