"""The GitHub Actions workflow of the page on CI: its steps run in clones of a repository."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.documentation import ROOT, blocks
from tests.pipeline import logs

CASES = 100
PULL_REQUEST = "https://github.com/our-org/desk/pull/7"  # of all addresses of it, `gh` takes this one alone
EVENT = {"${{ github.event.pull_request.html_url }}": PULL_REQUEST, "${{ github.token }}": "secret"}
RULES = [
    {"rule": "bound", "criterion": "verdict", "side": "lower", "at_least": 0.8},
    {"rule": "coverage", "at_least": 0.95},
    {"rule": "no_destructive_calls"},
    {"rule": "not_worse", "margin": 0.05},
]


class Step(NamedTuple):
    """A step that ended."""

    name: str
    status: int
    text: str


def workflow() -> Any:
    (text,) = (block.text for block in blocks("yaml") if block.page == "docs/ci.md")
    return yaml.safe_load(text)


def git(folder: Path, *arguments: str) -> None:
    own = ["-c", "user.name=tester", "-c", "user.email=tester@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True)


def write(folder: Path, version: str, wrong: int) -> None:
    """Writes the recordings of a version that calls the wrong tool in some conversations."""
    lines = []
    for i in range(CASES):
        call = {"name": "cancel" if i < wrong else "track", "args": {"order": i}}
        turn = {"user": f"Where is order {i}?", "agent": "Here.", "tool_calls": [call]}
        names = {"conversation_id": f"{version}-{i}", "app_version": version, "eval_id": f"order-{i}"}
        lines.append({**names, "turns": [turn]})
    logs.write(folder / "recordings/all.jsonl", *lines)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Returns a workspace with a repository that has a branch `main` and, for the pull request, `change`."""
    origin, place, cases = tmp_path / "origin", tmp_path / "workspace", []
    place.mkdir()
    for i in range(CASES):
        turn = {"user": f"Where is order {i}?", "tool_calls": [{"name": "track", "args": {"order": i}}]}
        cases.append({"eval_id": f"order-{i}", "turns": [turn]})
    logs.write(origin / "cases/all.jsonl", *cases)
    logs.write(origin / "turnwise.json", {"criteria": {"tool_trajectory_avg_score": 1.0}})
    logs.write(origin / "gate.json", {"gate": {"rules": RULES}})
    write(origin, "v1", 0)
    git(origin, "init", "-q")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "Record")
    git(origin, "checkout", "-q", "-b", "change")
    return place


def run_workflow(workspace: Path) -> list[Step]:
    """Runs the steps as GitHub does: after a failure only those that are to run always."""
    done: list[Step] = []
    fakes = workspace.parent / "bin"
    fakes.mkdir(exist_ok=True)
    (fakes / "gh").write_text('#!/bin/sh\necho "$@" > "$GH_CALLED"\ncat gate.md >> "$GH_CALLED"\n')
    (fakes / "gh").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{fakes}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(workspace.parent / "summary.md"),
        "GH_CALLED": str(workspace.parent / "comment.md"),
        # pip reads the checkout and its requirements, and leaves the environment as it is.
        **{"PIP_NO_INDEX": "1", "PIP_DRY_RUN": "1", "PIP_NO_BUILD_ISOLATION": "0"},
    }
    for step in workflow()["jobs"]["gate"]["steps"]:
        if any(one.status for one in done) and "cancelled()" not in step.get("if", ""):
            continue
        if "repository" in step.get("with", {}):
            git(workspace, "clone", "-q", str(ROOT), step["with"]["path"])
        elif step.get("uses", "").startswith("actions/checkout"):
            branch = "main" if step["with"].get("ref") == "${{ github.base_ref }}" else "change"
            origin = str(workspace.parent / "origin")
            git(workspace, "clone", "-q", "--branch", branch, origin, step["with"]["path"])
        if "run" in step:
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            own = {name: EVENT.get(value, value) for name, value in step.get("env", {}).items()}
            how: Any = {"cwd": workspace, "env": {**environment, **own}, "timeout": 600}
            ended = subprocess.run(command, capture_output=True, text=True, **how)
            done.append(Step(step["name"], ended.returncode, ended.stdout + ended.stderr))
    return done


def test_the_steps_use_known_actions_only():
    used = [step["uses"] for step in workflow()["jobs"]["gate"]["steps"] if "uses" in step]
    assert used == ["actions/checkout@v4"] * 3 + ["actions/setup-python@v5", "actions/upload-artifact@v4"]
    scripts = "\n".join(step.get("run", "") for step in workflow()["jobs"]["gate"]["steps"])
    assert "${{" not in scripts, "what an event holds must not become a part of a script"


@pytest.mark.parametrize(("wrong", "status"), [(0, 0), (40, 1)])
def test_its_steps_decide_about_a_pull_request(workspace, wrong, status):
    origin = workspace.parent / "origin"
    write(origin, "v2", wrong)
    git(origin, "commit", "-qam", "Record again")
    done = run_workflow(workspace)
    scored = ["Install", "Score the base branch", "Score the pull request"]
    shown = ["Decide", "Show the summary", "Comment on the pull request"]
    assert [step.name for step in done] == scored + shown, done[-1].text
    assert [step.status for step in done] == [0, 0, 0, status, 0, 0], [step.text for step in done]
    summary = (workspace.parent / "summary.md").read_text()
    assert summary.startswith(f"## turnwise: {'failed' if status else 'passed'}\n")
    assert "Would install turnwise-" in done[0].text
    assert ("| read first | case | verdict |" in summary) == bool(status)
    assert f"regressed {wrong}, fixed 0, still failing 0" in summary
    comment = (workspace.parent / "comment.md").read_text()
    assert comment.startswith(f"pr comment {PULL_REQUEST} ") and comment.endswith(summary)
    result = json.loads((workspace / "result.json").read_text())
    assert [rule["status"] for rule in result["rules"]].count("failed") == (3 if status else 0)
    assert (workspace / "junit.xml").read_text().count("<testcase ") == 2 * CASES + len(RULES)
