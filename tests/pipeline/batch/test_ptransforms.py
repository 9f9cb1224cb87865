"""The PTransforms on small in-memory collections."""

import json
from collections import Counter
from typing import Any

import apache_beam as beam
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.combiners import ToSet
from msgspec.structs import replace

from turnwise.pipeline.batch.execution import BeamOptions
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig, EvalConfig
from turnwise.schemas.conversation import Conversation, ExpectedTurn, Record, ToolCall, Turn
from turnwise.schemas.rows import ScoreRow, plain_rows
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import KEPT_RECORD_BYTES, Failure, Score
from turnwise.transforms.beam.scoring import RESULTS, ROWS, SCORES, STATISTICS, ScoreTurns
from turnwise.transforms.beam.steps import (
    FAILURES,
    JoinSessions,
    MatchCases,
    ParseConversations,
    ParseEvalCases,
)
from turnwise.transforms.criteria.trajectory import ToolTrajectory
from turnwise.transforms.formats.reading import CaseReader, LoggedConversation, LogReader, parse_case
from turnwise.transforms.matching.sample import CaseIndex, Sample, TurnPair, packed_case
from turnwise.transforms.scoring.config import build_criteria

RUN = RunInfo("run-1", "2026-11-21T00:00:00.000Z")


def pipeline() -> Any:
    return test_pipeline.TestPipeline(runner="FnApiRunner", options=BeamOptions([]))


def record(value: Any, position: int = 1, source: str = "log.jsonl") -> Record:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Record(source, position, data)


def entry(session: str, index: int, text: str) -> dict[str, Any]:
    return {
        "labels": {"session_id": session, "app_version": "v7"},
        "jsonPayload": {"text": text, "turnIndex": index, "turnCompleted": True},
    }


def logged(conversation_id: str, eval_id: str | None = None, text: str = "hello") -> LoggedConversation:
    turn = Turn(user="hi", agent=text)
    conversation = Conversation(conversation_id=conversation_id, eval_id=eval_id, turns=[turn])
    return LoggedConversation(conversation, Record("log.jsonl", 3, b"{}"))


def describe_conversation(found: LoggedConversation) -> tuple[str, int, str, int]:
    conversation, source = found
    return conversation.conversation_id, len(conversation.turns), source.source, source.position


def describe_failure(failure: Failure) -> tuple[str, str | None, int | None, str | None]:
    return failure.stage, failure.source, failure.position, failure.record


def test_parse_conversations_splits_conversations_entries_and_failures() -> None:
    records = [
        record({"conversation_id": "c1", "turns": [{"user": "a"}, {"user": "b"}]}),
        record(entry("s1", 1, "hello"), 2),
        record(b'{"conversation_id": "c2", "turns": [', 3),
        record({"conversation_id": "c3", "turns": 7}, 4),
        record(["neither", "nor"], 5),
    ]
    with pipeline() as root:
        parsed = root | beam.Create(records) | ParseConversations(LogReader())
        whole = parsed.conversations | "Whole" >> beam.Map(describe_conversation)
        entries = parsed.events | "Entries" >> beam.MapTuple(lambda key, found: (key, found.turn_index))
        failures = parsed.failures | "Failed" >> beam.Map(describe_failure)
        lost = [("parse", "log.jsonl", r.position, r.data.decode()) for r in records[2:]]
        assert_that(whole, equal_to([("c1", 2, "log.jsonl", 1)]), "IsWhole")
        assert_that(entries, equal_to([("s1", 0)]), "IsEntry")
        assert_that(failures, equal_to(lost), "IsLost")


def test_join_sessions_orders_turns_and_keeps_sessions_apart() -> None:
    records = [
        record(entry("s1", 2, "second"), 1, "b.jsonl"),
        record(entry("s2", 1, "alone"), 2, "b.jsonl"),
        record(entry("s1", 1, "first"), 1, "a.jsonl"),
        record(entry("s1", 10, "tenth"), 9, "a.jsonl"),
    ]
    broken = entry("s3", 1, "x")
    broken["jsonPayload"]["diagnosticInfo"] = {"messages": "no list"}
    with pipeline() as root:
        parsed = (
            root | beam.Create([*records, record(broken, 4, "b.jsonl")]) | ParseConversations(LogReader())
        )
        joined = parsed.events | JoinSessions()
        told = joined.conversations | "Told" >> beam.Map(
            lambda found: (
                found.conversation.conversation_id,
                found.conversation.app_version,
                tuple(turn.agent for turn in found.conversation.turns),
                tuple(turn.turn_index for turn in found.conversation.turns),
            )
        )
        failures = joined.failures | "Failed" >> beam.Map(lambda f: (f.stage, f.position, f.conversation_id))
        expected = [
            ("s1", "v7", ("first", "second", "tenth"), (0, 1, 2)),
            ("s2", "v7", ("alone",), (0,)),
        ]
        assert_that(told, equal_to(expected), "IsTold")
        assert_that(failures, equal_to([("parse", 4, "s3")]), "IsLost")


def case_record(eval_id: str, task: str, position: int, source: str = "cases.jsonl") -> Record:
    return record({"eval_id": eval_id, "kind": "scenario", "task": task}, position, source)


def test_parse_eval_cases_keeps_one_of_equal_cases_and_none_of_different_ones() -> None:
    records = [
        case_record("e0", "same", 9),
        case_record("e0", "same", 1),
        case_record("e1", "one", 2),
        case_record("e1", "another", 1, "z.jsonl"),
        case_record("e2", "alone", 3),
        record({"eval_id": "e3", "kind": "gold"}, 4, "cases.jsonl"),
    ]
    with pipeline() as root:
        parsed = root | beam.Create(records) | ParseEvalCases(CaseReader(CesConfig()))
        cases = parsed.cases | "Cases" >> beam.Map(lambda case: (case.eval_id, case.unpacked().task))
        failures = (
            parsed.failures | beam.Flatten() | "Failed" >> beam.Map(lambda f: (f.stage, f.source, f.position))
        )
        assert_that(cases, equal_to([("e0", "same"), ("e2", "alone")]), "IsDistinct")
        lost = [
            ("parse_case", "cases.jsonl", 9),
            ("parse_case", "cases.jsonl", 2),
            ("parse_case", "z.jsonl", 1),
            ("parse_case", "cases.jsonl", 4),
        ]
        assert_that(failures, equal_to(lost), "IsLost")


def test_the_cases_of_one_record_share_what_is_kept_of_its_text() -> None:
    said = {"role": "model", "parts": [{"text": "hello"}]}
    turn = {"invocationId": "i", "userContent": {**said, "role": "user"}, "finalResponse": said}
    cases = [{"eval_id": f"e{i}", "conversation": [turn]} for i in range(300)]
    whole = record({"eval_set_id": "s", "eval_cases": cases, "description": "long " * 100_000})
    found = list(parse_case(CaseReader(CesConfig()), whole, Counter()))
    assert len(found) == 300, found[0]
    assert sum(len(held.data) for held, _ in found) <= KEPT_RECORD_BYTES  # type: ignore[misc]
    alone = case_record("e1", "long " * 100_000, 1)
    (single,) = parse_case(CaseReader(CesConfig()), alone, Counter())
    assert isinstance(single, tuple) and single[0].data == alone.data[:KEPT_RECORD_BYTES]


def test_packed_cases_are_found_as_they_were_given() -> None:
    given = [EvalCase(eval_id="p/e1", eval_set_id="s", outputs=["\ud83d", "é"]), EvalCase(eval_id="e2")]
    given[1].session_state = {"large": 2**70, "no": [float("inf"), None, True]}
    index = CaseIndex([packed_case(case) for case in given])
    found = [index.find(logged("c", name).conversation) for name in ("e1", "e2", "e1")]
    assert found == [*given, given[0]]
    assert found[0] is found[2]


def test_match_cases_by_name_and_last_segment() -> None:
    cases = [
        EvalCase(eval_id="projects/p/evaluations/e1"),
        EvalCase(eval_id="x/twice"),
        EvalCase(eval_id="y/twice"),
    ]
    conversations = [
        logged("whole", "projects/p/evaluations/e1"),
        logged("short", "e1"),
        logged("none"),
        logged("unknown", "e9"),
        logged("ambiguous", "twice"),
    ]
    with pipeline() as root:
        given = root | "Cases" >> beam.Create(cases)
        matched = root | "Logs" >> beam.Create(conversations) | MatchCases(given)
        found = matched["matched"] | "Found" >> beam.Map(
            lambda m: (m.conversation.conversation_id, m.eval_case.eval_id if m.eval_case else None)
        )
        lost = matched[FAILURES] | "Lost" >> beam.Map(
            lambda f: (f.stage, f.error_type, f.conversation_id, f.position)
        )
        expected = [
            ("whole", "projects/p/evaluations/e1"),
            ("short", "projects/p/evaluations/e1"),
            ("none", None),
        ]
        assert_that(found, equal_to(expected), "IsFound")
        wrong = [
            ("match", "UnknownCaseError", "unknown", 3),
            ("match", "AmbiguousCaseError", "ambiguous", 3),
        ]
        assert_that(lost, equal_to(wrong), "IsLost")


def test_match_cases_without_any_case() -> None:
    inline = logged("inline", "e1")
    inline.conversation.turns[0].expected = ExpectedTurn(response="hello")
    with pipeline() as root:
        matched = root | beam.Create([logged("named", "e1"), inline]) | MatchCases(None)
        found = matched["matched"] | "Found" >> beam.Map(
            lambda m: (m.conversation.conversation_id, m.eval_case.eval_id if m.eval_case else None)
        )
        assert_that(found, equal_to([("named", None), ("inline", "e1")]), "IsFound")


def test_a_name_is_unknown_where_every_given_case_was_lost() -> None:
    with pipeline() as root:
        given = root | "Cases" >> beam.Create([])
        matched = root | "Logs" >> beam.Create([logged("named", "e1"), logged("none")]) | MatchCases(given)
        found = matched["matched"] | "Found" >> beam.Map(lambda m: m.conversation.conversation_id)
        lost = matched[FAILURES] | "Lost" >> beam.Map(lambda f: (f.stage, f.conversation_id))
        assert_that(found, equal_to(["none"]), "IsFound")
        assert_that(lost, equal_to([("match", "named")]), "IsLost")


def test_a_full_name_of_another_app_is_unknown() -> None:
    index = CaseIndex([EvalCase(eval_id="projects/p/apps/one/evaluations/e1")])
    conversation = logged("c", "projects/p/apps/two/evaluations/e1").conversation
    try:
        found = index.find(conversation)
    except LookupError:
        return
    assert found is None, f"held against the case of another app: {found.eval_id}"


class _ListIdFn(beam.DoFn):
    def process(self, element: int, cases: Any) -> Any:
        yield id(cases)


def test_a_side_input_list_is_one_object_in_a_bundle() -> None:
    """MatchCases builds its index once per list it is given."""
    with pipeline() as root:
        cases = root | "Cases" >> beam.Create(["a", "b"])
        ids = (
            root
            | "Logs" >> beam.Create(range(100), reshuffle=False)
            | beam.ParDo(_ListIdFn(), beam.pvalue.AsList(cases))
            | ToSet()
            | beam.Map(len)
        )
        assert_that(ids, equal_to([1]))


def rows_of(scored: Any, table: str) -> Any:
    own = beam.FlatMapTuple(lambda name, rows: [plain_rows(rows)] if name == table else [])
    return scored[ROWS] | f"Of{table}" >> own


def test_score_turns_gives_scores_results_statistics_and_failures() -> None:
    criteria = build_criteria(EvalConfig(criteria={"tool_trajectory_avg_score": 1.0, "turn_latency": {}}))
    good = logged("good")
    good.conversation.turns[0].tool_calls = [ToolCall(name="get", args={"x": 1})]
    good.conversation.turns[0].expected = ExpectedTurn(tool_calls=[ToolCall(name="get", args={"x": 1})])
    hostile = logged("hostile")
    hostile.conversation.turns[0].expected = ExpectedTurn(response="hello")
    hostile.conversation.turns[0].latency_ms = "soon"  # type: ignore[assignment]
    with pipeline() as root:
        matched = root | beam.Create([good, hostile]) | MatchCases(None)
        scored = matched["matched"] | ScoreTurns(criteria, RUN)
        told = rows_of(scored, RESULTS) | "Told" >> beam.Map(
            lambda rows: [(r["conversation_id"], r["evaluation_status"], r["name"] != "") for r in rows]
        )
        scores = rows_of(scored, SCORES) | "Scores" >> beam.Map(
            lambda rows: [(r["conversation_id"], r["criterion"], r["turn_index"], r["value"]) for r in rows]
        )
        added = scored[STATISTICS] | "Added" >> beam.Map(
            lambda s: (s[0], s[1].turns, s[1].passes, s[1].fails)
        )
        lost = scored[FAILURES] | "Lost" >> beam.Map(lambda f: (f.stage, f.conversation_id, f.position))
        assert_that(told, equal_to([[("good", "PASS", True)]]), "IsTold")
        scored_rows = [("good", "tool_trajectory_avg_score", turn, 1.0) for turn in (0, None)]
        assert_that(scores, equal_to([scored_rows]), "IsScored")
        assert_that(added, equal_to([("", 1, 1, 0)]), "IsAdded")
        assert_that(lost | beam.Distinct(), equal_to([("score", "hostile", 3)]), "IsLost")


class RaisingTrajectory(ToolTrajectory):
    """A criterion with a fault: it raises on every second turn."""

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        if pair.index % 2:
            raise ZeroDivisionError("a fault\nof its own")
        return super().score(sample, pair)


def summary(rows: list[ScoreRow]) -> dict[str, Any]:
    """Returns by criterion the value, outcome and number of turns."""
    turns = Counter(row["criterion"] for row in rows if row["turn_index"] is not None)
    wholes = [row for row in rows if row["turn_index"] is None]
    return {row["criterion"]: (row["value"], row["outcome"], turns[row["criterion"]]) for row in wholes}


def test_a_criterion_that_raises_is_a_failure_and_the_rest_counts() -> None:
    both = logged("both")
    both.conversation.app_version = "v1"
    turn = both.conversation.turns[0]
    turn.expected = ExpectedTurn(response="hello", tool_calls=[])
    both.conversation.turns.append(replace(turn))
    criteria = (
        RaisingTrajectory(threshold=1.0),
        *build_criteria(EvalConfig(criteria={"response_match_score": 1})),
    )
    with pipeline() as root:
        scored = (root | beam.Create([both]) | MatchCases(None))["matched"] | ScoreTurns(criteria, RUN)
        told = rows_of(scored, SCORES) | "Told" >> beam.Map(summary)
        added = scored[STATISTICS] | "Added" >> beam.Map(
            lambda s: (s[0], s[1].passes + s[1].fails, sum(tally.errors for tally in s[1].tallies.values()))
        )
        lost = scored[FAILURES] | "Lost" >> beam.Map(
            lambda f: (f.stage, f.error_type, f.message, f.criterion, f.app_version, f.turn_index)
        )
        wholes = {"tool_trajectory_avg_score": (1.0, None, 1), "response_match_score": (1.0, "PASS", 2)}
        assert_that(told, equal_to([wholes]), "IsTold")
        assert_that(added, equal_to([("v1", 0, 1)]), "IsAdded")
        error = ("score", "ZeroDivisionError", "a fault of its own", "tool_trajectory_avg_score", "v1", 1)
        assert_that(lost, equal_to([error]), "IsLost")


def test_joining_tells_of_different_events_with_one_id():
    values = [entry("s1", 1, text) | {"insertId": "same"} for text in ("first", "other")]
    records = [record(value, position, "a.jsonl") for position, value in enumerate(values, 1)]
    with pipeline() as root:
        parsed = root | beam.Create(records) | ParseConversations(LogReader())
        told = (parsed.events | JoinSessions()).conversations | "Told" >> beam.Map(
            lambda found: [(turn.agent, bool(turn.unknown_words)) for turn in found.conversation.turns]
        )
        assert_that(told, equal_to([[("first", True)]]))
