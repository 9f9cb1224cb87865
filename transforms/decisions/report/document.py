"""Builds a report of the rows of one or several runs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import Struct

from turnwise.schemas import report
from turnwise.schemas.comparison import FirstPage
from turnwise.schemas.config import STATUS
from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import grouped
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.criteria.tool_effects import ToolEffects
from turnwise.transforms.decisions.comparison.words import criteria_lines
from turnwise.transforms.decisions.first_page import reasons_of, without_baseline
from turnwise.transforms.decisions.report import figures
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.effects.call_effects import DESTRUCTIVE
from turnwise.transforms.effects.changes import call_text
from turnwise.transforms.matching.calls import PairedCalls, check_directives, parameter_score
from turnwise.transforms.metrics.state import rank_of
from turnwise.transforms.review.problems import reading_key, to_read


class PlacedChunks(Struct, frozen=True):
    """Where the chunks of a report are; `chunk_of`: place of a conversation -> its chunk, if it is kept."""

    inline: int
    total: int
    chunk_of: dict[int, int]


PlaceChunks = Callable[[str, Iterable["tuple[list[int], str]"]], PlacedChunks]
"""Stores the chunks of a report, given its id; a chunk is places of conversations, and JSON."""


def build_report(
    runs: Sequence[Run], compared: figures.Compared, store: PlaceChunks, *, keeps_few: bool = False
) -> report.Report:
    """Returns the report of some runs.

    `store` stores transcripts and scores. If the report `keeps_few`, the chunks hold a random sample first,
    then what did not pass; `store` may leave out the last ones.
    """
    collected = figures.collect(runs)
    entries = sorted(collected.entries, key=lambda entry: reading_key(entry.row))
    parts = [*(run.document.run_id for run in runs), *(entry.identity for entry in entries)]
    report_id = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    order, sample = _sample_first(entries, report_id) if keeps_few else (list(range(len(entries))), None)
    placed = store(report_id, chunks(entries, order))
    omitted = len(entries) - len(placed.chunk_of)
    drawn = (sample or set()) if omitted else None
    conversations, names = columns(entries, collected.versions, placed.chunk_of, drawn)
    infos, versions = [*figures.report_runs(runs, collected)], [*_versions(runs, collected)]
    rows = figures.criterion_rows(collected, [run.document for run in runs])
    scores_of_run = grouped((entry.version.run, score) for entry in entries for score in entry.scores)
    problems, coverage = list[report.Sentence](), list[report.Sentence]()
    for i, run in enumerate(infos):
        # Why the run cannot be relied on: gates, gaps, no transcripts; counts say what was rejected.
        why, texts = "; ".join(run.problems) or "it does not say why", [*run.gaps]
        if run.exit_status:
            texts.insert(0, f"{run.name} ended with exit status {run.exit_status}: {why}.")
        if not run.has_transcripts:
            texts.append(f"{run.name} wrote no transcripts, so that no conversation of it can be read here.")
        problems += [report.Sentence(text, i) for text in texts]
        scores, of_run = scores_of_run.get(i, []), [version for version in versions if version.run == i]
        no_score = sum("value" not in score for score in scores)
        coverage.append(report.Sentence(figures.coverage_sentence(run, of_run, no_score, len(scores)), i))
    problems += [report.Sentence(text) for text in compared.refused]
    by_key = dict(zip(collected.versions, versions, strict=True))
    pages, listed = _first_pages(compared.pages, by_key, rows, entries, infos)
    return report.Report(
        report_id=report_id,
        runs=infos,
        versions=versions,
        first_pages=pages,
        reasons=[reasons_of(page) for page in pages],
        sentences=problems,
        coverage=coverage,
        comparisons=list(compared.comparisons),
        tables=[criteria_lines(comparison) for comparison in compared.comparisons],
        criteria=rows,
        slices=[*figures.slices(collected)],
        tools=[*tool_figures(collected)],
        curves=[*figures.curves(collected)],
        no_score=figures.without_score(collected, entries),
        failures=figures.failure_groups(collected.failures),
        names=names,
        read_first=listed,
        conversations=conversations,
        chunks=placed.total,
        inline_chunks=placed.inline,
        omitted=omitted,
        sample_seed=report_id if omitted else None,
    )


def _first_pages(
    compared: Sequence[FirstPage],
    versions: Mapping[figures.VersionKey, report.ReportVersion],
    rows: Sequence[report.CriterionRow],
    entries: Sequence[figures.Entry],
    runs: Sequence[report.ReportRun],
) -> tuple[list[FirstPage], list[list[int]]]:
    """Returns the pages of what is compared, or else of all, and places of the conversations they list."""
    listed = []
    for page in compared:
        (candidate,) = (key for key, version in versions.items() if version.name == page.candidate)
        of_version = ((i, e.row) for i, e in reversed([*enumerate(entries)]) if e.version == candidate)
        places = {(row["conversation_id"], row["eval_id"]): index for index, row in of_version}
        listed.append([places[row.conversation_id, row.eval_id] for row in page.read_first])
    if compared:
        return [*compared], listed
    all_rows = [entry.row for entry in entries]
    first, place_of = to_read(all_rows), {id(row): index for index, row in enumerate(all_rows)}
    listed.append([place_of[id(row)] for row in first])
    if not versions:
        return [], listed
    names = [version.name for version in versions.values()]
    kinds = ("passed", "failed", "no_verdict")
    verdicts = [sum(getattr(version, kind) for version in versions.values()) for kind in kinds]
    shown = next((row.figures[0] for row in rows if row.name == STATUS), None)
    bounds = (shown.low, shown.high) if shown and len(versions) == 1 else (None, None)
    return [without_baseline(names, verdicts, bounds, [run.counts for run in runs], first, all_rows)], listed


def _versions(runs: Sequence[Run], collected: figures.CollectedRuns) -> Iterator[report.ReportVersion]:
    rows = grouped((entry.version, entry.row) for entry in collected.entries)
    names = figures.short_names(collected.versions, figures.run_names(runs))
    for version, name in zip(collected.versions, names, strict=True):
        verdicts = Counter(row["verdict"] for row in rows[version])
        yield report.ReportVersion(
            name=name,
            app_version=version.app_version or None,
            run=version.run,
            conversations=len(rows[version]),
            turns=sum(row["turns"] or 0 for row in rows[version]),
            passed=verdicts["PASS"],
            failed=verdicts["FAIL"],
            no_verdict=verdicts[None],
        )


# The conversations of a report: reading order, columns, and what a chunk holds of each.

CHUNK_CHARACTERS = 400_000
SAMPLE = 200
_NONE = -1


def _sample_first(entries: Sequence[figures.Entry], seed: str) -> tuple[list[int], set[int]]:
    """Returns places as a small report keeps them (a random sample, no passes, passes), and the sample's."""
    named = [f"{seed}\0{entry.identity}".encode("utf-8", "surrogatepass") for entry in entries]
    ranked = sorted(range(len(entries)), key=lambda index: sha256(named[index]).hexdigest())
    sample = set(ranked[:SAMPLE])  # those whose hash with the seed is lowest
    rest = sorted(ranked[SAMPLE:], key=lambda index: (entries[index].row["verdict"] == "PASS", index))
    return [*sorted(sample), *rest], sample


def chunks(entries: Sequence[figures.Entry], places: Sequence[int]) -> Iterator[tuple[list[int], str]]:
    """Yields chunks: places of conversations, and JSON of their details by place."""
    held: list[int] = []
    texts: list[str] = []
    size = 0
    for index in places:
        text = figures.exact_json(detail(entries[index]))
        if held and size + len(text) > CHUNK_CHARACTERS:
            yield held, f"{{{','.join(texts)}}}"
            held, texts, size = [], [], 0
        held.append(index)
        texts.append(f'"{index}":{text}')
        size += len(text)
    if held:
        yield held, f"{{{','.join(texts)}}}"


def detail(entry: figures.Entry) -> report.Detail:
    """Returns transcript and scores of a conversation; expected calls are paired with actual ones.

    Calls that a score of their effects found fault with have it under `fault`.
    """
    if (transcript := entry.row["transcript"]) is not None:
        turns = [*figures.turns_of(entry.row)]
        for index, turn in enumerate(turns):
            if (expected := expected_calls(turn)) is not None:
                turns[index] = {**turn, "pairs": call_pairs(expected, turn.get("tool_calls") or [])}
        for score in entry.own_scores:
            is_failed = score["criterion"] == ToolEffects.name and score.get("outcome") == "FAIL"
            if is_failed and score.get("details"):
                turns = _with_faults(turns, score)
        transcript = {**transcript, "turns": turns}
    return {
        "eval_set_id": entry.row["eval_set_id"],
        "transcript": transcript,
        "scores": entry.own_scores,
        "is_repeated": entry.is_repeated,
    }


def _with_faults(turns: list[figures.AnyRow], score: figures.AnyRow) -> list[figures.AnyRow]:
    """Returns the turns with what a score says of their calls; of equal calls, it is said of the last."""
    kinds = ("extra", DESTRUCTIVE, "wrong_arguments")
    extra, destructive, wrong = (score["details"].get(kind) or [] for kind in kinds)
    faults: dict[str, list[figures.AnyRow]] = {}
    for pair in wrong:
        faults.setdefault(pair["actual"], []).append({"instead": pair["arguments"]})
    for text in dict.fromkeys([*destructive, *extra]):
        instead = faults.get(text, [{}])[0]
        faults[text] = [{**instead, "unexpected": True}] * max(extra.count(text), destructive.count(text))
    made: list[figures.AnyRow] = []
    for turn in reversed(turns):
        calls = [*(turn.get("tool_calls") or ())]
        if score.get("turn_index", turn["index"]) == turn["index"]:
            for index in range(len(calls) - 1, -1, -1):
                call = calls[index]
                if listed := faults.get(call_text(ToolCall(name=call.get("name"), args=call.get("args")))):
                    calls[index] = {**call, "fault": listed.pop()}
        made.append({**turn, "tool_calls": calls})
    return made[::-1]


_SAME = (
    *("eval_id", "verdict", "reason", "ended", "worst_turn", "why"),
    *("severity", "severity_score", "severity_reason", "problem_label"),
    *("turns", "tool_calls", "tool_errors", "destructive_calls", "tokens_in", "tokens_out", "position"),
)
_PLAIN = {"id": "conversation_id", "seconds": "latency_seconds", "time": "event_time"}
_PLAIN |= dict(zip(_SAME, _SAME, strict=True))
_NAMED = {"language": "language", "worst": "worst_criterion"}
_NAMED |= {"problem_type": "problem_type", "source": "source"}
_LEVELS = {"whole": False, "by_turn": True}
_COLUMN_OF = {"PASS": "passed", "FAIL": "failed", None: "no_score"}


def columns(
    entries: Sequence[figures.Entry],
    versions: Sequence[figures.VersionKey],
    chunk_of: dict[int, int],
    sample: set[int] | None,
) -> tuple[report.Conversations, list[str]]:
    """Returns the columns of conversations in reading order, and the texts that they name by place.

    `chunk_of`: place of a conversation -> its chunk; `sample`: places of the random sample, None: nothing is
    left out.
    """
    names: dict[str, int] = {}

    def places(texts: Iterable[str]) -> list[int]:
        return [names.setdefault(text, len(names)) for text in dict.fromkeys(texts)]

    rows: list[figures.AnyRow] = [dict(entry.row) for entry in entries]
    by_name: dict[str, list[Any]] = {name: [row[source] for row in rows] for name, source in _PLAIN.items()}
    for name, source in _NAMED.items():
        by_name[name] = [_NONE if row[source] is None else places([row[source]])[0] for row in rows]
    by_name |= {name: [] for name in (*_COLUMN_OF.values(), *_LEVELS, "labels")}
    for entry in entries:
        outcome_of = figures.outcomes(entry)
        for outcome, name in _COLUMN_OF.items():
            alike = (key for key, other in outcome_of.items() if other == outcome and key != STATUS)
            by_name[name].append(places(alike))
        for name, is_turn in _LEVELS.items():
            seen = (score["criterion"] for score in entry.own_scores if ("turn_index" in score) == is_turn)
            by_name[name].append(places(seen))
        by_name["labels"].append(places(s["label"] for s in entry.own_scores if s.get("label")))
    turns = (figures.turns_of(entry.row) for entry in entries)
    transfers = ([name for turn in of_row for name in turn.get("transfers") or ()] for of_row in turns)
    place_of = {version: index for index, version in enumerate(versions)}
    conversations = report.Conversations(
        **by_name,
        version=[place_of[entry.version] for entry in entries],
        tags=[places(row["tags"]) for row in rows],
        tools=[places(figures.tools_of(entry.row)) for entry in entries],
        agents=[*map(places, transfers)],
        scores=_values(entries),
        chunk=[chunk_of.get(index, _NONE) for index in range(len(entries))],
        is_random=[sample is None or index in sample for index in range(len(entries))],
    )
    return conversations, [*names]


def _values(entries: Sequence[figures.Entry]) -> dict[str, list[float | None]]:
    """Returns criterion -> value of each conversation, with the digits that a table shows."""
    values: dict[str, list[float | None]] = {}
    for index, entry in enumerate(entries):
        scored = (score for score in entry.own_scores if score.get("value") is not None)
        for name, scores in grouped((score["criterion"], score) for score in scored).items():
            kind = CRITERIA.get(name)
            counted = [s for s in scores if not (kind and s["value"] in kind.special_values)]
            # The scores of the whole conversation, or else those of its turns.
            chosen = [s["value"] for s in counted if "turn_index" not in s] or [s["value"] for s in counted]
            if chosen:
                mean = sum(chosen) / len(chosen)
                values.setdefault(name, [None] * len(entries))[index] = float(f"{mean:.6g}")
    return values


# Figures of tools, and which expected call an actual one stands for, from transcripts.

_MOST_WRONG = 5


class CallPair(NamedTuple):
    """Places of an expected call (None: it was not expected), and of the one made instead (None: missing)."""

    expected: int | None
    actual: int | None
    wrong: tuple[str, ...]


def call_pairs(expected: Sequence[figures.AnyRow], actual: Sequence[figures.AnyRow]) -> list[CallPair]:
    """Pairs the calls of one turn as the criteria do; directives of a case (`$matchType`) are followed."""
    wanted, made = ([_call(row) for row in rows] for rows in (expected, actual))
    partners = PairedCalls(wanted, made).partners
    pairs = [CallPair(i, j, ()) for i, j in enumerate(partners)]
    for i, j in enumerate(partners):
        if j is not None and not isinstance(actual[j].get("args"), str):
            pairs[i] = CallPair(i, j, parameter_score(wanted[i].args, made[j].args).wrong)
    return [*pairs, *(CallPair(None, j, ()) for j in range(len(made)) if j not in partners)]


def _call(row: figures.AnyRow) -> ToolCall:
    """Returns a call of a row, without arguments that were cut to a text, or that nothing compares with."""
    name, args = row.get("name"), row.get("args")
    with suppress(ValueError):
        if isinstance(args, dict):
            check_directives(args, "")
            return ToolCall(name, args)
    return ToolCall(name)


def expected_calls(turn: figures.AnyRow) -> list[figures.AnyRow] | None:
    """Returns the calls that are expected of a turn; None: not stated."""
    expected = turn.get("expected")
    return expected.get("tool_calls") if isinstance(expected, dict) else None


def tool_figures(collected: figures.CollectedRuns) -> Iterator[report.ToolFigure]:
    """Yields the figures of every tool that was called, by name and version."""
    places = {version: index for index, version in enumerate(collected.versions)}
    calls: list[tuple[tuple[str, int], figures.AnyRow]] = []
    wrong: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for entry in collected.entries:
        for turn in figures.turns_of(entry.row):
            made = turn.get("tool_calls") or []
            keys = [(call.get("name") or "", places[entry.version]) for call in made]
            calls += zip(keys, made, strict=True)
            for pair in call_pairs(expected_calls(turn) or [], made):
                if pair.actual is not None:
                    wrong[keys[pair.actual]].update(pair.wrong)
    for (name, version), of_tool in sorted(grouped(calls).items(), key=itemgetter(0)):
        stated = (call.get("seconds") for call in of_tool)
        seconds = sorted(value for value in stated if isinstance(value, int | float))
        p50, p95 = (seconds[rank_of(share, len(seconds))] if seconds else None for share in (0.5, 0.95))
        errors = sum(bool(call.get("error")) for call in of_tool)
        effects = dict(Counter(str(call.get("effect") or "unknown") for call in of_tool))
        most_wrong = wrong[name, version].most_common(_MOST_WRONG)
        yield report.ToolFigure(name, version, len(of_tool), errors, p50, p95, effects, most_wrong)
