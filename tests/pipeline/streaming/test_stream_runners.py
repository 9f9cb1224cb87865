"""The stream on Prism, where it is installed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "pipeline/sample_data"
PRISM = shutil.which("prism", path=os.pathsep.join([os.environ.get("PATH", ""), str(Path.home() / "go/bin")]))
NEW_CASE = '{"eval_id": "new", "conversation": [{"user_content": {"parts": [{"text": "Hi"}]}}]}\n'
NEW_CONVERSATION = '{"conversation_id": "n", "eval_id": "new", "turns": [{"user": "Hi", "agent": "Hello"}]}\n'


@pytest.mark.skipif(PRISM is None, reason="prism is not installed (go install .../cmd/prism)")
def test_it_runs_on_prism(tmp_path):
    logs, cases = tmp_path / "logs", tmp_path / "cases"
    shutil.copytree(SAMPLE / "conversations", logs)
    shutil.copytree(SAMPLE / "cases", cases)
    (cases / "broken.jsonl").write_text("{broken\n")
    arguments = f"--input {logs}/ --eval_cases {cases} --refresh_cases 1 --config {SAMPLE}/config.json"
    arguments += f" --judge local --output {tmp_path}/out --runner=PrismRunner --prism_location={PRISM}"
    command = [sys.executable, "-m", "turnwise", "run", "--streaming", *arguments.split()]
    command.append("--environment_type=LOOPBACK")
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 300
        while len(names(tmp_path / "out")) < 60 and time.monotonic() < deadline:
            assert process.poll() is None, (tmp_path / "log").read_text()
            if len(names(tmp_path / "out")) == 59 and not (cases / "new.jsonl").exists():
                (cases / "new.jsonl").write_text(NEW_CASE)
                time.sleep(2)
                (logs / "new.jsonl").write_text(NEW_CONVERSATION)
            time.sleep(0.5)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
    found = names(tmp_path / "out")
    assert len(found) == len(set(found)) == 60
    failures = [json.loads(line) for path in (tmp_path / "out").glob("failures-*") for line in path.open()]
    rejected = [row["source"] for row in failures if row["stage"] == "parse_case"]
    assert rejected == [str(cases / "broken.jsonl")]


def names(directory: Path) -> list[str]:
    """Returns the names of all results that are there."""
    return [json.loads(line)["name"] for path in directory.glob("results-*") for line in path.open()]
