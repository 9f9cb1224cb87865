"""grounding_score, citation_validity, safety_ratings and skipped_rate."""

import json
from pathlib import Path

import pytest

from tests.samples import scores_of
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import (
    Citation,
    GroundedAnswer,
    GroundedClaim,
    GroundedStep,
    Record,
    Reference,
    SafetyRating,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.answers import answer_conversation
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import score_conversation

SAMPLE = Path(__file__).parents[3] / "../shared/fixtures/ces/samples/baggage_policy__Answer.json"
TEXT = "Gepäck bis 1.131 SZR."


def answered(text=TEXT, **fields):
    return Turn(agent=text, grounded=GroundedAnswer(**{"references": [Reference(texts=["x"])], **fields}))


def scored(name, turns, **fields):
    return scores_of(CRITERIA[name](**fields), None, *turns)


def score(name, turn, **fields):
    """The score of a turn, or None."""
    turns = scored(name, [turn], **fields).turns
    return turns[0][1] if turns else None


@pytest.mark.parametrize(
    "name, measured",
    [
        ("safety_ratings", {"safety_ratings": [SafetyRating("HARM", "NEGLIGIBLE")]}),
        ("grounding_score", {"grounding_score": 1.0}),
    ],
)
def test_a_gate_does_not_pass_answers_without_the_figure_of_the_engine(name, measured):
    full, bare, plain = answered(**measured), answered(), Turn(user="a", agent="b")
    skipped = answered(skipped_reasons=["LOW_GROUNDED_ANSWER"])
    assert scored(name, [full, skipped, Turn(agent="Welcome")], threshold=1.0).overall.outcome == "PASS"
    assert scored(name, [skipped], threshold=1.0).overall is None
    for turns in ([full, bare], [full, plain], [bare], [plain]):
        found = scored(name, turns, threshold=1.0).overall
        assert found.outcome is None and f"not in the log (needs {CRITERIA[name].needs})" in found.reason
        assert all(one.value is not None for _, one in scored(name, turns, threshold=None).turns)


@pytest.mark.parametrize(
    ("fields", "value", "label"),
    [
        ({"grounding_score": 0.8}, 0.8, "answer"),
        ({"grounding_score": 0.0}, 0.0, "answer"),
        ({"grounding_score": 0.8, "claims": [GroundedClaim(0, 7, 0.2)]}, 0.8, "answer"),
        (
            {
                "claims": [
                    GroundedClaim(0, 7, 0.2),
                    GroundedClaim(0, 7, 0.6),
                    GroundedClaim(0, 7, None, False),
                ]
            },
            0.4,
            "claims",
        ),
        ({"claims": [GroundedClaim(0, 7, 0.2), GroundedClaim(0, 7, 9.0)]}, 0.2, "claims"),
    ],
)
def test_grounding(fields, value, label):
    found = score("grounding_score", answered(**fields))
    assert (found.value, found.label) == (pytest.approx(value), label)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"claims": [GroundedClaim(0, 7, None, False)]},
        {"grounding_score": 0.1, "skipped_reasons": ["LOW_GROUNDED_ANSWER"]},
    ],
)
def test_grounding_does_not_apply(fields):
    assert score("grounding_score", answered(**fields)) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"grounding_score": 1.5}, "the answer's score is 1.5"),
        ({"claims": [GroundedClaim(0, 7, None, True)]}, "the engine scored no claim"),
    ],
)
def test_grounding_has_no_score(fields, reason):
    found = score("grounding_score", answered(**fields), threshold=0.5)
    assert (found.value, found.reason, found.outcome) == (None, reason, None)


def test_every_claim_that_needs_a_check_has_its_place():
    claims = [
        GroundedClaim(0, 7, 0.9, True, ["0"]),
        GroundedClaim(8, 22, None, False),
        GroundedClaim(4, 7, 0.5),
    ]
    found = score("grounding_score", answered(grounding_score=0.7, claims=claims))
    keys = ("claim", "start", "end", "start_byte", "end_byte", "references", "score")
    rows = ((0, 0, 6, 0, 7, ["0"], 0.9), (2, None, None, 4, 7, [], 0.5))
    assert found.details == {"claims": [dict(zip(keys, row, strict=True)) for row in rows]}


@pytest.mark.parametrize(
    ("thresholds", "outcome", "label"),
    [
        ({}, None, "answer"),
        ({"threshold": 0.8}, "PASS", "answer"),
        ({"threshold": 0.9}, "FAIL", "answer"),
        ({"threshold": 0.8, "claim_threshold": 0.58}, "PASS", "answer"),
        ({"threshold": 0.8, "claim_threshold": 0.6}, "FAIL", "WEAK_CLAIM"),
        ({"threshold": 0, "claim_threshold": 0.6}, "FAIL", "WEAK_CLAIM"),
    ],
)
def test_thresholds_of_the_answer_and_of_its_claims(thresholds, outcome, label):
    weak = answered(grounding_score=0.83, claims=[GroundedClaim(0, 7, 0.97), GroundedClaim(8, 22, 0.58)])
    entry = scored("grounding_score", [weak, answered(grounding_score=0.83)], **thresholds)
    assert (entry.turns[0][1].outcome, entry.turns[0][1].label) == (outcome, label)
    assert (entry.overall.outcome, entry.overall.value) == (outcome, pytest.approx(0.83))
    if label == "WEAK_CLAIM":
        assert entry.turns[0][1].explanation == (
            "1 of 2 claims score below 0.6; the least, 0.58, has claim 1."
        )


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared fixtures are not here")
def test_the_sample():
    conversation = answer_conversation(json.loads(SAMPLE.read_text()), parse_config("{}").discovery_engine)
    case = Sample(conversation, None, Record("f", 1, b""))
    names = ["grounding_score", "citation_validity", "citation_precision", "citation_recall"]
    names += ["safety_ratings", "skipped_rate", "turn_latency"]
    found = score_conversation(case, [CRITERIA[name]() for name in names])
    values = {entry.criterion.name: entry.turns[0][1].value for entry in found.scores}
    assert values == {
        "grounding_score": 0.83,
        "citation_validity": 1.0,
        "citation_precision": pytest.approx(2 / 3),
        "citation_recall": 1.0,
        "safety_ratings": 1.0,
        "skipped_rate": 0.0,
        "turn_latency": 2.25,
    }
    claims = found.scores[0].turns[0][1].details["claims"]
    assert [conversation.turns[0].agent[c["start"] : c["end"]] for c in claims] == [
        "Beschädigtes Gepäck erstatten wir bis 1.131 SZR.",
        "Bitte melden Sie den Schaden binnen 7 Tagen.",
    ]


@pytest.mark.parametrize(
    ("citations", "value", "problems"),
    [
        ([Citation(0, 7, ["0"])], 1.0, [[]]),
        ([Citation(0, 7, ["0"]), Citation(0, 7, ["0"])], 1.0, [[], []]),
        ([Citation(0, 7, ["0"]), *[Citation(0, 7, ["x"])] * 4], 0.2, [[], *[["UnknownReference"]] * 4]),
        ([Citation(0, 7, ["0"]), Citation(0, 99, ["0"])], 0.5, [[], ["OffsetOutsideText"]]),
        ([Citation(4, 7, ["0"])], 0.0, [["OffsetInsideCharacter"]]),
        ([Citation(7, 0, ["0"])], 0.0, [["EmptyRange"]]),
        ([Citation(0, 7, ["0", "1"])], 0.0, [["UnknownReference"]]),
        ([Citation(0, 7)], 0.0, [["CitationWithoutSource"]]),
    ],
)
def test_validity(citations, value, problems):
    found = score("citation_validity", answered(citations=citations))
    assert found.value == value
    assert [details["problems"] for details in found.details["citations"]] == problems
    assert bool(found.explanation) == (value < 1)


def test_what_an_invalid_citation_marks_is_shown():
    found = score("citation_validity", answered(citations=[Citation(4, 99, ["0"])]))
    assert found.details["citations"][0]["text"] == "\ufffdck bis 1.131 SZR."


def test_no_citations_and_no_text():
    assert score("citation_validity", answered()) is None
    found = score("citation_validity", answered(text=None, citations=[Citation(0, 7, ["0"])]))
    assert found.value == 0.0


def test_long_lists_are_cut_in_the_details():
    found = score("citation_validity", answered(citations=[Citation(0, 7, ["0"])] * 1000))
    assert (len(found.details["citations"]), found.details["not_listed"], found.value) == (200, 800, 1.0)


HARASSMENT, HATE = "HARM_CATEGORY_HARASSMENT", "HARM_CATEGORY_HATE_SPEECH"


@pytest.mark.parametrize(
    ("ratings", "fields", "value", "label"),
    [
        ([SafetyRating(HARASSMENT, "NEGLIGIBLE")], {}, 1.0, "safe"),
        ([SafetyRating(HARASSMENT, "LOW", severity="HARM_SEVERITY_LOW")], {}, 1.0, "safe"),
        ([SafetyRating(HARASSMENT)], {}, 1.0, "safe"),
        ([SafetyRating(HARASSMENT, "NEGLIGIBLE"), SafetyRating(HATE, "MEDIUM")], {}, 0.0, HATE),
        ([SafetyRating(HATE, "LOW", severity="HARM_SEVERITY_HIGH")], {}, 0.0, HATE),
        ([SafetyRating(HATE, "NEGLIGIBLE", blocked=True)], {"max_probability": "HIGH"}, 0.0, HATE),
        ([SafetyRating(HATE, "MEDIUM")], {"max_probability": "MEDIUM"}, 1.0, "safe"),
        ([SafetyRating(HATE, "LOW")], {"max_probability": "NEGLIGIBLE"}, 0.0, HATE),
        ([SafetyRating(HATE, severity="HARM_SEVERITY_MEDIUM")], {"max_severity": "MEDIUM"}, 1.0, "safe"),
        ([SafetyRating(HATE, "HIGH")], {"categories": {HATE: {"max_probability": "HIGH"}}}, 1.0, "safe"),
        ([SafetyRating(HATE, "LOW")], {"categories": {HATE: {"max_probability": "NEGLIGIBLE"}}}, 0.0, HATE),
        ([SafetyRating(HATE, "LOW")], {"categories": {HATE: {"max_severity": "HIGH"}}}, 1.0, "safe"),
        (
            [SafetyRating(HATE, severity="HARM_SEVERITY_HIGH")],
            {"categories": {HATE: {"max_severity": "HIGH"}}},
            1.0,
            "safe",
        ),
        ([SafetyRating("HARM_NEW", "HIGH")], {}, 0.0, "HARM_NEW"),
        ([SafetyRating(HATE, "EXTREME")], {}, None, None),
        ([SafetyRating(HATE, "EXTREME"), SafetyRating(HARASSMENT, "HIGH")], {}, 0.0, HARASSMENT),
    ],
)
def test_safety(ratings, fields, value, label):
    found = score("safety_ratings", answered(safety_ratings=ratings), **fields)
    assert (found.value, found.label) == (value, label)
    assert found.outcome == {1.0: "PASS", 0.0: "FAIL", None: None}[value]
    assert [rating["category"] for rating in found.details["ratings"]] == [r.category for r in ratings]


BLOCKED, HIGH = SafetyRating(HATE, "HIGH", blocked=True), SafetyRating(HARASSMENT, "HIGH")


@pytest.mark.parametrize(
    ("ratings", "reasons", "value", "label"),
    [
        ([BLOCKED], [], 0.0, HATE),
        ([BLOCKED], ["POTENTIAL_POLICY_VIOLATION"], 1.0, "withheld"),
        ([BLOCKED, HIGH], ["POTENTIAL_POLICY_VIOLATION"], 0.0, HARASSMENT),
        ([BLOCKED, SafetyRating(HARASSMENT, "EXTREME")], ["POTENTIAL_POLICY_VIOLATION"], None, None),
    ],
)
def test_a_refusal_whose_text_was_withheld_is_not_unsafe(ratings, reasons, value, label):
    found = score("safety_ratings", answered(safety_ratings=ratings, skipped_reasons=reasons))
    assert (found.value, found.label) == (value, label)


@pytest.mark.parametrize(
    ("citations", "claims", "value", "uncited"),
    [
        ([Citation(0, 7, ["0"])], [], 0.75, [1, 2, 3]),
        ([Citation(0, 7, ["0", "3"]), Citation(0, 99, ["1", "x"])], [], 0.25, [2]),
        ([], [GroundedClaim(0, 7, sources=["0", "1", "2", "3"])], 0.0, []),
        ([], [], 1.0, [0, 1, 2, 3]),
    ],
)
def test_references_that_nothing_names(citations, claims, value, uncited):
    fields = {"references": [Reference()] * 4, "citations": citations, "claims": claims}
    found = score("uncited_references", answered(**fields))
    assert (found.value, found.details["uncited"]) == (value, uncited)
    assert score("uncited_references", answered(**fields, skipped_reasons=["UNHELPFUL_ANSWER"])) is None
    assert score("uncited_references", answered(references=[])) is None


@pytest.mark.skipif(not SAMPLE.exists(), reason="the shared fixtures are not here")
def test_an_answer_of_the_service():
    reply = json.loads((SAMPLE.parents[3] / "data/raw/answer_what_is_sql.json").read_text())
    turns = answer_conversation(reply, parse_config("{}").discovery_engine).turns
    names = ("uncited_references", "cited_relevance_difference", "failed_steps", "unobserved_actions")
    values = [scored(name, turns).turns[0][1].value for name in names]
    assert values == [pytest.approx(1 / 3), pytest.approx((0.9 + 3 * 0.8) / 4 - (0.7 + 0.6) / 2), 0.0, 0.0]


def related(relevances, cited, **fields):
    references = [Reference(relevance=relevance) for relevance in relevances]
    return answered(references=references, citations=[Citation(0, 7, cited)], **fields)


@pytest.mark.parametrize(
    ("relevances", "cited", "value"),
    [
        ([0.9, 0.5], ["0"], 0.4),
        ([0.9, 0.5], ["1"], -0.4),
        ([0.9, 0.5, 0.1], ["0", "2", "x"], 0.0),
        ([1.0, 0.0], ["0"], 1.0),
        ([0.0, 1.0], ["0"], -1.0),
        ([0.9, None], ["0"], None),
        ([0.9, 1.5], ["0"], None),
        ([0.9, float("nan")], ["0"], None),
    ],
)
def test_relevance_of_cited_and_other_references(relevances, cited, value):
    found = score("cited_relevance_difference", related(relevances, cited))
    assert found.value == (None if value is None else pytest.approx(value))
    assert found.reason == ("1 of 2 references have no relevance from 0 to 1" if value is None else None)
    if value is not None:
        both = found.details["cited"], found.details["uncited"]
        assert sum(side["references"] for side in both) == len(relevances)
        assert both[0]["mean_relevance"] - both[1]["mean_relevance"] == found.value


@pytest.mark.parametrize(
    ("relevances", "cited", "fields"),
    [
        ([0.9, 0.5], ["0", "1"], {}),
        ([0.9, 0.5], ["x"], {}),
        ([None, None], ["0"], {}),
        ([], ["0"], {}),
        ([0.9, 0.5], ["0"], {"skipped_reasons": ["UNHELPFUL_ANSWER"]}),
    ],
)
def test_no_relevance_to_compare(relevances, cited, fields):
    assert score("cited_relevance_difference", related(relevances, cited, **fields)) is None


def step(state, actions=1, observed=1):
    return GroundedStep(state, "a step", actions, observed)


@pytest.mark.parametrize(
    ("steps", "failed", "unobserved"),
    [
        ([step("SUCCEEDED"), step("SUCCEEDED", 2, 2)], 0.0, 0.0),
        ([step("SUCCEEDED"), step("FAILED", 1, 0)], 0.5, 0.5),
        ([step("FAILED", 3, 1)], 1.0, 2 / 3),
        ([step("SUCCEEDED"), step(None, 3, 0)], "1 of 2 steps have no final state; the first: None", 0.75),
        ([step("IN_PROGRESS")], "1 of 1 steps have no final state; the first: IN_PROGRESS", 0.0),
        ([step("FAILED"), step("ODD")], "1 of 2 steps have no final state; the first: ODD", 0.0),
        ([step("SUCCEEDED", 0, 0)], 0.0, "not applicable"),
        ([step(None)], "not applicable", 0.0),
        ([], "not applicable", "not applicable"),
    ],
)
def test_steps_and_their_actions(steps, failed, unobserved):
    def said(name):
        found = score(name, answered(steps=steps))
        if found is None:
            return "not applicable"
        return found.reason if found.value is None else found.value

    assert (said("failed_steps"), said("unobserved_actions")) == (failed, unobserved)


@pytest.mark.parametrize("name", ["failed_steps", "cited_relevance_difference"])
def test_a_gate_on_what_the_log_does_not_state_has_no_score(name):
    turn = related([None, None], ["0"], steps=[step(None)])
    assert f"not in the log (needs {CRITERIA[name].needs})" == score(name, turn, threshold=0.0).reason


@pytest.mark.parametrize(
    ("asked", "questions", "redundant"),
    [
        ("What is SQL?", ["Who made it?", "Since when?"], []),
        ("What is SQL?", ["  what is\tSQL", "Who made it?"], ["asked"]),
        ("What is SQL?", ["Who?", "who ?", "WHO"], ["repeated", "repeated"]),
        ("What is SQL?", ["", " ?"], ["blank", "blank"]),
        ("", ["Who?"], []),
        ("STRASSE？", ["Straße?"], ["asked"]),
    ],
)
def test_related_questions(asked, questions, redundant):
    turn = Turn(user=asked, agent="a", grounded=GroundedAnswer(related_questions=questions))
    found = score("redundant_related_questions", turn)
    assert found.value == len(redundant) / len(questions)
    assert [one["why"] for one in found.details["redundant"]] == redundant
    assert found.details["questions"] == len(questions)


def test_related_questions_of_an_unknown_question():
    found = score("redundant_related_questions", answered(related_questions=["Who?", "Who?"]))
    assert (found.value, found.reason) == (None, "the log lacks the user's question")
    assert [one["question"] for one in found.details["redundant"]] == [1]
    assert score("redundant_related_questions", answered()) is None


@pytest.mark.parametrize(
    ("unread", "names"),
    [
        ("citations", {"uncited_references", "cited_relevance_difference"}),
        ("grounding_supports.sources", {"uncited_references", "cited_relevance_difference"}),
        ("citations.start_index", set()),
        ("references", {"uncited_references", "cited_relevance_difference"}),
        ("references.chunk_info", {"uncited_references", "cited_relevance_difference"}),
        ("steps", {"failed_steps", "unobserved_actions", "empty_searches"}),
        ("steps.state", {"failed_steps", "empty_searches"}),
        ("steps.actions", {"unobserved_actions", "empty_searches"}),
        ("related_questions", {"redundant_related_questions"}),
    ],
)
def test_nothing_is_measured_of_what_could_not_be_read(unread, names):
    call, response = search(0, 1)
    turn = related([0.9, 0.5], ["0"], steps=[step("SUCCEEDED")], related_questions=["Who?"], unread=[unread])
    turn.user, turn.tool_calls, turn.tool_responses = "Why?", [call], [response]
    measured = ("uncited_references", "cited_relevance_difference", "failed_steps", "unobserved_actions")
    measured += ("empty_searches", "redundant_related_questions")
    reasons = {name: score(name, turn).reason for name in measured}
    assert {name for name, reason in reasons.items() if reason} == names
    assert set(reasons.values()) <= {None, f"{unread} could not be read"}


def search(number, results, error=None):
    call = ToolCall(name="search", id=f"s{number}a0", args={"query": f"q{number}"})
    output = {} if results is None else {"output": {"results": [{}] * results}}
    return call, ToolResponse(name="search", id=call.id, response=output, error=error)


@pytest.mark.parametrize(
    ("searches", "value", "results"),
    [
        ([search(0, 2), search(1, 1)], 0.0, [2, 1]),
        ([search(0, 2), search(1, 0)], 0.5, [2, 0]),
        ([search(0, 2, error=True), search(1, 0)], 1.0, [2, 0]),
        ([search(0, None, error=True)], 1.0, [None]),
        ([search(0, 0), search(1, None)], None, [0, None]),
    ],
)
def test_searches_that_found_nothing(searches, value, results):
    calls, responses = zip(*searches, strict=True)
    other = ToolCall(id="s9a9")
    turn = Turn(
        agent="a", grounded=GroundedAnswer(), tool_calls=[*calls, other], tool_responses=list(responses)
    )
    found = score("empty_searches", turn)
    assert found.value == value
    assert [one["results"] for one in found.details["searches"]] == results
    assert (found.reason is not None) == (value is None)


def test_a_search_without_its_results_is_not_an_empty_one():
    turn = Turn(agent="a", grounded=GroundedAnswer(), tool_calls=[search(0, 1)[0]])
    assert score("empty_searches", turn).reason == "the log lacks the results of 1 of 1 searches"


def test_searches_without_ids_have_their_own_results():
    calls = [ToolCall("search", {"query": query}) for query in ("a", "b")]
    answers = [ToolResponse("search", response={"output": {"results": found}}) for found in ([], [{}, {}])]
    turn = Turn(agent="a", grounded=GroundedAnswer(), tool_calls=calls, tool_responses=answers)
    found = score("empty_searches", turn)
    assert found.value == 0.5
    assert [one["results"] for one in found.details["searches"]] == [0, 2]


@pytest.mark.parametrize("content", ["text", ["text"], {"output": "text"}, None])
def test_a_search_with_results_of_another_form_has_no_score(content):
    call, response = ToolCall("search", {"query": "a"}), ToolResponse("search", response=content)
    turn = Turn(agent="a", grounded=GroundedAnswer(), tool_calls=[call], tool_responses=[response])
    assert score("empty_searches", turn).reason == "the log lacks the results of 1 of 1 searches"


def test_an_unknown_level_says_so():
    found = score("safety_ratings", answered(safety_ratings=[SafetyRating(HATE, "EXTREME")]))
    assert found.reason == f"{HATE}: probability EXTREME, severity None: not a known level"


def test_skipped_answers_count_by_their_reason():
    reasons = ["NO_RELEVANT_CONTENT", "LOW_GROUNDED_ANSWER", "NO_RELEVANT_CONTENT"]
    entry = scored("skipped_rate", [answered(), answered(skipped_reasons=reasons)], threshold=0.4)
    first, second = (score for _, score in entry.turns)
    assert (first.value, first.label, second.value, second.label) == (0.0, None, 1.0, reasons[0])
    assert second.details == {"reasons": reasons[:2]}
    assert (entry.overall.value, entry.overall.outcome, first.outcome) == (0.5, "FAIL", "PASS")


def test_a_turn_without_any_answer_is_neither_answered_nor_skipped():
    found = score("skipped_rate", Turn(user="a", grounded=GroundedAnswer()), threshold=0.4)
    assert (found.value, found.reason) == (None, "the record has neither a text nor a reason")


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ({"grounding_score": {"claim_threshold": 0.5}}, "claim_threshold needs a threshold"),
        ({"grounding_score": {"threshold": 0.5, "claim_threshold": 2}}, "claim_threshold: "),
        ({"safety_ratings": {"max_probability": "low"}}, "max_probability: "),
        ({"safety_ratings": {"categories": {"HATE": {}}}}, "categories.HATE"),
        ({"safety_ratings": {"categories": {HATE: {"max_probabilty": "LOW"}}}}, "unknown field"),
    ],
)
def test_mistakes_in_the_config(criteria, said):
    with pytest.raises(ConfigError, match=said):
        build_criteria(parse_config(json.dumps({"criteria": criteria})))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"discovery_engine": {"tool_name": ""}}, "discovery_engine.tool_name: "),
        ({"app_version_form": ["x"]}, "did you mean app_version_from"),
        ({"slices": "skipped"}, "slices: "),
        ({"slices": [1]}, "slices.0: "),
    ],
)
def test_mistakes_in_the_settings(config, said):
    with pytest.raises(ConfigError, match=said):
        parse_config(json.dumps(config))
