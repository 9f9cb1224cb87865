"""Random cases against what google-adk's own evaluators said of them (`benchmarks/adk_answers.py`)."""

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from tests.samples import score_conversation
from tests.scripted_judge import ScriptedJudge
from turnwise.schemas.conversation import Record
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.criteria.responses import MatchReply
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.judging.prompts import StatementReply
from turnwise.transforms.matching.sample import Sample, inline_case
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation

HEAD, *CASES = map(
    json.loads, gzip.decompress(Path(__file__).with_name("adk_answers.jsonl.gz").read_bytes()).splitlines()
)
STATUSES = {"PASSED": "PASS", "FAILED": "FAIL", "NOT_EVALUATED": None, "INFORMATIONAL": None}
JUDGED = [case for case in CASES if "verdicts" in case]
ODD = [case for case in CASES if "is_odd" in case]
MEASURED = [case for case in CASES if "verdicts" not in case and "is_odd" not in case]
DIFFERENT = {"response_match_score", "token_usage_v1"}
"""What differs on purpose without `adk_compat`."""


def conversation_case(case):
    pairs = [
        {"actual_invocation": actual, "expected_invocation": expected}
        for actual, expected in zip(case["actual"], case["expected"], strict=True)
    ]
    result = {"eval_id": "one", "session_id": "s", "eval_metric_result_per_invocation": pairs}
    record = Record("f", 1, json.dumps({"eval_set_id": "set", "eval_case_results": [result]}).encode())
    (conversation,) = LogReader().read(record)
    return Sample(conversation, inline_case(conversation), record)


def criterion_of(answer, **fields):
    config = {"criteria": {answer["metric"]: answer["criterion"] or {}}, **fields}
    (criterion,) = build_criteria(parse_config(json.dumps(config)))
    return criterion


def measured(matched, answer, **fields):
    (result,) = score_conversation(matched, [criterion_of(answer, **fields)]).scores
    return result


def assert_bit_equal(result, case, answer):
    assert result.errors == []
    scores = dict(result.turns)
    values = [scores[i].value if i in scores else None for i in range(len(case["actual"]))]
    assert values == answer["turns"]
    overall = result.overall
    assert (overall.value if overall else None) == answer["overall"]
    if overall and not overall.reason:  # a turn without a score makes no PASS
        assert overall.outcome == STATUSES[answer["status"]]


@pytest.mark.parametrize("number", range(len(MEASURED)))
def test_measured_scores_are_bit_equal(number):
    case = MEASURED[number]
    matched = conversation_case(case)
    for answer in case["answers"]:
        assert_bit_equal(measured(matched, answer, adk_compat=True), case, answer)
        if answer["metric"] not in DIFFERENT:
            assert_bit_equal(measured(matched, answer), case, answer)


@pytest.mark.parametrize("number", range(len(ODD)))
def test_odd_shapes_have_google_adks_scores(number):
    case = ODD[number]
    matched = conversation_case(case)
    for answer in case["answers"]:
        assert_bit_equal(measured(matched, answer, adk_compat=True), case, answer)


@pytest.mark.parametrize("number", range(len(MEASURED)))
def test_the_frameworks_share_is_equal(number):
    case = MEASURED[number]
    (answer,) = (each for each in case["answers"] if "framework" in each)
    scores = dict(measured(conversation_case(case), answer).turns)
    shares = [scores[i].details["framework"] if i in scores else None for i in range(len(case["actual"]))]
    assert shares == answer["framework"]


def script_of(case):
    """Gives the answers that google-adk was given, by turn and sample."""
    requests = [each["user_content"]["parts"][0]["text"] for each in case["actual"]]

    def script(question, number):
        # Earlier turns are context.
        turn = max(i for i, text in enumerate(requests) if text in question.prompt.evidence)
        if question.reply_model is MatchReply:
            verdict = case["verdicts"][turn][number]
            quotes = {"reference_quote": "", "answer_quote": ""}
            return "no idea" if verdict is None else {**quotes, "reason": "x", "verdict": verdict}
        if question.reply_model is StatementReply:
            verdicts = enumerate(case["rubrics"][turn][number], 1)
            return {
                "verdicts": [{"number": n, "quote": "", "reason": "x", "verdict": v} for n, v in verdicts]
            }
        empty = {"supporting_quote": "", "contradicting_quote": "", "reason": "x"}
        return {
            "sentences": [{"number": n, "label": v, **empty} for n, v in enumerate(case["labels"][turn], 1)]
        }

    return script


@pytest.mark.parametrize("number", range(len(JUDGED)))
def test_judged_scores_are_bit_equal(number):
    case = JUDGED[number]
    matched = conversation_case(case)
    for answer in case["answers"]:
        criterion = criterion_of(answer)
        assert isinstance(criterion, JudgedCriterion)
        scored = ScoredConversation(matched, [], [])
        asyncio.run(judge_conversation(scored, [criterion], ScriptedJudge(script_of(case))))
        assert scored.failures == []
        assert_bit_equal(scored.scores[0], case, answer)


def test_the_recording_covers_what_it_should():
    assert HEAD["google_adk"] == "2.13.0"
    assert len(MEASURED) >= 200
    assert len(JUDGED) >= 50
    assert len(ODD) >= 200
    answers = [answer for case in CASES for answer in case["answers"]]
    kinds = {(answer["metric"], (answer["criterion"] or {}).get("match_type")) for answer in answers}
    assert {match for name, match in kinds if match} == {"EXACT", "IN_ORDER", "ANY_ORDER"}
    for name in {name for name, _ in kinds}:
        overall = [answer["overall"] for answer in answers if answer["metric"] == name]
        assert len(set(overall)) > 5, f"{name}: too much the same"
        turns = [value for answer in answers if answer["metric"] == name for value in answer["turns"]]
        assert len(set(turns)) > 1
