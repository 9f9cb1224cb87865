import json
from pathlib import Path

import pytest

from schemas.case import EvalCase, inline_case
from schemas.conversation import Expectation, ExpectedTurn, ToolCall, ToolResponse, Turn
from schemas.tools import ToolDeclaration
from transforms.config import build_criteria, parse_config
from transforms.expectations import JUDGE_NEEDED
from transforms.formats.turnwise import read_conversation
from transforms.scoring import score_conversation

NAME = "tool_effects_v1"


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


@pytest.fixture
def whole(matched):
    """Scores a conversation against the actions of a case."""

    def _whole(expected, actual, criterion=None, **case):
        golden = EvalCase(eval_id="e", actions=None if expected is None else calls(expected), **case)
        scored = score_conversation(matched(golden, *map(turn_of, actual.split("|"))), [criterion or built()])
        assert scored.failures == []
        return scored.scores[0].overall

    return _whole


CASES = [
    # expected, actual (turns by |), value, passes
    ("", "", 1.0, True),
    ("", "get_x:1|list_y", 1.0, True),
    ("get_x:1 list_y", "", 1.0, True),
    ("cancel:1", "get_x|cancel:1|get_x", 1.0, True),
    ("get_x cancel:1 get_y", "cancel:1", 1.0, True),
    ("", "cancel:1", 0.0, False),
    ("cancel:1", "", 0.0, False),
    ("cancel:1", "get_x", 0.0, False),
    ("cancel:1", "cancel:2", 0.0, False),
    ("cancel:1 add:2", "add:2|cancel:1", 1.0, True),
    ("cancel:1 add:2", "cancel:1", 2 / 3, False),
    ("cancel:1", "cancel:1 add:2", 2 / 3, False),
    ("add:1 add:2", "add:1 add:3", 0.5, False),
    ("add:1", "add:1!|add:1", 1.0, True),
    ("add:1", "add:1!", 0.0, False),
    ("", "add:1! cancel:2!", 1.0, True),
    ("add:1", "add:1 add:1", 2 / 3, False),
    ("add:1", "add:1 add:1~ cancel:2~", 1.0, True),
    ("add:1", "add:1~", 1.0, True),
    ("add:1", "add:2~", 0.0, False),
    ("add:1 add:1", "add:1 add:2~", 2 / 3, False),
    ("add:1 add:1", "add:1", 2 / 3, False),
    ("cancel:1", "cancel:1 cancel:1", 1.0, True),
    ("cancel:1 cancel:1", "cancel:1", 1.0, True),
    ("transfer_to_human", "transfer_to_human", 1.0, True),
    ("", "transfer_to_human", 2 / 2.1, False),
    ("transfer_to_human", "", 2 / 2.1, False),
    ("cancel:1", "transfer_to_human", 0.0, False),
    ("cancel:1", "cancel:1 transfer_to_human", 2 / 2.1, False),
    ("cancel:1 transfer_to_human", "cancel:1 transfer_to_human|transfer_to_human", 1.0, True),
]


@pytest.mark.parametrize(("expected", "actual", "value", "passes"), CASES)
def test_what_a_conversation_changed(expected, actual, value, passes, whole):
    score = whole(expected, actual)
    assert score.value == pytest.approx(value)
    assert score.outcome == ("PASS" if passes else "FAIL")
    assert score.explanation


def test_the_details_can_be_read(whole):
    details = whole("add:1 add:2 cancel:3 send:4", "get_y add:1 add:9 send:4! cancel:3 drop:5").details
    assert details == {
        "expected": 4,
        "actual": 4,
        "matched": ["add(x: 1)", "cancel(x: 3)"],
        "missing": ["send(x: 4)"],
        "extra": ["drop(x: 5)"],
        "wrong_arguments": [
            {
                "expected": "add(x: 2)",
                "actual": "add(x: 9)",
                "arguments": [{"parameter": "x", "expected": "2", "actual": "9"}],
            }
        ],
        "destructive": ["drop(x: 5)"],
        "failed": ["send(x: 4)"],
        "guessed": {**dict.fromkeys(("add", "cancel", "drop", "send"), "write"), "get_y": "read"},
    }


def test_very_many_differences_are_told_in_short(whole):
    details = whole("", " ".join(f"add:{i}" for i in range(120))).details
    assert len(details["extra"]) == 51 and details["extra"][-1] == "and 70 more"


@pytest.mark.parametrize("actual", ["add:1 add:2 add:3 cancel:9", "add:1 add:2 add:3 drop:4"])
def test_an_extra_destructive_call_fails_at_any_threshold(actual, whole):
    score = whole("add:1 add:2 add:3 drop:5", actual, built(threshold=0.1))
    assert score.value > 0.1
    assert (score.outcome, score.threshold) == ("FAIL", 0.1)
    assert "destructive" in score.reason
    assert whole("add:1 add:2 add:3", "add:1 add:2 send:1", built(threshold=0.1)).outcome == "PASS"
    assert whole("add:1", actual, built(threshold=None)).outcome is None


def test_nothing_stated_is_not_applicable(whole, matched):
    assert whole(None, "cancel:1") is None
    scored = score_conversation(matched(None, turn_of("cancel:1")), [built()])
    assert scored.scores[0].overall is None


def test_the_config_says_what_tools_do(whole):
    tools = {"frob*": "read", "add": {"idempotent": True}, "get_lock": "write"}
    assert whole("add:1 get_lock", "frobnicate add:1 add:1 get_lock", built(tools)).value == 1.0
    assert whole("", "frobnicate").value == 0.0
    assert "guessed" not in whole("get_lock", "get_lock frob", built(tools)).details


def test_a_declaration_goes_before_the_guess(whole):
    declared = [ToolDeclaration("frobnicate", "read", origin="mcp")]
    score = whole("", "frobnicate", tools=declared)
    assert score.value == 1.0
    assert "guessed" not in score.details


def turns_of(matched, expected, actual, criterion=None):
    golden = [
        ExpectedTurn(user=f"turn {i}", tool_calls=None if e is None else calls(e))
        for i, e in enumerate(expected)
    ]
    made = [turn_of(text) for text in actual]
    for i, turn in enumerate(made):
        turn.user = f"turn {i}"
    case = matched(EvalCase(eval_id="e", turns=golden), *made)
    (result,) = score_conversation(case, [criterion or built()]).scores
    return result


def test_turn_by_turn_where_the_case_says_so(matched):
    result = turns_of(matched, ["add:1", "", None, "cancel:2"], ["get_x add:1", "", "add:5", "get_y"])
    assert [(i, score.value) for i, score in result.turns] == [(0, 1.0), (1, 1.0), (3, 0.0)]
    assert (result.overall.value, result.overall.outcome) == (pytest.approx(2 / 3), "FAIL")
    assert turns_of(matched, ["add:1", ""], ["add:1", "get_x"]).overall.outcome == "PASS"


def test_a_turn_that_destroys_fails_the_conversation(matched):
    result = turns_of(matched, ["add:1", "add:2"], ["add:1", "add:2 drop:1"], built(threshold=0.5))
    assert result.overall.value > 0.5
    assert result.overall.outcome == "FAIL"


def test_calls_that_are_named_and_not_checked_may_be_made(matched):
    named = Expectation("tool_call", tool_call=ToolCall("drop", {"x": "1"}), skip=True)
    golden = EvalCase(eval_id="e", turns=[ExpectedTurn(tool_calls=calls("add:1"), expectations=[named])])
    for made, wanted in (("add:1", 1.0), ("add:1 drop:1", 1.0), ("add:1 drop:1 drop:2", 2 / 3)):
        overall = score_conversation(matched(golden, turn_of(made)), [built()]).scores[0].overall
        assert overall.value == pytest.approx(wanted)


def test_without_a_threshold_nothing_fails(matched):
    overall = turns_of(matched, ["add:1"], ["drop:1"], built(threshold=None)).overall
    assert (overall.value, overall.outcome) == (0.0, None)


def test_turns_that_one_side_lacks_change_nothing(matched):
    result = turns_of(matched, ["add:1", ""], ["add:1"])
    assert [score.value for _, score in result.turns] == [1.0, 1.0]
    result = turns_of(matched, ["", "add:1"], [""])
    assert sorted((score.value, score.label) for _, score in result.turns) == [
        (0.0, "MISSING_TURN"),
        (1.0, None),
    ]
    result = turns_of(matched, [""], ["", "add:1"])
    assert (0.0, "EXTRA_TURN") in [(score.value, score.label) for _, score in result.turns]


@pytest.mark.parametrize(
    ("expected", "made", "value"),
    [
        ("", "toggle reset", 1.0),
        ("toggle", "toggle toggle reset", 1.0),
        ("toggle", "", 0.0),
        ("toggle", "toggle!", 0.0),
        ("check_x", "", 1.0),
        ("toggle reset", "reset", 2 / 3),
    ],
)
def test_the_users_own_tools_count_as_far_as_they_are_expected(expected, made, value, matched):
    turn = turn_of(made)
    theirs = Turn(user_tool_calls=turn.tool_calls, user_tool_responses=turn.tool_responses)
    for actions in (None, []):
        golden = EvalCase(eval_id="e", actions=actions, user_actions=calls(expected))
        overall = score_conversation(matched(golden, theirs), [built()]).scores[0].overall
        assert overall is None if not expected and actions is None else overall.value == pytest.approx(value)


def test_what_only_a_judge_can_compare_is_unscored(matched):
    vague = ToolCall("add", {"x": {"$matchType": "semantic", "$matchValue": "noon"}})
    for value, wanted in (("noon", 1.0), ("12 o'clock", None)):
        turn = Turn(tool_calls=[ToolCall("add", {"x": value})])
        score = (
            score_conversation(matched(EvalCase(eval_id="e", actions=[vague]), turn), [built()])
            .scores[0]
            .overall
        )
        assert score.value == wanted
        assert score.reason == (None if wanted else JUDGE_NEEDED)


def test_arguments_are_compared_as_the_config_says(whole):
    ignoring = built(argument_matchers={"add": {"x": "ignore"}})
    assert whole("add:1", "add:2", ignoring).value == 1.0
    assert whole("add:A", "add:a", built(argument_matchers={"*": {"x": "exact"}})).value == 0.0
    assert whole("add:A", "add:a").value == 1.0


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
def test_odd_records_raise_nothing(actions, matched):
    golden = EvalCase(
        eval_id="e", actions=actions, user_actions=actions or [], turns=[ExpectedTurn(tool_calls=actions)]
    )
    for turns in ([], ODD[:1], ODD):
        assert score_conversation(matched(golden, *turns), [built()]).failures == []


WRONG = [
    ({"tools": {"a": "reads"}}, "tools.a.effect: Input should be 'read', 'write' or 'handoff'"),
    ({"tools": {"a": {"effekt": "read"}}}, "tools.a.effekt: unknown field (did you mean effect?)"),
    ({"tools": {"a": {"idempotent": "perhaps"}}}, "tools.a.idempotent: "),
    ({"tools": ["a"]}, "tools: "),
    ({"criteria": {NAME: {"tools": {"a": "read"}}}}, "criteria.tool_effects_v1.tools: "),
    ({"criteria": {NAME: {"ordered_lists": {"a": "b"}}}}, "criteria.tool_effects_v1: ordered_lists.a: "),
    ({"criteria": {NAME: {"orderd_lists": {}}}}, "unknown field (did you mean ordered_lists?)"),
    ({"criteria": {NAME: {"argument_matchers": {"*": {"x": "fuzzy"}}}}}, "argument_matchers.*.x.match: "),
]


@pytest.mark.parametrize(("config", "message"), WRONG)
def test_a_wrong_config_is_told_in_one_line(config, message):
    with pytest.raises(ValueError) as caught:
        build_criteria(parse_config(json.dumps(config)))
    assert message in str(caught.value) and "\n" not in str(caught.value)


DATA = Path(__file__).parents[2] / "../shared/data"
RECORDINGS = [("tau_bench_airline_gpt-4o.jsonl", 0.95), ("tau2_airline_gpt-4.1_vs_ft.jsonl", 0.93)]


def in_other_words(value):
    """Numbers as texts, texts in capitals, lists and objects turned round."""
    if isinstance(value, dict):
        return {key: in_other_words(item) for key, item in reversed(value.items())}
    if isinstance(value, list):
        return [in_other_words(item) for item in reversed(value)]
    if isinstance(value, str):
        return f" {value.upper()} "
    return f"{value}.0" if isinstance(value, int) and not isinstance(value, bool) else value


def in_camel_case(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


@pytest.mark.parametrize(("name", "least"), RECORDINGS)
def test_it_tells_success_from_failure_however_calls_are_spelt(name, least, matched):
    if not (DATA / name).is_file():
        pytest.skip("without the recordings")
    values, others, rewards = [], [], []
    for line in (DATA / name).read_bytes().splitlines():
        conversation = read_conversation(line)
        rewards.append(conversation.labels["reward"] >= 1)
        for found in (values, others):
            case = matched(inline_case(conversation), *conversation.turns)
            found.append(score_conversation(case, [built()]).scores[0].overall.value)
            for made in (c for turn in conversation.turns for c in turn.tool_calls):
                made.name, made.args = in_camel_case(made.name), in_other_words(made.args)
            for wanted in conversation.expected.actions:
                wanted.name = in_camel_case(wanted.name)
            for answer in (r for turn in conversation.turns for r in turn.tool_responses):
                answer.name = in_camel_case(answer.name)
    assert others == values
    pairs = [
        (a, b)
        for a, x in zip(values, rewards, strict=True)
        for b, y in zip(values, rewards, strict=True)
        if x > y
    ]
    assert sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs) >= least
