"""Writes a report: the page, and beside it the transcripts that it has no room for."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from turnwise.pipeline.io.run_reader import REPORT_DATA, FinishedRun
from turnwise.pipeline.report_html.page import chunk_script, packed, page
from turnwise.schemas.config import ConfigError
from turnwise.schemas.report import Report
from turnwise.transforms.decisions.report.collect import RunRows
from turnwise.transforms.decisions.report.document import PlacedChunks, build_report
from turnwise.transforms.decisions.report.figures import Compared

INLINE_CHARACTERS = 5_000_000
_CONVERSATIONS = "conversations"


def run_rows(run: FinishedRun) -> RunRows:
    """Returns the rows of a run; they are read when they are asked for."""
    return RunRows(
        directory=run.directory,
        document=run.document,
        has_conversations=run.has(_CONVERSATIONS),
        conversations=run.rows(_CONVERSATIONS),
        scores=run.scores(),
        failures=run.failures(),
        metrics=run.metrics_by_app_version(),
        verdicts=run.results(),
    )


class _Chunks:
    """Keeps the first chunks for the page, and writes the others beside it or leaves them out."""

    def __init__(self, directory: Path | None, limit: int) -> None:
        self._directory, self._limit = directory, limit
        self.inline: list[str] = []

    def place(self, report_id: str, chunks: Iterable[tuple[list[int], str]]) -> PlacedChunks:
        chunk_of: dict[int, int] = {}
        size = number = 0
        for number, (places, text) in enumerate(chunks):
            chunk = packed(text)
            size += len(chunk)
            if size <= self._limit:
                self.inline.append(chunk)
            elif self._directory is None:
                return PlacedChunks(number, number, chunk_of)
            else:
                _write(self._directory / f"{number:03}.js", chunk_script(report_id, number, chunk))
            chunk_of |= dict.fromkeys(places, number)
        return PlacedChunks(len(self.inline), number + 1 if chunk_of else 0, chunk_of)


def write_report(
    path: Path,
    runs: Sequence[RunRows],
    compared: Compared,
    *,
    single_file: bool = False,
    inline_characters: int = INLINE_CHARACTERS,
) -> Report:
    """Writes a report and returns its data.

    Args:
        path: The HTML file.
        runs: The runs.
        compared: The first version against others.
        single_file: Whether transcripts that have no room in the page are left out.
        inline_characters: Room for transcripts in the page.

    Raises:
        ConfigError: Files beside the page are not those of an earlier report.
    """
    directory = path.parent / REPORT_DATA
    _clear(directory)
    chunks = _Chunks(None if single_file else directory, inline_characters)
    report = build_report(runs, compared, chunks.place, keeps_few=single_file)
    names = ", ".join(version.name for version in report.versions)
    _write(path, page(report, chunks.inline, names))
    return report


def report_page(runs: Sequence[RunRows], compared: Compared) -> str:
    """Returns a report as one page; transcripts that have no room in it are left out, which it says."""
    chunks = _Chunks(None, INLINE_CHARACTERS)
    report = build_report(runs, compared, chunks.place, keeps_few=True)
    return page(report, chunks.inline, ", ".join(version.name for version in report.versions))


def _clear(directory: Path) -> None:
    """Removes the files of an earlier report."""
    for file in sorted(directory.glob("*")):
        if not (file.suffix == ".js" and file.stem.isdigit()):
            raise ConfigError(f"{file}: is no file of an earlier report; name another directory")
        file.unlink()


def _write(path: Path, text: str) -> None:
    """Writes a file whole, so that one broken off is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
