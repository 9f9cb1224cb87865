"""Builds a report of the rows of one or several runs."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from msgspec import Struct

from turnwise.schemas.report import Report, ReportRun, ReportVersion
from turnwise.transforms.decisions.report.collect import CollectedRuns, Entry, RunRows, VersionKey, collect
from turnwise.transforms.decisions.report.figures import (
    Compared,
    coverage_sentence,
    problem_sentences,
    report_run,
    verdict_sentences,
)
from turnwise.transforms.reporting.calls import tool_figures
from turnwise.transforms.reporting.conversations import (
    chunks,
    columns,
    read_first,
    reading_order,
    sample_first,
)
from turnwise.transforms.reporting.criteria import criterion_rows
from turnwise.transforms.reporting.curves import curves
from turnwise.transforms.reporting.gaps import failure_groups, unscored
from turnwise.transforms.reporting.names import short_names
from turnwise.transforms.reporting.slices import slices


class PlacedChunks(Struct, frozen=True):
    """Where the chunks of a report are.

    Attributes:
        inline: Number of chunks in the page.
        total: Number of all chunks.
        chunk_of: PlaceChunks of a conversation -> its chunk; without those that are left out.
    """

    inline: int
    total: int
    chunk_of: dict[int, int]


PlaceChunks = Callable[[str, Iterable["tuple[list[int], str]"]], PlacedChunks]
"""Stores the chunks of a report, given its id; a chunk is places of conversations, and JSON."""


def build_report(
    runs: Sequence[RunRows], compared: Compared, place: PlaceChunks, *, keeps_few: bool = False
) -> Report:
    """Returns the report of some runs.

    Args:
        runs: The runs.
        compared: The first version against others.
        place: Stores transcripts and scores.
        keeps_few: Whether chunks hold a random sample first, then what did not pass; `place` may leave
            out the last ones.
    """
    collected = collect(runs)
    entries = reading_order(collected.entries)
    report_id = _report_id(runs, entries)
    order, sample = sample_first(entries, report_id) if keeps_few else (list(range(len(entries))), None)
    placed = place(report_id, chunks(entries, order))
    omitted = len(entries) - len(placed.chunk_of)
    found, names = columns(
        entries, collected.versions, placed.chunk_of, (sample or set()) if omitted else None
    )
    infos, versions = _runs(runs, collected), _versions(collected)
    rows = criterion_rows(collected)
    by_run = [(run, [one for one in versions if one.run == i]) for i, run in enumerate(infos)]
    problems = (one for run, own in by_run for one in problem_sentences(run, own))
    return Report(
        report_id=report_id,
        runs=infos,
        versions=versions,
        sentences=[*problems, *verdict_sentences(rows, versions, compared)],
        coverage=[coverage_sentence(*pair, *_score_counts(entries, i)) for i, pair in enumerate(by_run)],
        comparisons=list(compared.comparisons),
        criteria=rows,
        slices=slices(collected),
        tools=tool_figures(collected),
        curves=curves(collected),
        unscored=unscored(collected, entries),
        failures=failure_groups(collected.failures),
        names=names,
        read_first=read_first(entries),
        conversations=found,
        chunks=placed.total,
        inline_chunks=placed.inline,
        omitted=omitted,
        sample_seed=report_id if omitted else None,
    )


def _report_id(runs: Sequence[RunRows], entries: Sequence[Entry]) -> str:
    parts = [*(run.document.run_id for run in runs), *(entry.identity for entry in entries)]
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _runs(runs: Sequence[RunRows], collected: CollectedRuns) -> list[ReportRun]:
    spoken = {entry.version.run for entry in collected.entries if entry.row["transcript"] is not None}
    silent = {entry.version.run for entry in collected.entries} - spoken
    repeated: list[set[str]] = [set() for _ in runs]
    for entry in collected.entries:
        if entry.is_repeated:
            repeated[entry.version.run].add(entry.row["conversation_id"])
    return [
        report_run(run, i not in silent, collected.sampled_out[i], collected.idle[i], repeated[i])
        for i, run in enumerate(runs)
    ]


def _score_counts(entries: Sequence[Entry], run: int) -> tuple[int, int]:
    """Returns the number of scores without a value, and of all scores."""
    scores = [score for entry in entries if entry.version.run == run for score in entry.scores]
    return sum("value" not in score for score in scores), len(scores)


def _versions(collected: CollectedRuns) -> list[ReportVersion]:
    verdicts = Counter((entry.version, entry.row["verdict"]) for entry in collected.entries)
    turns: Counter[VersionKey] = Counter()
    for entry in collected.entries:
        turns[entry.version] += entry.row["turns"] or 0
    return [
        ReportVersion(
            name=name,
            app_version=version.app_version or None,
            run=version.run,
            conversations=sum(number for (own, _), number in verdicts.items() if own == version),
            turns=turns[version],
            passed=verdicts[version, "PASS"],
            failed=verdicts[version, "FAIL"],
            undecided=verdicts[version, None],
        )
        for version, name in zip(collected.versions, short_names(collected.versions), strict=True)
    ]
