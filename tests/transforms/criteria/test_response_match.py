import pytest

from tests.samples import scores_of
from turnwise.schemas.adk import Invocation
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.transforms.criteria.responses import ResponseMatch
from turnwise.transforms.formats.adk_cases import invocation_expected, invocation_turn
from turnwise.transforms.matching.sample import EXTRA_TURN, MISSING_TURN


def result_of(criterion, golden, recorded):
    return scores_of(criterion, EvalCase(eval_id="e", turns=golden), *recorded)


def turn_scores(criterion, expected, said):
    golden = [ExpectedTurn(user="q", response=text) for text in expected]
    recorded = [Turn(turn_index=i, user="q", agent=text) for i, text in enumerate(said)]
    result = result_of(criterion, golden, recorded)
    return [(turn, score.value, score.outcome, score.label) for turn, score in result.turns], result.overall


ONE_TURN = [
    # expected, said, value, with adk_compat
    ("the sky is blue", "the sky is blue", 1.0, 1.0),
    ("a b c d", "a b c", 6 / 7, 6 / 7),
    ("a b", "x", 0.0, 0.0),
    ("a b", None, 0.0, 0.0),
    ("a b", "", 0.0, 0.0),
    (None, "said", None, 0.0),
    ("", "said", None, 0.0),
    (None, None, None, 0.0),
    ("👍", "👍", 1.0, 0.0),
    ("👍", " 👍\n", 1.0, 0.0),
    ("👍", "👎", 0.0, 0.0),
    ("👍", "yes", 0.0, 0.0),
    ("...", None, 0.0, 0.0),
]


@pytest.mark.parametrize(("expected", "said", "own", "adk"), ONE_TURN)
def test_one_turn(expected, said, own, adk):
    found, overall = turn_scores(ResponseMatch(threshold=0.8), [expected], [said])
    if own is None:
        assert (found, overall) == ([], None)
    else:
        assert found[0][1] == pytest.approx(own)
        assert found[0][2] == ("PASS" if own >= 0.8 else "FAIL")
        assert overall.value == found[0][1]
    found, overall = turn_scores(ResponseMatch(threshold=0.8, adk_compat=True), [expected], [said])
    assert found[0][1] == pytest.approx(adk)
    assert overall.outcome == ("PASS" if adk >= 0.8 else "FAIL")


def test_texts_without_words_are_labelled():
    assert turn_scores(ResponseMatch(), ["!"], ["?"])[0] == [(0, 0.0, "FAIL", "NO_WORDS")]


def test_the_threshold_is_reached_not_surpassed():
    assert turn_scores(ResponseMatch(threshold=0.5), ["a b"], ["a c"])[0] == [(0, 0.5, "PASS", None)]
    assert turn_scores(ResponseMatch(threshold=0.5000001), ["a b"], ["a c"])[0] == [(0, 0.5, "FAIL", None)]


def test_precision_and_recall_are_in_the_details():
    result = result_of(ResponseMatch(), [ExpectedTurn(response="a b c d")], [Turn(agent="a b")])
    assert result.turns[0][1].details == {"precision": 1.0, "recall": 0.5}


@pytest.mark.parametrize(("kind", "wanted"), [("rouge1", 1.0), ("rouge2", 1 / 3), ("rougeL", 0.75)])
def test_rouge_types(kind, wanted):
    found, _ = turn_scores(
        ResponseMatch(rouge_type=kind), ["a b c d"], ["b c d a"] if kind != "rouge2" else ["b a c d"]
    )
    assert found[0][1] == pytest.approx(wanted)


@pytest.mark.parametrize("adk_compat", [False, True])
def test_missing_and_extra_turns(adk_compat):
    criterion = ResponseMatch(adk_compat=adk_compat)
    golden = [ExpectedTurn(user="first", response="one"), ExpectedTurn(user="second", response="two")]
    found = result_of(criterion, golden, [Turn(user="second", agent="two")])
    assert [(i, s.value, s.label) for i, s in found.turns] == [(0, 0.0, MISSING_TURN), (1, 1.0, None)]
    assert (found.overall.value, found.overall.outcome) == (0.5, "FAIL")
    recorded = [Turn(user="first", agent="one"), Turn(user="x", agent="y"), Turn(user="second", agent="two")]
    found = result_of(criterion, golden, recorded)
    assert [(i, s.value, s.label) for i, s in found.turns] == [
        (0, 1.0, None),
        (1, 0.0, EXTRA_TURN),
        (2, 1.0, None),
    ]


def test_intermediate_responses_are_compared_on_demand():
    golden = [ExpectedTurn(response="done", intermediate_responses=["one moment"])]
    recorded = [Turn(agent="done", agent_messages=["one moment", "done"])]
    both = ResponseMatch(include_intermediate_responses_in_final=True)
    assert result_of(both, golden, recorded).overall.value == 1.0
    assert result_of(both, golden, [Turn(agent="done")]).overall.value == 0.5
    assert result_of(ResponseMatch(), golden, recorded).overall.value == 1.0
    assert result_of(ResponseMatch(), golden, [Turn(agent="one moment done")]).overall.value == 0.5


def test_thoughts_are_left_out_unless_adk_counts_them():
    def invocation(*parts):
        content = {"parts": list(parts), "role": "model"}
        return Invocation.model_validate(
            {"user_content": {"parts": [{"text": "q"}]}, "final_response": content}
        )

    golden = [invocation_expected(invocation({"text": "blue"}))]
    recorded = [invocation_turn(invocation({"text": "hm so", "thought": True}, {"text": "blue"}), 0)]
    assert result_of(ResponseMatch(), golden, recorded).overall.value == 1.0
    assert result_of(ResponseMatch(adk_compat=True), golden, recorded).overall.value == 0.5
