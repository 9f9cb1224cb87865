"""`./run_local.sh` makes its environment once, and again when what belongs in it has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PYTHON = """#!/usr/bin/env bash
# Stands for Python: makes environments of copies of itself, and writes down what is asked of it.
set -e
case "$*" in
  --version) echo "Python ${VERSION:-3, 11, 7}" ;;
  -c*) "$REAL" -c "import sys; sys.version_info = (${VERSION:-3, 11, 7}); exec(sys.argv[1])" "$2" ;;
  "-m venv --clear"*)
    rm -rf "$4" && mkdir -p "$4/bin"
    for name in python turnwise ruff mypy; do cp "$0" "$4/bin/$name"; done
    echo "venv" >> "$LOG" ;;
  "-m pip install"*) [ "${FAILS:-}" != "${@: -1}" ]; echo "pip ${@: -1}" >> "$LOG" ;;
  *)
    echo "${0##*/} $1 $2" >> "$LOG"
    case "${0##*/} $*" in "${FAILS:-nothing}"*) echo "${0##*/} fails"; exit 1 ;; esac ;;
esac
"""
BASE = ["venv", "pip requirements.lock", "pip ."]
RUN = ["turnwise run --help"]
REST = ["pip requirements-test.lock", "pip requirements-beside.lock"]
LINT = ["ruff check .", "ruff format --check"]
AT_ONCE = ["mypy", "python -m pytest"]
CHECKS = [*LINT, *AT_ONCE]


class Checkout:
    """A checkout with its files of dependencies, and the stand-in for Python."""

    def __init__(self, folder):
        self.folder = folder
        self.log = folder / "log"
        for path in (ROOT / "run_local.sh", ROOT / "pyproject.toml", *ROOT.glob("requirements*.lock")):
            shutil.copy(path, folder / path.name)
        (folder / "python").write_text(PYTHON)
        (folder / "python").chmod(0o755)

    def call(self, *arguments, status=0, **environment):
        """Returns what was done for a command; what runs at once is put in the order of `AT_ONCE`."""
        self.log.write_text("")
        own = {"PYTHON": str(self.folder / "python"), "REAL": sys.executable, "LOG": str(self.log)}
        command = ["bash", str(self.folder / "run_local.sh"), *arguments]
        done = subprocess.run(
            command, env={**os.environ, **own, **environment}, capture_output=True, text=True
        )
        assert done.returncode == status, done.stderr
        self.said = done.stdout
        lines = [line.rstrip() for line in self.log.read_text().splitlines()]
        at_once = [each for each in AT_ONCE if each in lines]
        return [each for each in lines if each not in AT_ONCE] + at_once

    def change(self, name):
        with (self.folder / name).open("a") as file:
            file.write("# changed\n")


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


def test_the_main_job_installs_the_base_once(checkout):
    assert checkout.call("run", "--help") == [*BASE, *RUN]
    assert checkout.call("run", "--help") == RUN


def test_the_tests_install_the_rest_on_top(checkout):
    checkout.call("run", "--help")
    assert checkout.call("test") == [*REST, *CHECKS]
    assert checkout.call("test") == CHECKS
    assert checkout.call("run", "--help") == RUN


@pytest.mark.parametrize(
    ("changed", "of_a_run", "of_tests"),
    [
        ("requirements.lock", BASE, [*BASE[:2], *REST, *BASE[2:]]),
        ("requirements-test.lock", [], [*BASE[:2], *REST, *BASE[2:]]),
        ("requirements-beside.lock", [], [*BASE[:2], *REST, *BASE[2:]]),
        ("pyproject.toml", BASE[2:], BASE[2:]),
    ],
)
def test_what_has_changed_is_installed_again(checkout, changed, of_a_run, of_tests):
    checkout.call("test")
    checkout.change(changed)
    assert checkout.call("run", "--help") == [*of_a_run, *RUN]
    checkout.call("test")
    checkout.change(changed)
    assert checkout.call("test") == [*of_tests, *CHECKS]


def test_another_python_begins_anew(checkout):
    checkout.call("run", "--help")
    assert checkout.call("run", "--help", VERSION="3, 14, 0") == [*BASE, *RUN]


@pytest.mark.parametrize(
    "step", ["requirements.lock", "requirements-test.lock", "requirements-beside.lock", "."]
)
def test_an_installation_that_failed_is_made_up_for(checkout, step):
    checkout.call("test", status=1, FAILS=step)
    done = checkout.call("test")
    assert f"pip {step}" in done
    assert done[-1] == "python -m pytest"


@pytest.mark.parametrize("check", [*LINT, *AT_ONCE])
def test_each_check_that_fails_fails_the_command(checkout, check):
    done = checkout.call("test", status=1, FAILS=check)
    assert set(AT_ONCE) <= set(done) or check in LINT


def test_faults_of_types_stand_at_the_end(checkout):
    checkout.call("test", status=1, FAILS="mypy")
    assert checkout.said.splitlines()[-1] == "mypy fails"


def test_an_old_python_is_refused(checkout):
    assert checkout.call(status=2, VERSION="3, 10, 19") == []
    assert checkout.call("run", "--help", VERSION="3, 11, 0") == [*BASE, *RUN]


TOOLS = ("bash", "cat", "cksum", "cp", "dirname", "mkdir", "mv", "rm")
STUBS = {"id": "echo $USER_ID", "apt-get": 'echo "apt-get $1" >> "$LOG"; [ "$APT" = works ]'}


@pytest.mark.parametrize(
    ("user", "apt", "there", "asked"),
    [
        ("0", "works", (), ["apt-get update", "apt-get install"]),
        ("0", "fails", (), ["apt-get update"]),
        ("1000", "works", (), []),
        ("0", "works", ("chromium",), ["apt-get update", "apt-get install"]),
        ("0", "works", ("chromium", "chromedriver"), []),
    ],
)
def test_the_browser_is_installed_where_apt_may(checkout, user, apt, there, asked):
    tools = checkout.folder / "tools"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(str(shutil.which(name)))
    (tools / "env").symlink_to("/usr/bin/env")
    for name, command in {**STUBS, **dict.fromkeys(there, "true")}.items():
        (tools / name).write_text(f"#!/bin/bash\n{command}\n")
        (tools / name).chmod(0o755)
    checkout.call("run", "--help")
    done = checkout.call("test", PATH=str(tools), USER_ID=user, APT=apt)
    assert [one for one in done if one.startswith("apt-get")] == asked
    assert done[-len(CHECKS) :] == CHECKS
