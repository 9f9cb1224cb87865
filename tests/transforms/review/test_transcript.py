"""What a transcript holds, and how it is kept small."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnwise
from turnwise.schemas.conversation import ExpectedTurn, Record, ToolCall, ToolResponse
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import MOST_BYTES
from turnwise.transforms.effects.call_effects import ToolCatalog, agent_calls
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample, inline_case
from turnwise.transforms.review.row import limited, transcript_of

EFFECTS = ToolCatalog({})


def sample_of(turns, case=None, **fields):
    value = {"conversation_id": "c1", "turns": turns, **fields}
    record = Record("logs.jsonl", 3, json.dumps(value).encode())
    (conversation,) = LogReader().read(record)
    golden = turnwise.read_cases(case)[0] if case else inline_case(conversation)
    return Sample(conversation, golden, record)


def shown(sample, kept=None):
    made = agent_calls(sample.conversation.turns, EFFECTS)
    found = json.loads(dump_json(transcript_of(sample, made, EFFECTS, kept)))
    return found


LONG = "é" * 100_000
MANY = [{"user": f"question {i}", "agent": "a" * 700} for i in range(3000)]


@pytest.mark.parametrize(
    ("turn", "entries", "characters"),
    [
        ({"agent": LONG}, 0, 92_000),
        ({"tool_calls": [{"name": "f", "args": {"text": LONG}}]}, 0, 92_011),
        ({"tool_calls": [{"name": "f", "args": {"i": i}} for i in range(5000)]}, 4800, 0),
    ],
)
def test_a_long_transcript_is_cut_with_a_mark_and_counts(turn, entries, characters):
    found = shown(sample_of([{"user": "Hi", **turn}]))
    assert len(dump_json(found)) <= MOST_BYTES and found["cut"] is True
    assert found["left_out"] == {"turns": 0, "entries": entries, "characters": characters}
    assert not characters or f"… [{characters:,} characters left out]" in dump_json(found).decode()


def test_turns_are_left_out_last_and_the_worst_one_stays():
    found = shown(sample_of(MANY), kept=1500)
    indices = [turn["index"] for turn in found["turns"]]
    assert len(dump_json(found)) <= MOST_BYTES and found["cut"]
    assert found["left_out"]["turns"] == 3000 - len(indices) > 0
    assert {0, 1500, 2999} < set(indices) and indices == sorted(indices)
    assert found["left_out"]["characters"] == 600 * 3000


def test_one_huge_turn_does_not_empty_the_transcript():
    calls = [{"name": "f" * 9000, "args": {f"k{i}": "x" for i in range(9)}}] * 300
    found = shown(sample_of([{"user": "Hi", "agent": "\u0001" * 9000, "tool_calls": calls}] * 40))
    assert len(found["turns"]) > 0 and len(dump_json(found)) <= MOST_BYTES


def test_lone_surrogates_are_replaced():
    turn = turnwise.Turn(user="a\ud800b", agent="\udfff")
    sample = Sample(turnwise.Conversation("c1", turns=[turn]), None, Record("python", 1, b""))
    (found,) = shown(sample)["turns"]
    assert (found["user"], found["agent"]) == ("a?b", "?")


def of_calls(made, result, expected, said="null"):
    """Returns the transcript of one turn with a call of these arguments and this result."""
    response = ToolResponse(name="f", response=result)
    turn = turnwise.Turn(user=said, tool_calls=[ToolCall(name="f", args=made)], tool_responses=[response])
    turn.expected = ExpectedTurn(user=said, tool_calls=[ToolCall(name="f", args=expected)])
    conversation = turnwise.Conversation("c1", turns=[turn])
    (found,) = shown(Sample(conversation, inline_case(conversation), Record("python", 1, b"")))["turns"]
    told = found
    return told


def test_numbers_that_json_cannot_hold_are_texts():
    inf = float("inf")
    turn = of_calls({"error": inf, "b": [1.5, -inf]}, {"x": float("nan")}, {"error": 1.0, "user": inf})
    (call,) = turn["tool_calls"]
    assert call["args"] == {"error": "Infinity", "b": [1.5, "-Infinity"]} and call["result"] == {"x": "NaN"}
    assert turn["expected"]["tool_calls"][0]["args"] == {"error": 1.0, "user": "Infinity"}


finite = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
plain = st.dictionaries(st.sampled_from(["error", "user", "k"]), finite | st.just("null"), max_size=3)


@given(plain, plain, plain, st.text(st.characters(codec="utf-8"), max_size=9))
def test_other_values_stay_as_they_are(made, result, expected, said):
    turn = of_calls(made, result, expected, said)
    (call,) = turn["tool_calls"]
    assert (call["args"], call["result"]) == (made, result)
    assert turn["expected"]["tool_calls"][0]["args"] == expected


texts = st.text(st.characters(codec="utf-8"), max_size=40).map(lambda text: text * 300)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
made_calls = st.builds(lambda name, args: {"name": name, "args": {"x": args}}, texts, values)
turns = st.fixed_dictionaries({"user": texts, "agent": texts, "tool_calls": st.lists(made_calls, max_size=4)})


@settings(max_examples=40, deadline=None)
@given(st.lists(turns, max_size=12), st.sampled_from([4096, 16_384, MOST_BYTES]))
def test_any_transcript_is_utf_8_and_within_the_limit(made, most):
    empty = {"turns": [], "expected": None, "cut": False, "left_out": None}
    whole = shown(sample_of(made)) if made else empty
    found = limited(whole, most=most)
    assert len(dump_json(found)) <= most
    assert found["cut"] == (found != whole or whole["cut"]) and (found["left_out"] is None) != found["cut"]
