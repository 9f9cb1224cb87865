"""A pool of workers that has nothing of the launcher: another folder, environment, and set of packages."""

import shutil
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.children import ROOT
from benchmarks.engines.processes import free_port, service


def worker_environment(folder: Path) -> Path:
    """Makes an environment with turnwise installed; returns the folder of its programs.

    The packages that turnwise needs are those of this environment; turnwise itself is a copy, as in an image
    of a worker.
    """
    venv.create(folder, symlinks=True)
    [site] = folder.glob("lib/python*/site-packages")
    (site / "packages.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    unread = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "turnwise", site / "turnwise", symlinks=False, ignore=unread)
    return folder / "bin"


@contextmanager
def worker_pool(folder: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Starts a pool of workers; yields its address and the id of its process.

    Args:
        folder: An empty folder, in which the workers run.
        environ: Their environment, besides the path of their programs.
    """
    programs = worker_environment(folder / "environment")
    home = folder / "home"
    home.mkdir()
    port = free_port()
    module = ("-m", "apache_beam.runners.worker.worker_pool_main")
    command = [str(programs / "python"), *module, f"--service_port={port}"]
    with service(command, port, folder, {"PATH": str(programs), **environ}, home) as pool:
        yield f"localhost:{port}", pool.pid
