"""The engines that can be started on this machine: what they need, and the options of a run on them."""

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

LOOPBACK = "--environment_type=LOOPBACK"
DRIVERS = {
    "flink": "org.apache.beam.runners.flink.FlinkJobServerDriver",
    "spark": "org.apache.beam.runners.spark.SparkJobServerDriver",
}
_WAIT_S = 300
# Spark 3.2 uses packages that Java 17 closes.
_OPENED = [
    f"--add-opens=java.base/{name}=ALL-UNNAMED"
    for name in ("java.lang", "java.lang.invoke", "java.nio", "java.util", "sun.nio.ch")
]


class Tools(NamedTuple):
    """Programs and files that engines need.

    Attributes:
        prism: The program `prism`; None: it is not installed.
        java: The program `java`; None: it is not installed.
        jars: Folder with one folder of jars for each of Beam's job servers (`flink`, `spark`).
    """

    prism: str | None
    java: str | None
    jars: Path


class Engine(NamedTuple):
    """An engine of Beam.

    Attributes:
        name: Its name.
        lacks: Returns what is missing to start it; "": nothing.
        started: Starts it, with a folder for its files; the value is the options of a run on it.
    """

    name: str
    lacks: Callable[[Tools], str]
    started: Callable[[Tools, Path], AbstractContextManager[Sequence[str]]]


def find_tools(jars: Path) -> Tools:
    """Returns the programs that are installed."""
    prism = shutil.which("prism") or shutil.which("prism", path=str(Path.home() / "go/bin"))
    return Tools(prism, shutil.which("java"), jars)


def _several(tools: Tools, folder: Path) -> AbstractContextManager[Sequence[str]]:
    return nullcontext(("--direct_running_mode=multi_processing", "--direct_num_workers=2"))


def _prism(tools: Tools, folder: Path) -> AbstractContextManager[Sequence[str]]:
    return nullcontext(("--runner=PrismRunner", f"--prism_location={tools.prism}", LOOPBACK))


@contextmanager
def _local_service(tools: Tools, folder: Path) -> Iterator[Sequence[str]]:
    port = _free_port()
    module = ("-m", "apache_beam.runners.portability.local_job_service_main")
    command = [sys.executable, *module, "--job_port", str(port), "--staging_dir", str(folder / "staged")]
    with _service(command, port, folder):
        yield "--runner=PortableRunner", f"--job_endpoint=localhost:{port}", LOOPBACK


def _job_server(name: str) -> Callable[[Tools, Path], AbstractContextManager[Sequence[str]]]:
    @contextmanager
    def started(tools: Tools, folder: Path) -> Iterator[Sequence[str]]:
        port, artifacts, expansion = _free_port(), _free_port(), _free_port()
        command = [
            *(tools.java or "java", "-Xmx2g", *_OPENED, "-cp", f"{tools.jars / name}/*", DRIVERS[name]),
            *("--job-host=localhost", f"--job-port={port}", f"--artifact-port={artifacts}"),
            *(f"--expansion-port={expansion}", f"--artifacts-dir={folder / 'artifacts'}"),
        ]
        with _service(command, port, folder):
            endpoints = f"--job_endpoint=localhost:{port}", f"--artifact_endpoint=localhost:{artifacts}"
            yield "--runner=PortableRunner", *endpoints, LOOPBACK, "--parallelism=2"

    return started


@contextmanager
def _service(command: Sequence[str], port: int, folder: Path) -> Iterator[None]:
    """Starts a server, waits until its port answers, and ends it.

    Raises:
        RuntimeError: It ended, or did not answer in time; with the end of what it said.
    """
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
    try:
        deadline = time.monotonic() + _WAIT_S
        while not _answers(port):
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        server.kill()
        server.wait()


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("localhost", port), timeout=1).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port: int = free.getsockname()[1]
        return port


def _lacks_prism(tools: Tools) -> str:
    return "" if tools.prism else "prism (go install github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0)"


def _lacks_jars(name: str) -> Callable[[Tools], str]:
    def lacks(tools: Tools) -> str:
        if not tools.java:
            return "java"
        has_jars = any((tools.jars / name).glob("*.jar"))
        return "" if has_jars else f"jars in {tools.jars / name} (see benchmarks/engines/pom.xml)"

    return lacks


ENGINES = (
    Engine("multi_processing", lambda tools: "", _several),
    Engine("job_service", lambda tools: "", _local_service),
    Engine("prism", _lacks_prism, _prism),
    Engine("flink", _lacks_jars("flink"), _job_server("flink")),
    Engine("spark", _lacks_jars("spark"), _job_server("spark")),
)
