import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.transforms.criteria.responses import FinalResponseMatch

LETTERS = {
    "V": {"reference_quote": "3", "answer_quote": "three", "reason": "same", "verdict": "valid"},
    "I": {"reference_quote": "3", "answer_quote": "4", "reason": "differs", "verdict": "invalid"},
    "X": {"is_the_agent_response_valid": "valid"},
    "E": "429 RESOURCE_EXHAUSTED",
}


def answers(letters):
    return [LETTERS[letter] for letter in letters]


def one_turn(expected="It is 3.", said="It is three.", **fields):
    expected = ExpectedTurn(user="how many?", response=expected, **fields)
    return EvalCase(eval_id="e", turns=[expected]), Turn(user="how many?", agent=said)


SAMPLES = [
    # google-adk's samples, its score where it is right, how many are asked for
    ("V", 1.0, 1),
    ("I", 0.0, 1),
    ("X", None, 1),
    ("VVVII", 1.0, 3),
    ("VVII", 0.0, 4),
    ("VI", 0.0, 2),
    ("VXXXX", 1.0, 5),
    ("VIXXX", 0.0, 5),
    ("VVIXX", 1.0, 5),
    ("XXXXX", None, 5),
    ("VVVVE", 1.0, 3),
    ("EVVVV", 1.0, 4),
    ("EEEEE", None, 5),
    ("IIIIE", 0.0, 3),
]


@pytest.mark.parametrize(("letters", "wanted", "asked"), SAMPLES)
def test_samples(letters, wanted, asked, judged, matched, scripted):
    criterion = FinalResponseMatch(judge_model_options={"num_samples": len(letters)})
    case, turn = one_turn()
    ask = scripted(answers(letters))
    ((_, score),) = judged(criterion, matched(case, turn), ask).turns
    assert score.value == wanted
    assert ask.samples == asked
    assert (score.reason is None) == (wanted is not None)


OVERALLS = [
    # google-adk leaves out what is not evaluated; here it keeps a pass from being one
    ("V", "I", 0.5, "PASS", None),
    ("V", "X", 1.0, None, "1 of 2 turns without a score: the answer does not fit the schema"),
    ("V", "E", 1.0, None, "1 of 2 turns without a score: 429 RESOURCE_EXHAUSTED"),
    ("I", "E", 0.0, "FAIL", "1 of 2 turns without a score: 429 RESOURCE_EXHAUSTED"),
    ("X", "X", None, None, "the answer does not fit the schema"),
]


@pytest.mark.parametrize(("first", "second", "value", "outcome", "reason"), OVERALLS)
def test_overalls(first, second, value, outcome, reason, judged, matched, scripted):
    turns = [ExpectedTurn(user=str(i), response="It is 3.") for i in range(2)]
    case = EvalCase(eval_id="e", turns=turns)
    found = scripted(
        lambda question, number: LETTERS[first if "request]\n0\n" in question.prompt.evidence else second]
    )
    criterion = FinalResponseMatch(judge_model_options={"num_samples": 1})
    result = judged(criterion, matched(case, Turn(agent="a"), Turn(agent="b")), found)
    assert (result.overall.value, result.overall.outcome, result.overall.reason) == (value, outcome, reason)


def test_what_the_judge_sees_and_says(judged, matched, scripted, sections_of):
    case, turn = one_turn()
    ask = scripted(answers("VVV"))
    ((_, score),) = judged(FinalResponseMatch(), matched(case, turn), ask).turns
    assert sections_of(ask.evidence[0]) == [
        ("request", "how many?"),
        ("reference answer", "It is 3."),
        ("agent's answer", "It is three."),
    ]
    assert (score.label, score.explanation) == ("valid", "same")
    assert score.details == {
        "reference_quote": "3",
        "reference_quote_found": True,
        "answer_quote": "three",
        "answer_quote_found": True,
        "votes": [3, 0],
    }
    assert (score.judge.model, score.judge.samples, score.judge.tokens_in) == ("scripted", 3, 30)


def test_a_quote_that_is_nowhere_is_marked(judged, matched, scripted):
    case, turn = one_turn()
    made_up = {**LETTERS["V"], "answer_quote": "It is a hundred."}
    ((_, score),) = judged(FinalResponseMatch(), matched(case, turn), scripted([made_up] * 5)).turns
    assert (score.value, score.details["answer_quote_found"]) == (1.0, False)


def test_intermediate_words_on_both_sides(judged, matched, scripted, sections_of):
    case, turn = one_turn(intermediate_responses=["let me see"])
    turn.agent_messages = ["hm", "It is three."]
    criterion = FinalResponseMatch(include_intermediate_responses_in_final=True)
    ask = scripted(answers("VVV"))
    judged(criterion, matched(case, turn), ask)
    assert sections_of(ask.evidence[0])[1:] == [
        ("reference answer", "let me see\nIt is 3."),
        ("agent's answer", "hm\nIt is three."),
    ]


UNASKED = [
    (one_turn(said=None), 0.0, None),
    (one_turn(said=" "), 0.0, None),
    (one_turn(expected=None), None, None),
    (one_turn(expected=" "), None, None),
]


@pytest.mark.parametrize(("sides", "value", "label"), UNASKED)
def test_turns_that_need_no_judge(sides, value, label, judged, matched, scripted):
    case, turn = sides
    ask = scripted([])
    found = judged(FinalResponseMatch(), matched(case, turn), ask).turns
    assert [(score.value, score.label) for _, score in found] == ([] if value is None else [(value, label)])
    assert ask.asked == []


@pytest.mark.parametrize("sides", [sides for sides, _, _ in UNASKED])
def test_adk_asks_about_empty_texts_too(sides, judged, matched, scripted):
    case, turn = sides
    ask = scripted(answers("VVV"))
    found = judged(FinalResponseMatch(adk_compat=True), matched(case, turn), ask).turns
    assert [(score.value, score.label) for _, score in found] == [(1.0, "valid")]


def test_missing_and_extra_turns_score_nothing(judged, matched, scripted):
    case = EvalCase(
        eval_id="e", turns=[ExpectedTurn(user="a", response="x"), ExpectedTurn(user="b", response="y")]
    )
    found = judged(FinalResponseMatch(), matched(case, Turn(user="a", agent="x")), scripted(answers("VVV")))
    assert [(score.value, score.label) for _, score in found.turns] == [(1.0, "valid"), (0.0, "MISSING_TURN")]
    short = EvalCase(eval_id="e", turns=[ExpectedTurn(user="a", response="x")])
    turns = [Turn(user="a", agent="x"), Turn(user="more", agent="z")]
    found = judged(FinalResponseMatch(), matched(short, *turns), scripted(answers("VVV")))
    assert [(score.value, score.label) for _, score in found.turns] == [(1.0, "valid"), (0.0, "EXTRA_TURN")]
