"""Beam's stager builds the package from a clean checkout, and what it built runs by itself."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PathDistribution, version
from pathlib import Path
from typing import Any

import pytest
from apache_beam.runners.portability.stager import Stager
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
LAYERS = ("schemas", "transforms", "pipeline")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files that git keeps, and of nothing else."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    folder = tmp_path_factory.mktemp("checkout")
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() or (ROOT / name).is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder


@pytest.fixture(scope="module")
def staged(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source distribution, as Beam's stager builds it."""
    if importlib.util.find_spec("build") is None:
        pytest.skip("needs build (pip install turnwise[gcp])")
    place = tmp_path_factory.mktemp("staged")
    return Stager._build_setup_package(str(checkout / "pyproject.toml"), str(place))


@pytest.fixture(scope="module")
def installed(staged: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as a worker installs it, without its dependencies."""
    site = tmp_path_factory.mktemp("site")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    offline = ["--no-build-isolation", "--no-index", "--target", str(site), staged]
    subprocess.run([*install, *offline], check=True, capture_output=True)
    return site


def test_every_module_and_data_file_is_staged(checkout, installed):
    kept = [path for layer in LAYERS for path in (checkout / layer).rglob("*") if path.is_file()]
    wanted = {f"turnwise/{path.relative_to(checkout)}" for path in kept}
    wanted |= {f"turnwise/{path.name}" for path in (checkout / "turnwise").iterdir() if not path.is_symlink()}
    assert len(wanted) > 300 and {Path(name).suffix for name in wanted} >= {".avsc", ".typed", ".jsonl"}
    assert sorted(name for name in wanted if not (installed / name).is_file()) == []


def test_what_was_staged_scores_the_sample(installed, tmp_path):
    """It also does so in a directory with packages of the same names as turnwise's own ones."""
    for layer in LAYERS:
        (tmp_path / layer).mkdir()
        (tmp_path / layer / "__init__.py").write_text("raise AssertionError('this is another package')")
    data = installed / "turnwise/pipeline/sample_data"
    command = [sys.executable, "-m", "turnwise", "run", "--input", str(data / "conversations")]
    command += ["--eval_cases", str(data / "cases"), "--judge", "none", "--output", "out"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    where = [sys.executable, "-c", "import turnwise.pipeline as found; print(found.__file__)"]
    told = subprocess.run(where, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    assert told.stdout.startswith(str(installed))
    names = {path.name for path in installed.iterdir() if path.suffix != ".dist-info"}
    assert names == {"bin", "turnwise"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out/run.json").read_text())["counts"]["results"] > 50


@pytest.mark.skipif(
    "TURNWISE_STAGING" not in os.environ, reason="takes minutes and an index: TURNWISE_STAGING=1"
)
def test_an_empty_environment_gets_all_that_a_run_needs(staged, tmp_path):
    """A worker installs the package with its dependencies, which an index resolves, and judges and scores."""
    venv.create(tmp_path / "env", with_pip=True)
    python = str(tmp_path / "env/bin/python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-compile", staged], check=True, capture_output=True)
    subprocess.run([*pip, "check"], check=True, capture_output=True)
    find = [python, "-c", "import turnwise.pipeline as found; print(found.__path__[0])"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    known: Any = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
    data = subprocess.run(find, check=True, **known).stdout.strip() + "/sample_data"
    assert data.startswith(str(tmp_path))
    command = [
        python,
        "-m",
        "turnwise",
        "run",
        "--input",
        f"{data}/conversations",
        "--eval_cases",
        f"{data}/cases",
    ]
    done = subprocess.run([*command, "--judge", "local", "--output", "out"], **known)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out/run.json").read_text())["counts"]["results"] > 50


def test_what_it_depends_on_is_stated(installed):
    (metadata,) = installed.glob("turnwise-*.dist-info")
    stated = list(map(Requirement, PathDistribution(metadata).requires or ()))
    needed = [one for one in stated if one.marker is None or one.marker.evaluate({"extra": ""})]
    assert len(needed) > 5
    assert [str(one) for one in needed if version(one.name) not in one.specifier] == []
    assert not {"sqlalchemy", "mcp"} & {one.name for one in needed}
    for_dataflow = {one.name for one in stated if one.marker and one.marker.evaluate({"extra": "gcp"})}
    assert {"build", "setuptools"} <= for_dataflow
