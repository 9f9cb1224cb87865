"""Whole runs inside this process, how their files are read back, and stores to write into."""

import contextlib
import io
import os
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.pipeline.logs import write
from tests.postgres_server import MadeDatabase, created, emptied, lacks_postgres, postgres_server
from tests.tables import document_of, rows_of
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.store.database import Store, open_store

SAMPLE = Path(__file__).parents[2] / "pipeline/sample_data"


class Finished(NamedTuple):
    """A command that came to its end."""

    status: int
    out: str
    err: str
    directory: Path

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Returns the rows of a JSON Lines table, over all its files."""
        return rows_of(self.directory, table)

    def document(self, name: str) -> dict[str, Any]:
        """Returns a JSON document."""
        return document_of(self.directory, name)


@pytest.fixture(scope="session")
def sample() -> Path:
    """Returns the folder of the bundled sample data."""
    return SAMPLE


@pytest.fixture(scope="session")
def turnwise() -> Callable[..., Finished]:
    """Returns a function that runs the command `turnwise`; the keyword `output` becomes `--output`."""

    def command(*argv: str | Path, output: Path | None = None) -> Finished:
        out, err = io.StringIO(), io.StringIO()
        arguments = [str(argument) for argument in argv]
        if output is not None:
            arguments += ["--output", str(output)]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
        return Finished(status, out.getvalue(), err.getvalue(), output or Path())

    return command


@pytest.fixture
def score_logs(turnwise: Callable[..., Finished], tmp_path: Path) -> Callable[..., Finished]:
    """Returns a function that scores records by a config, in files and a directory of a name."""

    def run(records: Iterable[Any], config: Any, *options: object, name: str = "out") -> Finished:
        files = write(tmp_path / f"{name}.jsonl", *records), write(tmp_path / f"{name}.json", config)
        paths = ("--input", files[0], "--config", files[1])
        return turnwise("run", *paths, *map(str, options), output=tmp_path / name)

    return run


@pytest.fixture(scope="session")
def goes_on(turnwise: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that goes on with a stream in this process, until all that is there is scored."""
    return lambda output, *arguments: turnwise(
        "run", "--streaming", *arguments, "--max_run_time", "1", output=output
    )


@pytest.fixture(scope="session")
def sample_arguments(sample: Path) -> list[str]:
    """Returns the arguments of the main job on the sample data."""
    return ["run", "--input", str(sample / "conversations"), "--eval_cases", str(sample / "cases")]


@pytest.fixture(scope="session")
def sample_run(
    turnwise: Callable[..., Finished], sample_arguments: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Finished:
    """Returns the main job on the sample data, with the default criteria, as JSON Lines."""
    return turnwise(*sample_arguments, output=tmp_path_factory.mktemp("sample") / "out")


DATABASES = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Returns the address of a PostgreSQL server in a directory of its own, without the database."""
    if lack := lacks_postgres():
        refuse = pytest.fail if os.environ.get("TURNWISE_POSTGRES") == "required" else pytest.skip
        refuse(f"no {lack} (Debian: postgresql; ./run_local.sh test installs it)")
    with postgres_server() as address:
        yield address


@pytest.fixture(scope="session")
def postgres_database(postgres: str) -> str:
    """Returns the address of a database that tests use one after the other."""
    return created(postgres, f"test{next(DATABASES)}")


@pytest.fixture
def postgres_url(postgres_database: str) -> str:
    """Returns the address of an empty database: to make one for each test takes ten times longer."""
    return emptied(postgres_database)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Returns the address of a SQLite file that is not there yet."""
    return f"sqlite:///{tmp_path}/store.db"


def _make_store(url: str) -> None:
    open_store(url, create=True).close()


@pytest.fixture(scope="session")
def made_database(postgres: str) -> MadeDatabase:
    """Returns a database with the tables of a store, which tests use one after the other."""
    address = created(postgres, f"test{next(DATABASES)}")
    return MadeDatabase(address, _make_store, "turnwise_store_version")


@pytest.fixture
def postgres_made_url(made_database: MadeDatabase) -> str:
    """Returns the address of a database with the empty tables of a store."""
    return made_database.without_rows()


@pytest.fixture(scope="session")
def made_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a SQLite file with the empty tables of a store, to be copied."""
    path = tmp_path_factory.mktemp("made") / "store.db"
    _make_store(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_made_url(made_file: Path, sqlite_url: str) -> str:
    """Returns the address of a SQLite file with the empty tables of a store."""
    shutil.copy(made_file, sqlite_url.removeprefix("sqlite:///"))
    return sqlite_url


@pytest.fixture
def with_tables() -> None:
    """Asks that the store of `store_url` has its tables."""


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Returns the address of an empty store, of either kind; it has tables only beside `with_tables`."""
    kind = "made_url" if "with_tables" in request.fixturenames else "url"
    url: str = request.getfixturevalue(f"{request.param}_{kind}")
    return url


@pytest.fixture
def store(store_url: str, with_tables: None) -> Iterator[Store]:
    """Returns an empty store, of either kind."""
    opened = open_store(store_url, create=True)
    yield opened
    opened.close()


def _bottomless(parent: Path, name: str = "deep") -> None:
    """Makes directories whose path is longer than the system takes: not even root can list the last ones."""
    top, part = parent / name, "d" * 250
    top.mkdir()
    place = os.open(top, os.O_RDONLY)
    for _ in range(17):
        os.mkdir(part, dir_fd=place)
        below = os.open(part, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)


def _add_odd_files(folder: Path) -> set[str]:
    """Adds everything that a directory may hold and that cannot be read; returns their names as text."""
    os.mkfifo(folder / "pipe.jsonl")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket.jsonl"))
    (folder / "nowhere.jsonl").symlink_to(folder / "gone.jsonl")
    (folder / "itself.jsonl").symlink_to("itself.jsonl")
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.jsonl")).write_bytes(b"{}\n")
    _bottomless(folder)
    return {"pipe.jsonl", "socket.jsonl", "nowhere.jsonl", "itself.jsonl", r"caf\xe9.jsonl", "d" * 250}


@pytest.fixture(scope="session")
def add_odd_files() -> Callable[[Path], set[str]]:
    """Returns a function that adds to a folder what cannot be read, and returns the names as text."""
    return _add_odd_files
