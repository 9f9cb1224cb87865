"""Whole streams, split over files and processes, against a batch over the same files."""

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

CONFIG = {"criteria": {"response_match_score": 0.5, "turn_latency": {}}}
CASE = {"eval_id": "known", "turns": [{"user": "q", "response": "x y"}]}
BAD = 5
COUNTED = (
    *("records", "parsed_records", "rejected_records", "conversations", "rejected_conversations", "results"),
    *("failures", "failures_by_version", "findings"),
)


@st.composite
def events(draw):
    """Events of three conversations: what some say cannot be joined, or names no case, until others do.

    Some have the id of another one.
    """
    part = {
        "file": st.sampled_from(["a.jsonl", "b.jsonl"]),
        "session": st.sampled_from(["c0", "c1", "c2"]),
        "index": st.integers(0, 2),
        "agent": st.sampled_from([BAD, "x y", "x z"]),
        "at": st.sampled_from([None, 0, 1, 2]),
        "case": st.sampled_from([None, None, "known", "unknown"]),
        "version": st.sampled_from([None, "v1", "v2"]),
        "end": st.booleans(),
    }
    return draw(st.lists(st.fixed_dictionaries(part), min_size=2, max_size=12))


def line(number, one):
    value = {"conversation_id": one["session"], "turn_index": one["index"], "event_id": f"e{number % 5}"}
    value["turn"] = {"user": "q", "agent": one["agent"], "latency_ms": 100 + number}
    value |= {"event_time": 1_700_000_000 + one["at"]} if one["at"] is not None else {}
    value |= {"eval_id": one["case"]} if one["case"] else {}
    value |= {"app_version": one["version"]} if one["version"] else {}
    return json.dumps(value | ({"end": True} if one["end"] else {})) + "\n"


TABLES = {
    "scores": ("conversation_id", "criterion", "turn_index", "value", "outcome"),
    "failures": ("stage", "message", "conversation_id", "position"),
    "results": ("displayName", "evaluationStatus"),
    "conversations": ("conversation_id", "app_version", "verdict", "severity_score", "why", "transcript"),
}


def told(run):
    """Returns all that a run gave, without what may differ: names of runs, revisions, moments, folders."""
    found = {
        table: sorted(([row.get(key) for key in columns] for row in run.rows(table)), key=repr)
        for table, columns in TABLES.items()
    }
    found["sources"] = sorted(Path(row["source"]).name for row in run.rows("failures"))
    document = run.document("run.json")
    found |= {"counts": {key: document["counts"][key] for key in COUNTED}, "to_read": document["to_read"]}
    return {**found, "totals": run.document("aggregated_metrics.json")}


@settings(
    max_examples=5,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(events(), st.data())
def test_a_stream_in_any_pieces_gives_what_a_batch_gives(turnwise, goes_on, given_events, data):
    numbers = list(range(len(given_events)))
    cuts = sorted(data.draw(st.sets(st.sampled_from(numbers), max_size=2)))
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "in").mkdir()
        (folder / "config.json").write_text(json.dumps(CONFIG))
        (folder / "cases.json").write_text(json.dumps(CASE))
        common = ["--input", folder / "in", "--config", folder / "config.json", "--judge", "none"]
        common += ["--eval_cases", folder / "cases.json"]
        for start, end in zip([0, *cuts], [*cuts, len(numbers)], strict=True):
            for number in numbers[start:end]:
                with (folder / "in" / given_events[number]["file"]).open("a") as file:
                    file.write(line(number, given_events[number]))
            stream = goes_on(folder / "out", *common)
        batch = turnwise("run", *common, output=folder / "batch")
        stream_told, batch_told = told(stream), told(batch)
        for name in batch_told:
            assert stream_told[name] == batch_told[name], name
        assert stream.status == batch.status
