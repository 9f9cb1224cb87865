"""The calls that the page of the REST API shows work as they are printed there."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs/api.md").read_text(encoding="utf-8")


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_calls_of_the_page_work(server):
    (block,) = (text for text in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) if "API=" in text)
    assert "http://127.0.0.1:8000" in block
    script = 'curl() { command curl --fail --silent --show-error "$@" && echo; }\n'
    script += block.replace("http://127.0.0.1:8000", server.url)
    done = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made, got, listed, updated, results, runs, deleted = map(json.loads, done.stdout.splitlines())
    assert made == got and made["displayName"] == "Refund"
    assert updated["tags"] == ["slow"] and updated["displayName"] == "Refund of a ticket"
    assert listed == results == runs == deleted == {}


@pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq")
def test_the_evaluations_of_a_file_are_made_as_the_page_says(server):
    (block,) = (
        text for text in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) if "< golden.jsonl" in text
    )
    cases = Path(__file__).parents[3] / "pipeline/sample_data/cases"
    script = 'curl() { command curl --fail --silent --show-error "$@" && echo; }\n'
    script += f"API={server.url}/v1beta/projects/a/locations/b/apps/c JSON='Content-Type: application/json'\n"
    done = subprocess.run(["bash", "-e", "-c", script + block], capture_output=True, text=True, cwd=cases)
    assert done.returncode == 0, done.stderr
    made = [json.loads(line) for line in done.stdout.splitlines()]
    given = [json.loads(line) for line in (cases / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [one["name"].rpartition("/")[2] for one in made] == [
        one["name"].rpartition("/")[2] for one in given
    ]
    assert [one["golden"] for one in made] == [one["golden"] for one in given]
