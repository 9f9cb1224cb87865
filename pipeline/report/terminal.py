"""The report at the end of a run: the judge, what to read, progress, counts, the table, and its problems."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from turnwise.pipeline.io.terminal import LONGEST_NAME, columns, cut, fitted, printable, wrapped
from turnwise.pipeline.report.run_counts import RunCounts
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.comparison import Comparison, FirstPage, ListedConversation
from turnwise.schemas.config import DEFAULT_CRITERIA, STATUS
from turnwise.schemas.conversation import UNKNOWN
from turnwise.schemas.jsonio import JsonObject, counted
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import PROGRESS, RUN_FILE, redacted_text
from turnwise.transforms.criteria.base import CRITERIA, QUANTILE_UNITS, CustomMetric, JudgedCriterion
from turnwise.transforms.decisions import first_page
from turnwise.transforms.decisions.comparison.words import LONGEST_NAME as LONGEST_VERSION
from turnwise.transforms.decisions.comparison.words import decimals, last_parts, share_text
from turnwise.transforms.decisions.run import NEXT_STEPS, OF_CASES, STAGES, cut_inputs, with_step
from turnwise.transforms.judging.ask import Flips
from turnwise.transforms.judging.judges import JUDGING
from turnwise.transforms.judging.limits import JudgeUsage, total_cost
from turnwise.transforms.judging.setup import JudgeSettings
from turnwise.transforms.judging.shared_places import BUDGET, stated_limits
from turnwise.transforms.scoring import config as scoring
from turnwise.transforms.text.cleaning import natural_order

UsageByModel = dict[str, JudgeUsage]
MetricRows = Iterable[MetricsByAppVersionRow]


def judge_document(
    settings: RunSettings, usage: UsageByModel, rows: MetricRows, counted: Mapping[str, int] | None = None
) -> JsonObject:
    """Returns the `judge` object of `run.json`; `counted`: by name of the counter, None: nothing yet."""
    judge, config = settings.judge, settings.judge.config
    document: JsonObject = {"backend": config.backend, "sample_rate": settings.sample_rate}
    if judge.kind.connect:
        last = ", ".join(config.panel) or config.model
        limits: JsonObject = {**stated_limits(config)}
        part = judge.per_worker or None
        if limits:
            limits |= {} if config.per == "run" else {"per": config.per}
            alone = "each worker" if judge.workers > 1 else "process"
            limits["held_by"] = "judge_cache" if judge.shares_budget else alone
            limits |= {"workers": judge.workers if part else None, "per_worker": part}
        figures: JsonObject = {}
        for model, used in sorted(usage.items()):
            figures[model] = used.figures() | {"unusable": dict(used.unusable)}
            total = figures[model].pop("latency_ms")
            figures[model]["mean_latency_ms"] = total / used.calls if used.calls else None
        cost, whys = total_cost(usage, config.prices)
        document |= {
            "model": (f"{config.cascade.model} > {last}" if config.cascade else last),
            "concurrency": judge.concurrency,
            "limits": limits or None,
            **({} if judge.batch_wait_s is None else {"batch_jobs": dict(JUDGING.jobs)}),
            "cost": None if whys else cost,
            "cost_at_least": cost,
            "cost_reason": "; ".join(whys) or None,
            "usage": figures,
        }
    if counted is not None and judge.kind.connect:
        options = {criterion.name: criterion.options for criterion in settings.judged}
        panels = {
            name: scoring.panel_figures(options[name].panel, of_panel)
            for name, of_panel in scoring.by_criterion(counted, scoring.JOINT_PANEL).items()
            if name in options
        }
        cascades = {
            name: scoring.cascade_figures(cascade.model, of_cascade, config.prices, config.candidates)
            for name, of_cascade in scoring.by_criterion(counted, scoring.JOINT_CASCADE).items()
            if name in options and (cascade := options[name].cascade)
        }
        document |= {"panels": panels, "cascades": cascades}
    document[scoring.INAPPLICABLE] = inapplicable = {}
    for name, judged in scoring.by_criterion(counted or {}, scoring.JUDGED).items():
        number, verdicts = judged[scoring.INAPPLICABLE], judged[scoring.VERDICTS]
        stated = {scoring.VERDICTS: verdicts, scoring.INAPPLICABLE: number}
        inapplicable[name] = stated | {"share": number / verdicts}
    flips: dict[str, Flips] = {}  # over all app versions
    for row in rows:
        kind = CRITERIA.get(row["criterion"])
        if kind is not None and issubclass(kind, JudgedCriterion):
            known = flips.get(row["criterion"], Flips())
            flips[row["criterion"]] = known.plus(Flips(row["voted"], row["flipped"]))
    rates = {name: {**used._asdict(), "flip_rate": used.rate} for name, used in flips.items()}
    return document | {"flips": rates}


def divided_text(settings: RunSettings) -> str:
    """Returns a line about limits that are divided; "": they are not."""
    judge = settings.judge
    if not (part := judge.per_worker):
        return ""
    figures = ", ".join(f"{name} {limit:g}" for name, limit in part.items())
    text = f"the judge's limits are divided by {judge.workers} workers: {figures} each"
    if part.keys().isdisjoint(BUDGET):
        return text
    return f"{text}; --judge_cache would share the budget: a file on one machine, else postgresql://HOST/DB"


def judge_text(settings: RunSettings, judge: JsonObject) -> str:
    """Returns the lines about the judge, of what `run.json` says of it; "" if there are none."""
    kind = settings.judge.kind
    if kind.answer:
        is_asked = settings.selection.judged or (kind.is_judging and settings.eval_cases)
        return kind.note if is_asked else ""
    lines = []
    for model, used in judge.get("usage", {}).items():
        unusable = Counter(used["unusable"])
        answers = used["samples"] - unusable["batch"] - unusable["budget"]
        tokens = f"{used['tokens_in']:,} + {used['tokens_out']:,} tokens"
        parts = [
            f"{answers:,} answers ({used['cached']:,} cached) by {used['calls']:,} calls",
            *([tokens] if used["uncounted"] < max(used["calls"], 1) else []),
            *([f"{counted(used['uncounted'], 'call')} with unknown tokens"] if used["uncounted"] else []),
            *([f"{used['mean_latency_ms'] / 1000:.1f} s each"] if used["calls"] else []),
            *([f"{used['retries']:,} retries"] if used["retries"] else []),
            *([f"{used['asked_again']:,} asked once more"] if used["asked_again"] else []),
            *(f"{number:,} unusable: {fault}" for fault, number in sorted(unusable.items())),
        ]
        lines.append(f"judge: {model}: {', '.join(parts)}")
    jobs = ", ".join(f"{job} ({printable(status)})" for job, status in JUDGING.jobs.items())
    lines += [f"judge: batch jobs: {jobs}"] if jobs else []
    lines += _money_lines("cost", judge, settings.judge)
    voted = ((name, used) for name, used in judge["flips"].items() if used["voted"])
    flips = (f"{name} {u['flipped']:,} of {u['voted']:,} ({u['flip_rate']:.1%})" for name, u in voted)
    text = ", ".join(flips)
    return "\n".join([*lines, *([f"judge: verdicts that flip between votes: {text}"] if text else [])])


def estimate_text(settings: RunSettings, usage: UsageByModel) -> str:
    """Returns the estimated calls and tokens: if all samples agree, and at most."""
    lines = []
    for model, used in sorted(usage.items()):
        calls = f"{used.calls:,} calls if answers agree, {used.samples:,} at the most"
        lines.append(f"{model}: {calls}; about {used.tokens_in:,} tokens in and {used.tokens_out:,} out")
    money = _money_lines("about", judge_document(settings, usage, ()), settings.judge)
    return "\n".join([*lines, *money]) if lines else "no model would be asked"


def money_text(cost: float) -> str:
    """Returns a cost with so many decimals that it is not shown as 0."""
    return f"{cost:,.{decimals(cost, 'mean', 'money')}f}"


def _money_lines(word: str, document: JsonObject, judge: JudgeSettings) -> list[str]:
    if not document.get("usage") or not judge.config.prices:
        return []
    cost, why = document["cost_at_least"], document["cost_reason"]
    if why and not cost:
        return [f"cost unknown: {why}"]
    more, rest = (" or more", f": {why}") if why else ("", "")
    half = "" if judge.batch_wait_s is None else "half "
    return [f"{word} {money_text(cost)}{more} at {half}the prices of the config{rest}"]


_SHOWN = 3
WIDTH = 110
"""Columns of the report of a run where there is no terminal."""
_LONGEST_ID = 40


def reading_text(rows: Sequence[ListedConversation], width: int = WIDTH, beside: Sequence[str] = ()) -> str:
    """Returns the first three to read, in lines of `width`, and an empty line; `beside`: other versions."""
    first, lines = rows[:_SHOWN], []
    ids = last_parts((row.conversation_id for row in first), _LONGEST_ID)
    names = [*beside, *(row.app_version for row in first)]
    versions = last_parts(filter(None, names), _LONGEST_ID // 2)
    for row in first:
        shown = f" ({versions[row.app_version]})" if row.app_version else ""
        lines.append(cut(printable(f"  {ids[row.conversation_id]}{shown}: {row.why or ''}"), width))
    return "\n".join(["read first:", *lines, ""]) if lines else ""


COMPARE, MORE = "compare: ", "more: "
"""What begins lines with a command, which stay whole so that they can be copied."""

_FIRST_AFTER = 3.0
_EVERY = 1.0


@contextmanager
def show_progress() -> Iterator[None]:
    """Shows progress on standard error while the body runs, if it is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def show() -> None:
        start, shown = time.monotonic(), False
        before = (PROGRESS.conversations, PROGRESS.turns)
        while not done.wait(_EVERY if shown else _FIRST_AFTER):
            shown = True
            numbers = PROGRESS.conversations - before[0], PROGRESS.turns - before[1]
            line = progress_line(*numbers, time.monotonic() - start)
            line += f", waiting for {counted(len(JUDGING.jobs), 'batch job')}" if JUDGING.jobs else ""
            sys.stderr.write(f"\r{line}\x1b[K")
            sys.stderr.flush()
        if shown:
            sys.stderr.write("\r\x1b[K")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def progress_line(conversations: int, turns: int, seconds: float) -> str:
    """Returns the progress line: conversations, turns, and turns per second."""
    return f"{conversations:,} conversations, {turns:,} turns, {turns / max(seconds, 1e-9):,.0f} turns/s"


def joint_text(joint: JsonObject) -> str:
    """Returns the lines about answers that say `not applicable`, panels and cascades; "": there are none."""
    shares = []
    for name, figures in joint.get(scoring.INAPPLICABLE, {}).items():
        if number := figures[scoring.INAPPLICABLE]:
            of = f"of {figures[scoring.VERDICTS]:,} answers ({figures['share']:.1%})"
            shares.append(f"{name} {number:,} {of}")
    lines = [f"judge: not applicable: {', '.join(shares)}"] if shares else []
    for name, figures in joint.get("panels", {}).items():
        parts = [f"{figures['decided']:,} of {figures['questions']:,} questions decided"]
        parts += [] if figures["agreement"] is None else [f"agreement {figures['agreement']:.0%}"]
        parts.append("alpha not defined" if figures["alpha"] is None else f"alpha {figures['alpha']:.2f}")
        members = []
        for model, member in figures["members"].items():
            bias = "bias unknown" if member["bias"] is None else f"bias {member['bias']:+.0%}"
            unmeasured = f", {member['unmeasured']:,} without a verdict" if member["unmeasured"] else ""
            members.append(f"{model} {bias}{unmeasured}")
        lines.append(f"panel: {name}: {', '.join(parts)}; {'; '.join(members)}")
    for name, figures in joint.get("cascades", {}).items():
        doubts = ((kind.replace("_", " "), number) for kind, number in figures["unsure"].items())
        unsure = ", ".join(f"{number:,} {kind}" for kind, number in doubts if number)
        saved = []
        for kind, number in figures["saved"].items():
            amount = f"cost {number or 0:,.2f}" if kind == "cost" else f"{number or 0:,} {kind}"
            saved.append(f"{kind} unknown" if number is None else amount)
        went_on = f"{figures['went_on']:,} of {figures['questions']:,} questions went on"
        doubted = f" ({unsure})" if unsure else ""
        lines.append(f"cascade: {name}: {went_on}{doubted}; saved about {', '.join(saved)}")
    return "\n".join(lines)


_REASONS_SHOWN = 3
_VERSIONS_SHOWN = 8
_MOST_UNKNOWN = 5


def version_table(
    rows: MetricRows,
    criteria: Sequence[str],
    failures: dict[str, int],
    has_means: bool = True,
    width: int = WIDTH,
    sides: Sequence[str] = (),
) -> str:
    """Returns a table with one column an app version: the last ones by name, with a line about the others.

    Without means of criteria, the number of scores without a value still counts all criteria. `sides` are
    baseline and candidate, whose columns come first.
    """
    every = versions_of(rows)
    first = [version for version in dict.fromkeys(sides) if version in every]
    rest = [version for version in every if version not in first]
    others = rest[: max(0, len(every) - _VERSIONS_SHOWN)]
    versions = [*first, *rest[len(others) :]]
    of_shown = [row for row in rows if (row["app_version"] or "") in versions]
    by_key = {(row["app_version"] or "", row["criterion"], row["level"]): row for row in of_shown}
    measured = {row["criterion"] for row in rows}
    short = last_parts((version or "(no version)" for version in versions), LONGEST_VERSION)
    # Beside the table of differences, which is of the compared cases alone.
    status = [by_key.get((version, STATUS, "conversation")) for version in versions]
    lines = [
        ["all conversations" if sides else "", *(short[version or "(no version)"] for version in versions)],
        ["conversations", *(str(row["conversations"]) if row else "" for row in status)],
        ["turns", *(str(row["turns"]) if row else "" for row in status)],
        ["pass rate", *map(_pass_rate, status)],
    ]
    if any(repeats := [*map(_repeats, status)]):
        lines.append(["pass^k, pass@k", *(text or "-" for text in repeats)])
    lines.append(["no verdict", *(_without_verdict(row) if row else "" for row in status)])
    for name in (name for name in criteria if has_means and name in measured):
        lines.append([name, *_means(name, versions, by_key)])
    # A score of a turn counts once, and not again as one of its conversation.
    by_turn = {row["criterion"] for row in rows if row["level"] == "turn"}
    for level, names in (("turn", by_turn), ("conversation", measured - by_turn)):
        if of_level := [name for name in criteria if name in names]:
            displayed = ([by_key.get((version, name, level)) for name in of_level] for version in versions)
            missing = (sum(row["no_score"] for row in by_name if row) for by_name in displayed)
            lines.append([f"no score, {level}s", *map(str, missing)])
    # A record that could not be read is of no version: it is in the first lines, and the balance.
    lines.append(["rejected conversations, errors", *(str(failures.get(version, 0)) for version in versions)])
    table = "\n".join(fitted([[printable(cell) for cell in line] for line in lines], width))
    if not others:
        return table
    of_others = [row for row in rows if row["criterion"] == STATUS and (row["app_version"] or "") in others]
    conversations = counted(sum(row["conversations"] for row in of_others), "conversation")
    passed, scored = (sum(row[name] for row in of_others) for name in ("pass_count", "scored"))
    rejected = sum(failures.get(version, 0) for version in others)
    figures = f"{conversations}, {passed} of {scored} passed, rejected conversations, errors {rejected}"
    return f"{table}\n{counted(len(others), 'other app version')}: {figures} (see metrics_by_app_version)"


def versions_of(rows: MetricRows) -> list[str]:
    """Returns the app versions in the order of the columns; "": not stated."""
    names = {row["app_version"] or "" for row in rows}
    return sorted(names, key=lambda name: (not name, natural_order(name)))


def window_lines(rows: MetricRows) -> list[str]:
    """Returns a line for each window and app version of a stream: its start in UTC, and how it went."""
    lines, short = [], last_parts((row["app_version"] or "(no version)" for row in rows), LONGEST_NAME)
    for row in (row for row in rows if row["criterion"] == STATUS and row["level"] == "conversation"):
        start = printable(str(row["window_start"])[:16].replace("T", " "))
        version = printable(short[row["app_version"] or "(no version)"])
        figures = f"pass rate {_pass_rate(row)}, no verdict {_without_verdict(row)}"
        lines.append(f"{start}  {version}: {figures}")
    return lines


def _pass_rate(row: MetricsByAppVersionRow | None) -> str:
    if row is None or row["pass_rate"] is None:
        return "-"
    figures = row["pass_rate"], row["pass_rate_low"], row["pass_rate_high"]
    rate, low, high = ("-" if figure is None else share_text(figure) for figure in figures)
    return f"{rate} ({row['pass_count']} of {row['scored']}, {low[:-1]} to {high[:-1]})"


def _without_verdict(row: MetricsByAppVersionRow) -> str:
    sampled_out = row["sampled_out"]
    return f"{row['no_score']}" + (f" ({sampled_out} more sampled out)" if sampled_out else "")


def repeated(row: MetricsByAppVersionRow | None) -> JsonObject | None:
    """Returns the figures of repeated runs, if a case ran at least twice; None: none did."""
    repeats = row["repeats"] if row else None
    return repeats if repeats and len(repeats["pass_hat_k"]) > 1 else None


def _repeats(row: MetricsByAppVersionRow | None) -> str:
    """Returns the figures of repeated runs, if at least half of the cases ran twice; "": too few did."""
    repeats = repeated(row)
    if repeats is None or 2 * repeats["pass_hat_k"][1]["cases"] < repeats["cases"]:
        return ""
    index = min(max(repeats["runs"], 2), len(repeats["pass_hat_k"])) - 1
    hat, at = repeats["pass_hat_k"][index], repeats["pass_at_k"][index]
    figures = ([share_text(figure[name]) for name in ("value", "low", "high")] for figure in (hat, at))
    shown = (f"{value} ({low[:-1]} to {high[:-1]})" for value, low, high in figures)
    all_cases = hat["cases"] == repeats["cases"]
    cases = "" if all_cases else f", {hat['cases']} of {repeats['cases']} cases"
    return f"k={hat['k']}{cases}: {', '.join(shown)}"


def _means(
    name: str, versions: Sequence[str], by_key: Mapping[tuple[str, str, str], MetricsByAppVersionRow]
) -> Iterator[str]:
    """Yields the pass rate or mean of a criterion for each version; "-": it has none."""
    kind = CRITERIA.get(name)  # none: a custom metric
    has_scale = kind is None or kind.scale is not None
    # By turn for latencies and counts, by conversation for scores and costs.
    is_whole = kind is None or kind.scale is not None or kind.unit == "money"
    levels = ("conversation", "turn") if is_whole else ("turn", "conversation")
    rows = [by_key.get((v, name, levels[0])) or by_key.get((v, name, levels[1])) for v in versions]
    is_binary = True
    for row in rows:
        if is_binary and row and row["mean"] is not None:
            mean, number, spread = row["mean"], row["scored"], inf
            if row["unit"] == "score":
                spread = (row["stddev"] or 0.0) ** 2 * (number - 1) / number
            # Of values that are 0 or 1 alone, the mean of x(1 - x) is 0.
            is_binary = abs(mean * (1 - mean) - spread) < 1e-9
    for row in rows:
        # A criterion with a threshold, or with values of 0 and 1 alone, is a share on every surface.
        if row and row["pass_rate"] is not None:
            yield share_text(row["pass_rate"])
        elif row is None or row["mean"] is None:
            yield "-"
        elif is_binary:
            yield share_text(row["mean"] or 0.0)
        elif row["unit"] in QUANTILE_UNITS:
            unit = " s" if row["unit"] == "seconds" else ""
            figures = (row["mean"], row["p50"], row["p90"], row["p99"])
            shown = ("-" if x is None else f"{x:.{decimals(x, 'mean', row['unit'])}f}" for x in figures)
            yield "{}{} (p50 {}, p90 {}, p99 {})".format(next(shown), unit, *shown)
        else:
            yield f"{row['mean']:.3f}" if has_scale else f"{row['mean']:.1f}"


def balance_text(counts: RunCounts, examples: Mapping[str, str] = MappingProxyType({})) -> str:
    """Returns the balance of records, conversations and cases, and what failed most, with its examples."""
    lines = [
        f"{counted(counts['records'], 'record')} = {counts['parsed_records']} parsed "
        f"+ {counts['rejected_records']} rejected; {counted(counts['conversations'], 'conversation')} = "
        f"{counted(counts['results'], 'result')} + {counts['rejected_conversations']} rejected"
    ]
    if counts["rejected_cases"] or counts["unused_cases"]:
        known = f"{counts['cases']} read, {counts['unused_cases']} without a recording, "
        rejected = f"{counts['rejected_cases']} rejected"
        lines.append(f"eval cases: {'' if counts['cases'] is None else known}{rejected}")
    if late := counts.get("late_conversations"):
        what = "they were added to their windows at the end"
        lines.append(f"{late} conversations came later than --allowed_lateness; {what}")
    for kind, number in counts["failures"].items():
        # Where nothing is scored, the problem of the run says it.
        if kind in NEXT_STEPS and (counts["results"] or kind.startswith(OF_CASES)):
            lines.append(with_step(kind, number))
        lines += [f"  {examples[kind]}"] if kind in NEXT_STEPS and kind in examples else []
    lines += [with_step(kind, count) for kind, count in counts["findings"].items() if kind in NEXT_STEPS]
    by_stage: dict[str, dict[str, int]] = {}
    for kind, number in counts["failures"].items():
        if kind not in NEXT_STEPS:
            stage, _, error = kind.partition(": ")
            by_stage.setdefault(stage, {})[error] = number
    for stage, errors in by_stage.items():
        noun, what = STAGES.get(stage, ("failure", f"in {stage}"))
        kinds = _most(errors) if len(errors) > 1 else printable(next(iter(errors)), LONGEST_NAME)
        lines.append(f"{counted(sum(errors.values()), noun)} {what} ({kinds}): see the table failures")
        of_stage = (examples.get(f"{stage}: {error}") for error in errors)
        lines += [f"  {example}" for example in of_stage if example]
    findings = {kind: number for kind, number in counts["findings"].items() if kind not in NEXT_STEPS}
    if findings:
        lines.append(f"findings: {_most(findings)}: see the table failures")
    return "\n".join(lines)


def _most(numbers: Mapping[str, int]) -> str:
    """Returns the most frequent kinds with their numbers, and the number of others."""
    most = list(numbers.items())[:_REASONS_SHOWN]
    more = sum(numbers.values()) - sum(count for _, count in most)
    shown = [f"{count} {printable(kind, LONGEST_NAME)}" for kind, count in most]
    return ", ".join([*shown, *([f"{more} others"] if more else [])])


class EndComparison(NamedTuple):
    """What the end of a run says of its versions.

    Attributes:
        page: The first page; None, as the comparison: nothing was compared.
        text: The table of differences; "": there is none.
        refused: Lines on why nothing was compared, or not with the baseline, and what to do; empty: it was.
    """

    page: FirstPage | None = None
    text: str = ""
    comparison: Comparison | None = None
    refused: Sequence[str] = ()


def first_page_lines(page: FirstPage, width: int) -> list[str]:
    """Returns the first page as text: headline, what could change it, counts, and how it was chosen."""
    lines = page.headline, page.detail, first_page.counts_text(page), first_page.destructive_text(page)
    parts = [part for line in lines if line for part in wrapped(printable(line), width, "")]
    parts += [part for line in first_page.reasons_of(page) for part in wrapped(printable(line), width, "  ")]
    chosen = [] if page.baseline is None else wrapped(printable(f"({page.chosen})"), width, "")
    return [*parts, *chosen, ""]


def summary_text(
    settings: RunSettings,
    rows: MetricRows,
    document: JsonObject,
    ended: EndComparison,
    examples: Mapping[str, str],
    width: int,
) -> str:
    """Returns the table of versions, what became of records and what the judge did, in lines of a width.

    `document` is `run.json`, `examples` are kinds of failures -> the first message.
    """
    counts, page, judge = document["counts"], ended.page, document["judge"]
    # The table of differences has the criteria: no page shows two numbers under one name.
    has_means = page is None or page.baseline is None
    table = "no conversation was scored"
    if rows:
        of_sides = [ended.comparison.baseline, ended.comparison.candidate] if ended.comparison else []
        sides = [side.app_versions[0] or "" for side in of_sides]
        failures = counts["failures_by_version"]
        table = version_table(rows, settings.criteria_names, failures, has_means, width, sides)
    # Nobody asked for the criteria of the default config: those that cannot have a value are left out.
    asked = settings.criteria if rows and settings.config.criteria != DEFAULT_CRITERIA else ()
    seen = {row["criterion"] for row in rows}
    idle = [c.name for c in asked if c.threshold is not None and c.name not in seen]
    is_custom = (criterion.name for criterion in settings.criteria if isinstance(criterion, CustomMetric))
    custom = printable(", ".join(is_custom))
    absent = ", ".join(document.get("absent_paths", ()))
    tools = document["guessed_tools"].items()
    unknown = [printable(name) for name, tool in tools if tool["effect"] == UNKNOWN]
    guessed = Counter(tool["effect"] for _, tool in tools if tool["effect"] != UNKNOWN)
    effects = ", ".join(f"{number} {effect}" for effect, number in sorted(guessed.items()))
    shown = ", ".join([*unknown[:_MOST_UNKNOWN], *(["..."] if unknown[_MOST_UNKNOWN:] else [])])
    state = "state it in the config"
    to_read = page.read_first if page else first_page.listed(document["to_read"] or ())
    parts = [
        "".join(f"{line}\n" for line in ended.refused),
        "\n".join(first_page_lines(page, width)) if page else "",
        reading_text(to_read, width, versions_of(rows)),
        table,
        ended.text,
        f"\n{balance_text(counts, examples)}",
        "" if page else "\n".join(first_page.left_out(counts)),
        judge_text(settings, judge),
        joint_text(judge),
        f"not applicable to any conversation: {', '.join(idle)}" if idle else "",
        document["no_version"] or "",
        redacted_text(document.get("redacted")),
        f"no conversation has {absent}" if absent else "",
        f"custom_metrics: no score, because their functions are not run: {custom}" if custom else "",
        f"tools: the effect of {guessed.total()} is guessed by name ({effects})" if guessed else "",
        f"tools: the effect of {len(unknown)} is unknown ({shown}); {state}" if unknown else "",
    ]
    lines_of_text: list[str] = []
    for line in "\n".join(part for part in parts if part).split("\n"):
        # Commands stay whole, so that they can be copied.
        is_whole = columns(line) <= width or line.startswith((COMPARE, MORE))
        lines_of_text += [line] if is_whole else wrapped(line, width)
    return "\n".join(lines_of_text)


def gate_problems(settings: RunSettings, counts: RunCounts, rows: MetricRows) -> list[str]:
    """Returns why the run fails whatever its rules say, one line per reason; empty if it does not."""
    problems = _nothing_scored(settings, counts, rows)
    conversations = counts["results"] + counts["rejected_conversations"]
    records = counts["parsed_records"] + counts["rejected_records"]
    if conversations != counts["conversations"] or records != counts["records"]:
        problems.append(f"the counts do not add up: {'; '.join(balance_text(counts).splitlines())}")
    unread = counts.get("unread_ends", 0)
    rejected = counts["rejected_records"] + counts["rejected_conversations"] + unread
    total = counts["rejected_records"] + counts["conversations"] + unread
    limit, see = settings.max_failure_ratio, _see(settings, "failures")
    parts = [
        f"{counts['rejected_records']} of {counted(counts['records'], 'record')}",
        f"{counts['rejected_conversations']} of {counted(counts['conversations'], 'conversation')}",
        *([f"the ends of {counted(unread, 'input')}"] if unread else []),
    ]
    what = f"{rejected} of {total} were rejected ({', '.join(parts)})"
    if limit is not None and total and rejected / total > limit:
        problems.append(f"{what}, more than --max_failure_ratio {limit:g}")
    elif limit is None and counts["results"] and rejected > total / 2:
        option = "; --max_failure_ratio SHARE allows more" if settings.output else ""
        where = see if rejected > unread else f"see unread in {RUN_FILE}"
        problems.append(f"{what}, more than half: {where}{option}")
    if files := counts.get("unread_files", 0):
        problems.append(f"{counted(files, 'named file')} could not be read at all; {see}")
    if broken := cut_inputs(counts):
        problem = f"{counted(broken, 'input')} could not be read to the end"
        problems.append(f"{problem}: an unknown number of records is missing; {see}")
    has_given = settings.eval_cases or counts["rejected_cases"]
    if has_given and not counts["cases"] and not settings.is_streaming:
        kinds = [kind for kind in counts["failures"] if kind.startswith(OF_CASES) and kind in NEXT_STEPS]
        number = counts["rejected_cases"]
        why = f"{number} rejected; {see}" if number else "--eval_cases holds none"
        steps = "; ".join(with_step(kind, counts["failures"][kind]) for kind in kinds)
        problems.append(f"no eval case was read: {steps or why}")
    return problems


def _see(settings: RunSettings, table: str) -> str:
    """Returns where to look: a file of the output, or an attribute of the Python API's result."""
    return f"see {table}-*" if settings.output else f"see result.{table}"


_MEASURED_ALWAYS = "add --eval_cases or criteria that apply (turnwise inspect lists them)"


def _nothing_scored(settings: RunSettings, counts: RunCounts, rows: MetricRows) -> list[str]:
    """Returns why no conversation has a score or a verdict; empty if one has."""
    if any(row["scored"] for row in rows):
        return []
    rejected = counts["rejected_records"] + counts["rejected_conversations"]
    losses = f"{rejected} record{' or conversation' if rejected == 1 else 's and conversations'} rejected"
    if number := counts["results"]:
        has = "has" if number == 1 else "have"
        no_value = f"{counted(number, 'conversation')} {has} no value by any criterion"
        has_raised = any(kind.startswith("score: ") for kind in counts.get("failures", ()))
        see = _see(settings, "failures" if has_raised else "scores")
        # Without any row of a score, such as of greetings, the table would say nothing.
        names = ", ".join(criterion.name for criterion in settings.criteria)
        has_rows = has_raised or {row["criterion"] for row in rows} & {c.name for c in settings.criteria}
        nothing = f"nothing that was said or called is measured by {names}: {_MEASURED_ALWAYS}"
        nameless = first_page.nameless_text(counts.get("no_cases_given", 0))
        reason = "; ".join(filter(None, [no_value, nameless, see if has_rows else nothing]))
    elif counts.get("unread_ends"):
        files = counted(counts["unread_ends"], "file")
        reason = f"{losses}, {files} {'breaks' if files == '1 file' else 'break'} off"
    elif rejected:
        failures = counts["failures"]
        known = [kind for kind in failures if kind in NEXT_STEPS and not kind.startswith(OF_CASES)]
        is_all = sum(failures[kind] for kind in known) >= rejected
        rest = [] if is_all else [f"{losses}; {_see(settings, 'failures')}"]
        reason = "; ".join([*(with_step(kind, failures[kind]) for kind in known), *rest])
    else:
        reason = "the input holds no record"
    return [f"no conversation was scored: {reason}"]
