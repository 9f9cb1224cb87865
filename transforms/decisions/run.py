"""A finished run, wherever it is kept: its document, its rows, and its conversations by app version."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from operator import itemgetter
from typing import Any, cast

import msgspec
from msgspec import Struct

from turnwise.schemas.calibration import Calibration
from turnwise.schemas.jsonio import JsonObject, counted, grouped
from turnwise.schemas.rows import ConversationRow, FailureRow, MetricsByAppVersionRow, ResultRow, ScoreRow
from turnwise.schemas.run import RunDocument
from turnwise.schemas.score import IncompleteReadError
from turnwise.transforms.decisions.cases import recorded_turns
from turnwise.transforms.decisions.comparison.collect import ScoredId, Summary, collect, judge_of, own_cases
from turnwise.transforms.decisions.comparison.sides import ComparedSide, ConversationColumns, columns_of
from turnwise.transforms.effects.call_effects import DESTRUCTIVE
from turnwise.transforms.matching.sample import NO_CASE
from turnwise.transforms.review.problems import one_line
from turnwise.transforms.scoring.redaction import NUMBERED_MARKER
from turnwise.transforms.text.dates import time_seconds

ReadRows = Callable[[str], Iterable[Any]]
"""Returns the rows of a table by its name; they are read when they are asked for."""


@dataclass(eq=False)
class Run:
    """A finished run. Of a conversation that a stream scored again, only the last revision counts.

    Attributes:
        rows: Returns all rows of a table; in a stream, several revisions of a conversation.
        calibration: Returns what `turnwise calibrate` wrote; None: it wrote nothing.
        gaps: What is missing, one sentence each.
        name: How texts call it; "": by its id, or as the only run.
    """

    directory: str
    document: RunDocument
    rows: ReadRows
    calibration: Callable[[], Calibration | None] = lambda: None
    gaps: Sequence[str] = ()
    name: str = ""

    def scores(self) -> Iterator[ScoreRow]:
        """Yields the scores that count, those of one conversation in a row."""
        return self._last("scores")

    def conversations(self) -> Iterator[ConversationRow]:
        """Yields the conversations that count."""
        return self._last("conversations")

    def results(self) -> Iterator[ResultRow]:
        """Yields the evaluation results; of JSON Lines, only `result`, `conversation_id` and `verdict`."""
        return iter(self.rows("results"))

    def failures(self) -> Iterator[FailureRow]:
        """Yields failures and findings."""
        return iter(self.rows("failures"))

    def metrics(self) -> list[MetricsByAppVersionRow]:
        """Returns the metrics of the app versions; in a stream, the newest ones of each window."""
        key = itemgetter("window_start", "app_version", "criterion", "level")
        revisions = grouped((key(row), row) for row in self.rows("metrics_by_app_version"))
        return [max(rows, key=lambda row: row["revision"] or 0) for rows in revisions.values()]

    def check_results(self) -> None:
        """Reads the results, for a command that needs other tables only; raises as reading them does."""
        for _ in self.results():
            pass

    def _last(self, table: str) -> Iterator[Any]:
        last = self._revisions
        return (row for row in self.rows(table) if row["revision"] >= last.get(scored_id(row), 0))

    @cached_property
    def _revisions(self) -> dict[ScoredId, int]:
        """Conversation -> its last revision, unless that is 0; of a batch, nothing has to be read."""
        newest: dict[ScoredId, int] = {}
        for row in self.rows("conversations") if self.document.files is None else ():
            if row["revision"] > newest.get(scored_id(row), 0):
                newest[scored_id(row)] = row["revision"]
        return newest


def scored_id(row: JsonObject | ConversationRow | ScoreRow) -> ScoredId:
    """Returns which conversation a row is of."""
    return ScoredId(row["conversation_id"], row["app_version"])


# The conversations of a run as comparisons and gates see them, by app version.

REJECTED = ("rejected_records", "rejected_conversations", "rejected_cases", "unread_ends")
_LONGEST_NAME = 40
_CUT = f": {IncompleteReadError.__name__}"
_VersionName = str | None


class RunVersions(Struct):
    """What a run holds, by app version (None: not stated); `destructive`: with such a call, unexpected.

    `first_times` are the starts of the first conversations in RFC 3339; None: unknown of one.
    """

    run: Run
    conversations: dict[_VersionName, ConversationColumns]
    judges: dict[_VersionName, dict[str, set[str]]]
    raised: list[FailureRow]
    first_times: dict[_VersionName, str | None]
    destructive: Counter[_VersionName]

    def side(self, version: _VersionName, name: str) -> ComparedSide:
        """Returns one app version as a side of a comparison."""
        document = self.run.document
        return ComparedSide(
            name=name,
            source=self.run.directory,
            conversations=self.conversations[version],
            run_ids=[document.run_id],
            rejected=sum(document.counts.get(name) or 0 for name in REJECTED),
            cut_inputs=cut_inputs(document.counts) + (document.counts.get("unread_ends") or 0),
            destructive=self.destructive[version],
            problems=problems_of(document),
            document=document,
            judges=self.judges.get(version, {}),
            errors=Counter(row["criterion"] or "" for row in self.raised if row["app_version"] == version),
            calibration=self.run.calibration(),
        )


def first_starts(starts: Iterable[tuple[_VersionName, str | None]]) -> dict[_VersionName, str | None]:
    """Returns app version -> start of its first conversation, of those of all; None: unknown of one."""
    return {
        version: None if None in times else min(times, key=lambda time: time_seconds(time) or 0.0)
        for version, times in grouped(starts).items()
    }


def cut_inputs(counts: Mapping[str, Any]) -> int:
    """Returns how many inputs of a run broke off, by its counts: an unknown number of records is missing."""
    kinds = counts.get("failures") or {}
    return sum(number for kind, number in kinds.items() if kind.endswith(_CUT))


def problems_of(document: RunDocument) -> list[str]:
    """Returns why a run ended with exit status 1, one line each."""
    if document.exit_status and not document.problems:
        return [f"it ended with exit status {document.exit_status}"]
    return document.problems


def read_versions(run: Run, *, tells_why: bool = False) -> RunVersions:
    """Returns the scored conversations of a run; those of one id and version are told apart by their cases.

    With `tells_why`, a verdict without a reason has why the conversation should be read.
    """
    judges: dict[_VersionName, dict[str, set[str]]] = {}

    def scores() -> Iterator[ScoreRow]:
        for row in run.scores():
            if (judge := judge_of(row)) is not None:
                judges.setdefault(row["app_version"], {}).setdefault(row["criterion"], set()).add(judge)
            yield row

    starts: list[tuple[_VersionName, str | None]] = []
    destructive: Counter[_VersionName] = Counter()

    def summaries() -> Iterator[Summary]:
        for row in run.conversations():
            starts.append((row["app_version"], row["event_time"]))
            destructive[row["app_version"]] += row["severity_reason"] == DESTRUCTIVE
            spoke = (agent for turn in recorded_turns(row) for agent in turn.get("agents") or ())
            yield Summary(
                conversation_id=row["conversation_id"],
                app_version=row["app_version"],
                verdict=row["verdict"],
                reason=row["reason"] or (row["why"] if tells_why else None),
                eval_id=row["eval_id"],
                task=row["task"] or unnamed_case(row),
                case_digest=row["case_digest"] or "",
                language=row["language"],
                tags=row["tags"],
                agents=[*dict.fromkeys(spoke)],
                sampled_out=frozenset(cast(JsonObject, row).get("sampled_out") or ()),
            )

    raised = [row for row in run.failures() if row["stage"] == "score" and row["criterion"]]
    by_version = grouped((seen.app_version, seen) for seen in collect(scores(), summaries()))
    columns = {version: columns_of(counts) for version, counts in by_version.items()}
    for of_version in columns.values():
        of_version.add_errors(raised)
    return RunVersions(run, columns, judges, raised, first_starts(starts), destructive)


_JUDGE_MISSING = re.compile(r"(?:\w+: )?[\w ]+ needs? a judge(?: to compare meaning)?")
_PARTICULAR = re.compile(r"^turn \d+: | \(with other arguments: [^)]*\)")


def shared_reason(reason: str) -> str:
    """Returns why there is no value in words that conversations share, without their numbers and names.

    >>> shared_reason("2 turns need a judge to compare meaning; the user goal needs a judge")
    'what is expected needs a judge: name one with --judge'
    >>> shared_reason("turn 2: the last turn has no answer")
    'the last turn has no answer'
    """
    if (missing := _JUDGE_MISSING.match(reason)) is None:
        is_open = reason.endswith("no criterion with a threshold applies")
        step = ": set a threshold for a criterion that applies to what was said" if is_open else ""
        return _PARTICULAR.sub("", reason) + step
    why, is_cut, _ = reason[missing.end() :].partition(")); " if "))" in reason else "); ")
    if not why.startswith(" ("):
        return "what is expected needs a judge: name one with --judge"
    return f"what is expected needs a judge{why}{is_cut.rstrip('; ')}"


def cases_of(rows: Sequence[ConversationRow]) -> list[str]:
    """Returns the case of each conversation of an app version; without one, the conversation itself."""
    tasks = [row["task"] or unnamed_case(row) for row in rows]
    ids = zip(rows, tasks, strict=True)
    return own_cases([(row["eval_id"], task, row["conversation_id"]) for row, task in ids])


def unnamed_case(row: ConversationRow) -> str | None:
    """Returns what identifies a golden without a name: what is expected after which words of the user.

    Copies of it are runs of one case. None: it has a name, or its words were not kept. A record that contains
    its expectations and names no case has the id of its conversation in place of one.
    """
    is_named = row["task"] or row["eval_id"] != row["conversation_id"]
    if is_named or not row["case_digest"] or not row["transcript"]:
        return None
    words = [turn["user"] for turn in recorded_turns(row)]
    # Markers are numbered in each conversation, where what the agent calls counts as well.
    words = [NUMBERED_MARKER.sub(r"<\1>", text) if text else text for text in words]
    digest = blake2b(msgspec.json.encode([row["case_digest"], words]), digest_size=6).hexdigest()
    return f"{one_line(next(filter(None, words), ''), _LONGEST_NAME)} ({digest})"


# Failures as sentences.

STAGES = {
    "read": ("file or record", "could not be read"),
    "parse": ("record", "could not be read as a conversation"),
    "parse_case": ("eval case", "could not be read"),
    "assemble": ("conversation", "could not be joined from its events"),
    "match": ("conversation", "could not be matched with an eval case"),
    "score": ("score", "could not be made, because of an error"),
    "alert": ("alert", "could not be sent"),
    "write": ("row", "could not be written"),
}
"""Stage of a failure -> what failed, and what became of it."""


OF_CASES = "parse_case: "
NEXT_STEPS = {
    "parse: CaseInLogsError": "holds|hold| eval cases: give them with --eval_cases (in Python: cases)",
    "parse: ConfigInLogsError": "is|are| no log but a config: give it with --config (in Python: config)",
    "parse: UnknownTableError": "is a row|are rows| of a CSV file whose columns nothing describes: try "
    "`turnwise inspect --suggest FILE`",
    "parse: UnknownFormatError": "is|are| in no known format: try `turnwise inspect --suggest FILE`",
    "parse_case: LogInCasesError": "is|are| in --eval_cases and no eval case: give logs with --input",
    "match: UnknownCaseError": "names|name| an unknown eval case: add it to --eval_cases",
    "match: AmbiguousCaseError": "names|name| a case that several sets have: state eval_set_id",
    "match: AmbiguousMessageError": "begins|begin| as several eval cases do: name the case (eval_id)",
    NO_CASE: "begins|begin| as no eval case does; the findings in failures-* name the first messages",
}
"""Kind of failure or finding -> the verb for one and for several, and the rest with the next step."""


def with_step(kind: str, number: int) -> str:
    """Returns a sentence on failures of a kind that has a next step, with this step."""
    *verbs, rest = NEXT_STEPS[kind].split("|")
    noun = "conversation" if kind.startswith("match: ") or kind == NO_CASE else "record"
    return f"{counted(number, noun)} {verbs[number > 1]}{rest}"
