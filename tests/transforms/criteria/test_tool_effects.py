import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwise
from tests.samples import scores_of
from tests.tables import rows_test
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.transforms.formats.canonical import read_conversation
from turnwise.transforms.matching.sample import inline_case
from turnwise.transforms.scoring.config import build_criteria, parse_config

test_rows = rows_test(globals(), "tool_effects")


def built(tools=None, **fields):
    config = {"criteria": {"tool_effects_v1": fields}, "tools": tools or {}}
    (criterion,) = build_criteria(parse_config(json.dumps(config)))
    return criterion


ANSWERS = {"!": "Error: it did not work", "~": "It was already so."}


def turn_of(text):
    """`cancel:1 add!` -> calls of cancel with {"x": "1"} and of add, which fails (`~`: changes nothing)."""
    pairs = []
    for word in text.split():
        name, _, value = word.rstrip("!~").partition(":")
        answer = ANSWERS.get(word[-1], {"status": "ok"})
        pairs.append((ToolCall(name, {"x": value} if value else {}), ToolResponse(name, response=answer)))
    return Turn(user="u", tool_calls=[c for c, _ in pairs], tool_responses=[r for _, r in pairs])


def calls(text):
    return turn_of(text).tool_calls


def both_of(text):
    """`add:1 / send` -> a turn in which the agent calls add, and the user send."""
    by_agent, _, by_user = text.partition("/")
    turn, theirs = turn_of(by_agent), turn_of(by_user)
    turn.user_tool_calls, turn.user_tool_responses = theirs.tool_calls, theirs.tool_responses
    return turn


def overall(golden, *turns, criterion=None):
    return scores_of(criterion or built(), golden, *turns).overall


def whole(expected, actual, criterion=None, **case):
    """Scores turns, apart by `|`, against the actions of a case: of the agent (`-`: none) / the user."""
    by_agent, _, by_user = map(str.strip, expected.partition("/"))
    actions = None if by_agent == "-" else calls(by_agent)
    golden = EvalCase(eval_id="e", actions=actions, user_actions=calls(by_user), **case)
    return overall(golden, *map(both_of, actual.split("|")), criterion=criterion)


def changed(expected, actual, value, others):
    """What a conversation changed, and what of it the other side did."""
    score = whole(expected, actual)
    outcome = None if value is None else "PASS" if value == 1.0 else "FAIL"
    assert (score.value, score.outcome) == (pytest.approx(value), outcome)
    assert score.explanation
    swapped = score.details.get("made_by_the_other", [])
    assert [each["made_by"] for each in swapped] == others
    assert all(each["expected_of"] != each["made_by"] for each in swapped)


def details(expected, actual, wanted):
    assert whole(expected, actual).details == wanted


def test_of_many_changes_fifty_are_listed():
    many = whole("", " ".join(f"add:{i}" for i in range(120))).details
    assert len(many["extra"]) == 51 and many["extra"][-1] == "and 70 more"


def unknown_tool(expected, actual, fields, value, outcome, why):
    """A tool that nothing is known of."""
    score = whole(expected, actual, built(**fields))
    assert score.value == (None if value is None else pytest.approx(value))
    assert score.outcome == outcome
    assert why in (score.reason or "") if why else score.reason is None
    assert value is not None or "state its effect in `tools` of the config" in score.reason
    if "zorp" in actual and why and "not expected" in why and outcome is None:
        declared = whole(expected, actual, built({"zorp": "read", "blub": "read"}, **fields))
        assert declared.value is not None


CALLS = st.lists(
    st.builds(
        lambda name, x: ToolCall(name, {"x": x}),
        st.sampled_from(["add", "pause", "drop", "toggle", "transfer_to_human", "get_y"]),
        st.sampled_from("12"),
    ),
    max_size=3,
)


@given(CALLS, CALLS, st.data())
def test_what_is_expected_passes_whoever_does_it_and_nothing_less_or_more_does(by_agent, by_user, data):
    def outcome(made):
        place = data.draw(st.integers(0, len(made)))
        turn = Turn(tool_calls=made[:place], user_tool_calls=made[place:])
        return overall(EvalCase(eval_id="e", actions=by_agent, user_actions=by_user), turn).outcome

    everything = data.draw(st.permutations([*by_agent, *by_user]))
    assert outcome(everything) == "PASS"
    adding = next((i for i, call in enumerate(everything) if call.name == "add"), None)
    if adding is not None:
        assert outcome(everything[:adding] + everything[adding + 1 :]) == "FAIL"
    turn = Turn(tool_calls=[*everything, ToolCall("add", {"x": "9"})])
    assert overall(EvalCase(eval_id="e", actions=by_agent, user_actions=by_user), turn).outcome == "FAIL"


def extra_and_missing(expected, actual, fields, value, outcome):
    score = whole(expected, actual, built(**fields))
    assert (score.value, score.outcome) == (pytest.approx(value), outcome)
    for name in {"extra_writes", "extra_handoffs", "missing_handoffs"} & {*fields}:
        listed = (score.details or {}).get(name, [])
        assert all(call in f"{score.explanation} {score.reason}" for call in listed)
        assert "no other" not in score.explanation or not listed
    assert whole(expected, actual, built(**{**fields, "threshold": None})).outcome is None


class Comparing:
    """A judge that knows which values mean the same, and notes the pairs of every question."""

    def __init__(self, same):
        self.same, self.asked = same, []

    async def generate(self, request, count):
        found = re.findall(r"pair \d+, (expected|actual) value\]\n(.*)", request.evidence)
        values = [value for _, value in found]
        pairs = list(zip(values[::2], values[1::2], strict=True))
        if pairs not in self.asked:
            self.asked.append(pairs)
        verdicts = [
            {"number": i, "quote": "", "reason": "", "verdict": "yes" if self.same.get(a) == b else "no"}
            for i, (a, b) in enumerate(pairs, 1)
        ]
        return [turnwise.RawReply(json.dumps({"verdicts": verdicts}))] * count

    async def aclose(self):
        pass


def meant(value):
    return {"$matchType": "semantic", "$matchValue": value}


def evaluated(wanted, made, judge=None, **turn):
    """Runs calls of `add` that a case expects and that are made, by their arguments."""
    case = {"eval_id": "e", "actions": [{"name": "add", "args": args} for args in wanted]}
    turn = {"user": "u", "agent": "a", "tool_calls": [{"name": "add", "args": args} for args in made], **turn}
    log = {"conversation_id": "c", "eval_id": "e", "turns": [turn]}
    return turnwise.evaluate(log, cases=case, criteria={"tool_effects_v1": 1.0}, judge=judge)


def judged(made, value, status, questions):
    """Answers that say no leave open the values of the other pairs."""
    judge = Comparing({"noon": "12 o'clock", "dusk": "sunset"})
    result = evaluated([{"x": meant(x)} for x in ("noon", "dusk")], [{"x": x} for x in made], judge)
    (row,) = result.scores
    assert (row["value"], result.status, len(judge.asked)) == (pytest.approx(value), status, questions)


def test_of_many_values_fifty_are_asked_about_at_once():
    judge = Comparing({f"a{i}": f"b{i}" for i in range(60)})
    wanted, made = {f"x{i}": meant(f"a{i}") for i in range(60)}, {f"x{i}": f"b{i}" for i in range(60)}
    assert evaluated([wanted], [made], judge).status == "PASS"
    assert [len(pairs) for pairs in judge.asked] == [50, 10]


def test_a_wrong_call_is_held_against_the_same_actors_first():
    """The agent's differs in two arguments of three, the user's in one."""
    by_user = {"name": "add", "args": {"x": 1, "y": 1, "z": 2}}
    (row,) = evaluated(
        [{"x": 1, "y": 1, "z": 1}], [{"x": 1, "y": 2, "z": 2}], user_tool_calls=[by_user]
    ).scores
    (wrong,) = row["details"]["wrong_arguments"]
    assert (wrong["actual"], row["details"]["extra"]) == ("add(x: 1, y: 2, z: 2)", [])


ODD = [
    Turn(),
    Turn(tool_calls=[ToolCall()], tool_responses=[ToolResponse(response=[[]], error=True)]),
    Turn(tool_calls=[ToolCall("삭제하기", {"x": None, "": float("nan"), "n": 2**90})]),
    Turn(tool_calls=[ToolCall("\ud800", {"\ud800": "\ud800"})], user_tool_calls=[ToolCall(None, None)]),
    Turn(
        tool_calls=[ToolCall("add", {"x": [[[{}]]]})] * 3,
        tool_responses=[ToolResponse("add", response="\x00")],
    ),
]


@pytest.mark.parametrize(
    "actions", [None, [], [ToolCall()], [ToolCall("add", None)], [c for t in ODD for c in t.tool_calls]]
)
def test_odd_records_raise_nothing(actions):
    turns = [ExpectedTurn(tool_calls=actions)]
    golden = EvalCase(eval_id="e", actions=actions, user_actions=actions or [], turns=turns)
    for made in ([], ODD[:1], ODD):
        overall(golden, *made)


DATA = Path(__file__).parents[3] / "../shared/data"
RECORDINGS = [
    ("tau_bench_airline_gpt-4o.jsonl", 0.95),
    ("tau2_airline_gpt-4.1_vs_ft.jsonl", 0.93),
    ("tau2_telecom_sample.jsonl", 0.9),
]


def in_other_words(value):
    """Numbers as texts, texts in capitals, lists and objects turned round; identifiers are exact."""
    if isinstance(value, dict):
        return {
            key: f" {item} " if key.endswith("id") and isinstance(item, str) else in_other_words(item)
            for key, item in reversed(value.items())
        }
    if isinstance(value, list):
        return [in_other_words(item) for item in reversed(value)]
    if isinstance(value, str):
        return f" {value.upper()} "
    return f"{value}.0" if isinstance(value, int) and not isinstance(value, bool) else value


def in_camel_case(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


@pytest.mark.parametrize(("name", "least"), RECORDINGS)
def test_it_tells_success_from_failure_however_calls_are_spelt(name, least):
    if not (DATA / name).is_file():
        pytest.skip("without the recordings")
    values, others, rewards = [], [], []
    for line in (DATA / name).read_bytes().splitlines():
        conversation = read_conversation(line)
        rewards.append(conversation.labels["reward"] >= 1)
        for found in (values, others):
            found.append(overall(inline_case(conversation), *conversation.turns).value)
            for turn in conversation.turns:
                for made in (*turn.tool_calls, *turn.user_tool_calls):
                    made.name, made.args = in_camel_case(made.name), in_other_words(made.args)
                for answer in (*turn.tool_responses, *turn.user_tool_responses):
                    answer.name = in_camel_case(answer.name)
            for wanted in (*conversation.expected.actions, *conversation.expected.user_actions):
                wanted.name = in_camel_case(wanted.name)
    assert others == values
    scored = list(zip(values, rewards, strict=True))
    assert sum((value == 1.0) == reward for value, reward in scored) / len(scored) >= 0.95
    pairs = [(a, b) for a, x in scored for b, y in scored if x > y]
    assert sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs) >= least


def hand_off(expected, made, transfers, wanted):
    """It counts once, however it is recorded."""
    expected, made = (msgspec.convert(side, list[ToolCall]) for side in (expected, made))
    turns = [ExpectedTurn(user="u", tool_calls=expected)]
    for golden in EvalCase("e", turns=turns), EvalCase("e", actions=expected):
        turn = Turn(user="u", tool_calls=made, transfers=transfers)
        score = overall(golden, turn, criterion=built(extra_handoffs="fail"))
        assert [score.value, score.outcome] == [pytest.approx(wanted[0]), wanted[1]]
