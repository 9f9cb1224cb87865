"""Reads files of labels."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from turnwise.schemas.calibration import parse_label
from turnwise.schemas.config import ConfigError
from turnwise.transforms.decisions.calibration.labels import LabelLine


def read_labels(paths: Sequence[str]) -> list[LabelLine]:
    """Returns the labels of files of JSON Lines, in order.

    Raises:
        ConfigError: A file cannot be read or holds no label, or a line is no label.
    """
    found = []
    for path in paths:
        lines = [*_lines(path)]
        if not lines:
            raise ConfigError(f"--labels {path}: holds no label")
        found += lines
    return found


def _lines(path: str) -> Iterator[LabelLine]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"--labels {path}: {why}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield LabelLine(parse_label(line), f"{Path(path).name}:{number}")
        except ValueError as error:
            raise ConfigError(f"--labels {path}:{number}: no label: {error}") from None
