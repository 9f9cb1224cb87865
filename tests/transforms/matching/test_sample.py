"""The digest of what an eval case expects."""

import json

import pytest
from msgspec.structs import replace

import turnwise
from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedOutcome,
    ExpectedTurn,
    Record,
    Rubric,
    ToolCall,
    ToolResponse,
    Turn,
    TurnThresholds,
)
from turnwise.schemas.run import RunInfo
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import (
    AmbiguousCaseError,
    CaseIndex,
    Sample,
    UnknownCaseError,
    decode_cases,
    encode_cases,
    inline_case,
    packed_cases,
)
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.panels import gap_reasons, record_findings
from turnwise.transforms.scoring.selection import Criteria

LONG = "projects/p/locations/us/apps/a/evaluations/"


def index(*names):
    return CaseIndex([EvalCase(eval_id=name) for name in names])


def found(cases, name):
    case = cases.find(Conversation(conversation_id="c", eval_id=name))
    return case and case.eval_id


FINDS = [
    (("a", "b"), "a", "a"),
    ((LONG + "a",), "a", LONG + "a"),
    (("a", LONG + "a"), "a", "a"),
    (("a", LONG + "a"), LONG + "a", LONG + "a"),
    (("p/evaluations/a", "q/evaluations/a"), "q/evaluations/a", "q/evaluations/a"),
    ((), None, None),
]


@pytest.mark.parametrize(("cases", "name", "wanted"), FINDS)
def test_cases_are_found_by_name(cases, name, wanted):
    assert found(index(*cases), name) == wanted


@pytest.mark.parametrize("name", ["a", LONG + "a", None])
def test_a_name_points_nowhere_where_no_cases_are_given(name):
    assert found(CaseIndex(None), name) is None


UNKNOWN = [
    ((), "a"),
    (("a",), "A"),
    (("projects/p/apps/one/evaluations/a",), "projects/p/apps/two/evaluations/a"),
    ((LONG + "a",), "evaluations/a"),
]


@pytest.mark.parametrize(("cases", "name"), UNKNOWN)
def test_unknown_names(cases, name):
    with pytest.raises(UnknownCaseError, match=f"no eval case is called '{name}'"):
        found(index(*cases), name)


def bringing(eval_id=None, **fields):
    return Conversation(conversation_id="c", eval_id=eval_id, **fields)


@pytest.mark.parametrize(
    ("said", "status", "failures"),
    [
        ("CANCEL  order\u00a0８", "PASS", []),
        ([{"agent": "Welcome!"}, {"user": "Cancel order 8", "agent": "Done"}], "PASS", []),
        ([{"user": "<event>WELCOME</event>"}, {"user": "Cancel order 8", "agent": "Done"}], "PASS", []),
        ("hi", None, ["2 eval cases begin with the message 'hi': b, c"]),
        ("Weather?", "NO_VERDICT", ["no eval case begins with the message 'Weather?'"]),
        (
            None,
            "NO_VERDICT",
            ["the log does not hold the user's first message, by which eval cases are matched"],
        ),
    ],
)
def test_a_case_is_found_by_the_first_message_of_the_user(said, status, failures):
    cases = [{"eval_id": name, "turns": [{"user": user, "response": "Done"}]}
             for name, user in (("a", "Cancel order 8"), ("b", "Hi"), ("c", "HI "))]  # fmt: skip
    turns = said if isinstance(said, list) else [{"user": said, "agent": "Done"}]
    log = {"conversation_id": "c1", "turns": turns}
    config = {"criteria": {"response_match_score": 0.5}, "match_cases_by": "first_user_message"}
    result = turnwise.evaluate([log], cases=cases, config=config)
    assert [row["verdict"] or "NO_VERDICT" for row in result.conversations] == ([status] if status else [])
    assert [row["message"] for row in result.failures] == failures
    with pytest.raises(turnwise.ConfigError, match="match_cases_by needs cases"):
        turnwise.evaluate([log], config=config)


EXPECTING = {"turns": [Turn(user="q"), Turn(expected=ExpectedTurn(response="hi"))]}


def test_a_case_that_the_record_brings_along():
    for cases in (CaseIndex(None), index(), index("other")):
        case = cases.find(bringing(**EXPECTING))
        assert (case.eval_id, [turn.response for turn in case.turns]) == ("c", [None, "hi"])
    for cases in (CaseIndex(None), index()):
        assert cases.find(bringing("named", **EXPECTING)).eval_id == "named"
    assert index("other").find(bringing("named", **EXPECTING)).turns[1].response == "hi"


SETS = [("A", "x"), ("B", "x"), ("B", "y"), (None, "z")]
IN_SETS = [("x", "A", ("A", "x")), ("y", None, ("B", "y")), ("z", "A", ("", "z")), ("z", None, ("", "z"))]


def in_sets(*sets):
    return CaseIndex([EvalCase(eval_id=name, eval_set_id=eval_set) for eval_set, name in sets])


@pytest.mark.parametrize("value", [1, 0.5, 10**30, "\ud800", None, [{"a": []}]], ids=ascii)
def test_a_packed_case_is_the_case(value):
    """Also with a number of more than 64 bits or half a character, among others like it."""
    turn = ExpectedTurn(user="Hi", tool_calls=[ToolCall("f", {"x": value})], thresholds=TurnThresholds())
    made = [EvalCase(eval_id=f"{i}", eval_set_id="s", turns=[turn] * (i + 1), tags=["a"]) for i in range(9)]
    packed = packed_cases([(Record("cases", i, b"{}"), case) for i, case in enumerate(made)])
    again = decode_cases(encode_cases(packed))
    assert [entry.unpacked() for entry in again] == [(Record("cases", i, b""), c) for i, c in enumerate(made)]
    assert CaseIndex(again).find(bringing("3", eval_set_id="s")) == made[3]


@pytest.mark.parametrize(("name", "stated", "wanted"), IN_SETS)
def test_a_case_is_known_by_its_set_and_id(name, stated, wanted):
    for sets in (SETS, SETS[::-1]):
        assert in_sets(*sets).find(bringing(name, eval_set_id=stated)).key == wanted


def test_an_id_that_several_sets_have_is_never_silently_the_first():
    with pytest.raises(AmbiguousCaseError, match=r"called 'x'; name the set in eval_set_id: A, B$"):
        in_sets(*SETS).find(bringing("x"))
    with pytest.raises(AmbiguousCaseError, match=r": \(no set\), A$"):
        in_sets((None, "x"), ("A", "x")).find(bringing("x"))
    with pytest.raises(AmbiguousCaseError, match=r": p, q$"):
        index("p/evaluations/a", "q/evaluations/a").find(bringing("a"))


def test_another_set_than_the_stated_one_does_not_count():
    with pytest.raises(UnknownCaseError, match=r"'y' in the set 'A'; sets that have one: B$"):
        in_sets(*SETS).find(bringing("y", eval_set_id="A"))
    with pytest.raises(UnknownCaseError, match=r"sets that have one: A, B$"):
        in_sets(*SETS).find(bringing("x", eval_set_id="C"))


@pytest.mark.parametrize(
    "fields",
    [
        {"app_version": "projects/p/locations/l/apps/b/versions/v"},
        {"conversation_id": "projects/p/locations/l/apps/b/conversations/c"},
        {"eval_set_id": "projects/p/locations/l/apps/b"},
    ],
)
def test_of_equal_ids_in_several_apps_the_one_of_the_conversations_own_app_counts(fields):
    names = [f"projects/p/locations/l/apps/{app}/evaluations/a" for app in "abc"]
    conversation = Conversation(**{"conversation_id": "c", "eval_id": "a", **fields})
    assert index(*names).find(conversation).eval_id == names[1]


def test_what_the_record_expects_goes_before_the_case_that_it_names():
    cases = [EvalCase(eval_id="e", turns=[ExpectedTurn(response="of the file")], task="t", outputs=["o"])]
    own = [Turn(expected=ExpectedTurn(response="own"))]
    found = CaseIndex(cases).find(bringing("e", turns=own))
    assert [turn.response for turn in found.turns] == ["own"]
    assert (found.key, found.task, found.outputs) == (("", "e"), "t", ["o"])
    assert cases[0].turns[0].response == "of the file", "the index is shared"


def test_what_the_record_says_nothing_of_stays_as_the_case_has_it():
    given = [ExpectedTurn(response="a"), ExpectedTurn(response="b")]
    cases = CaseIndex([EvalCase(eval_id="e", turns=given, actions=[ToolCall(name="f")])])
    rubric = [Rubric(rubric_id="r", text="polite")]

    def expected(*turns, **fields):
        return cases.find(bringing("e", turns=[Turn(expected=turn) for turn in turns], **fields))

    assert expected(None, ExpectedTurn(response="own")).turns == [given[0], ExpectedTurn(response="own")]
    assert expected(ExpectedTurn(), ExpectedTurn(rubrics=rubric)).turns == [
        given[0],
        ExpectedTurn(response="b", rubrics=rubric),
    ]
    assert expected(expected=ExpectedOutcome(outputs=["42"])).actions == [ToolCall(name="f")]
    assert expected(expected=ExpectedOutcome(actions=[])).actions == []


CALL = [ToolCall(name="book", args={"x": 1})]
SAID = Expectation(kind="agent_response", text="a")
CALLED = Expectation(kind="tool_call", tool_call=CALL[0])
JOINED = [
    (
        ExpectedTurn(response="a", tool_calls=CALL),
        ExpectedTurn(response="own"),
        ExpectedTurn(response="own", tool_calls=CALL),
    ),
    (
        ExpectedTurn(response="a", adk_text="thought a", tool_calls=CALL),
        ExpectedTurn(response="own", tool_calls=[]),
        ExpectedTurn(response="own", tool_calls=[]),
    ),
    (
        ExpectedTurn(response="a", tool_calls=CALL, expectations=[CALLED, SAID]),
        ExpectedTurn(tool_calls=[]),
        ExpectedTurn(response="a", tool_calls=[], expectations=[SAID]),
    ),
    (
        ExpectedTurn(response="b", tool_calls=CALL),
        ExpectedTurn(expectations=[SAID]),
        ExpectedTurn(tool_calls=CALL, expectations=[SAID, CALLED]),
    ),
]


@pytest.mark.parametrize(("given", "own", "wanted"), JOINED)
def test_a_turn_of_the_case_is_joined_with_the_records_own_field_by_field(given, own, wanted):
    cases = CaseIndex([EvalCase(eval_id="e", turns=[given])])
    assert cases.find(bringing("e", turns=[Turn(expected=own)])).turns == [wanted]


def test_no_turn_of_the_case_goes_where_the_numbers_of_turns_differ():
    given = [ExpectedTurn(user="hi", response="a"), ExpectedTurn(user="bye now", tool_calls=CALL)]
    cases = CaseIndex([EvalCase(eval_id="e", turns=given)])

    def expected(*turns):
        return cases.find(bringing("e", turns=[Turn(user=user, expected=own) for user, own in turns])).turns

    own = ExpectedTurn(response="own")
    assert expected(("hi", own)) == [ExpectedTurn(user="hi", response="own"), given[1]]
    assert expected(("bye now", own)) == [
        given[0],
        ExpectedTurn(user="bye now", response="own", tool_calls=CALL),
    ]
    further = ("what else", own)
    assert expected(("hi", None), ("bye now", None), further) == [
        *given,
        ExpectedTurn(user="what else", response="own"),
    ]
    assert expected(("hi", own), ("um", None), ("bye now", None)) == [
        ExpectedTurn(user="hi", response="own"),
        given[1],
    ]


def test_a_named_case_that_is_not_there_is_no_pass_although_the_record_expects_something():
    turns = [Turn(expected=ExpectedTurn(response="own"))]
    case = index("other").find(bringing("zzz", turns=turns))
    assert (case.turns[0].response, case.not_found) == ("own", "no eval case is called 'zzz'")
    sample = Sample(bringing("zzz", turns=turns), case, Record(source="s", position=0, data=b""))
    assert gap_reasons(sample) == ["no eval case is called 'zzz'"]
    assert [row.error_type for row in record_findings(sample)] == ["UnknownCase"]
    assert CaseIndex(None).find(bringing("zzz", turns=turns)).not_found is None


def test_a_record_of_another_set_is_held_against_its_own_expectations():
    cases = CaseIndex([EvalCase(eval_id="e", eval_set_id="A", turns=[ExpectedTurn(response="of A")])])
    found = cases.find(bringing("e", eval_set_id="B", turns=[Turn(expected=ExpectedTurn(response="of B"))]))
    assert (found.key, found.turns[0].response) == (("B", "e"), "of B")


def test_an_expected_outcome_is_a_case_without_turns():
    outcome = ExpectedOutcome(actions=[ToolCall(name="a")], outputs=["42"], rubric=["polite"])
    case = index().find(bringing(turns=[Turn()], expected=outcome))
    assert (case.turns, case.actions, case.outputs) == ([], [ToolCall(name="a")], ["42"])
    assert [(rubric.rubric_id, rubric.text) for rubric in case.rubrics] == [("0", "polite")]


BOOKED = ToolCall(name="book", args={"day": 2, "room": "a"}, id="1")
TURN = ExpectedTurn(user="Hi", response="Hello", tool_calls=[BOOKED])
CASE = EvalCase(
    eval_id="e1", turns=[TURN], actions=[BOOKED], outputs=["42"], rubrics=[Rubric("r1", "polite")]
)


def with_turn(**changes):
    return replace(CASE, turns=[replace(TURN, **changes)])


@pytest.mark.parametrize(
    "same",
    [
        replace(CASE, eval_id="e2", eval_set_id="s", tags=["a:b"], display_name="x", language="ko"),
        replace(CASE, turns=[TURN, ExpectedTurn(user="Bye")]),
        replace(CASE, actions=[replace(BOOKED, id="2", args={"room": "a", "day": 2})]),
        with_turn(user="Good day"),
    ],
)
def test_what_is_no_expectation_does_not_change_it(same):
    assert same.digest == CASE.digest


@pytest.mark.parametrize(
    "other",
    [
        replace(CASE, turns=[]),
        replace(CASE, user_actions=[BOOKED]),
        replace(CASE, rubrics=[Rubric("r1", "brief")]),
        replace(CASE, thresholds=CaseThresholds(semantic_similarity=2)),
        with_turn(tool_calls=[replace(BOOKED, args={"day": 3, "room": "a"})]),
        with_turn(expectations=[Expectation("tool_response", tool_response=ToolResponse("t", response=2))]),
    ],
)
def test_another_expectation_changes_it(other):
    assert other.digest not in (None, CASE.digest)


def test_it_tells_all_apart_and_is_the_same_in_every_run():
    assert CASE.digest == "58238b524d61458f"
    none = (EvalCase(eval_id="e1"), EvalCase(eval_id="e1", turns=[ExpectedTurn(user="Hi")]))
    assert [case.digest for case in none] == [None] * 2


@pytest.mark.parametrize("value", ["\ud800", 10**30, float("inf"), {"a": [None, True]}])
def test_arguments_of_every_kind_have_a_digest(value):
    own = EvalCase(eval_id="e1", actions=[ToolCall(name="book", args={"a": value})])
    assert len(own.digest or "") == 16


CALLS = build_criteria(parse_config(json.dumps({"criteria": {"tool_effects_v1": {}}})))
PAY = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
ASKS_TOOL = {"role": "assistant", "content": "One moment.", "tool_calls": [PAY]}
PAID = {"role": "tool", "tool_call_id": "1", "content": "paid"}
WANTED = {"name": "pay", "arguments": {}}
HI, HELLO = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}


def verdict(record, case=None):
    source = Record("log.jsonl", 1, json.dumps(record).encode())
    (found,) = LogReader().read(source)
    sample = Sample(found, case or inline_case(found), source)
    return decide(evaluate(sample, Criteria(CALLS))[0], RunInfo("r", "2026-01-01T00:00:00Z")).verdict


def chat(*messages, actions=(), **fields):
    return {"id": "c", "messages": list(messages), "info": {"task": {"actions": list(actions)}}, **fields}


def canonical(*turns, **fields):
    return {"conversation_id": "c", "turns": list(turns), "expected": {"actions": []}, **fields}


def adk(*events):
    return {"id": "s", "events": [{"invocation_id": "i", **event} for event in events]}


ASKED = {"author": "user", "content": {"parts": [{"text": "hi"}]}}


@pytest.mark.parametrize(
    "record",
    [
        chat(HI, {"role": "assistant", "content": ""}),
        chat(HI, ASKS_TOOL),
        chat(HI, {**ASKS_TOOL, "finish_reason": "tool_calls"}),
        chat(HI, {"role": "assistant", "tool_calls": [PAY]}, PAID, actions=[WANTED]),
        canonical({"user": "hi", "agent": "hello"}, {"user": "pay"}),
        canonical({"user": "hi", "agent": "a", "expected": {"tool_calls": []}}, {"user": "x"}),
    ],
)
def test_a_log_that_stops_without_an_answer_does_not_pass(record):
    found = verdict(record)
    assert found.status is None
    assert "has no answer" in found.reasons[0] or "without its result" in " ".join(found.reasons)


@pytest.mark.parametrize(
    "parts", [{"parts": [{"text": ""}]}, {"parts": [{"text": "hm", "thought": True}]}, {"parts": []}]
)
def test_an_adk_session_whose_last_event_says_nothing_does_not_pass(parts):
    said = {"author": "agent", "content": parts, "finishReason": "STOP"}
    found = verdict(adk(ASKED, said), EvalCase(eval_id="e", actions=[]))
    assert found.status != "PASS" and "no answer" in found.reasons[0]


@pytest.mark.parametrize(
    "record",
    [
        chat(HI, HELLO),
        chat(HI, HELLO, {"role": "user", "content": "Bye. ###STOP###"}),
        chat(HI, HELLO, HI, termination_reason="user_stop"),
        canonical({"user": "hi", "agent": "hello"}, {"user": "bye"}, ended="user_left"),
        canonical({"user": "hi", "agent": "hello"}, {"user": "Show it", "payloads": [{"image": "a.png"}]}),
    ],
)
def test_where_no_answer_is_due_the_scores_decide(record):
    assert verdict(record).status == "PASS"


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        (ExpectedTurn(tool_calls=[ToolCall(name="pay")]), "PASS"),
        (ExpectedTurn(tool_calls=[ToolCall(name="pay")], response="Paid."), None),
        (
            ExpectedTurn(
                tool_calls=[ToolCall(name="pay")],
                expectations=[Expectation(kind="agent_response", text="Paid.")],
            ),
            None,
        ),
    ],
)
def test_the_case_says_whether_an_answer_is_due(turn, status):
    record = {"conversation_id": "c", "turns": [{"user": "pay", "tool_calls": [{"name": "pay", "args": {}}]}]}
    assert verdict(record, EvalCase(eval_id="e", turns=[turn])).status == status


CALLED = {"tool_calls": [{"name": "find"}], "tool_responses": [{"name": "find", "response": "Bonn"}]}
ANSWERED = {"user": "Thanks", "agent": "Bye"}


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        ([ANSWERED, {"user": "Where?", **CALLED}], "turn 2: the last turn has no answer"),
        ([{"user": "Where?", **CALLED}, ANSWERED], "turn 1: the turn has no answer"),
        ([{"user": "Where?", "agent": " "}, ANSWERED], "turn 1: the turn has no answer"),
        ([{"user": None, **CALLED}, ANSWERED], None),
        ([{"user": "Where?", **CALLED, "expected": {"tool_calls": [{"name": "find"}]}}, ANSWERED], None),
    ],
)
def test_a_silent_turn_leaves_no_verdict(turns, reason):
    log = {"conversation_id": "c", "turns": turns}
    (row,) = turnwise.evaluate(log, criteria={"tool_call_count_v1": {"threshold": 9}}).conversations
    assert (row["verdict"], (row["reason"] or "").startswith(reason or "")) == (
        ("PASS", True) if reason is None else (None, True)
    )
