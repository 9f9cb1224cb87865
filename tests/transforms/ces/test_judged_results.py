import asyncio
import json
import re
from pathlib import Path

import pytest

import turnwise
from tests.ces_messages import parsed
from tests.samples import sample_of
from tests.scripted_judge import Scripted
from tests.tables import rows_test
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    ExpectedTurn,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.run import RunInfo
from turnwise.transforms.ces.judgements import CES_CRITERIA
from turnwise.transforms.ces.result import evaluation_result, result_parts
from turnwise.transforms.criteria.ces import EvaluationExpectations
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.review.row import RULES
from turnwise.transforms.scoring.evaluate import ScoredConversation, conversation_verdict, judge_conversation

test_rows = rows_test(globals(), "judged_results")
SAMPLES = Path(__file__).parents[3] / "../shared/fixtures/ces/samples"
needs_samples = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared fixtures are not here")
RUN = RunInfo("run-1", "2026-03-01T02:00:00Z")
POLITE = "The agent stays polite in every turn."
CRITERIA = [
    EvaluationExpectations(prompts={"polite-tone": POLITE})
    if criterion.name == "evaluation_expectations"
    else criterion
    for criterion in CES_CRITERIA
]


def result_of(case, turns, ask):
    scored = ScoredConversation(sample_of(case, *turns), [], [])
    asyncio.run(judge_conversation(scored, CRITERIA, ask))
    assert scored.failures == []
    return parsed(evaluation_result(scored, conversation_verdict(scored, RULES), RUN))


def sample(name, kind):
    """A sample; without the similarity of turns in which no answer is compared by meaning."""
    found = json.loads((SAMPLES / f"{name}__{kind}.json").read_text())
    for turn in found.get("goldenResult", {}).get("turnReplayResults", ()):
        stated = [outcome.get("expectation", {}) for outcome in turn["expectationOutcome"]]
        compared = [s.get("comparisonType") for s in stated if "agentResponse" in s]
        if not {None, "SEMANTIC_SIMILARITY"} & {*compared}:
            turn.pop("semanticSimilarityResult", None)
    return found


def words_of(message):
    return "".join(chunk.get("text") or chunk.get("transcript", "") for chunk in message["chunks"])


def call_of(message):
    toolset = message.get("toolsetTool")
    resource = f"{toolset['toolset']}/tools/{toolset['toolId']}" if toolset else message["tool"]
    name = resource.rsplit("/", 1)[-1]
    display_name = message.get("displayName")
    return {"name": name, "resource": resource, "id": message["id"], "display_name": display_name}


def recorded_turn(index, replayed):
    """The turn that a sample's TurnReplayResult was made of."""
    turn = Turn(turn_index=index, user=f"turn {index}")
    for outcome in replayed["expectationOutcome"]:
        if "observedToolCall" in outcome:
            message = outcome["observedToolCall"]
            turn.tool_calls.append(ToolCall(**call_of(message), args=message["args"]))
        elif "observedToolResponse" in outcome:
            message = outcome["observedToolResponse"]
            turn.tool_responses.append(ToolResponse(**call_of(message), response=message["response"]))
        elif "observedAgentResponse" in outcome:
            turn.agent = words_of(outcome["observedAgentResponse"])
        elif "observedAgentTransfer" in outcome:
            turn.transfers.append(outcome["observedAgentTransfer"]["targetAgent"])
        elif "observedPayload" in outcome:
            turn.payloads.append(outcome["observedPayload"])
        elif outcome["outcome"] == "PASS":
            turn.variables |= outcome["expectation"].get("updatedVariables", {})
    return turn


def scripted_by(sample_turns, statements, others):
    """Answers as the judge of a sample must have done."""

    def _script(question, number):
        version = question.prompt.version
        if version == "semantic_similarity/2":
            said = question.prompt.evidence.split(": actual answer]\n")[1].split("\n[")[0]
            texts = (json.dumps(turn["expectationOutcome"], ensure_ascii=False) for turn in sample_turns)
            place = next(i for i, text in enumerate(texts) if said in text)
            found = sample_turns[place]["semanticSimilarityResult"]
            quotes = {"expected_quote": "", "actual_quote": ""}
            return {**quotes, "reason": found["explanation"], "score": found["score"]}
        if version == "hallucination/2":
            place = max(map(int, re.findall(r": turn (\d+), tool call", question.prompt.evidence))) - 1
            found = sample_turns[place]["hallucinationResult"]
            word = {1: "justified", 0: "not_justified", -1: "no_claim"}[found["score"]]
            return {"claim_quote": "", "context_quote": "", "reason": found["explanation"], "verdict": word}
        if version == "evaluation_expectations/2":
            assert POLITE in question.prompt.evidence
            return statements
        return others[version]

    return _script


def verdict(number, word, reason, quote=""):
    return {"number": number, "quote": quote, "reason": reason, "verdict": word}


POLITE_THROUGHOUT = {"verdicts": [verdict(1, "yes", "Polite throughout.")]}
DATE_DIFFERS = {"semantic_match/2": {"verdicts": [verdict(1, "no", "a month late")]}}


def comparable(value):
    """Leaves out explanations, latencies and agents' names; of a message, keeps its words."""
    if isinstance(value, list):
        return [comparable(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "chunks" in value:
        return words_of(value)
    left_out = {"explanation", "errorInfo", "conversation", "turnLatency"}
    left_out |= {"toolCallLatencies", "spanLatencies", *(["displayName"] if "targetAgent" in value else [])}
    if "observedAgentResponse" in value:  # The turn has it.
        left_out.add("semanticSimilarityResult")
    kept = {key: comparable(item) for key, item in value.items() if key not in left_out}
    if "expectationOutcome" in kept:
        kept["expectationOutcome"].sort(key=lambda outcome: json.dumps(outcome, sort_keys=True))
    return kept


@needs_samples
@pytest.mark.parametrize("name", ["golden_pass", "golden_fail"])
def test_a_golden_of_the_samples(name, scripted):
    wanted = sample(name, "EvaluationResult")
    replayed = wanted["goldenResult"]["turnReplayResults"]
    case = eval_case((SAMPLES / "golden_rebooking__Evaluation.json").read_bytes(), CesConfig())
    turns = [recorded_turn(i, turn) for i, turn in enumerate(replayed)]
    ask = scripted(scripted_by(replayed, POLITE_THROUGHOUT, DATE_DIFFERS))
    result = result_of(case, turns, ask)
    assert result["evaluationStatus"] == wanted["evaluationStatus"]
    golden = result["goldenResult"]
    assert golden["evaluationExpectationResults"] == wanted["goldenResult"]["evaluationExpectationResults"]
    assert comparable(golden["turnReplayResults"]) == comparable(replayed)
    asked = [q.prompt.version for q, _ in ask.asked]
    assert asked.count("semantic_similarity/2") == 3
    assert asked.count("hallucination/2") == (2 if name == "golden_pass" else 1)
    kinds = ("semantic", "hallucination", "tool")
    ours, theirs = ([part for part in result_parts(one) if part[0][1] in kinds] for one in (result, wanted))
    assert sorted(ours) == sorted(theirs)
    if name == "golden_fail":
        said, turn = golden["turnReplayResults"][1], replayed[1]
        assert said["hallucinationResult"] == turn["hallucinationResult"]
        assert said["semanticSimilarityResult"] == turn["semanticSimilarityResult"]
        assert said["expectationOutcome"][0]["toolInvocationResult"]["explanation"] == (
            "1 of 2 parameters match; wrong or missing: date."
        )


@needs_samples
def test_a_scenario_of_the_samples(scripted):
    wanted = sample("scenario_pass", "EvaluationResult")
    theirs = wanted["scenarioResult"]
    case = eval_case((SAMPLES / "scenario_refund__Evaluation.json").read_bytes(), CesConfig())
    opened = theirs["expectationOutcomes"][0]["observedToolCall"]
    said = words_of(theirs["expectationOutcomes"][1]["observedAgentResponse"])
    turns = [
        Turn(user="I need a refund.", agent="What is your booking reference?"),
        Turn(
            user="K7Q2ZP",
            agent=said,
            tool_calls=[ToolCall(**call_of(opened["toolCall"]), args=opened["toolCall"]["args"])],
            tool_responses=[
                ToolResponse(**call_of(opened["toolResponse"]), response=opened["toolResponse"]["response"])
            ],
        ),
        Turn(user="Thanks!", agent="Goodbye."),
    ]
    rubrics = [
        {"number": i, "quote": "", "reason": r["scoreExplanation"], "grade": int(r["score"] * 4)}
        for i, r in enumerate(theirs["rubricOutcomes"], 1)
    ]
    goal = theirs["userGoalSatisfactionResult"]
    others = {
        "scenario_rubrics/2": {"rubrics": rubrics},
        "scenario_expectations/2": {"verdicts": [verdict(1, "yes", "said", "case RF-88")]},
        "user_goal_satisfaction/2": {"quote": "", "reason": goal["explanation"], "verdict": "satisfied"},
    }
    judged = [{"hallucinationResult": result} for result in theirs["hallucinationResult"]]
    result = result_of(case, turns, scripted(scripted_by(judged, POLITE_THROUGHOUT, others)))
    ours = result["scenarioResult"]
    assert result["evaluationStatus"] == "PASS"
    same = ["allExpectationsSatisfied", "evaluationExpectationResults", "rubricOutcomes", "task"]
    same += ["taskCompleted", "userFacts", "userGoalSatisfactionResult"]
    assert {key: ours[key] for key in same} == {key: theirs[key] for key in same}
    assert comparable(ours["hallucinationResult"]) == comparable(theirs["hallucinationResult"])
    assert [o["outcome"] for o in ours["expectationOutcomes"]] == ["PASS", "PASS"]
    assert words_of(ours["expectationOutcomes"][1]["observedAgentResponse"]) == said


def scenario(**fields):
    return EvalCase(**{"eval_id": "e", "kind": "scenario", "dialect": "ces", "task": "get it", **fields})


def evaluated(case, turns, answers, **criteria):
    log = Conversation("c", eval_id="e" if case else None, turns=turns, ended="normally")
    judge = Scripted(answers)
    found = turnwise.evaluate(log, cases=case, criteria=criteria or {"turn_latency": {}}, judge=judge)
    return parsed(found.results[0]["result"])


CALLED = Turn(user="q", agent="it is so", tool_calls=[ToolCall(name="a")])
SAID = Turn(user="r", agent="bye")
DONE = [Expectation("agent_response", text="done", comparison="CONTAINS")]


def composite(claims, goal, answer, satisfied, completed):
    """Whether all expectations are satisfied, and the task is completed; the judge fails on None."""
    answers = {"claims": claims, "goal": goal, "answers": None if answer is None else [answer]}
    result = evaluated(scenario(expectations=DONE), [CALLED, SAID], answers)["scenarioResult"]
    assert (result.get("allExpectationsSatisfied"), result.get("taskCompleted")) == (satisfied, completed)


def test_judging_changes_no_shared_message():
    """Messages of equal parts may be shared between results."""
    directive = {"$matchType": "semantic", "$matchValue": "one"}
    expectation = Expectation("tool_call", tool_call=ToolCall(name="a", args={"p": directive}))
    case = EvalCase(eval_id="e", dialect="ces", turns=[ExpectedTurn(user="q", expectations=[expectation])])
    turn = Turn(user="q", tool_calls=[ToolCall(name="a", args={"p": "1"})])
    for answers, outcome in ({}, None), ({"values": [1]}, "PASS"), ({"values": [0]}, "FAIL"), ({}, None):
        (replay,) = evaluated(case, [turn], answers)["goldenResult"]["turnReplayResults"]
        assert replay["expectationOutcome"][0].get("outcome") == outcome
