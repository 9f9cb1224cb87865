"""The engines that can be started on this machine: what they need, and the options of a run on them."""

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from benchmarks.engines.processes import free_port, service

CACHE = Path.home() / ".cache/turnwise-benchmarks"
LOOPBACK = "--environment_type=LOOPBACK"
DRIVERS = {
    "flink": "org.apache.beam.runners.flink.FlinkJobServerDriver",
    "spark": "org.apache.beam.runners.spark.SparkJobServerDriver",
}
_RESTARTS = """
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 3
restart-strategy.fixed-delay.delay: 1 s
"""
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
        servers: The program made of `benchmarks/engines/servers`; None: it is not there.
        jars: Folder with one folder of jars for each of Beam's job servers (`flink`, `spark`).
    """

    prism: str | None
    java: str | None
    servers: str | None
    jars: Path

    def lacks_servers(self) -> str:
        """Returns what is missing to start servers of Google's services; "": nothing."""
        made = f"go build -C benchmarks/engines/servers -o {CACHE}/servers"
        return "" if self.servers else f"{CACHE}/servers ({made})"

    def lacks_jars(self, name: str) -> str:
        """Returns what is missing to start what a folder of jars holds; "": nothing."""
        if not self.java:
            return "java"
        has_jars = any((self.jars / name).glob("*.jar"))
        return "" if has_jars else f"jars in {self.jars / name} (see benchmarks/engines/pom.xml)"


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


def find_tools(jars: Path = CACHE / "jars") -> Tools:
    """Returns the programs that are installed."""
    prism = shutil.which("prism") or shutil.which("prism", path=str(Path.home() / "go/bin"))
    return Tools(prism, shutil.which("java"), shutil.which("servers", path=str(CACHE)), jars)


def _several(tools: Tools, folder: Path) -> AbstractContextManager[Sequence[str]]:
    return nullcontext(("--workers", "2"))


def _prism(tools: Tools, folder: Path) -> AbstractContextManager[Sequence[str]]:
    return nullcontext(("--runner=PrismRunner", f"--prism_location={tools.prism}", LOOPBACK))


@contextmanager
def _local_service(tools: Tools, folder: Path) -> Iterator[Sequence[str]]:
    port = free_port()
    module = ("-m", "apache_beam.runners.portability.local_job_service_main")
    command = [sys.executable, *module, "--job_port", str(port), "--staging_dir", str(folder / "staged")]
    with service(command, port, folder):
        yield "--runner=PortableRunner", f"--job_endpoint=localhost:{port}", LOOPBACK


def _job_server(
    name: str, settings: str = ""
) -> Callable[[Tools, Path], AbstractContextManager[Sequence[str]]]:
    """Returns how a job server is started.

    Args:
        name: Folder of its jars.
        settings: Content of its `flink-conf.yaml`; "": it has none.
    """

    @contextmanager
    def started(tools: Tools, folder: Path) -> Iterator[Sequence[str]]:
        port, artifacts, expansion = free_port(), free_port(), free_port()
        command = [
            *(tools.java or "java", "-Xmx2g", *_OPENED, "-cp", f"{tools.jars / name}/*", DRIVERS[name]),
            *("--job-host=localhost", f"--job-port={port}", f"--artifact-port={artifacts}"),
            *(f"--expansion-port={expansion}", f"--artifacts-dir={folder / 'artifacts'}"),
        ]
        if settings:
            (folder / "flink-conf.yaml").write_text(settings)
            command.append(f"--flink-conf-dir={folder}")
        with service(command, port, folder):
            endpoints = f"--job_endpoint=localhost:{port}", f"--artifact_endpoint=localhost:{artifacts}"
            yield "--runner=PortableRunner", *endpoints, LOOPBACK, "--parallelism=2"

    return started


def _lacks_prism(tools: Tools) -> str:
    return "" if tools.prism else "prism (go install github.com/apache/beam/sdks/v2/go/cmd/prism@v2.77.0)"


ENGINES = (
    Engine("several processes", lambda tools: "", _several),
    Engine("Beam's job service", lambda tools: "", _local_service),
    Engine("prism", _lacks_prism, _prism),
    Engine("flink", lambda tools: tools.lacks_jars("flink"), _job_server("flink")),
    Engine("spark", lambda tools: tools.lacks_jars("spark"), _job_server("spark")),
)

FLINK_WITH_RESTARTS = Engine(
    "flink with restarts", lambda tools: tools.lacks_jars("flink"), _job_server("flink", _RESTARTS)
)


def find_engine(name: str) -> Engine:
    """Returns the engine of a name."""
    [found] = (engine for engine in ENGINES if engine.name == name)
    return found
