"""The conversations of a run as a comparison sees them: what each criterion gave, from rows of scores."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from turnwise.schemas.config import STATUS
from turnwise.schemas.jsonio import grouped
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.text.cleaning import natural_order
from turnwise.transforms.text.dates import time_seconds

# Orders the app versions of a run, of which the last is compared with the first.


class Order(NamedTuple):
    """App versions, the oldest first, and by what they are in this order."""

    versions: list[str]
    by: str

    @property
    def how(self) -> str:
        """How baseline and candidate are chosen, as a clause."""
        return f"baseline and candidate are the first and the last version {self.by}"


def version_order(first_times: Mapping[str | None, str | None]) -> Order:
    """Orders the stated app versions by their first conversation; by name where a time is missing or shared.

    `first_times`: app version (None: not stated) -> start of its first conversation in RFC 3339.
    """
    stated = [version for version in first_times if version]
    times = {version: time_seconds(first_times[version]) for version in stated}
    if None not in times.values() and len({*times.values()}) == len(times):
        by_time = sorted(stated, key=lambda version: times[version] or 0.0)
        return Order(by_time, "by their first conversations")
    return Order(sorted(stated, key=natural_order), "by their names")


# What a criterion gave a conversation, and a conversation of a comparison.


class TurnScore(NamedTuple):
    """One score of a turn; `value`: None: no score; `outcome`: PASS, FAIL, SKIPPED or None."""

    turn_index: int
    value: float | None
    outcome: str | None


class Observed(Struct):
    """What one criterion gave one conversation.

    Attributes:
        value: Score of the whole conversation; without one, the mean of its turns; None: no score.
        outcome: PASS or FAIL; None: no score, or the criterion has no threshold.
        why: Why it fails, or is missing; `turn_index`: of which turn (None: of all) this is said.
        voted: Verdicts of a judge with two votes or more; `flipped`: those not unanimous.
        is_summed: Whether the conversation has no score of its own, so that all this is of its turns.
    """

    value: float | None = None
    outcome: str | None = None
    threshold: float | None = None
    why: str | None = None
    turn_index: int | None = None
    turns: list[TurnScore] = field(default_factory=list)
    voted: int = 0
    flipped: int = 0
    is_summed: bool = False


class ComparedConversation(Struct):
    """One conversation of a side.

    Attributes:
        task: What it is a run of where no case is named; None: not known.
        case_digest: Digest of what is expected; "": nothing; None: not known.
        agents: Agents that spoke, called or took over, as far as its transcript is kept.
        criteria: Criterion (or `verdict`) -> what it gave; one that does not apply is left out.
        skipped: Criteria that were skipped for the whole conversation.
        sampled_out: Criteria (and `verdict` if it is open for that) that a sample rate left out.
    """

    conversation_id: str
    app_version: str | None = None
    eval_id: str | None = None
    task: str | None = None
    case_digest: str | None = None
    language: str | None = None
    tags: list[str] = field(default_factory=list)
    agents: Sequence[str] = ()
    criteria: dict[str, Observed] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    sampled_out: frozenset[str] = frozenset()


_LONGEST_REASON = 300
_OF_CONVERSATION: Final = ("conversation_id", "app_version", "eval_id", "revision", "run_id")


class Summary(ComparedConversation):
    """A conversation and its verdict, with the reason that is stated; its scores are added to it."""

    verdict: str | None = None
    reason: str | None = None


class ScoredId(NamedTuple):
    """A conversation of an app version."""

    conversation_id: str
    app_version: str | None


def collect(rows: Iterable[ScoreRow], summaries: Iterable[Summary]) -> list[ComparedConversation]:
    """Returns the conversations of a run with what every criterion gave them.

    Conversations of the same id and app version are told apart by their cases, else by their order: the rows
    of one stand together.
    """
    scored: dict[ScoredId, list[ComparedConversation]] = defaultdict(list)
    for scores in _by_conversation(rows):
        first = scores[0]
        by_criterion = grouped((row["criterion"], row) for row in scores)
        given = {criterion: _observe(of_criterion) for criterion, of_criterion in by_criterion.items()}
        whole = (row for row in scores if row["turn_index"] is None)
        seen = ComparedConversation(
            *(first["conversation_id"], first["app_version"], first["eval_id"]),
            language=first["language"],
            tags=first["tags"],
            criteria={criterion: observed for criterion, observed in given.items() if observed is not None},
            skipped=frozenset(row["criterion"] for row in whole if row["outcome"] == "SKIPPED"),
        )
        scored[ScoredId(seen.conversation_id, seen.app_version)].append(seen)
    ended = grouped((ScoredId(known.conversation_id, known.app_version), known) for known in summaries)
    keys = dict.fromkeys([*ended, *scored])
    return [joined for key in keys for joined in _joined(scored.get(key, []), ended.get(key, []))]


def own_cases(ids: Sequence[tuple[str | None, str | None, str]]) -> list[str]:
    """Returns the case of every conversation of an app version, of its eval case, its task and its own id.

    One that names none is a case of its own. A golden without a name has the id of its conversation in place
    of one; copies of it have one task, and are one case.
    """
    runs, cases = Counter(task for _, task, _ in ids), []
    for eval_id, task, conversation in ids:
        is_copy = task and runs[task] > 1 and eval_id == conversation
        cases.append((task if is_copy else eval_id) or task or conversation)
    return cases


def judge_of(row: ScoreRow) -> str | None:
    """Returns the judge's model and prompt version that gave a score; None: it has no value, or no judge."""
    judge = row["judge"]
    if judge is None or row["value"] is None:
        return None
    return f"{judge.get('model')}, {judge.get('prompt_version')}"


def _by_conversation(rows: Iterable[ScoreRow]) -> Iterator[list[ScoreRow]]:
    current: list[ScoreRow] = []
    seen: set[str] = set()
    for row in rows:
        last = current[-1] if current else row
        before, turn = last["turn_index"], row["turn_index"]
        is_next = any(row[column] != last[column] for column in _OF_CONVERSATION)
        if row["criterion"] != last["criterion"]:
            is_next = is_next or row["criterion"] in seen
        elif before is None or (turn is not None and turn < before):
            is_next = True  # the criterion begins again
        if current and is_next:
            yield current
            current, seen = [], set()
        current.append(row)
        seen.add(row["criterion"])
    if current:
        yield current


def _joined(scored: list[ComparedConversation], ended: Sequence[Summary]) -> Iterator[ComparedConversation]:
    """Yields conversations of one id with scores and verdict: those of one case, else in their order."""
    for summary in sorted(ended, key=lambda summary: summary.eval_id is None):
        places = [index for index, known in enumerate(scored) if known.eval_id == summary.eval_id]
        if not places and summary.eval_id is None:
            places = [*range(len(scored))]
        if places:
            scores = scored.pop(places[0])
            summary.eval_id = scores.eval_id or summary.eval_id
            summary.language, summary.tags = scores.language or summary.language, scores.tags or summary.tags
            summary.criteria, summary.skipped = scores.criteria, scores.skipped
        if STATUS not in summary.sampled_out:
            value = {"PASS": 1.0, "FAIL": 0.0}.get(summary.verdict or "")
            verdict = Observed(value, summary.verdict, why=summary.reason)
            if verdict.outcome != "PASS" and not verdict.why:
                # The first criterion that fails is the reason of a verdict that states none.
                wanted = "FAIL" if verdict.outcome == "FAIL" else None
                stated = ((n, o) for n, o in summary.criteria.items() if o.outcome == wanted and o.why)
                if (reason := next(stated, None)) is not None:
                    name, observed = reason
                    verdict.why, verdict.turn_index = f"{name}: {observed.why}", observed.turn_index
            summary.criteria[STATUS] = verdict
        yield summary
    yield from scored


def _observe(rows: Sequence[ScoreRow]) -> Observed | None:
    """Returns what a criterion gave; None: it was skipped, which is to say that it does not apply."""
    whole = next((row for row in rows if row["turn_index"] is None), None)
    turns = [row for row in rows if row["turn_index"] is not None and row["outcome"] != "SKIPPED"]
    if (whole is not None and whole["outcome"] == "SKIPPED") or (whole is None and not turns):
        return None
    observed = Observed(turns=[TurnScore(r["turn_index"] or 0, r["value"], r["outcome"]) for r in turns])
    observed.is_summed = whole is None
    observed.threshold = rows[0]["threshold"] if whole is None else whole["threshold"]
    values = [row["value"] for row in turns if row["value"] is not None]
    if whole is not None:
        observed.value, observed.outcome = whole["value"], whole["outcome"]
    else:
        outcomes = {row["outcome"] for row in turns}
        observed.value = sum(values) / len(values) if values else None
        observed.outcome = "FAIL" if "FAIL" in outcomes else "PASS" if outcomes == {"PASS"} else None
    # A turn that raised has no row: a value that its threshold does not decide is of the others alone.
    is_of_part = len(values) < len(turns) or (whole is not None and observed.threshold is not None)
    if observed.outcome is None and is_of_part and (whole is None or whole["reason"]):
        observed.value = None
    if observed.outcome != "PASS":
        # From the first turn that has the same outcome, else from the whole.
        wanted = [row for row in turns if row["outcome"] == observed.outcome and _text(row)]
        explained = wanted[0] if wanted else whole
        if explained is not None:
            observed.why, observed.turn_index = _text(explained), explained["turn_index"]
    for judge in (row["judge"] for row in rows if row["judge"]):
        observed.voted += judge.get("voted") or 0
        observed.flipped += judge.get("flipped") or 0
    return observed


def _text(row: ScoreRow) -> str | None:
    explanation, label = (row["explanation"], row["label"]) if row["outcome"] == "FAIL" else (None, None)
    text = explanation or row["reason"] or label
    return None if text is None else text[:_LONGEST_REASON]
