import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ToolCall, ToolDeclaration, ToolResponse, ToolSetting, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.ask import NotAsked

KIND = CRITERIA["claimed_actions_v1"]


def did(*made, said="", **fields):
    """A turn; `cancel A1` -> a call of cancel with {"id": "A1"}, `!` at its end: it failed."""
    calls, answers = [], []
    for text in made:
        name, _, value = text.rstrip("!").partition(" ")
        calls.append(ToolCall(name, {"id": value} if value else {}))
        answers.append(ToolResponse(name, response="Error: no" if text.endswith("!") else {"status": "ok"}))
    return Turn(user="please", agent=said, tool_calls=calls, tool_responses=answers, **fields)


def claims(*said):
    """`2|cancel|A1|the words|amount=$5` -> a claim of turn 2 with a value."""
    return {"claims": [claim(*text.split("|")) for text in said]}


def claim(turn, tool, identifier, quote, *values):
    stated = [dict(zip(("argument", "text"), value.split("=", 1), strict=True)) for value in values]
    return {"turn": turn, "tool": tool, "identifier": identifier, "quote": quote, "values": stated}


@pytest.fixture
def overall_of(judged, matched, scripted):
    """What the criterion says of turns of which a judge lists these claims."""

    def _overall_of(turns, *said, **fields):
        return judged(KIND(**fields), matched(None, *turns), scripted([claims(*said)])).overall

    return _overall_of


def refunded(words, calls=None):
    return [Turn(user="please", agent=words, tool_calls=calls or [ToolCall("refund", REFUND)])]


UNKNOWN = [
    # turns, claims, threshold, value
    ([did("zorp A1", said="Anything else?")], [], 1.0, None),
    ([did("zorp A1", said="I zorped A1.")], ["1|zorp|A1|zorped A1"], 1.0, 1.0),
    ([did("zorp A1!", said="Anything else?")], [], 1.0, 1.0),
    ([did("zorp A1", "cancel B2", said="I cancelled B2.")], ["1|cancel|B2|cancelled B2"], 1.0, None),
    ([did("zorp A1", "cancel B2", said="Anything else?")], [], 1.0, 0.0),
    ([did("zorp A1", said="I cancelled B2.")], ["1|cancel|B2|cancelled B2"], 1.0, 0.0),
    ([did("zorp A1", said="Anything else?")], [], None, None),
]
CASES = [
    # turns, claims, value, verdicts, unsaid
    ([did("cancel A1", said="I cancelled A1.")], ["1|cancel|A1|I cancelled A1"], 1.0, ["done"], 0),
    ([did(said="I cancelled A1.")], ["1|cancel|A1|I cancelled A1"], 0.0, ["not_done"], 0),
    ([did("cancel A1!", said="I cancelled A1.")], ["1|cancel|A1|cancelled"], 0.0, ["not_done"], 0),
    ([did("cancel A1", said="I cancelled B2.")], ["1|cancel|B2|cancelled B2"], 0.0, ["not_done"], 1),
    ([did("cancel A12", said="I cancelled A1.")], ["1|cancel|A1|cancelled A1"], 0.0, ["not_done"], 1),
    ([did("cancel #A1", said="I cancelled A1.")], ["1|cancel|A1|cancelled A1"], 1.0, ["done"], 0),
    ([did("cancel A1", said="I cancelled #A1.")], ["1|cancel|#A1.|cancelled #A1"], 1.0, ["done"], 0),
    ([did("pay card_4421", said="I used 4421.")], ["1|pay|4421|used 4421"], 1.0, ["done"], 0),
    ([did("pay 994421", said="I used …4421.")], ["1|pay|4421|I used"], 1.0, ["done"], 0),
    ([did("pay 100", said="I paid 10.")], ["1|pay|10|paid 10"], 0.0, ["not_done"], 1),
    ([did(said="It is noted.")], ["1|||It is noted"], 0.0, ["not_done"], 0),
    (
        [did(said="I cancelled it."), did("cancel A1", said="So.")],
        ["1|cancel||I cancelled it"],
        0.0,
        ["too_early"],
        0,
    ),
    ([did("cancel A1", said="Anything else?")], [], 0.0, [], 1),
    ([did("cancel A1"), did(said="I cancelled it.")], ["2|cancel||cancelled it"], 1.0, ["done"], 0),
    (
        [did("cancel A1", "cancel B2", said="I cancelled both.")],
        ["1|cancel||cancelled both", "1|cancel||cancelled both"],
        1.0,
        ["done", "done"],
        0,
    ),
    (
        [did("cancel A1", "cancel B2", said="Cancelled: one, and A1.")],
        ["1|cancel||one", "1|cancel|a1|A1"],
        1.0,
        ["done", "done"],
        0,
    ),
    (
        [did("cancel A1", said="I cancelled A1."), did(said="As I said, A1 is cancelled.")],
        ["1|cancel|A1|I cancelled A1", "2|cancel|A1|A1 is cancelled"],
        1.0,
        ["done", "done"],
        0,
    ),
    ([did("cancel A1", "cancel A1", said="Cancelled.")], ["1|cancel||Cancelled"], 1.0, ["done"], 0),
    ([did("get_x", said="I looked.")], [], 1.0, [], 0),
    (
        [did("transfer_to_human", said="I connect you.")],
        ["1|transfer_to_human||connect you"],
        1.0,
        ["done"],
        0,
    ),
    ([did(said="Over to sales.", transfers=["sales"])], ["1|transfer to sales||Over"], 1.0, ["done"], 0),
    (
        [did("cancel A1", "send B", said="Cancelled, paid.")],
        ["1|cancel||Cancelled", "1|pay||paid"],
        1 / 3,
        ["done", "not_done"],
        1,
    ),
]


@pytest.mark.parametrize(("turns", "said", "value", "verdicts", "unsaid"), CASES)
def test_words_beside_deeds(turns, said, value, verdicts, unsaid, overall_of):
    overall = overall_of(turns, *said)
    assert overall.value == pytest.approx(value)
    assert overall.outcome == ("PASS" if value == 1.0 else "FAIL")
    assert [claim["verdict"] for claim in overall.details["claims"]] == verdicts
    assert len(overall.details["unsaid"]) == unsaid
    wrong = len(verdicts) - verdicts.count("done") + unsaid
    assert (f"; and {wrong - 1} more." in overall.explanation) is (wrong > 1)
    assert overall.judge.prompt_version == "claimed_actions/3"


@pytest.mark.parametrize(("turns", "said", "threshold", "value"), UNKNOWN)
def test_calls_of_which_it_is_unknown_what_they_do(turns, said, threshold, value, overall_of):
    overall = overall_of(turns, *said, threshold=threshold)
    assert overall.value == value
    assert overall.outcome == {None: None, 1.0: "PASS", 0.0: "FAIL"}[value]
    assert value is not None or "(zorp): state its effect in `tools`" in overall.reason
    assert overall.details["guessed"].get("zorp") == "unknown"


def test_spans_and_words_of_the_details(overall_of):
    turns = [
        did(said="Hello."),
        did("cancel A1", agent_messages=["One moment.", "Well,  I’ve 🎉 cancelled\nA1 now."]),
        did("send B2", said=""),
    ]
    details = overall_of(turns, "2|cancel|A1|I’ve 🎉 cancelled A1", "1|pay||Hello").details
    first, second = details["claims"]
    assert first == {
        "turn": 1,
        "message": 1,
        "start": 7,
        "end": 26,
        "quote": "I’ve 🎉 cancelled A1",
        "tool": "cancel",
        "identifier": "A1",
        "values": [],
        "verdict": "done",
        "call": "cancel(id: A1)",
    }
    assert (second["turn"], second["verdict"], second["call"]) == (0, "not_done", None)
    assert details["unsaid"] == [{"turn": 2, "call": "send(id: B2)"}]
    assert details["guessed"] == {"cancel": "write", "send": "write"}


def test_a_quote_is_found_in_whatever_turn_it_stands(overall_of):
    overall = overall_of([did("cancel A1"), did(said="I cancelled A1.")], "1|cancel||I cancelled A1")
    assert overall.details["claims"][0]["turn"] == 1


def test_an_answer_that_quotes_what_nobody_said_does_not_count(judged, matched, scripted):
    turn = did("cancel A1", said="I cancelled A1.")
    good = claims("1|cancel||I cancelled")
    made_up = claims("1|cancel||I refunded you", "1|cancel||I cancelled")
    overall = judged(KIND(), matched(None, turn), scripted([made_up])).overall
    assert (overall.value, overall.reason) == (None, "1 of 2 quotes are not the agent's words")
    several = KIND(judge_model_options={"num_samples": 2})
    assert judged(several, matched(None, turn), scripted([made_up, good])).overall.value == 1.0


def test_the_middle_of_several_answers_counts(judged, matched, scripted):
    turn = did("cancel A1", said="I cancelled and paid.")
    replies = [claims("1|cancel||cancelled"), claims(), claims("1|cancel||cancelled", "1|pay||paid")]
    several = KIND(judge_model_options={"num_samples": 3})
    overall = judged(several, matched(None, turn), scripted(replies)).overall
    assert (overall.value, overall.judge.samples) == (0.5, 3)
    of_two = KIND(judge_model_options={"num_samples": 2})
    assert judged(of_two, matched(None, turn), scripted(replies[::2])).overall.value == 0.5, "the lower one"


def test_what_the_judge_sees(judged, matched, scripted, sections_of):
    declared = [ToolDeclaration("pay_bill"), ToolDeclaration("get_bill")]
    case = EvalCase(eval_id="e", actions=[ToolCall("refund_it"), ToolCall("list_it")])
    turn = did("cancel A1", "get_x", "frob", said="I cancelled A1.")
    ask = scripted([claims()])
    judged(KIND(tools={"frob": ToolSetting(effect="read")}), matched(case, turn, tools=declared), ask)
    sections = dict(sections_of(ask.evidence[0]))
    assert sections["tools"].splitlines() == ["pay_bill", "cancel(id)", "refund_it"]
    assert sections["turn 1, agent"].strip() == "I cancelled A1."
    assert "A1" not in str({name: text for name, text in sections.items() if name != "turn 1, agent"})


def test_an_agent_without_a_word_is_not_asked_about(judged, matched, scripted):
    ask = scripted([])
    overall = judged(KIND(), matched(None, did("cancel A1"), did("send B")), ask).overall
    assert (overall.value, ask.samples, len(overall.details["unsaid"])) == (0.0, 0, 2)
    assert judged(KIND(), matched(None, did("get_x")), ask).overall is None


def test_the_local_judge_does_not_serve_it(judged, matched, scripted):
    ask = scripted([claims()])
    judged(KIND(), matched(None, did(said="I cancelled A1.")), ask)
    assert ask.asked[0][0].local is None
    assert judged(KIND(), matched(None, did(said="Done.")), NotAsked()).overall.value is None


REFUND = {"order_id": "A1", "amount": 45.2, "day": "2024-05-20", "to": {"street": "12 Main Street"}}

STATED = [
    # words, argument, value, verdict of the claim, of the value
    ("I refunded $45.20", "amount", "$45.20", "done", "same"),
    ("I refunded $54.20", "amount", "$54.20", "other_values", "other"),
    ("it arrives tomorrow", "day", "tomorrow", "not_compared", "not_compared"),
    ("sent to Graz", "to.street", "Graz", "not_compared", "not_compared"),
    ("it arrives on Friday", "day", "Friday", "other_values", "other"),
]


@pytest.mark.parametrize(("words", "argument", "text", "verdict", "compared"), STATED)
def test_stated_values_beside_the_arguments_of_the_call(words, argument, text, verdict, compared, overall_of):
    overall = overall_of(refunded(f"{words}."), f"1|refund|A1|{words}|{argument}={text}")
    found = overall.details["claims"][0]
    assert found["verdict"] == verdict
    assert found["values"] == [{"argument": argument, "text": text, "verdict": compared}]
    assert overall.value == {"done": 1.0, "other_values": 0.0, "not_compared": None}[verdict]
    assert overall.details["unsaid"] == []
    if verdict == "not_compared":
        assert overall.outcome is None
        assert overall.reason == (
            f"1 of 1 claims state what cannot be compared with the call: “{text}” ({argument})"
        )
    else:
        assert overall.explanation.startswith("Said with other values") == (verdict == "other_values")


UNLISTED = [
    # words, identifier, numbers that are not compared
    ("I refunded order A1", "A1", []),
    ("I refunded $54.20 for order A1", "A1", ["$54.20", "54.20"]),
    ("I refunded 2024 euros for order A1", "A1", ["2024 euros"]),
    ("I refunded order 88", "", ["88"]),
    ("I refunded $45.20 on May 20", "", []),
]


@pytest.mark.parametrize(("words", "identifier", "numbers"), UNLISTED)
def test_numbers_that_the_judge_does_not_list_are_no_pass(words, identifier, numbers, overall_of):
    overall = overall_of(refunded(f"{words}."), f"1|refund|{identifier}|{words}")
    values = overall.details["claims"][0]["values"]
    assert [value["text"] for value in values if value["verdict"] == "not_compared"] == numbers
    assert overall.value == (None if numbers else 1.0)


@pytest.mark.parametrize(("fields", "wanted"), [({}, (0.5, "FAIL")), ({"threshold": 0.5}, (None, None))])
def test_what_is_wrong_decides_beside_what_is_not_compared(fields, wanted, overall_of):
    said = ("1|refund||Sent to Graz|to.street=Graz", "1|pay||paid")
    overall = overall_of(refunded("Sent to Graz, paid."), *said, **fields)
    assert (overall.value, overall.outcome) == wanted


def test_of_several_actions_a_claim_means_the_one_with_its_values(overall_of):
    calls = [ToolCall("refund", {"order_id": "A1", "amount": amount}) for amount in (10, 20)]
    said = ("1|refund||refunded $20|amount=$20", "1|refund||$10|amount=$10")
    overall = overall_of(refunded("I refunded $20 and $10.", calls=calls), *said)
    assert overall.value == 1.0
    assert [found["call"] for found in overall.details["claims"]] == [
        "refund(order_id: A1, amount: 20)",
        "refund(order_id: A1, amount: 10)",
    ]


def test_values_that_nobody_said_make_an_answer_unusable(overall_of):
    overall = overall_of([did("cancel A1", said="I cancelled A1.")], "1|cancel|A1|I cancelled A1|id=B2")
    assert (overall.value, overall.reason) == (None, "1 of 1 quotes are not the agent's words")
