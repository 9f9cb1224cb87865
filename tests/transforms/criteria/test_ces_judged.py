import pytest

from tests.samples import sample_of
from tests.scripted_judge import verdicts
from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import (
    Expectation,
    ExpectedTurn,
    Rubric,
    ToolCall,
    ToolResponse,
    Turn,
    TurnThresholds,
)
from turnwise.transforms.criteria.ces_conversations import (
    EvaluationExpectations,
    ScenarioExpectations,
    ScenarioRubrics,
    UserGoalSatisfaction,
)
from turnwise.transforms.criteria.ces_turns import LABELS, SemanticMatch, SemanticSimilarity

ASKED = Turn(user="q", agent="a")


def alike(score):
    return {"expected_quote": "", "actual_quote": "", "reason": f"gives {score}", "score": score}


def says(text, comparison="SEMANTIC_SIMILARITY", **fields):
    return Expectation("agent_response", text=text, comparison=comparison, **fields)


def golden(*expectations, thresholds=None, **fields):
    turn = ExpectedTurn(user="q", expectations=list(expectations), thresholds=thresholds)
    return EvalCase(**{"eval_id": "e", "dialect": "ces", "turns": [turn], **fields})


@pytest.mark.parametrize("score", range(5))
def test_similarity(score, judged, scripted, sections_of):
    ask = scripted([alike(score)])
    found = judged(
        SemanticSimilarity(), sample_of(golden(says("hello")), Turn(user="q", agent="good day")), ask
    )
    ((_, result),) = found.turns
    assert (result.value, result.label, result.explanation) == (float(score), LABELS[score], f"gives {score}")
    assert (result.threshold, result.outcome) == (3, "PASS" if score >= 3 else "FAIL")
    assert sections_of(ask.evidence[0]) == [("expected answer", "hello"), ("actual answer", "good day")]


GATES = [
    # the criterion's fields, the case's gate, the turn's gate, the dialect, the gate that applies
    ({}, 3, None, "ces", 3),
    ({}, 2, None, "ces", 2),
    ({}, 2, 4, "ces", 4),
    ({"threshold": 1}, 2, 4, "ces", 1),
    ({}, 2, 4, "adk", 3),
    ({"threshold": 1}, 3, None, "adk", 1),
]


@pytest.mark.parametrize(("fields", "of_case", "of_turn", "dialect", "wanted"), GATES)
def test_the_gate_of_similarity(fields, of_case, of_turn, dialect, wanted, judged, scripted):
    case = golden(says("hello"), thresholds=TurnThresholds(semantic_similarity=of_turn), dialect=dialect)
    case.thresholds = CaseThresholds(semantic_similarity=of_case)
    found = judged(
        SemanticSimilarity(**fields), sample_of(case, Turn(user="q", agent="x")), scripted([alike(3)])
    )
    ((_, score),) = found.turns
    assert (score.threshold, score.outcome) == (wanted, "PASS" if wanted <= 3 else "FAIL")


COMPARED = [
    # expectations, what was said, (expected, actual) that is shown; or the score without asking
    ([says("a"), says("b")], ["x", "y"], ("a\nb", "x\ny")),
    ([says("a"), says("b", "CONTAINS")], ["x"], ("a", "x")),
    ([says("a", skip=True), says("b")], ["x"], ("b", "x")),
    ([says("a"), says("b")], ["a", "x"], ("a\nb", "a\nx")),
    ([says("a")], ["a"], 4.0),
    ([says("a", "CONTAINS")], ["b a c"], None),
    ([says("a", "EQUALS")], ["a"], None),
    ([says("a"), says("z", "EQUALS")], ["a"], 4.0),
    ([says("a", "EQUALS")], ["b"], None),
    ([says("a", "CONTAINS")], ["b"], None),
    ([says("a")], [], 0.0),
    ([says("a", skip=True)], ["x"], None),
    ([Expectation("no_tool_calls")], ["x"], None),
]


@pytest.mark.parametrize(("expectations", "said", "wanted"), COMPARED)
def test_what_is_compared(expectations, said, wanted, judged, scripted, sections_of):
    ask = scripted([alike(3)])
    turn = Turn(user="q", agent_messages=said, agent="\n".join(said) or None)
    found = judged(SemanticSimilarity(), sample_of(golden(*expectations), turn), ask).turns
    if isinstance(wanted, tuple):
        assert [text for _, text in sections_of(ask.evidence[0])] == list(wanted)
    else:
        assert ask.asked == []
        assert [score.value for _, score in found] == ([] if wanted is None else [wanted])


@pytest.mark.parametrize("said", ["a", "b", None])
def test_similarity_switched_off(said, judged, scripted):
    case = golden(says("a"), similarity_enabled=False)
    assert judged(SemanticSimilarity(), sample_of(case, Turn(user="q", agent=said)), scripted([])).turns == []


@pytest.mark.parametrize(
    ("comparison", "wanted"),
    [("EQUALS", []), ("SEMANTIC_SIMILARITY", [(4.0, LABELS[4]), (0.0, "MISSING_TURN")])],
)
def test_a_missing_turn_is_not_similar(comparison, wanted, judged, scripted):
    turns = [ExpectedTurn(user=str(i), expectations=[says(f"answer {i}", comparison)]) for i in range(2)]
    case = EvalCase(eval_id="e", dialect="ces", turns=turns)
    found = judged(SemanticSimilarity(), sample_of(case, Turn(user="0", agent="answer 0")), scripted([]))
    assert [(score.value, score.label) for _, score in found.turns] == wanted
    assert bool(found.overall) == bool(wanted)


@pytest.mark.parametrize(
    ("gates", "scores", "wanted"),
    [
        ((2, 3), (2, 3), (2.5, 2.5, "PASS")),
        ((2, 3), (2, 2), (2.0, 2.5, "FAIL")),
        ((None, None), (2, 4), (3.0, 3.0, "PASS")),
        ((4, None), (3, 4), (3.5, 3.5, "PASS")),
        ((2, 2), (2, None), (2.0, 2.0, None)),
    ],
)
def test_a_mean_of_similarity_is_held_against_the_mean_of_the_gates(gates, scores, wanted, judged, scripted):
    turns = [
        ExpectedTurn(user="q", expectations=[says("a")], thresholds=TurnThresholds(semantic_similarity=gate))
        for gate in gates
    ]
    case = EvalCase(eval_id="e", dialect="ces", turns=turns)
    said = {f"b{place}": "429" if score is None else alike(score) for place, score in enumerate(scores)}
    ask = scripted(lambda question, number: next(v for k, v in said.items() if k in question.prompt.evidence))
    overall = judged(
        SemanticSimilarity(), sample_of(case, *(Turn(user="q", agent=k) for k in said)), ask
    ).overall
    assert (overall.value, overall.threshold, overall.outcome) == wanted


@pytest.mark.parametrize(("scores", "value"), [([1, 4, 3], 3.0), ([4, 1], 1.0)])
def test_several_samples_of_similarity(judged, scripted, scores, value):
    """The lower one of two counts: a doubt is no pass."""
    criterion = SemanticSimilarity(judge_model_options={"num_samples": len(scores) + 1})
    ask = scripted([alike(scores[0]), "429", *map(alike, scores[1:])])
    ((_, score),) = judged(criterion, sample_of(golden(says("a")), Turn(user="q", agent="b")), ask).turns
    assert (score.value, score.details["scores"]) == (value, scores)


# statements


POLITE = "projects/p/locations/l/apps/a/evaluationExpectations/polite-tone"
EXPECTATIONS = [
    (["is polite"], {}, "Y", [1.0], 1.0, "PASS"),
    (["is polite", "is brief"], {}, "YN", [1.0, 0.0], 0.5, "FAIL"),
    (["is polite", "is brief"], {}, "Y-", [1.0, None], None, None),
    (["is polite", "is brief"], {}, "N-", [0.0, None], None, "FAIL"),
    ([POLITE], {POLITE: "stays polite"}, "Y", [1.0], 1.0, "PASS"),
    ([POLITE], {"polite-tone": "stays polite"}, "N", [0.0], 0.0, "FAIL"),
    ([POLITE, "is brief"], {}, "Y", [None, 1.0], None, None),
    ([POLITE], {}, "", [None], None, None),
]


@pytest.mark.parametrize(("names", "prompts", "letters", "scores", "value", "outcome"), EXPECTATIONS)
def test_evaluation_expectations(names, prompts, letters, scores, value, outcome, judged, scripted):
    case = EvalCase(eval_id="e", dialect="ces", evaluation_expectations=names)
    ask = scripted([verdicts(letters)])
    overall = judged(EvaluationExpectations(prompts=prompts), sample_of(case, ASKED), ask).overall
    assert [item["score"] for item in overall.details["expectations"]] == scores
    assert [item["expectation"] for item in overall.details["expectations"]] == names
    assert (overall.value, overall.outcome) == (value, outcome)


def test_a_named_expectation_whose_words_nobody_knows(judged, scripted):
    case = EvalCase(eval_id="e", dialect="ces", evaluation_expectations=[POLITE])
    ask = scripted([])
    overall = judged(EvaluationExpectations(), sample_of(case, ASKED), ask).overall
    where = "the config's criteria.evaluation_expectations.prompts"
    assert overall.reason == f"{where} has no text for {POLITE}"
    assert ask.asked == []


def scenario(**fields):
    return EvalCase(**{"eval_id": "e", "kind": "scenario", "dialect": "ces", "task": "get it", **fields})


def test_expected_answers_of_a_scenario(judged, scripted, sections_of):
    case = scenario(
        expectations=[
            Expectation("tool_call", tool_call=ToolCall(name="x")),
            says("refund in 5 days", "CONTAINS"),
            says("hello", "CONTAINS"),
            says("case RF-88", "CONTAINS"),
        ]
    )
    ask = scripted([verdicts("YN", "five days")])
    turns = [Turn(user="q", agent="hello"), Turn(user="r", agent="the money comes in five days")]
    overall = judged(ScenarioExpectations(), sample_of(case, *turns), ask).overall
    assert [(item["place"], item["score"]) for item in overall.details["answers"]] == [(1, 1.0), (3, 0.0)]
    assert (overall.value, overall.outcome) == (0.5, "FAIL")
    assert sections_of(ask.evidence[0])[-2:] == [
        ("expected answer 1", "refund in 5 days"),
        ("expected answer 2", "case RF-88"),
    ]


def test_a_scenario_whose_answers_code_decides(judged, scripted):
    sample = sample_of(scenario(expectations=[says("hello", "CONTAINS")]), Turn(agent="hello you"))
    assert judged(ScenarioExpectations(), sample, scripted([])).overall is None


def grades(*numbers):
    return {
        "rubrics": [
            {"number": i, "quote": "", "reason": f"grade {g}", "grade": g}
            for i, g in enumerate(numbers, 1)
            if g is not None
        ]
    }


RUBRICS = [
    ([grades(4, 3)], [1.0, 0.75], 0.875),
    ([grades(0, 0)], [0.0, 0.0], 0.0),
    ([grades(4, None)], [1.0, None], None),
    ([grades(5, 1)], [None, None], None),
    ([grades(4, 0), grades(2, 1), "429"], [0.5, 0.0], 0.25),
    (["429"], [None, None], None),
]


@pytest.mark.parametrize(("samples", "scores", "value"), RUBRICS)
def test_scenario_rubrics(samples, scores, value, judged, scripted):
    case = scenario(rubrics=[Rubric(rubric_id=str(i), text=f"rubric {i}") for i in range(2)])
    criterion = ScenarioRubrics(judge_model_options={"num_samples": len(samples)})
    overall = judged(criterion, sample_of(case, ASKED), scripted(samples)).overall
    assert [item["score"] for item in overall.details["rubrics"]] == scores
    assert [item["rubric"] for item in overall.details["rubrics"]] == ["rubric 0", "rubric 1"]
    assert (overall.value, overall.outcome) == (value, None)


def test_a_rubric_graded_twice_does_not_count(judged, scripted):
    case = scenario(rubrics=[Rubric(rubric_id="0", text="x")])
    twice = {"rubrics": [*grades(4)["rubrics"], *grades(0)["rubrics"]]}
    overall = judged(ScenarioRubrics(), sample_of(case, ASKED), scripted([twice])).overall
    assert overall.value is None


def goal(word):
    return {"quote": "", "reason": word, "verdict": word}


GOALS = [
    ("satisfied", 1.0, "User Task Satisfied", {"SATISFIED": "PASS", "REJECTED": "FAIL"}),
    ("not_satisfied", 0.0, "User Task Not Satisfied", {"SATISFIED": "FAIL", "REJECTED": "PASS"}),
    ("unspecified", -1.0, "User Task Unspecified", {"SATISFIED": "FAIL", "REJECTED": "FAIL"}),
]


@pytest.mark.parametrize(("word", "value", "label", "outcomes"), GOALS)
@pytest.mark.parametrize("wanted", ["SATISFIED", "REJECTED", "IGNORED"])
def test_user_goals(word, value, label, outcomes, wanted, judged, scripted):
    ask = scripted([goal(word)])
    overall = judged(UserGoalSatisfaction(), sample_of(scenario(user_goal=wanted), ASKED), ask).overall
    assert (overall.value, overall.label, overall.explanation) == (value, label, word)
    assert overall.outcome == outcomes.get(wanted, "SKIPPED")


@pytest.mark.parametrize("case", [scenario(task=None), scenario(user_goal_enabled=False), golden(says("x"))])
def test_no_user_goal(case, judged, scripted):
    assert judged(UserGoalSatisfaction(), sample_of(case, ASKED), scripted([])).overall is None


# values compared by meaning


def meant(value, **fields):
    return {"$matchType": "semantic", "$matchValue": value, **fields}


def call(**args):
    return Expectation("tool_call", tool_call=ToolCall(name="a", args=args))


def made(**args):
    return Turn(tool_calls=[ToolCall("a", args)])


VALUES = [
    ([call(d=meant("2 March"), n=1)], made(d="02.03.", n=1), ["d"]),
    ([call(d=meant("2 March"))], made(d="2 March"), []),
    ([call(d=meant("2 March"))], made(), []),
    ([call(d=meant("2 March"))], Turn(), []),
    (
        [Expectation("updated_variables", variables={"v": meant("yes"), "w": 1})],
        Turn(variables={"v": "sí", "w": 1}),
        ["v"],
    ),
    (
        [Expectation("tool_response", tool_response=ToolResponse(name="a", response=meant("found")))],
        Turn(tool_responses=[ToolResponse(name="a", response={"ok": True})]),
        ["response"],
    ),
    ([Expectation("tool_call", tool_call=ToolCall("a", {"d": meant("x")}), skip=True)], made(d="y"), []),
]


@pytest.mark.parametrize(("expectations", "turn", "names"), VALUES)
def test_which_values_are_compared(expectations, turn, names, judged, scripted):
    ask = scripted([verdicts("N" * len(names))])
    found = judged(SemanticMatch(), sample_of(golden(*expectations), turn), ask).turns
    values = [item for _, score in found for item in score.details["values"]]
    assert [item["name"] for item in values] == names
    assert all(item["score"] == 0.0 and item["place"] == 0 for item in values)


def test_what_the_judge_sees_of_a_value(judged, scripted, sections_of):
    wanted = call(날짜=meant("2 March 2026", **{"$originalValue": "2026-03-02"}))
    ask = scripted([verdicts("Y")])
    judged(SemanticMatch(), sample_of(golden(wanted), made(날짜={"y": 2026, "m": 3.0})), ask)
    assert sections_of(ask.evidence[0]) == [
        ("pair 1, parameter", "날짜"),
        ("pair 1, expected value", "2 March 2026"),
        ("pair 1, actual value", '{"y": 2026, "m": 3.0}'),
        ("pair 1, example", "2026-03-02"),
    ]


def test_values_of_a_scenario(judged, scripted):
    case = scenario(expectations=[call(d=meant("2 March"), e=meant("now"))])
    result = judged(SemanticMatch(), sample_of(case, made(d="02.03.", e="later")), scripted([verdicts("YN")]))
    assert (result.turns, result.overall.value) == ([], 0.5)
