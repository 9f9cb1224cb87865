"""The tool `compare_app_versions` and `turnwise compare --store` say the same of the same store.

A step of a line of `compared.jsonl` may `put` a run of logs of a `version` into a store (of some `numbers`,
some of them `bad`, and others `then`), run SQL, make an evaluation, or be a command (see test_commands.py).
One that does `both` asks the tool about two `sides` (v1 and v2) and runs the command: of what they say,
`verdict` and `document` are parts, and `says` stands in both, `never` in none; `refused` stands in both
refusals.
"""

import contextlib
import json
from itertools import chain
from pathlib import Path

import pytest

from tests.pipeline.logs import log, write
from tests.pipeline.service.conftest import GOLDEN, called_tool
from tests.pipeline.test_commands import check_step
from tests.tables import lines_beside, part
from turnwise.pipeline.service.evaluations import create_evaluation
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import LOCAL_APP, open_store
from turnwise.schemas.ces.tools import CreateEvaluationRequest

LINES = lines_beside(__file__, "compared.jsonl")
TWO = {"response_match_score": 0.8, "tool_trajectory_avg_score": 1.0}
SIZE, STORE = 14, "sqlite:///s.db"


def logs(version, numbers=range(SIZE), bad=(), expected="Hello", fields=(), without_case=False, then=None):
    """Returns conversations of cases; an expectation is that of the first three."""
    found = []
    for number in numbers:
        answer = "No, not at all, never" if number in bad else "Hello"
        record = log(f"{version}-{number}", answer, expected if number < 3 else "Hello", **dict(fields))
        record |= {"app_version": version, "eval_id": f"e{number}"}
        turn = record["turns"][0]
        turn |= {"user": f"Hi {number}", "expected": {**turn["expected"], "tool_calls": []}}
        if without_case:
            record["conversation_id"] = record.pop("eval_id")
            del turn["expected"]
        found.append(record)
    return found + (logs(**{"version": version} | then) if then else [])


def put(turnwise, run, version=None, *, criteria=TWO, options=(), more=(), unknown_case=False, **of):
    """Scores logs into the store; those of an unknown case are rejected."""
    records = [*(logs(version, **of) if version else []), *more]
    if unknown_case:
        plain = {"eval_id": "none", "turns": [{"user": "Hi", "agent": "Hello"}]}
        records = [record | plain for record in records]
        case = {"eval_id": "known", "conversation": [{"user_content": {"parts": [{"text": "Hi"}]}}]}
        options = ["--eval_cases", write(Path("cases.jsonl"), case)]
    source = write(Path(f"{run}.jsonl"), *records)
    config = write(Path(f"{run}.json"), {"criteria": criteria})
    command = ("run", "--input", source, "--config", config, "--run_id", run, "--store", STORE)
    assert turnwise(*command, *options, output=Path(run)).status in (0, 1)


NUMBERS = {
    **{"pairCount": "pairs", "baselineValue": "baseline_value", "candidateValue": "candidate_value"},
    **{"difference": "difference", "detectableDifference": "detectable", "neededPairCount": "pairs_needed"},
    "word": "word",
}


def numbers(stated):
    """Returns what the tool should say of a criterion of compare.json."""
    overall, missing = stated["overall"], stated["missing"] or {}
    wanted = {
        **{name: overall[key] for name, key in NUMBERS.items()},
        "pairCount": overall["pairs"] or None,
        "sentence": stated["sentence"],
        "differenceLow": (overall["interval"] or {}).get("low"),
        "differenceHigh": (overall["interval"] or {}).get("high"),
        "pValue": stated["p_adjusted"],
        "fixedCount": stated["fixed"] or None,
        "regressedCount": stated["regressed"] or None,
        "wordIfMissingFail": (missing.get("worst_for_candidate") or {}).get("word"),
        "wordIfMissingPass": (missing.get("best_for_candidate") or {}).get("word"),
    }
    return {name: value for name, value in wanted.items() if value is not None}


def check_same(verdict, document):
    """Checks that the tool says what the command does."""
    statuses = [own for own in document["criteria"] if own["criterion"] == "verdict"]
    others = [own for own in document["criteria"] if own not in statuses]
    assert len(statuses) == ("verdict" not in document["not_compared"])
    assert all(verdict.items() >= numbers(status).items() for status in statuses)
    assert [own["criterion"] for own in verdict.get("criteria", [])] == [own["criterion"] for own in others]
    for told, own in zip(verdict.get("criteria", []), others, strict=True):
        assert told.items() >= numbers(own).items()
    pairing = document["pairing"]
    assert verdict["pairedBy"] == pairing["by"]
    assert verdict.get("changedCases", []) == pairing["changed_names"]
    assert verdict.get("changedCaseCount", 0) == pairing["changed"]
    assert verdict.get("baselineOnlyCaseCount", 0) == pairing["baseline_only"]
    for name, side in (("baseline", document["baseline"]), ("candidate", document["candidate"])):
        counts = [verdict.get(f"{name}{what}Count", 0) for what in ("NoVerdict", "RejectedRecord")]
        assert counts == [side["no_verdict"], side["rejected"]]
    missing = {own["criterion"]: own["reason"] for own in verdict.get("notCompared", [])}
    assert missing == document["not_compared"]
    assert verdict.get("notes", []) == document["notes"]
    open_reasons = {own["reason"]: own["conversationCount"] for own in verdict.get("openReasons", [])}
    assert open_reasons == {own["reason"]: own["conversations"] for own in document["page"]["open_reasons"]}
    assert "refusal" not in verdict


def ask_both(turnwise, service, step):
    """Asks the tool and the command about two versions, and checks that they say the same."""
    sides = dict(zip(("--baseline", "--candidate"), step.get("sides", ("v1", "v2")), strict=True))
    done = turnwise("compare", *chain(*sides.items()), "--format", "json", "--store", STORE)
    fields = {
        "parent": LOCAL_APP,
        **dict(zip(("baselineVersion", "candidateVersion"), sides.values(), strict=True)),
        **step.get("fields", {}),
    }
    if "error" in step:
        with pytest.raises(ServiceError, match=step["error"]):
            called_tool(service, "compare_app_versions", fields)
        return
    verdict = called_tool(service, "compare_app_versions", fields)["verdict"]
    assert done.status == step.get("exit", 0)
    if "refused" in step:
        refusal = verdict.pop("refusal")
        assert (verdict, done.out) == ({}, "") and refusal in done.err
        assert all(words in refusal for words in step["refused"])
        return
    document = json.loads(done.out)
    if "fields" not in step:
        check_same(verdict, document)
    for answer, wanted in ((verdict, step.get("verdict", {})), (document, step.get("document", {}))):
        assert part(answer, wanted) == wanted
        assert all(words in json.dumps(answer) for words in step.get("says", ()))
        assert not any(words in json.dumps(answer) for words in step.get("never", ()))


@pytest.mark.parametrize("name", LINES)
def test_the_tool_and_the_command_say_the_same(name, turnwise, tmp_path):
    with contextlib.chdir(tmp_path), contextlib.closing(open_store(STORE, create=True)) as store:
        service = Service(store, "tester")
        for step in LINES[name]["steps"]:
            if "put" in step:
                put(turnwise, step["put"], **{key: value for key, value in step.items() if key != "put"})
            elif "sql" in step:
                for statement in (*step["sql"], "DELETE FROM run_summaries"):
                    store.write(lambda connection, s=statement: connection.exec_driver_sql(s))
            elif "evaluation" in step:
                case = {"displayName": step["evaluation"], "golden": GOLDEN, "tags": ["slow"]}
                made = {"parent": LOCAL_APP, "evaluationId": step["evaluation"], "evaluation": case}
                create_evaluation(service, CreateEvaluationRequest.from_value(made))
            elif step["do"] == "both":
                ask_both(turnwise, service, step)
            else:
                check_step(turnwise, {**step, "do": step["do"].replace("$STORE", STORE)})
