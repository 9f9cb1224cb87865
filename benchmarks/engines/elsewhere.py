"""Runs whose workers have nothing of this machine: they read and write objects."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.engines.cases import Case
from benchmarks.engines.engines import ENGINES, LOOPBACK, Engine, Tools
from benchmarks.engines.identity import machine_identity
from benchmarks.engines.objects import BUCKET, Objects, object_server
from benchmarks.engines.pool import worker_pool
from benchmarks.engines.runs import (
    SAMPLE,
    Tables,
    check,
    check_equal,
    finished,
    made_job,
    made_logs,
    sample_job,
    succeeded,
)
from benchmarks.engines.tables import tables


class Elsewhere(NamedTuple):
    """A place without this machine's files.

    Attributes:
        objects: The server of objects.
        environ: The variables by which Google's clients find it, and the identity of their machine.
        pool: Address of the pool of workers.
        leader: Id of the pool's process.
        folder: Folder of the launcher.
    """

    objects: Objects
    environ: Mapping[str, str]
    pool: str
    leader: int
    folder: Path

    @property
    def home(self) -> Path:
        """The folder in which the workers run."""
        return self.folder / "pool/home"

    def sample(self) -> tuple[str, ...]:
        """Uploads the sample; returns the arguments of a run on it."""
        logs = self.objects.put(SAMPLE / "conversations", "conversations")
        return sample_job(f"{logs}/", f"{self.objects.put(SAMPLE / 'cases', 'cases')}/")

    def made(self, turns: int) -> tuple[str, ...]:
        """Uploads generated conversations; returns the arguments of a run on them."""
        return made_job(self.objects.put(made_logs(self.folder, turns), "logs.jsonl"))

    def options(self, engine: Sequence[str]) -> tuple[str, ...]:
        """Returns the options of a run on an engine with the pool's workers."""
        own = tuple(option for option in engine if option != LOOPBACK)
        return (*own, "--environment_type=EXTERNAL", f"--environment_config={self.pool}")

    def run(self, job: Sequence[str], options: Sequence[str], name: str) -> Tables:
        """Runs a job; returns its tables."""
        place = ("--output", f"gs://{BUCKET}/{name}", "--overwrite")
        succeeded([*job, *place, *options], self.folder, self.environ)
        return self.tables(name)

    def tables(self, name: str) -> Tables:
        """Returns the tables of a run."""
        return tables(self.objects.copy(name, self.folder / f"copy-{name}"))


@contextmanager
def elsewhere(tools: Tools, folder: Path) -> Iterator[Elsewhere]:
    """Starts a server of objects, the identity of a machine and a pool of workers, and ends them."""
    (folder / "pool").mkdir()
    with object_server(str(tools.servers), folder) as objects, machine_identity() as identity:
        environ = {**identity, "STORAGE_EMULATOR_HOST": objects.url}
        with worker_pool(folder / "pool", environ) as (pool, leader):
            yield Elsewhere(objects, environ, pool, leader, folder)


def _run(engine: Engine, tools: Tools, folder: Path, turns: int) -> str:
    with elsewhere(tools, folder) as place, engine.started(tools, folder) as own:
        options = place.options(own)
        if turns:
            _check_refusal(place, options)
        for job in (place.sample(), *([place.made(turns)] if turns else [])):
            check_equal(place.run(job, (), "expected"), place.run(job, options, "found"))
        check(not list(place.home.iterdir()), f"workers left files: {list(place.home.iterdir())}")
    return "same tables"


def _check_refusal(place: Elsewhere, options: Sequence[str]) -> None:
    """Checks that a place of this machine is refused."""
    ended = finished([*made_job("logs.jsonl"), "--output", "out", *options], place.folder, place.environ)
    check(ended.status == 2 and "--output out: is on this machine" in ended.text, ended.text)


def _case(engine: Engine) -> Case:
    return Case(
        f"{engine.name}: workers elsewhere, objects",
        lambda tools: engine.lacks(tools) or tools.lacks_servers(),
        lambda tools, folder, turns: _run(engine, tools, folder, turns),
    )


ELSEWHERE = tuple(_case(engine) for engine in ENGINES if engine.name in ("prism", "flink"))
