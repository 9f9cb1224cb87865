import json

import pytest

from turnwise.pipeline.cli.main import main
from turnwise.pipeline.io.run_reader import open_run

CALLS = {"good": "cancel_x", "bad": "frobnicate"}


def record(task, trial, version, does):
    turn = {"user": "q", "agent": "done", "tool_calls": [{"name": CALLS[does], "args": {"id": task}}]}
    return {
        "conversation_id": f"{version}-{task}-{trial}",
        "app_version": version,
        "turns": [turn],
        "meta": {"task_id": task, "trial": trial},
        "expected": {"actions": [{"name": "cancel_x", "args": {"id": str(task)}}]},
    }


RUNS = {
    "v1": {1: ["good", "bad"], 2: ["good", "good", "bad"]},
    "v2": {1: ["good", "good"], 2: ["good", "good"]},
}


@pytest.fixture
def finished(tmp_path, capsys):
    log, config = tmp_path / "log.jsonl", tmp_path / "config.json"
    records = [
        record(task, trial, version, does)
        for version, tasks in RUNS.items()
        for task, runs in tasks.items()
        for trial, does in enumerate(runs)
    ]
    log.write_text("\n".join(map(json.dumps, records)))
    config.write_text(
        json.dumps({"criteria": {"tool_effects_v1": {}, "turn_latency": {}}, "tools": {"nope": "read"}})
    )
    output = tmp_path / "out"
    arguments = [
        "run",
        "--input",
        log,
        "--config",
        config,
        "--output",
        output,
    ]
    assert main([*map(str, arguments)]) == 0
    return output, capsys.readouterr().out


def test_a_run_tells_how_reliable_repeated_runs_are(finished):
    output, printed = finished
    rows = {
        (r["app_version"], r["criterion"], r["level"]): r
        for r in open_run(str(output)).metrics_by_app_version()
    }
    for criterion in ("tool_effects_v1", "evaluation_status"):
        repeats = rows["v1", criterion, "conversation"]["repeats"]
        assert (repeats["cases"], repeats["runs"]) == (2, 2)
        assert [each["cases"] for each in repeats["pass_hat_k"]] == [2, 2, 1]
        assert [each["value"] for each in repeats["pass_hat_k"]] == pytest.approx(
            [(1 / 2 + 2 / 3) / 2, (0 + 1 / 3) / 2, 0.0]
        )
        assert [each["value"] for each in repeats["pass_at_k"]] == pytest.approx(
            [(1 / 2 + 2 / 3) / 2, 1.0, 1.0]
        )
    assert [
        each["value"] for each in rows["v2", "tool_effects_v1", "conversation"]["repeats"]["pass_hat_k"]
    ] == [1, 1]
    line = next(line for line in printed.splitlines() if line.startswith("pass^k, pass@k"))
    assert "k=2: 17% (" in line and "k=2: 100% (" in line


def test_a_run_counts_the_tools_that_it_guessed(finished):
    output, printed = finished
    document = json.loads((output / "run.json").read_text())
    assert document["guessed_tools"] == {
        "cancel_x": {"effect": "write", "conversations": 9},
        "frobnicate": {"effect": "unknown", "conversations": 2},
    }
    assert document["config"]["tools"]["nope"]["effect"] == "read"
    assert "tools: the effect of 1 is guessed by name (1 write); `turnwise tools` lists them" in printed
    assert "tools: the effect of 1 is unknown (frobnicate); state it in the config" in printed
