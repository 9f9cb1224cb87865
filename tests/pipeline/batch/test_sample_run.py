"""The job on the bundled sample: its files, rows, counts, formats, verdicts, and what to read first."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import get_type_hints

import fastavro
import pytest
from google.cloud import ces_v1beta as ces
from google.protobuf import json_format

import turnwise as api
from tests.pipeline.logs import log, snapshot, write
from tests.tables import file_of, files_of
from turnwise.pipeline.io.terminal import columns
from turnwise.pipeline.report.terminal import reading_text
from turnwise.schemas.rows import TABLES, avro_schema, json_columns
from turnwise.transforms.decisions.first_page import listed
from turnwise.transforms.review.problems import reading_key, to_read

FILES = [
    *(rf"{name}-\d{{5}}-of-\d{{5}}\.jsonl" for name in ("scores", "results", "conversations", "failures")),
    *(rf"metrics_by_{name}\.jsonl" for name in ("app_version", "turn", "slice")),
    *(r"aggregated_metrics\.json", r"run\.json"),
]


def test_the_report_and_the_files(sample_run):
    assert (sample_run.status, sample_run.err) == (0, "")
    for words in (
        *("pass rate", "tool_trajectory_avg_score", f"files: {sample_run.directory}"),
        *("no verdict (11 of v2), most often:\n  7: what is expected needs a judge: name one",),
        *("60 conversations = 59 results + 1 rejected", "47 records = 46 parsed + 1 rejected"),
    ):
        assert words in sample_run.out
    names = [path.name for path in sample_run.directory.rglob("*") if path.is_file()]
    assert [name for name in names if not any(re.fullmatch(pattern, name) for pattern in FILES)] == []
    assert [pattern for pattern in FILES if not any(re.fullmatch(pattern, name) for name in names)] == []
    document = sample_run.document("run.json")
    assert document["exit_status"] == 0 and document["problems"] == []
    assert set(document["versions"]) >= {"turnwise", "apache-beam", "python"}
    assert {"input", "eval_cases", "config", "criteria", "counts"} <= document.keys()


def test_rows_have_the_columns_of_their_class(sample_run):
    for table in ("scores", "failures", "conversations", "metrics_by_app_version", "metrics_by_turn"):
        assert {frozenset(row) for row in sample_run.rows(table)} == {
            frozenset(get_type_hints(TABLES[table]))
        }
    assert {tuple(row) for row in sample_run.rows("scores")} == {tuple(get_type_hints(TABLES["scores"]))}
    assert {row["run_id"] for row in sample_run.rows("scores")} == {sample_run.document("run.json")["run_id"]}


def test_every_scored_conversation_has_one_result_and_failures_tell_where_and_why(sample_run):
    names = Counter(row["name"] for row in sample_run.rows("results"))
    counts = sample_run.document("run.json")["counts"]
    assert set(names.values()) == {1} and len(names) == counts["results"] == 59
    assert counts["conversations"] == counts["results"] + counts["rejected_conversations"]
    rejected = [row for row in sample_run.rows("failures") if row["criterion"] is None]
    assert len(rejected) == counts["rejected_records"] + counts["rejected_conversations"] == 2
    by_stage = {row["stage"]: row for row in rejected}
    parse, match = by_stage["parse"], by_stage["match"]
    assert (Path(parse["source"]).name, parse["position"]) == ("ces.jsonl", 22)
    assert parse["record"] and "\n" not in parse["message"]
    assert match["error_type"] == "UnknownCaseError" and "ko-winter-tyres" in match["message"]
    assert "ko-winter-tyres-v2" in match["conversation_id"] and match["position"] == 36


def test_statuses_agree_between_results_and_metrics(sample_run):
    results = Counter(
        (row.get("appVersion"), row.get("evaluationStatus")) for row in sample_run.rows("results")
    )
    for row in sample_run.rows("metrics_by_app_version"):
        if row["criterion"] == "verdict":
            found = (row["pass_count"], row["fail_count"], row["no_score"])
            assert found == tuple(results[row["app_version"], status] for status in ("PASS", "FAIL", None))


def test_documents_parse_with_the_real_classes(sample_run):
    for row in sample_run.rows("results"):
        message = ces.EvaluationResult.pb(ces.EvaluationResult())
        json_format.ParseDict(row, message, ignore_unknown_fields=False)
        assert json_format.MessageToDict(message) == row
    metrics = ces.AggregatedMetrics.pb(ces.AggregatedMetrics())
    document = sample_run.document("aggregated_metrics.json")
    json_format.ParseDict(document, metrics, ignore_unknown_fields=False)
    assert {one.app_version_id for one in metrics.metrics_by_app_version} >= {"v1", "v2"}
    counted = sum(one.pass_count + one.fail_count for one in metrics.metrics_by_app_version)
    assert counted == sum("evaluationStatus" in row for row in sample_run.rows("results"))


def avro_rows(directory, table):
    rows = []
    for path in files_of(directory, table):
        with path.open("rb") as file:
            reader = fastavro.reader(file)
            schema = fastavro.parse_schema(avro_schema(table))
            assert reader.writer_schema == {k: v for k, v in schema.items() if not k.startswith("__")}
            rows += reader
    for row in rows:
        row |= {name: None if row[name] is None else json.loads(row[name]) for name in json_columns(table)}
    return [row["result"] for row in rows] if table == "results" else rows


def comparable(rows):
    """Returns rows in one order, without the time of the run."""
    kept = [{key: value for key, value in row.items() if key != "createTime"} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


def test_the_same_run_as_avro_says_the_same(sample_run, turnwise, sample_arguments, tmp_path):
    """Random numbers depend on the id of the run, and nothing else differs but its time."""
    run_id = sample_run.document("run.json")["run_id"]
    done = turnwise(*sample_arguments, "--output_format=avro", f"--run_id={run_id}", output=tmp_path / "out")
    for table in (
        "scores",
        "results",
        "conversations",
        "failures",
        "metrics_by_app_version",
        "metrics_by_turn",
    ):
        assert comparable(avro_rows(done.directory, table)) == comparable(sample_run.rows(table)), table
    assert (done.status, done.err) == (0, "")
    reports = [
        one.out.partition("files:")[0].replace(str(one.directory), "OUT") for one in (done, sample_run)
    ]
    assert "turnwise compare OUT" in reports[0] and reports[0] == reports[1]
    assert done.document("aggregated_metrics.json") == sample_run.document("aggregated_metrics.json")


@pytest.mark.parametrize("table", TABLES)
def test_the_schema_of_a_table_is_one_of_avro(table):
    assert fastavro.schema.parse_schema(avro_schema(table))


def test_a_second_run_is_refused_and_changes_nothing(sample_run, turnwise, sample_arguments):
    before = snapshot(sample_run.directory)
    done = turnwise(*sample_arguments, output=sample_run.directory)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1) and "--overwrite" in done.err
    assert snapshot(sample_run.directory) == before


# Worked out from the files by the rules of the CES evaluation API, apart from the code. A golden whose
# answers only a judge can compare, and a scenario's user goal, leave a conversation without a verdict.
GOLDENS = {
    "PASS": (
        "ja-panku-yoyaku-v1 de-bremse-schleift-v1 en-pause-summer-v1 de-pause-huefte-v1 "
        "ja-ryugaku-kyushi-v1 ko-charger-lost-v1 ja-panku-yoyaku-v2 ko-charger-lost-v2 en-pause-summer-v2 "
        "en-welcome-human-v2 ko-pedal-noise-v2 de-klingel-ruecklicht-v2 ja-tounan-futan-v2"
    ),
    "FAIL": (
        "en-flat-tyre-v1 en-welcome-human-v1 en-stolen-ebike-v1 de-klingel-ruecklicht-v1 ko-pedal-noise-v1 "
        "ja-tounan-futan-v1 de-doppelt-abgebucht-v1 ja-ryugaku-kyushi-v2 de-bremse-schleift-v2 "
        "de-pause-huefte-v2"
    ),
    None: "ko-ten-days-v1 en-flat-tyre-v2 en-stolen-ebike-v2 de-doppelt-abgebucht-v2 ko-ten-days-v2",
}
SCENARIOS = {  # name: status, all expectations satisfied
    "de-diebstahl-v1": (None, True),
    "ja-shifuto-yoyaku-v1": ("FAIL", False),
    "en-haggling-v1": (None, None),
    "ko-rain-delivery-v1": (None, True),
    "ja-shifuto-yoyaku-v2": (None, True),
    "ko-rain-delivery-v2": (None, True),
    "de-diebstahl-v2": ("FAIL", False),
    "en-haggling-v2": (None, True),
}
WITHOUT_CASE = "live-ko-b214 live-de-91c4 live-ja-20ab live-ko-3e58 live-ja-77d0 live-en-6f02 session-de-4c70"
ADK = {  # name: tool_trajectory_avg_score, response_match_score, status
    "adk-en-lock-code-v1": (1.0, 0.8235, "PASS"),
    "adk-en-move-to-bristol-v1": (0.5, 0.4401, "FAIL"),
    "adk-ja-light-repair-v1": (0.0, 0.6977, "FAIL"),
    "adk-ja-receipt-name-v1": (0.0, 0.6667, "FAIL"),
    "adk-ko-child-seat-v1": (1.0, 0.14, "FAIL"),
    "adk-ko-seat-height-v1": (1.0, 0.6, "PASS"),
    "adk-de-kette-gerissen-v1": (1.0, 0.7586, "PASS"),
    "adk-de-kette-gerissen-lost": (1.0, 0.75, "PASS"),
    "adk-en-lock-code-v2": (1.0, 0.8636, "PASS"),
    "adk-en-move-to-bristol-v2": (1.0, 0.822, "PASS"),
    "adk-ja-light-repair-v2": (1.0, 0.8358, "PASS"),
    "adk-ja-receipt-name-v2": (1.0, 0.9398, "PASS"),
    "adk-ko-child-seat-v2": (1.0, 0.7929, "PASS"),
    "adk-ko-seat-height-v2": (1.0, 0.902, "PASS"),
    "adk-de-kette-gerissen-v2": (0.0, 0.6364, "FAIL"),
    "session-ko-8a11": (1.0, 0.9387, "PASS"),
}


def short(name):
    return name.rsplit("/", 1)[-1]


def test_what_becomes_of_every_conversation(turnwise, sample_arguments, sample, tmp_path):
    run = turnwise(*sample_arguments, "--config", sample / "config.json", output=tmp_path / "out")
    results = {short(row["displayName"].rsplit(" - ", 1)[1]): row for row in run.rows("results")}
    why = {name: row.get("errorInfo", {}).get("errorMessage", "") for name, row in results.items()}
    golden = {name: status for status, names in GOLDENS.items() for name in names.split()}
    expected = golden | {name: status for name, (status, _) in SCENARIOS.items()}
    expected |= dict.fromkeys(WITHOUT_CASE.split()) | {name: status for name, (*_, status) in ADK.items()}
    assert {name: row.get("evaluationStatus") for name, row in results.items()} == expected
    for name, status in golden.items():
        assert why[name].endswith(" a judge to compare meaning") == (status is None)
    for name, (_, satisfied) in SCENARIOS.items():
        assert results[name]["scenarioResult"].get("allExpectationsSatisfied") is satisfied
    assert all("no criterion with a threshold applies" in why[name] for name in WITHOUT_CASE.split())
    values = {
        (short(row["conversation_id"]), row["criterion"]): row["value"]
        for row in run.rows("scores")
        if row["turn_index"] is None
    }
    for name, (trajectory, response, _) in ADK.items():
        assert values[name, "tool_trajectory_avg_score"] == trajectory
        assert values[name, "response_match_score"] == pytest.approx(response, abs=5e-5)


@pytest.fixture(scope="module")
def judged(turnwise, sample_arguments, sample, tmp_path_factory):
    """The sample by the local judge."""
    options = ("--config", sample / "config.json", "--judge", "local")
    return turnwise(*sample_arguments, *options, output=tmp_path_factory.mktemp("run") / "out")


def test_every_result_has_a_conversation_with_its_verdict(judged):
    rows = judged.rows("conversations")
    verdicts = {row["conversation_id"]: row["verdict"] for row in rows}
    assert len(rows) == 59
    for result in judged.rows("results"):
        assert result.get("evaluationStatus") == verdicts[result["displayName"].rsplit(" - ", 1)[1]]
    turns = {row["app_version"]: row["turns"] for row in judged.rows("metrics_by_app_version")}
    assert sum(row["turns"] for row in rows) == sum(turns.values())
    for row in rows:
        assert (row["severity_score"] == 0) <= (row["verdict"] == "PASS")
        assert (row["severity_score"] == 0) == (row["why"] is None) == (row["problem_type"] is None)


def test_judged_scores_count_too(judged, sample):
    paths = {"cases": sample / "cases", "config": sample / "config.json"}
    bare = api.evaluate(sample / "conversations", **paths, judge="none")
    measured = {row["conversation_id"]: row["severity_score"] for row in bare.conversations}
    whole = [row for row in judged.rows("scores") if row["turn_index"] is None and row["outcome"] == "FAIL"]
    failed = {row["conversation_id"] for row in whole if row["criterion"] == "semantic_similarity"}
    severity_score = {row["conversation_id"]: row["severity_score"] for row in judged.rows("conversations")}
    assert failed and all(severity_score[name] > measured[name] for name in failed)


def test_keys_of_scores_are_unique_and_stable(judged, turnwise, sample_arguments, sample, tmp_path):
    ids = [row["score_id"] for row in judged.rows("scores")]
    assert len(set(ids)) == len(ids) > 400
    config = json.loads((sample / "config.json").read_text())
    config["criteria"]["response_match_score"] = 0.6
    (tmp_path / "config.json").write_text(json.dumps({**config, "slices": ["tag"]}))
    options = ("--config", tmp_path / "config.json", "--judge", "local")
    again = turnwise(*sample_arguments, *options, output=tmp_path / "out")
    changed = {row["criterion"] for row in again.rows("scores") if row["score_id"] not in set(ids)}
    assert changed == {"response_match_score"}


def test_ten_are_in_the_run_file_and_three_regressions_are_shown(judged):
    everything = judged.rows("conversations")
    rows = to_read(everything)
    named = judged.document("run.json")["to_read"]
    assert [one["conversation_id"] for one in named] == [row["conversation_id"] for row in rows]
    assert len(named) == 10 and max(Counter(row["problem_type"] for row in rows).values()) <= 3
    lines = judged.out.split("read first:\n")[1].split("\n\n")[0].splitlines()
    by_name = {row["conversation_id"].rsplit("/", 1)[-1]: row for row in everything}
    shown = [by_name[line.split()[0]] for line in lines]
    v1 = [row for row in everything if (row["app_version"] or "").endswith("/v1")]
    before = {row["eval_id"]: row["verdict"] for row in v1}
    assert len(shown) == 3 and shown == sorted(shown, key=reading_key)
    for line, row in zip(lines, shown, strict=True):
        assert (before[row["eval_id"]], row["verdict"]) == ("PASS", "FAIL")
        assert row["app_version"].endswith("/v2") and " (v2): " + row["why"][:60] in line


def test_no_transcripts_leaves_no_words(turnwise, tmp_path):
    secret = {"user": "my secret is 4711", "agent": "noted", "expected": {"tool_calls": []}}
    path = write(tmp_path / "log.jsonl", log(turns=[secret]))
    run = turnwise("run", "--input", path, "--judge", "none", "--no_transcripts", output=tmp_path / "out")
    (row,) = run.rows("conversations")
    assert row["transcript"] is None and (row["turns"], row["verdict"]) == (1, "PASS")
    assert "4711" not in file_of(run.directory, "conversations").read_text()


@pytest.mark.parametrize("why", ["漢" * 300, "\x1b[31m\u202e" * 50])
def test_lines_of_what_to_read_have_at_most_110_columns_and_no_control_characters(why):
    row = {
        **dict.fromkeys(get_type_hints(TABLES["conversations"])),
        "conversation_id": "c/" + "é" * 90,
        "why": why,
    }
    text = reading_text(listed([{**row, "app_version": "a/v1"}] * 5))
    lines = text.split("\n")
    assert len(lines) == 5 and all(columns(line) <= 110 for line in lines)
    assert "\x1b" not in text and "\u202e" not in text
    alike = [
        {**row, "conversation_id": f"{day}/c-1", "app_version": f"{team}/v1"} for day, team in ("ab", "cd")
    ]
    shown = [line.split(":")[0] for line in reading_text(listed(alike)).split("\n")[1:3]]
    assert shown == ["  a/c-1 (b/v1)", "  c/c-1 (d/v1)"]
    assert "\n  c-1 (b/v1):" in reading_text(listed(alike[:1]), beside=["d/v1", ""])
