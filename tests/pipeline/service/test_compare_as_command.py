"""The tool `compare_app_versions` and `turnwise compare --store` say the same of the same store."""

import json
import sqlite3
from contextlib import closing

import pytest

from tests.pipeline.logs import write
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.service.comparison import compare_app_versions
from turnwise.pipeline.service.evaluations import create_evaluation
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import LOCAL_APP, open_store
from turnwise.schemas.ces.tools import (
    CompareAppVersionsRequest,
    CompareAppVersionsResponse,
    CreateEvaluationRequest,
)

BAD = "No, not at all, never"
TWO = {"response_match_score": 0.8, "tool_trajectory_avg_score": 1.0}
SIZE = 14


def sides(baseline, candidate):
    return "--baseline", baseline, "--candidate", candidate


def logs(version, bad=(), expected="Hello", **fields):
    return [
        {
            "conversation_id": f"{version}-{number}",
            "app_version": version,
            "eval_id": f"e{number}",
            "turns": [
                {
                    "user": f"Hi {number}",
                    "agent": BAD if number in bad else "Hello",
                    "expected": {"response": expected if number < 3 else "Hello", "tool_calls": []},
                }
            ],
            **fields,
        }
        for number in range(SIZE)
    ]


@pytest.fixture
def put(tmp_path):
    """Scores logs into the store of the test."""

    def run(run_id, records, criteria=TWO, options=()):
        source = write(tmp_path / f"{run_id}.jsonl", *records)
        config = write(tmp_path / f"{run_id}.json", {"criteria": criteria})
        command = ["run", "--input", str(source), "--config", str(config), "--run_id", run_id]
        places = ["--output", str(tmp_path / run_id), "--store", f"sqlite:///{tmp_path}/s.db"]
        assert main([*command, *places, *options]) in (0, 1)

    return run


@pytest.fixture
def change(tmp_path):
    """Changes the store of the test by SQL."""

    def execute(*statements):
        with closing(sqlite3.connect(tmp_path / "s.db")) as connection, connection:
            for statement in (*statements, "DELETE FROM run_summaries"):
                connection.execute(statement)

    return execute


@pytest.fixture
def said(tmp_path, capsys):
    """Returns what the tool and the command say of v1 and v2; of the command: status, document, errors."""
    url = f"sqlite:///{tmp_path}/s.db"
    services = []

    def ask(**fields):
        services.append(services[0] if services else Service(open_store(url), "tester"))
        capsys.readouterr()
        status = main(["compare", "--store", url, *sides("v1", "v2"), "--format", "json"])
        done = capsys.readouterr()
        request = {"parent": LOCAL_APP, "baselineVersion": "v1", "candidateVersion": "v2", **fields}
        answer = compare_app_versions(services[0], CompareAppVersionsRequest.from_value(request))
        assert CompareAppVersionsResponse.from_value(answer).to_value() == answer
        return answer, status, json.loads(done.out) if done.out else None, done.err

    yield ask
    for service in services[:1]:
        service.store.close()


def numbers(own):
    """Returns what the tool should say of a criterion of compare.json."""
    overall, missing = own["overall"], own["missing"] or {}
    low, high = (overall["interval"] or {}).get("low"), (overall["interval"] or {}).get("high")
    told = {
        "word": overall["word"],
        "sentence": own["sentence"],
        "pairCount": overall["pairs"] or None,
        "baselineValue": overall["baseline_value"],
        "candidateValue": overall["candidate_value"],
        "difference": overall["difference"],
        "differenceLow": low,
        "differenceHigh": high,
        "pValue": own["p_adjusted"],
        "fixedCount": own["fixed"] or None,
        "regressedCount": own["regressed"] or None,
        "detectableDifference": overall["detectable"],
        "neededPairCount": overall["pairs_needed"],
        "wordIfMissingFail": (missing.get("worst_for_candidate") or {}).get("word"),
        "wordIfMissingPass": (missing.get("best_for_candidate") or {}).get("word"),
    }
    return {name: value for name, value in told.items() if value is not None}


def check_same(verdict, document):
    """Checks that the tool says what the command does."""
    (status,) = [own for own in document["criteria"] if own["criterion"] == "verdict"]
    others = [own for own in document["criteria"] if own is not status]
    assert verdict.items() >= numbers(status).items()
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


def test_changed_expectations_rejected_records_and_two_criteria(put, said):
    put("r1", logs("v1"))
    put("r2", [*logs("v2", bad=range(2, 12), expected="Bye"), "{broken"])
    answer, status, document, _ = said()
    verdict = answer["verdict"]
    assert status == 0
    check_same(verdict, document)
    assert (verdict["word"], verdict["pairCount"], verdict["regressedCount"]) == ("worse", SIZE - 3, 9)
    assert (verdict["changedCaseCount"], verdict["changedCases"]) == (3, ["e0", "e1", "e2"])
    assert verdict["candidateRejectedRecordCount"] == 1 and "baselineRejectedRecordCount" not in verdict
    words = {own["criterion"]: own["word"] for own in verdict["criteria"]}
    assert words == {"response_match_score": "worse", "tool_trajectory_avg_score": "inconclusive"}


def test_what_has_no_verdict_and_what_only_one_version_has(put, said):
    put("r1", logs("v1", labels={"reward": 1.0, "rated_by": "bench"}), {**TWO, "recorded_reward": 1.0})
    records = logs("v2", labels={"reward": 1.0, "rated_by": "bench"})
    for one in records[:4]:
        one["labels"] = {**one["labels"], "reward": None}
    put("r2", records[:-2], {**TWO, "recorded_reward": 1.0})
    answer, _, document, _ = said()
    check_same(answer["verdict"], document)
    assert answer["verdict"]["candidateNoVerdictCount"] == 4
    assert answer["verdict"]["baselineOnlyCaseCount"] == 2


@pytest.fixture
def put_rejected(put, tmp_path):
    """Scores recordings whose case is unknown, so that all are rejected."""

    def run(run_id, records):
        case = {"eval_id": "known", "conversation": [{"user_content": {"parts": [{"text": "Hi"}]}}]}
        known = write(tmp_path / "cases.jsonl", case)
        plain = {"eval_id": "none", "turns": [{"user": "Hi", "agent": "Hello"}]}
        put(run_id, [one | plain for one in records], options=["--eval_cases", str(known)])

    return run


@pytest.fixture
def fails_on(tmp_path, capsys):
    """Returns status, output and errors of the command with --fail_on."""

    def compare(*names):
        capsys.readouterr()
        options = ["--store", f"sqlite:///{tmp_path}/s.db", *sides(*names), "--fail_on", "worse"]
        status = main(["compare", *options])
        done = capsys.readouterr()
        return status, " ".join(done.out.split()), done.err

    return compare


def test_both_say_why_verdicts_are_missing(put, said):
    judged = {**TWO, "final_response_match_v2": 0.5}
    put("r1", logs("v1"), judged)
    put("r2", logs("v2"), judged)
    answer, _, document, _ = said()
    check_same(answer["verdict"], document)
    (of_reason,) = answer["verdict"]["openReasons"]
    assert of_reason["conversationCount"] == SIZE and "no judge configured" in of_reason["reason"]


def test_a_later_run_that_rejected_everything_counts(put, put_rejected, said, fails_on):
    put("r1", logs("v1"))
    put("r2", logs("v2"))
    assert fails_on("v1", "v2")[0] == 0
    for run in ("superseded", "r3"):
        put_rejected(run, logs("v2")[:9])
    answer, _, document, _ = said()
    check_same(answer["verdict"], document)
    assert answer["verdict"]["candidateRejectedRecordCount"] == 9
    assert document["candidate"]["run_ids"] == ["r2", "r3"]
    assert "v2: run r3 has no result, and rejected 9 records or conversations" in document["notes"]
    status, out, errors = fails_on("v1", "v2")
    assert status == 1 and "v2: 9 records or conversations were rejected" in errors
    assert "no verdict 0, rejected 9" in out
    # Their later recordings supersede the rejected ones; a comparison of runs is of those runs alone.
    assert fails_on("r1", "r2")[0] == 0
    put("r4", logs("v2"))
    assert fails_on("v1", "v2")[0] == 0 and "rejected" not in " ".join(said()[2]["notes"])


def test_rejected_records_of_no_known_version_may_be_of_the_candidate(put, said, fails_on):
    put("r1", logs("v1"))
    put("before", ["{broken"] * 3)
    put("r2", logs("v2"))
    assert fails_on("v1", "v2")[0] == 0
    put("after", ["{broken"] * 4)
    answer, _, document, _ = said()
    check_same(answer["verdict"], document)
    assert (document["baseline"]["rejected"], document["candidate"]["rejected"]) == (0, 4)
    status, out, errors = fails_on("v1", "v2")
    assert status == 1 and "run after has no result, and rejected 4 records" in out
    status, _, errors = fails_on("r1", "after")
    assert status == 2 and "no result of this version or run, which rejected all of its 4 records" in errors


def test_losses_of_a_superseded_run_count_while_older_results_are_compared(put, fails_on):
    put("r1", logs("v1"))
    put("r2", logs("v2"))
    put("r3", [*logs("v2")[:3], "{broken"])
    put("r4", logs("v2")[:3])
    status, out, _ = fails_on("v1", "v2")
    assert status == 1 and "run r3 has no result that is compared, and rejected 1 record or" in out
    put("r5", logs("v2"))
    assert fails_on("v1", "v2")[0] == 0


def test_results_that_were_replaced_within_their_run_are_rejected(put, said, fails_on):
    put("r1", logs("v1", bad=(0,)) + logs("v1"))
    put("r2", logs("v2"))
    answer, _, document, _ = said()
    check_same(answer["verdict"], document)
    assert (document["baseline"]["rejected"], document["candidate"]["rejected"]) == (SIZE, 0)
    assert any(f"run r1: {SIZE} results were replaced by others" in note for note in document["notes"])
    assert fails_on("v1", "v2")[0] == 1
    put("r1", logs("v1"), options=["--overwrite"])
    assert fails_on("v1", "v2")[0] == 0


def test_deleted_results_are_told_and_do_not_pass(put, said, fails_on, tmp_path):
    """Older passes stand in the place of the failures that are deleted."""
    put("r1", logs("v1", bad=(13,)))
    put("r2", logs("v2"))
    put("r3", logs("v2", bad=(7, 8, 9, 10)))
    url = f"sqlite:///{tmp_path}/s.db"
    for number in (7, 8, 9, 10):
        assert main(["store", "delete", "conversation", f"v2-{number}", "--store", url]) == 0
    told = "4 results of run r3 were deleted since it ended"
    answer, _, document, _ = said()
    assert told in answer["verdict"]["candidateProblems"] and "baselineProblems" not in answer["verdict"]
    assert told in document["candidate"]["problems"] and not document["baseline"]["problems"]
    for sides in (("v1", "v2"), ("r1", "r3")):
        status, out, errors = fails_on(*sides)
        assert status == 1 and told in errors and told in out
    put("r4", logs("v2"))
    assert fails_on("v1", "v2")[0] == 0


def test_results_without_scores(put, change, said):
    """Of a version that an earlier turnwise stored there are results alone; its cases are the same ones."""
    put("r1", logs("v1"))
    put("r2", logs("v2", bad=range(2, 12)))
    change(*(f"DELETE FROM {table} WHERE version_id = 'v2'" for table in ("conversation_rows", "score_rows")))
    answer, _, document, _ = said()
    check_same(answer["verdict"], document)
    assert (answer["verdict"]["word"], answer["verdict"]["pairCount"]) == ("worse", SIZE)
    assert "criteria" not in answer["verdict"]


def test_results_without_a_case_are_no_runs_of_one_case(put, change, said):
    for number, version in enumerate(("v1", "v2")):
        records = [{**one, "conversation_id": one["eval_id"]} for one in logs(version)]
        for one in records:
            del one["eval_id"], one["turns"][0]["expected"]
        put(f"r{number}", records)
    change("DELETE FROM conversation_rows", "DELETE FROM score_rows")
    answer, _, document, _ = said()
    assert document["pairing"]["by"] == "conversation_id" and document["pairing"]["pairs"] == SIZE
    check_same(answer["verdict"], document)


@pytest.mark.parametrize("of", ["judge", "threshold"])
def test_what_was_measured_in_another_way_gets_no_word(put, change, said, of):
    put("r1", logs("v1"))
    put("r2", logs("v2"), TWO if of == "judge" else {**TWO, "response_match_score": 0.3})
    if of == "judge":
        judged = "json_set(content, '$.judge', json_object('model', version_id, 'prompt_version', 1))"
        change(f"UPDATE score_rows SET content = {judged} WHERE criterion = 'response_match_score'")
    answer, status, document, errors = said()
    refusal = answer["verdict"].pop("refusal")
    assert answer["verdict"] == {} and (status, document) == (2, None)
    assert refusal.startswith("v1 and v2 were not measured in the same way: ") and refusal in errors
    changed = {
        "judge": "(v1, 1 for v1, v2, 1 for v2)",
        "threshold": "threshold (0.8 for v1, 0.3 for v2)",
    }
    assert changed[of] in refusal


def test_dropping_the_criterion_that_fails_makes_no_version_better(put, said):
    put("r1", logs("v1", bad=range(9)))
    put("r2", logs("v2", bad=range(9)), {"tool_trajectory_avg_score": 1.0})
    answer, _, document, _ = said()
    verdict = answer["verdict"]
    assert document["word"] is None and "word" not in verdict and "sentence" not in verdict
    reasons = {own["criterion"]: own["reason"] for own in verdict["notCompared"]}
    assert reasons == document["not_compared"]
    assert "tool_trajectory_avg_score in the candidate" in reasons["verdict"]


def test_a_filter_and_versions_without_results(put, said, tmp_path):
    put("r1", logs("v1"))
    put("r2", logs("v2", bad=range(2, 12)))
    with closing(open_store(f"sqlite:///{tmp_path}/s.db")) as store:
        for number in range(5):
            golden = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}
            case = {"displayName": f"e{number}", "golden": golden, "tags": ["slow"]}
            request = {"parent": LOCAL_APP, "evaluationId": f"e{number}", "evaluation": case}
            create_evaluation(Service(store, "tester"), CreateEvaluationRequest.from_value(request))
    answer, *_ = said(evaluationFilter="tags:slow")
    verdict = answer["verdict"]
    assert (verdict["pairCount"], verdict["regressedCount"], verdict["word"]) == (5, 3, "inconclusive")
    assert [own["pairCount"] for own in verdict["criteria"]] == [5, 5]
    with pytest.raises(ServiceError, match="no result of version 'v3'"):
        said(candidateVersion="v3")
    with pytest.raises(ServiceError, match="no result of version"):
        said(evaluationFilter="tags:none")
