"""Why a conversation should be read, and how early."""

import json
from typing import Any, ClassVar, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import turnwise
from turnwise.schemas.conversation import Record
from turnwise.schemas.rows import ConversationRow
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import SEVERITY_REASONS, SEVERITY_WEIGHTS, CriterionSeverityReason
from turnwise.transforms.criteria.base import Criterion, MeasuredCriterion
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample, TurnPair, inline_case
from turnwise.transforms.review.problems import ReviewProblem, gap_of, severity_of
from turnwise.transforms.review.row import Reviewer, decide
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import score_conversation

RUN = RunInfo("run-1", "2026-11-21T00:00:00.000Z")
TRAJECTORY = {"tool_trajectory_avg_score": 1.0}
EFFECTS = {"tool_effects_v1": 1.0}


def turn(made: list[Any] | None = None, wanted: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Returns a turn with calls, each a name or a name with arguments."""
    expected = {} if wanted is None else {"expected": {"tool_calls": list(map(called, wanted))}}
    return {"user": "Hi", "agent": "Hello", "tool_calls": list(map(called, made or [])), **expected, **fields}


def called(call: Any) -> dict[str, Any]:
    name, args = call if isinstance(call, tuple) else (call, {})
    return {"name": name, "args": args}


def reviewed(
    turns: list[dict[str, Any]],
    criteria: dict[str, Any] | list[Criterion],
    case: dict[str, Any] | None = None,
    run: RunInfo = RUN,
    **fields: Any,
) -> ConversationRow:
    value = {"conversation_id": "c1", "turns": turns, **fields}
    record = Record("logs.jsonl", 3, json.dumps(value).encode())
    (conversation,) = LogReader().read(record)  # type: ignore[misc]
    golden = turnwise.read_cases(case)[0] if case else inline_case(conversation)
    if isinstance(criteria, dict):
        criteria = [*build_criteria(parse_config(json.dumps({"criteria": criteria})))]
    scored = score_conversation(Sample(conversation, golden, record), criteria)  # type: ignore[arg-type]
    return Reviewer(run).row(scored, decide(scored, run).verdict)


BOOKED = [[("book_slot", {"date": date, "n": 1})] for date in ("2026-07-08", "2026-08-07")]


@pytest.mark.parametrize(
    ("turns", "criteria", "why", "term", "problem_type"),
    [
        (
            [turn(["find"], ["find"]), turn([], [("book_slot", {"date": "2026-08-07"})])],
            TRAJECTORY,
            "turn 2: missing book_slot(date: 2026-08-07)",
            "expectations",
            "tool_trajectory_avg_score|missing|book_slot",
        ),
        (
            [turn(*BOOKED)],
            EFFECTS,
            "turn 1: book_slot: date is 2026-07-08 instead of 2026-08-07",
            "missing_writes",
            "tool_effects_v1|wrong arguments|book_slot",
        ),
        (
            [turn(["book_slot"], [])],
            EFFECTS,
            "turn 1: not expected: book_slot()",
            "missing_writes",
            "tool_effects_v1|not expected|book_slot",
        ),
        (
            [turn([("delete_user", {"id": 7})], [])],
            EFFECTS,
            "turn 1: destructive and not expected: delete_user(id: 7)",
            "destructive",
            "tool_effects_v1|destructive|delete_user",
        ),
        # No criterion of the run compares effects, and the trajectory allows further calls.
        (
            [turn(["find", ("delete_user", {"id": 7})], ["find"])],
            {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "IN_ORDER"}},
            "turn 1: destructive and not expected: delete_user(id: 7)",
            "destructive",
            "destructive|destructive|delete_user",
        ),
        (
            [turn(expected={"response": "Good morning to you"})],
            {"response_match_score": 0.5},
            "turn 1: response_match_score: 0 is below the threshold 0.5. Expected: “Good morning to you”; "
            "said: “Hello”.",
            "text",
            "response_match_score||",
        ),
        (
            [turn()],
            TRAJECTORY,
            "no criterion with a threshold applies",
            "no_verdict",
            "verdict|no criterion with a threshold applies|",
        ),
    ],
)
def test_the_worst_problem_is_told_in_one_line(turns, criteria, why, term, problem_type):
    row = reviewed(turns, criteria)
    assert (row["why"], row["severity_reason"], row["problem_type"]) == (why, term, problem_type)
    weight = SEVERITY_WEIGHTS[term]  # type: ignore[index]
    assert weight / 2 <= row["severity_score"] < weight * 1.5


def test_a_conversation_without_a_problem_has_no_severity():
    row = reviewed([turn(["find"], ["find"])], TRAJECTORY)
    names = {"worst_criterion", "worst_turn", "why", "severity_reason", "problem_type", "problem_label"}
    assert row["severity_score"] == 0 and row["verdict"] == "PASS"
    assert {value for name, value in row.items() if name in names | {"reason"}} == {None}


@pytest.mark.parametrize(
    ("made", "response", "harmful"),
    [
        ("delete_user", None, True),
        ("delete_user", {"error": "no such user"}, False),
        ("find_user", None, False),
        ("update_user", None, False),
    ],
)
def test_only_successful_destructive_calls_count(made, response, harmful):
    responses = [{"name": made, "response": response}] if response else []
    row = reviewed([turn([made], [], tool_responses=responses)], {"turn_latency": {}})
    assert (row["severity_reason"] == "destructive") is harmful
    assert row["destructive_calls"] == int(harmful) and row["tool_errors"] == int(response is not None)
    assert row["verdict"] is None and row["severity_score"] > 0


def test_a_destructive_call_is_not_unexpected_where_nothing_is_stated_of_calls():
    row = reviewed([turn(["delete_user"], expected={"response": "Hello"})], {"response_match_score": 0.5})
    assert (row["severity_score"], row["verdict"], row["destructive_calls"]) == (0, "PASS", 1)
    allowed = reviewed([turn(["delete_user"], ["delete_user"])], {"turn_latency": {}})
    assert allowed["severity_reason"] == "no_verdict"


def test_the_config_decides_what_is_destructive():
    config = parse_config(json.dumps({"criteria": TRAJECTORY, "tools": {"ship": {"destructive": True}}}))
    run = RunInfo("run-1", RUN.create_time, tools=config.tools)
    assert reviewed([turn(["ship"], [])], TRAJECTORY, run=run)["severity_reason"] == "destructive"
    assert reviewed([turn(["ship"], [])], TRAJECTORY)["severity_reason"] == "expectations"


@pytest.mark.parametrize(
    ("fields", "verdict", "reason", "term"),
    [
        (
            {"ended": "agent_error", "ended_detail": "HTTP 500"},
            "FAIL",
            "broke off: the agent",
            "expectations",
        ),
        ({"ended": "limit"}, "FAIL", "broke off: a limit was reached", "expectations"),
        ({"ended": "environment_error"}, None, "not by the agent's failure", "no_verdict"),
        ({"ended_detail": "zonk"}, None, "the log says 'zonk'", "no_verdict"),
    ],
)
def test_a_conversation_that_broke_off_is_visible(fields, verdict, reason, term):
    row = reviewed([turn(["find"], ["find"])], TRAJECTORY, **fields)
    assert (row["verdict"], row["severity_reason"], row["ended"]) == (verdict, term, fields.get("ended"))
    assert row["severity_score"] > 0 and reason in (row["why"] or "") and reason in (row["reason"] or "")


def test_a_missing_turn_is_told_with_what_it_should_have_held():
    turns = [{"user": "Hi", "tool_calls": []}, {"user": "Book", "tool_calls": [called("book")]}]
    row = reviewed([turn()], EFFECTS, {"eval_id": "e", "turns": turns}, eval_id="e")
    assert (row["worst_turn"], row["problem_type"]) == (1, "tool_effects_v1|MISSING_TURN|")
    assert (row["why"] or "").startswith("turn 2 is missing. Expected: user “Book”, calls book().")


def test_figures_are_null_where_a_turn_lacks_them():
    usage = {"input_tokens": 10, "output_tokens": 2}
    logged = turn(latency_ms=500, usage=usage)
    whole = reviewed([logged, logged], TRAJECTORY)
    assert (whole["latency_seconds"], whole["tokens_in"], whole["tokens_out"]) == (1.0, 20, 4)
    partly = reviewed([logged, turn(latency_ms=None, usage={"input_tokens": 1})], TRAJECTORY)
    assert (partly["latency_seconds"], partly["tokens_in"], partly["tokens_out"]) == (None, 11, None)
    for turns in ([logged, turn()], [turn(), logged]):
        row = reviewed(turns, TRAJECTORY)
        assert (row["latency_seconds"], row["tokens_in"], row["tokens_out"]) == (None, None, None)
    assert (partly["turns"], partly["source"], partly["position"]) == (2, "logs.jsonl", 3)
    start = "2026-01-01T00:00:00Z"
    assert reviewed([logged], TRAJECTORY, start_time=start)["event_time"] == start
    assert reviewed([turn(timestamp=1.5)], TRAJECTORY)["event_time"] == "1970-01-01T00:00:01.500Z"


def test_transcripts_can_be_left_out():
    bare = RunInfo("run-1", RUN.create_time, transcripts=False)
    row = reviewed([turn([], ["find"])], TRAJECTORY, run=bare)
    assert row["transcript"] is None and row["why"] == "turn 1: missing find()"


class Failing(MeasuredCriterion):
    """Fails every turn; where a value is None, without one."""

    name: ClassVar[str] = "failing_example"
    value: float | None = 0.25
    threshold: float | None = 1.0

    def score(self, sample: Sample, pair: TurnPair) -> turnwise.Score | None:
        return turnwise.Score(self.value, explanation="a\nlong " + "text " * 100)


def test_a_line_is_short_and_one_line():
    why = reviewed([turn()], [Failing()])["why"] or ""
    assert why.startswith("turn 1: failing_example: a long text") and len(why) <= 200 and why.endswith("…")
    assert "\n" not in why


def test_of_turns_that_fail_alike_the_first_is_told():
    assert reviewed([turn(), turn()], [Failing()])["worst_turn"] == 0


@pytest.mark.parametrize(
    ("scale", "gate", "value", "threshold", "gap"),
    [
        ((0.0, 1.0), "at_least", 0.25, 1.0, 0.75),
        ((0.0, 4.0), "at_least", 1.0, 3.0, 0.5),
        ((0.0, 1.0), "at_most", 0.75, 0.25, 0.5),
        (None, "at_most", 3.0, 2.0, 0.5),
        (None, "at_most", 30.0, 2.0, 1.0),
        (None, "at_most", 3.0, 0.0, 1.0),
        ((0.0, 1.0), "at_least", 1.0, 1.0, 0.0),
        ((0.0, 1.0), "at_least", None, 1.0, 1.0),
    ],
)
def test_the_gap_is_a_share_of_the_range(scale, gate, value, threshold, gap):
    kind = type("Measured", (Failing,), {"scale": scale, "gate": gate, "__annotations__": {}})
    score = turnwise.Score(value, threshold=threshold, outcome="FAIL")
    assert gap_of(kind.model_construct(threshold=threshold), score) == gap


problem = st.tuples(st.sampled_from(SEVERITY_REASONS), st.floats(0, 1)).map(
    lambda found: ReviewProblem(*found)
)
problems = st.lists(problem, max_size=6).map(
    lambda found: sorted(found, key=lambda p: SEVERITY_REASONS.index(p.term))
)


@given(problems, problems)
@example([ReviewProblem("destructive", 0.0)], [ReviewProblem(term, 1.0) for term in SEVERITY_REASONS[1:]])
def test_a_worse_kind_always_comes_first(left, right):
    kinds = [[SEVERITY_REASONS.index(p.term) for p in found] or [99] for found in (left, right)]
    if min(kinds[0]) < min(kinds[1]):
        assert severity_of(left) > severity_of(right)
    assert (severity_of(left) == 0) == (not left)


@given(problems, problem)
def test_one_more_problem_is_never_less_severe(found, more):
    both = sorted([*found, more], key=lambda p: SEVERITY_REASONS.index(p.term))
    assert severity_of(both) >= severity_of(found)


@pytest.mark.parametrize(("number", "share"), [(1, 0.75), (2, 0.875), (3, 0.9375)])
def test_more_failures_of_a_kind_are_more_severe(number, share):
    names = ("tool_trajectory_avg_score", "tool_invocation_score", "recorded_reward")[:number]
    log = {"conversation_id": "c", "turns": [turn(wanted=["a"])], "labels": {"reward": 0}}
    criteria = dict.fromkeys(names, 1.0)
    (row,) = turnwise.evaluate(log, criteria=criteria).conversations
    assert (row["severity_score"], row["severity_reason"]) == (
        round(SEVERITY_WEIGHTS["expectations"] * share, 3),
        "expectations",
    )


def test_every_kind_that_a_criterion_can_state_is_weighed():
    assert set(get_args(CriterionSeverityReason)) == set(SEVERITY_REASONS) - {"destructive", "no_verdict"}


@pytest.mark.parametrize(
    ("made", "wanted", "why"),
    [
        ("1", 1, 'a is "1" instead of 1'),
        ([1, 2], [2, 1], "a is [1, 2] instead of [2, 1]"),
        ({}, [], "a is {} instead of []"),
        ("x ", "x", 'a is "x " instead of "x"'),
        ("cafe\u0301 noir", "caf\u00e9 noir", 'a is "cafe\\u0301 noir" instead of "caf\\u00e9 noir"'),
        ("\uac01", "\u1100\u1161\u11a8", 'a is "\\uac01" instead of "\\u1100\\u1161\\u11a8"'),
        ("a\u00a0b", "a b", 'a is "a\\u00a0b" instead of "a\\u0020b"'),
        ("a  b", "a b", 'a is "a \\u0020b" instead of "a b"'),
        ("x" * 200 + "1", "x" * 200 + "2", f'a is …{"x" * 30}1" instead of …{"x" * 30}2"'),
        (0.30000000000000004, 0.3, "a is 0.30000000000000004 instead of 0.3"),
        ("", None, 'a is "" instead of null'),
    ],
)
def test_arguments_that_mean_the_same_are_told_apart(made, wanted, why):
    row = reviewed([turn([("set", {"a": made})], [("set", {"a": wanted})])], TRAJECTORY)
    assert row["why"] == f"turn 1: set: {why}"


@pytest.mark.parametrize(
    ("turns", "config", "unclear"),
    [
        # The name of the tool does not show what the call did, and nothing says that it was expected.
        ([turn(["touch_account"], [])], {}, ["touch_account"]),
        ([turn(["close_account"])], {}, ["close_account"]),
        ([turn(["fire_missiles", "find_user", "pay_all"], [])], {}, ["fire_missiles", "pay_all"]),
        ([turn(["transfer_money", "transfer_money"], ["transfer_money"])], {}, ["transfer_money"]),
        ([turn(["close_account"], ["close_account"])], {}, []),
        ([turn(["update_user", "update_user"], ["update_user"])], {}, []),
        ([turn(["find_user"], [])], {}, []),
        # What is declared is no guess.
        ([turn(["close_account"], [])], {"tools": [{"name": "close_account", "effect": "write"}]}, []),
        # A destructive call is compared in a turn that states calls, and in no other.
        ([turn(["delete_user"])], {}, ["delete_user"]),
        ([turn(["delete_user"], [])], {}, []),
        ([turn([], []), turn(["delete_user"], expected={"response": "Hello"})], {}, ["delete_user"]),
    ],
)
def test_what_may_have_destroyed_something_is_named(turns, config, unclear):
    assert reviewed(turns, {"turn_latency": {}}, **config)["unclear_tools"] == unclear


@pytest.mark.parametrize(("number", "unclear"), [(20, []), (800, ["transfer_money"])])
@pytest.mark.parametrize("at", [0, -1])
def test_of_very_many_writes_the_last_are_expected_only_where_they_are_equal(number, unclear, at):
    wanted = [("transfer_money", {"to": f"account-{place}"}) for place in range(number)]
    made = [*wanted]
    made[at] = ("transfer_money", {"to": wanted[at][1]["to"].upper()})
    row = reviewed([turn(made, wanted)], {"turn_latency": {}})
    assert row["unclear_tools"] == (unclear if at == -1 else [])
