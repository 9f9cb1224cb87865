"""Runs over the answers of a search engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tables import folder_of

SHARED = Path(__file__).parents[3] / "../shared"
FILES = [
    SHARED / "data/discovery_engine.jsonl",
    SHARED / "data/raw/answer_what_is_sql.json",
    SHARED / "fixtures/ces/samples/baggage_policy__Answer.json",
]
ENGINE = "projects/p/locations/global/collections/c/engines/policies"
CRITERIA = {
    "grounding_score": {"threshold": 0.5, "claim_threshold": 0.6},
    "citation_validity": 1.0,
    "citation_precision": {},
    "citation_recall": {},
    "judged_citation_precision": {},
    "safety_ratings": {},
    "skipped_rate": {},
    "hallucinations_v1": {},
    "turn_latency": {},
}


def answer(number: int, text: str, **fields: Any) -> dict[str, Any]:
    return {"name": f"{ENGINE}/sessions/1/answers/{number}", "answerText": text, **fields}


LIMIT = {"chunkInfo": {"content": "Die Grenze ist 1.131 SZR."}}
RECORDS = [
    answer(
        1,
        "Die Grenze ist 1.131 SZR 🧳.",
        citations=[
            {"endIndex": "25", "sources": [{"referenceId": "0"}]},
            {"startIndex": "26", "endIndex": "28", "sources": [{"referenceId": "7"}]},
        ],
        references=[LIMIT],
        state="SUCCEEDED",
        release="r1",
    ),
    answer(
        2,
        "Dazu sage ich nichts.",
        answerSkippedReasons=["ADVERSARIAL_QUERY_IGNORED", "BRAND_NEW"],
        queryUnderstandingInfo={"queryClassificationInfo": [{"type": "ADVERSARIAL_QUERY", "positive": True}]},
        safetyRatings=[{"category": "HARM_CATEGORY_HARASSMENT", "probability": "HIGH", "blocked": True}],
        release="r2",
    ),
    answer(3, "", state="FAILED"),
    answer(4, "Bis", state="STREAMING"),
    {"answer": answer(5, "Ja.", citations="x", references=[{"chunkInfo": {"content": 5}}]), "query": "Ja?"},
    {"answer": "x", "references": 7, "id": "flat"},
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    lines = "\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS)
    (folder / "answers.jsonl").write_text(lines, encoding="utf-8")
    config = {"criteria": CRITERIA, "discovery_engine": {"app_version_field": "release"}}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def done(files: Path, turnwise: Any) -> Any:
    config = files / "config.json"
    arguments = ["run", "--input", files / "answers.jsonl", "--config", config, "--judge", "local"]
    return turnwise(*arguments, output=files / "out")


def test_nothing_is_lost(done):
    assert done.status == 0 and done.err == ""
    assert "6 records = 6 parsed + 0 failed; 6 conversations = 6 results + 0 failed" in done.out
    assert "failures: " not in done.out.split("records = ")[1]
    states = [row["executionState"] for row in done.rows("results")]
    assert sorted(states) == ["COMPLETED"] * 5 + ["RUNNING"]


def test_findings_are_rows_and_are_counted_apart(done):
    rows = done.rows("failures")
    assert {row["stage"] for row in rows} == {"check"}
    counts = done.document("run.json")["counts"]
    assert counts["findings"] == {
        "UnreadableField": 1,
        "OffsetInsideCharacter": 1,
        "UnknownEnumValue": 1,
        "UnknownReference": 1,
    }
    assert (counts["failures"], counts["failures_by_version"]) == ({}, {})
    assert "findings: 1 OffsetInsideCharacter, 1 UnknownEnumValue, 1 UnknownReference" in done.out
    unreadable = next(row for row in rows if row["error_type"] == "UnreadableField")
    assert "Answer.citations: a repeated field" in unreadable["message"]
    assert (unreadable["position"], unreadable["turn_index"]) == (5, 0)


def test_scores(done):
    scores = {
        (row["conversation_id"].rpartition("/")[2], row["criterion"]): row["value"]
        for row in done.rows("scores")
        if row["turn_index"] is not None
    }
    assert round(scores.pop(("1", "hallucinations_v1")), 2) == 0.9
    assert scores == {
        ("1", "citation_validity"): 0.5,
        ("1", "citation_precision"): 0.5,
        ("1", "citation_recall"): 1.0,
        ("1", "judged_citation_precision"): 0.5,
        ("1", "skipped_rate"): 0.0,
        ("2", "skipped_rate"): 1.0,
        ("2", "safety_ratings"): 1.0,
        ("5", "skipped_rate"): 0.0,
        ("flat", "skipped_rate"): 0.0,
        **{(name, own): None for name in ("1", "5", "flat") for own in ("grounding_score", "safety_ratings")},
    }


def test_slices(done):
    rows = done.rows("metrics_by_slice")
    assert {row["slice"] for row in rows} == {
        "skipped:ADVERSARIAL_QUERY_IGNORED",
        "skipped:BRAND_NEW",
        "query:ADVERSARIAL_QUERY",
    }
    rates = {row["mean"] for row in rows if row["criterion"] == "skipped_rate"}
    assert (rates, {row["app_version"] for row in rows}) == ({1.0}, {"r2"})


@pytest.mark.skipif(not all(path.exists() for path in FILES), reason="the shared data is not here")
def test_the_shared_records(files, turnwise, tmp_path):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"criteria": CRITERIA}))
    arguments = ["run", "--input", *FILES, "--config", config, "--judge", "local"]
    out = turnwise(*arguments, output=tmp_path / "out")
    assert out.status == 0
    assert "4 records = 4 parsed + 0 failed; 4 conversations = 4 results + 0 failed" in out.out
    assert "findings" not in out.out
    assert {row["value"] for row in out.rows("scores") if row["criterion"] == "citation_validity"} <= {1.0}
    assert sorted(path.name.split(".")[0] for path in folder_of(tmp_path / "out").glob("metrics*")) == [
        "metrics_by_app_version",
        "metrics_by_slice",
        "metrics_by_turn",
    ]
