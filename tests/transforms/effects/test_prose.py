"""Texts as arguments: the same passes, a different one fails, an unclear one has no score without a judge."""

import json
from pathlib import Path

import pytest

import turnwise

REPORTED = Path(__file__).parents[3] / "../shared/fixtures/reported/scoring/text_arguments.jsonl"


def held_against(tool, expected, made, judge="none", **fields):
    turn = {"user": "u", "agent": "a", "tool_calls": [{"name": tool, "args": made}]}
    actions = {"actions": [{"name": tool, "args": expected}]}
    log = {"conversation_id": "c1", "turns": [turn], "expected": actions}
    return turnwise.evaluate(log, criteria={"tool_effects_v1": fields}, judge=judge)


def test_texts_that_were_reported():
    if not REPORTED.is_file():
        pytest.skip("without the fixtures")
    for line in REPORTED.read_text().splitlines():
        case = json.loads(line)
        status = held_against(case["tool"], case["expected"], case["made"]).status
        assert status in {"different": ("FAIL", None), "same": ("PASS",), "unclear": (None,)}.get(
            case["text_is"], ("PASS", None)
        ), case


NOTE = "the customer changed their plans for the trip"
OTHER = "the user no longer wants to travel at that time"


@pytest.mark.parametrize(
    ("made", "status"), [(lambda n: f"{OTHER} in week {n}", None), (lambda _: "", "FAIL")]
)
def test_of_more_texts_than_can_be_compared_the_wording_is_open(made, status):
    sides = [
        [{"name": "create_note", "args": {"v": text(n)}} for n in range(120)]
        for text in (lambda n: f"{NOTE} in week {n}", made)
    ]
    turn = {"user": "u", "agent": "a", "tool_calls": sides[1]}
    log = {"conversation_id": "c1", "turns": [turn], "expected": {"actions": sides[0]}}
    assert turnwise.evaluate(log, criteria={"tool_effects_v1": {}}, judge="none").status == status


def judge_that_says(verdict, asked):
    async def ask(question, samples):
        asked.append(question.prompt)
        said = {"quote": "", "reason": "because", "verdict": verdict}
        pairs = question.prompt.evidence.count(", parameter]")
        verdicts = [{"number": number, **said} for number in range(1, pairs + 1)]
        reply = None if verdict is None else question.reply_model.model_validate({"verdicts": verdicts})
        return [turnwise.JudgeSample(reply, reason="it is down", model="m") for _ in samples]

    return turnwise.JudgeKind(name="teller", help="says one thing", answer=lambda: ask)


@pytest.mark.parametrize(("verdict", "status"), [("yes", "PASS"), ("no", "FAIL"), (None, None)])
@pytest.mark.parametrize("wanted", [NOTE, {"$matchType": "semantic", "$matchValue": NOTE}])
@pytest.mark.parametrize("by_turn", [False, True])
def test_a_judge_compares_what_is_open(verdict, status, wanted, by_turn):
    asked, calls = [], [[{"name": "send_update", "args": {"n": 1, "body": body}}] for body in (wanted, OTHER)]
    turn = {"user": "u", "agent": "a", "tool_calls": calls[1]}
    log = {"conversation_id": "c1", "turns": [turn]}
    (turn if by_turn else log)["expected"] = {"tool_calls" if by_turn else "actions": calls[0]}
    judge = judge_that_says(verdict, asked)
    result = turnwise.evaluate(log, criteria={"tool_effects_v1": {}}, judge=judge)
    assert result.status == status
    (prompt,) = set(asked)
    assert NOTE in prompt.evidence and OTHER in prompt.evidence
    (overall,) = (score for score in result.scores if score["turn_index"] is None)
    assert overall["judge"]["samples"] == len(asked)
    assert overall["details"]["judged"][0]["name"] == "body of send_update"
    if status is None:
        assert overall["reason"].endswith("the judge: it is down")


JUDGED = {"final_response_match_v2": 0.5}


@pytest.mark.parametrize(
    ("config", "named", "status"),
    [
        ({}, None, None),
        ({}, "finder", "PASS"),
        ({"judge": {"model": "m"}}, None, "PASS"),
        ({"criteria": {"tool_effects_v1": 1.0, **JUDGED}}, None, "PASS"),
    ],
)
@pytest.mark.usefixtures("unchanged")
def test_a_judge_that_only_has_credentials_gets_no_texts(config, named, status):
    """Credentials in the environment are no consent: it is named, or a judged criterion is configured."""
    asked, args = [], [{"n": 1, "body": body} for body in (NOTE, OTHER)]
    kind = judge_that_says("yes", asked)
    found = turnwise.JudgeKind(name="finder", help="", answer=kind.answer, is_available=lambda *_: True)
    turnwise.register_judge(found)
    log = {"conversation_id": "c1", "turns": [{"user": "u", "agent": "a"}]}
    log["turns"][0]["tool_calls"] = [{"name": "send_update", "args": args[1]}]
    log["expected"] = {"actions": [{"name": "send_update", "args": args[0]}]}
    whole = {"criteria": {"tool_effects_v1": 1.0}} | config
    result = turnwise.evaluate(log, config=whole, judge=named)
    (score,) = (s for s in result.scores if s["criterion"] == "tool_effects_v1" and s["turn_index"] is None)
    assert (score["outcome"], bool(asked)) == (status, status is not None)
    if status is None:
        wanted = "the wording of body of send_update differs: name a judge (`--judge`) or state a matcher"
        assert score["reason"] == wanted


@pytest.mark.parametrize(
    ("expected", "made"), [(NOTE, NOTE), ("pay 5 EUR to the shop today", "pay 9 EUR to the shop today")]
)
def test_a_judge_is_not_asked_about_what_is_certain(expected, made):
    asked = []
    teller = judge_that_says("yes", asked)
    for args in ({"n": 1, "body": made}, {"n": 2, "body": OTHER}):
        held_against("send_update", {"n": 1, "body": expected}, args, teller)
    assert not asked


@pytest.mark.parametrize(("stored", "status"), [(NOTE.upper(), "PASS"), (OTHER, None), ("", "FAIL")])
def test_texts_in_the_session_state(stored, status):
    log = {"conversation_id": "c1", "turns": [{"user": "u", "agent": "a"}], "state": {"note": stored}}
    log["expected"] = {"final_session_state": {"note": NOTE}}
    assert turnwise.evaluate(log, criteria={"final_state_v1": 1.0}, judge="none").status == status
    judged = turnwise.evaluate(log, criteria={"final_state_v1": 1.0}, judge=judge_that_says("yes", []))
    assert judged.status == (status or "PASS")
