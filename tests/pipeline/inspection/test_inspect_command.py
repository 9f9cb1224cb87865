"""`turnwise inspect` through its own arguments."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.pipeline.logs import write
from turnwise.pipeline.cli.main import main


def event(session: str, index: int) -> dict[str, Any]:
    return {"conversation_id": session, "turn_index": index, "turn": {"user": f"q{index}", "agent": "a"}}


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(copies: int) -> int:
        path = tmp_path / f"{copies}.jsonl"
        with path.open("w") as file:
            for i in range(copies):
                file.write(json.dumps(event(f"s{i}", 0) | {"x": "y" * 2000}) + "\n")
        code = (
            "import sys, resource; from turnwise.pipeline.cli.main import main; main(sys.argv[1:]);"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        command = [sys.executable, "-c", code, "inspect", "--json", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(done.stderr.split()[-1])

    assert peak(8_000) - peak(500) < 10_000


def test_logs_without_expectations_are_run_with_the_config_that_they_feed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    call = {"name": "get_order", "args": {"id": "1"}, "response": {"result": "shipped"}}
    turn = {"user": "Where is order 1?", "agent": "It is shipped.", "tool_calls": [call]}
    Path("log.jsonl").write_text(json.dumps({"conversation_id": "c", "app_version": "v1", "turns": [turn]}))
    main(["inspect", "log.jsonl"])
    text = " ".join(capsys.readouterr().out.replace("\\\n", " ").split())
    commands = text.rpartition("next: ")[2].split(" && ")
    assert [main(command.split()[1:]) for command in commands] == [0, 0], commands


def test_a_folder_of_many_files_is_one_screen(tmp_path, turnwise):
    turns = [{"user": "a", "agent": "b"}] * 9
    for number in range(30):
        records = {"conversation_id": "c", "turns": turns}, {"foo": 1, f"key{number}": 1}
        write(tmp_path / f"{'long' * 20}-{number}.jsonl", *records)
    shown = turnwise("inspect", tmp_path).out
    assert "total of 30" in shown and len(shown.splitlines()) <= 40
