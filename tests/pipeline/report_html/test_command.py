"""The command `turnwise report`: directories, options, and what it says about runs that are not whole."""

from pathlib import Path

import pytest

from tests.pipeline.logs import write
from tests.pipeline.report_html.made_run import conversation, score, write_rows, write_run
from tests.pipeline.report_html.test_page import report
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.report.html import write_report
from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.transforms.decisions.report.figures import Compared, collect


def test_several_runs_are_columns_of_one_report(tmp_path):
    one = write_run(tmp_path / "one", [conversation("a", eval_id="e")])
    two = write_run(tmp_path / "two", [conversation("a", "FAIL", eval_id="e")], run_id="run-2")
    data = report(one, two).data("report")
    assert [(version["name"], version["passed"], version["failed"]) for version in data["versions"]] == [
        ("v1 (one)", 1, 0),
        ("v1 (two)", 0, 1),
    ]
    assert [run["run_id"] for run in data["runs"]] == ["run-1", "run-2"]


def test_runs_of_a_directory_are_columns_by_their_start(tmp_path):
    """The names of directories, in another order, stand for conversations without a version."""
    for name, day in (("first", "01"), ("before", "02"), ("after", "03")):
        own = {"run_id": name, "create_time": f"2026-11-{day}T00:00:00Z"}
        write_run(tmp_path / name, [conversation("a", eval_id="e", app_version=None)], **own)
    data = report(tmp_path).data("report")
    assert [version["name"] for version in data["versions"]] == ["first", "before", "after"]
    pairs = [(pair["baseline"]["name"], pair["candidate"]["name"]) for pair in data["comparisons"]]
    assert pairs == [("before", "after"), ("first", "after"), ("first", "before")]


def test_the_share_of_one_version_is_that_of_the_run(tmp_path, capsys):
    """Also where cases were recorded several times, which are not as many trials."""
    logs = []
    for i in range(18):
        calls = [{"name": "book", "args": {"x": x}} for x in (i % 4 != 0, True)]
        turn = {"user": "Book", "agent": "Done", "tool_calls": calls[:1]}
        turn["expected"] = {"tool_calls": calls[1:]}
        names = {"conversation_id": f"c{i}", "eval_id": f"case{i % 5}", "app_version": "v1"}
        logs.append({**names, "turns": [turn]})
    source = write(tmp_path / "logs.jsonl", *logs)
    assert main(["run", "--input", str(source), "--output", str(tmp_path / "run")]) == 0
    ended = capsys.readouterr().out
    data = report(tmp_path / "run").data("report")
    (page,) = data["first_pages"]
    assert page["headline"] in ended and "% pass (" in page["headline"]


def test_versions_are_compared_in_one_sentence_a_criterion(tmp_path):
    rows = [
        conversation(f"c{i}-{v}", "FAIL" if v == "v1" and i < 30 else "PASS", app_version=v, eval_id=f"e{i}")
        for i in range(40)
        for v in ("v1", "v2")
    ]
    data = report(write_run(tmp_path / "run", rows)).data("report")
    (comparison,) = data["comparisons"]
    first = comparison["criteria"][0]
    assert first["sentence"].startswith("v2 is better than v1: +75.0 points")
    assert data["sentences"] == [], "the headline has said it"
    assert (comparison["baseline"]["name"], comparison["candidate"]["name"]) == ("v1", "v2")
    assert comparison["pairing"]["pairs"] == 40


def test_runs_that_were_measured_otherwise_are_not_compared(tmp_path):
    rows = [conversation("a", eval_id="e")]
    one = write_run(tmp_path / "one", rows)
    criteria = {"tool_trajectory_avg_score": {"threshold": 0.5}}
    two = write_run(tmp_path / "two", rows, run_id="run-2", criteria=criteria)
    data = report(one, two).data("report")
    assert data["comparisons"] == []
    assert "were not measured in the same way" in data["sentences"][0]["text"]


def problems(directory: Path) -> list[str]:
    data = report(directory).data("report")
    return [one["text"] for one in data["sentences"]]


def test_a_run_that_is_not_whole_says_so_first(tmp_path):
    rows = [conversation("a"), conversation("b", None), conversation("c", transcript=None)]
    counts = {"rejected_records": 2, "rejected_conversations": 1, "rejected_cases": 0}
    run = write_run(tmp_path / "run", rows, counts=counts, exit_status=1, problems=["too many failures"])
    assert problems(run) == ["This run ended with exit status 1: too many failures."]
    data = report(run).data("report")
    (page,), (balance,) = data["first_pages"], data["coverage"]
    assert (page["no_verdict"], page["rejected"]) == (1, 3), "each is said once, as a count"
    assert "1 without a verdict + 1 rejected" in balance["text"]


def test_a_run_without_transcripts_says_so(tmp_path):
    run = write_run(tmp_path / "run", [conversation("a", transcript=None)])
    assert problems(run) == ["This run wrote no transcripts, so that no conversation of it can be read here."]


@pytest.mark.parametrize(("room", "is_whole"), [(15_000, False), (5_000_000, True)])
def test_a_single_file_leaves_out_only_what_has_no_room(room, is_whole, tmp_path):
    rows = [conversation(f"c{i}", "FAIL" if i % 3 == 0 else "PASS") for i in range(900)]
    run = open_run(str(write_run(tmp_path / "run", rows)))
    path = tmp_path / "run/report.html"
    found = write_report(path, [run], Compared(), single_file=True, inline_characters=room)
    kept = [i for i, chunk in enumerate(found.conversations.chunk) if chunk >= 0]
    assert not (tmp_path / "run/report_data").exists()
    assert found.omitted == 900 - len(kept)
    if is_whole:
        assert found.omitted == 0 and found.sample_seed is None
        return
    assert 200 < len(kept) < 900 and found.sample_seed
    assert sum(found.conversations.is_random) == 200
    assert {found.conversations.verdict[i] for i in kept if not found.conversations.is_random[i]} == {"FAIL"}


def test_what_was_asked_for_and_not_measured_stands_first(tmp_path):
    criteria = {name: {"threshold": 1.0} for name in ("tool_trajectory_avg_score", "turn_latency")}
    counts = {"cases": 60, "unused_cases": 10}
    run = write_run(tmp_path / "run", [conversation("a")], criteria=criteria, counts=counts)
    found = [
        "This run: 10 of 60 eval cases have no recording; nothing is known of them.",
        "This run: turn_latency has a threshold, and is not applicable to any conversation.",
    ]
    assert problems(run) == found
    data = report(run).data("report")
    assert data["runs"][0]["gaps"] == found


def test_conversations_that_sampling_left_out_are_counted_once_a_version(tmp_path):
    run = write_run(tmp_path / "run", [conversation("a")])
    empty = dict.fromkeys(MetricsByAppVersionRow.__annotations__)
    names = ("app_version", "criterion", "window_start", "revision", "sampled_out")
    rows = [
        {**empty, "count": 0, "level": "turn", "unit": "score", **dict(zip(names, own, strict=True))}
        for own in (
            ("v1", "safety_v1", None, None, 28),
            ("v1", "hallucinations_v1", None, None, 28),
            ("v1", "tool_trajectory_avg_score", None, None, 0),
            ("v2", "safety_v1", "09:00", 1, 5),
            ("v2", "safety_v1", "09:00", 0, 7),
            ("v2", "safety_v1", "10:00", 0, 2),
        )
    ]
    write_rows(run / "metrics_by_app_version.jsonl", rows)
    assert collect([open_run(str(run))]).sampled_out == [35]


def test_versions_without_a_common_criterion_are_not_compared(tmp_path):
    left_out = {"eval_id": "e", "sampled_out": ["verdict"]}
    one = write_run(tmp_path / "one", [conversation("a", **left_out)])
    row = conversation("b", app_version="v2", **left_out)
    own = [score(row, None, 1.0, criterion="safety_v1")]
    two = write_run(tmp_path / "two", [row], own_scores=own)
    data = report(one, two).data("report")
    assert data["comparisons"] == []
    assert any("no criterion in common" in one["text"] for one in data["sentences"])


def test_scores_of_recordings_with_one_id_are_not_mixed(tmp_path):
    rows = [conversation(name, verdict) for name, verdict in (("a", "PASS"), ("a", "FAIL"), ("b", "PASS"))]
    page = report(write_run(tmp_path / "run", rows))
    data = page.data("report")
    (sentence,) = data["runs"][0]["gaps"]
    assert "have the same id: 1 conversation id (a);" in sentence
    assert data["sentences"][0]["text"] == sentence
    columns = data["conversations"]
    own = {(columns["id"][i], columns["verdict"][i]): i for i in range(3)}
    assert len(own) == 3, "each has its verdict"
    details = page.data("chunk-0")
    found = {key: details[str(i)] for key, i in own.items()}
    assert [len(found["a", verdict]["scores"]) for verdict in ("PASS", "FAIL")] == [0, 0]
    assert len(found["b", "PASS"]["scores"]) == 3 and not found["b", "PASS"]["is_repeated"]
    assert [columns["failed"][i] for i in own.values()] == [[], [], []]
    (figure,) = data["criteria"][1]["figures"]
    assert (figure["passed"], figure["failed"]) == (2, 1), "the figures of the version hold all scores"
