"""The command `turnwise report`: directories, options, and what it says about runs that are not whole."""

from pathlib import Path

import pytest

from tests.pipeline.logs import write
from tests.pipeline.report_html.made_run import conversation, write_rows, write_run
from tests.pipeline.report_html.test_page import report
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.report.html import write_report
from turnwise.pipeline.runs.directory import open_run
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.transforms.decisions.report.figures import Compared, collect


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
