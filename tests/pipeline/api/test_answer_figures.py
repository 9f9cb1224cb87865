"""Figures of answers of a search engine reach the metrics of an app version."""

import json
from pathlib import Path
from typing import Any

import turnwise

ENGINE = "projects/p/locations/global/collections/c/engines/policies"
SEARCH: dict[str, Any] = {"searchAction": {"query": "limit"}}
FOUND = {**SEARCH, "observation": {"searchResults": [{"title": "Limits"}]}}
BLOCKED = {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "HIGH", "blocked": True}
ANSWER = {
    "name": f"{ENGINE}/sessions/1/answers/1",
    "state": "SUCCEEDED",
    "answerText": "The limit is 1,131 SDR.",
    "citations": [{"endIndex": "23", "sources": [{"referenceId": "0"}]}],
    "references": [
        {"chunkInfo": {"content": "The limit is 1,131 SDR.", "relevanceScore": 0.75}},
        {"chunkInfo": {"content": "Claims take a week.", "relevanceScore": 0.5}},
    ],
    "relatedQuestions": ["What is the limit?", "How long do claims take?"],
    "steps": [{"state": "FAILED", "actions": [SEARCH]}, {"state": "SUCCEEDED", "actions": [FOUND]}],
    "safetyRatings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "NEGLIGIBLE"}],
}
REFUSED = {
    "name": f"{ENGINE}/sessions/2/answers/2",
    "state": "SUCCEEDED",
    "answerText": "I cannot help with that.",
    "answerSkippedReasons": ["POTENTIAL_POLICY_VIOLATION"],
    "safetyRatings": [BLOCKED],
}
FIGURES = {
    "uncited_references": (1, 0.5),
    "cited_relevance_difference": (1, 0.25),
    "empty_searches": (1, 0.5),
    "failed_steps": (1, 0.5),
    "unobserved_actions": (1, 0.5),
    "redundant_related_questions": (1, 0.5),
    "safety_ratings": (2, 1.0),
    "skipped_rate": (2, 0.5),
}


def test_the_figures_of_answers_are_metrics(tmp_path: Path) -> None:
    logs = [{"answer": ANSWER, "query": "What is the limit?"}, {"answer": REFUSED, "query": "Insult them"}]
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, logs)))
    config = {"criteria": {name: {} for name in FIGURES}, "slices": ["tag"]}
    result = turnwise.evaluate(str(path), config=config, judge="none")
    rows = {
        row["criterion"]: (row["scored"], row["mean"])
        for row in result.metrics_by_app_version
        if row["level"] == "turn"
    }
    assert rows == FIGURES
    labels = {row["label"] for row in result.scores if row["criterion"] == "safety_ratings"}
    assert {"safe", "withheld"} <= labels
    shares = {
        row["slice"]: row["mean"]
        for row in result.metrics_by_slice
        if row["criterion"] == "skipped_rate" and row["level"] == "turn"
    }
    assert shares == {"skipped:POTENTIAL_POLICY_VIOLATION": 1.0}
