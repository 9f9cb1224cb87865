import json
from itertools import product
from math import inf, nan

import msgspec
import pytest

import turnwise
from tests.samples import scores_of
from tests.tables import rows_test
from turnwise.schemas.conversation import Conversation, TimedSpan, ToolCall, Turn, Usage
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.canonical import read_conversation
from turnwise.transforms.formats.fields import checked
from turnwise.transforms.scoring.evaluate import criteria_verdict

test_rows = rows_test(globals(), "figures")


def result_of(name, turns, **fields):
    return scores_of(CRITERIA[name](**fields), None, *turns)


def values(result):
    return [(turn, score.value) for turn, score in result.turns]


MEASURED = {
    "turn_latency": {"latency_ms": 1000},
    "invocation_duration_v1": {"latency_ms": 1000},
    "tool_call_latency": {"spans": [TimedSpan(type="TOOL", name="search", seconds=0.25)]},
    "span_latency": {"spans": [TimedSpan(type="LLM", name="gemini", seconds=0.5)]},
    "inference_call_count_v1": {"inference_calls": 1},
    "token_usage_v1": {"usage": Usage(input_tokens=1, output_tokens=1)},
}


@pytest.mark.parametrize("name", MEASURED)
def test_a_gate_does_not_pass_what_the_log_does_not_hold(name):
    """All, some and none of the turns have the figure; and without a threshold nothing is said."""
    bare = Turn(user="x", agent="y", tool_calls=[ToolCall(name="a")])
    full = msgspec.structs.replace(bare, **MEASURED[name])
    greeting, unanswered = Turn(agent="Welcome"), Turn(user="Bye")
    more_calls = msgspec.structs.replace(full, tool_calls=bare.tool_calls * 2)
    for turns, outcome in (
        ([full, more_calls], None if name == "tool_call_latency" else "PASS"),
        ([greeting, full, full, unanswered], "PASS"),
        ([full, bare], None),
        ([bare, bare], None),
    ):
        result = result_of(name, turns, threshold=9)
        verdict = criteria_verdict([result_of("tool_call_count_v1", turns, threshold=9), result])
        assert result.overall.outcome == verdict.status == outcome
        assert (verdict.reasons == ()) == (outcome == "PASS")
        if outcome is None:
            assert ("in the log" in result.overall.reason) and result.overall.reason in verdict.reasons[0]
        assert all(score.value is not None for _, score in result_of(name, turns).turns)
    assert result_of(name, [full, bare], threshold=0).overall.outcome == "FAIL"


CLOCKS = ("latency_ms", "model_ms", "tool_ms")
BROKEN = [nan, inf, -inf, -1.0, 4e14, 1e300, "soon", [], {}]


def broken_clock(broken):
    """It is a finding and leaves a turn without a score."""
    clocks = dict.fromkeys(CLOCKS, broken)
    turns = [{"user": "q", "latency_ms": 1000}, {"user": "q", "agent": "a", **clocks}]
    read = read_conversation(json.dumps({"conversation_id": "c", "turns": turns}).encode())
    turn = read.turns[1]
    assert (turn.latency_ms, turn.model_ms, turn.tool_ms) == (None, None, None)
    assert {finding.kind for finding in turn.findings} == {"UnreadTime"}
    assert "latency_ms" in " ".join(finding.message for finding in turn.findings)
    names = ("turn_latency", "invocation_duration_v1")
    for name, threshold in product(names, (None, 5.0)):
        result = result_of(name, read.turns, threshold=threshold)
        assert values(result) == [(0, 1.0), (1, None)] and result.overall.outcome is None
        assert "latency_ms" in result.turns[1][1].reason


HELD = [
    *((f"turns.0.{name}", {"turns": [Turn(**{name: broken})]}) for name in CLOCKS for broken in BROKEN),
    *(
        (r"turns\.0\.spans\.0\.seconds", {"turns": [Turn(spans=[TimedSpan("LLM", seconds=broken)])]})
        for broken in (nan, inf, -inf, 4e11, -4e11)
    ),
    *(("revision", {"revision": broken}) for broken in (-1, 2**63)),
]


@pytest.mark.parametrize(("place", "fields"), HELD)
def test_a_conversation_holds_no_broken_clock_and_no_broken_revision(place, fields):
    with pytest.raises(ValueError, match=place):
        checked(Conversation("c", **fields))
    widest = Conversation("c", revision=2**63 - 1, turns=[Turn(**dict.fromkeys(CLOCKS, 3.15576e14))])
    assert checked(widest) == widest


def rounded(seconds, duration):
    """Latencies in results are of whole nanoseconds."""
    # 1.001 seconds are 1,000,999,999.9 nanoseconds in floating point.
    span = {"type": "TOOL", "name": "f", "seconds": seconds}
    turn = {"user": "q", "agent": "a", "tool_calls": [{"name": "f"}], "spans": [span]}
    golden = {"user": "q", "tool_calls": [{"name": "f"}]}
    log = {"conversation_id": "c", "eval_id": "e", "turns": [turn]}
    result = turnwise.evaluate(
        log, cases={"eval_id": "e", "turns": [golden]}, criteria={"tool_trajectory_avg_score": 1.0}
    )
    (replay,) = result.results[0]["result"]["goldenResult"]["turnReplayResults"]
    (latency,) = replay["toolCallLatencies"]
    assert latency["executionLatency"] == duration


PRICES = {"mini*": {"in": 1, "out": 10}, "m": {"in": 2, "out": 20, "cached": 0.5}, "m*": {"in": 4, "out": 4}}


def test_tokens_of_several_models_in_a_turn_of_a_chat():
    """Reports of one model are one part; one that lacks a count leaves the cost unknown."""
    two = Usage(3, 4, model="m").plus(Usage(1, 1, 1, model="m")).plus(Usage(5, 5, model="n"))
    assert (two.input_tokens, two.model, [part.model for part in two.parts]) == (9, None, ["m", "n"])
    assert two.parts[0] == Usage(4, 5, 1, model="m")
    one = Usage(3, 4, model="m").plus(Usage(output_tokens=1, model="m"))
    assert (one.input_tokens, one.output_tokens, one.model, len(one.parts)) == (3, 5, "m", 2)
    reply = {"role": "assistant", "content": "b", "model": "m", "usage": {"prompt_tokens": 1000}}
    reply["usage"]["completion_tokens"] = 100
    other = {**reply, "model": "mini", "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    log = {"id": "c", "messages": [{"role": "user", "content": "a"}, other, reply]}
    config = turnwise.EvalConfig.model_validate({"criteria": {"agent_cost": {}}, "prices": PRICES})
    row = turnwise.evaluate(log, config=config).scores[0]
    assert row["value"] == pytest.approx(0.006) and row["details"]["by_model"].keys() == {"m", "mini"}


def silent_call(silent):
    """The tokens of one call of a turn are not those of the turn; the next turn has its own."""
    usage = {"prompt_tokens": 1000, "completion_tokens": 100}
    call = {"role": "assistant", "model": "m", "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    steps = [{**call, "usage": usage}, {"role": "assistant", "content": "b", "model": "m", "usage": usage}]
    del steps[silent]["usage"]
    user, last = {"role": "user", "content": "a"}, {**steps[1], "usage": usage}
    log = {
        "id": "c",
        "messages": [user, steps[0], {"role": "tool", "tool_call_id": "1"}, steps[1], user, last],
    }
    config = turnwise.EvalConfig.model_validate({"criteria": {"agent_cost": {}}, "prices": PRICES})
    first, second, overall = turnwise.evaluate(log, config=config).scores
    assert (first["value"], overall["value"]) == (None, None) and second["value"] > 0


def negative_tokens(usage):
    """They are a finding and have no score."""
    turns = [{"user": "a", "agent": "b", "usage": each} for each in ({"input_tokens": 1}, usage)]
    read = read_conversation(json.dumps({"conversation_id": "c", "turns": turns}).encode())
    (finding,) = read.turns[1].findings
    assert finding.kind == "UnreadTokens" and finding.message.endswith("is no number of tokens, 0 or more")
    result = result_of("token_usage_v1", read.turns, threshold=5)
    assert [(turn, score.value) for turn, score in result.turns] == [(0, 1.0), (1, None)]
    assert result.overall.outcome is None


def tokens_that_no_counter_reaches(tokens):
    """They have no score, in no criterion; the other turn keeps its own."""
    usages = Usage(1, 0, model="m"), Usage(int(tokens) * 10**7, 0, model="m")
    turns = [Turn(user="a", agent="b", usage=usage) for usage in usages]
    for threshold in (None, 5):
        assert values(result_of("token_usage_v1", turns, threshold=threshold)) == [(0, 1.0), (1, None)]
    log = Conversation("c", turns=turns)
    config = turnwise.EvalConfig.model_validate({"criteria": {"agent_cost": 5.0}, "prices": PRICES})
    run = turnwise.evaluate(log, config=config)
    assert [row["value"] for row in run.scores] == [2e-6, None, None]
    assert run.results[0]["verdict"] is None


def parts_of_tokens(parts):
    """They are read in any spelling."""
    own = {"input_tokens": 100, "output_tokens": 5, "model": "m"}
    several = {**own, "model": None, "parts": [own]}
    turns = [{"user": "a", "agent": "b", "usage": usage} for usage in ({**own, **parts}, several)]
    read = read_conversation(json.dumps({"conversation_id": "c", "turns": turns}).encode())
    assert read.turns[0].usage == Usage(100, 5, 90, 4, "m")
    assert read.turns[1].usage.parts == [Usage(100, 5, model="m")]


def test_other_unread_times_are_findings():
    turn = {"user": "a", "agent": "b", "latency_ms": 5, "tool_ms": -1, "model_ms": None}
    read = read_conversation(json.dumps({"conversation_id": "c", "turns": [turn]}).encode())
    assert [finding.kind for finding in read.turns[0].findings] == ["UnreadTime"]
    assert result_of("turn_latency", read.turns, threshold=5).overall.outcome == "PASS"
