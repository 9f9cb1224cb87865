"""The lock files: the base holds what the main job needs and no more, for every Python from 3.11 to 3.14."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# What belongs to one cloud, broker, database or tool of development.
NOT_BASE = (
    *("google-cloud-", "google-api-", "confluent-kafka", "psycopg"),
    *("pytest", "hypothesis", "mypy", "ruff", "sphinx"),
)


def locked(name, python):
    """Returns package -> version of a lock file for one Python."""
    found = {}
    marked = {"python_version": python, "python_full_version": f"{python}.0"}
    for line in (ROOT / name).read_text().splitlines():
        if line.startswith("#"):
            continue
        one = Requirement(line)
        if one.marker is None or one.marker.evaluate(marked):
            (pin,) = one.specifier
            assert pin.operator == "=="
            assert found.setdefault(canonicalize_name(one.name), pin.version) == pin.version, line
    return found


def missing(stated, pins):
    """Returns the requirements that a lock file does not meet."""
    own = [one for one in map(Requirement, stated) if one.name != "turnwise"]
    return [str(one) for one in own if pins.get(canonicalize_name(one.name), "0") not in one.specifier]


@pytest.mark.parametrize("python", VERSIONS)
def test_the_base_is_what_the_project_depends_on(python):
    pins = locked("requirements.lock", python)
    assert missing(PROJECT["dependencies"], pins) == []
    assert [name for name in pins if name.startswith(NOT_BASE)] == []


@pytest.mark.parametrize("python", VERSIONS)
def test_the_tests_have_all_extras_on_top_of_the_base(python):
    pins = locked("requirements-test.lock", python)
    for extra, stated in PROJECT["optional-dependencies"].items():
        assert missing(stated, pins) == [], extra
    assert locked("requirements.lock", python).items() <= pins.items()


def test_the_wheel_holds_every_file_of_the_packages(tmp_path):
    source = tmp_path / "source"
    for name in ("schemas", "transforms", "pipeline", "turnwise"):
        hidden = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=hidden)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", tmp_path, source], check=True, timeout=600)
    [wheel] = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    packages = [name for name in files if name.startswith(("schemas/", "transforms/", "pipeline/"))]
    assert len(packages) > 300
    assert [name for name in packages if f"turnwise/{name}" not in packed] == []
    folders = {(source / name).parent for name in packages if name.endswith(".py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []
