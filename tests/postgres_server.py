"""A PostgreSQL server in a directory of its own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def _tool(name: str) -> str | None:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else shutil.which(name)


def lacks_postgres() -> str:
    """Returns what is missing to start a server; "": nothing."""
    if find_spec("psycopg") is None:
        return "psycopg"
    if not _tool("initdb") or not _tool("pg_ctl"):
        return "PostgreSQL server"
    if os.geteuid():
        return ""
    has_user = subprocess.run(["id", "postgres"], capture_output=True).returncode == 0
    return "" if has_user and shutil.which("setpriv") else "user postgres: PostgreSQL does not run as root"


@contextmanager
def postgres_server() -> Iterator[str]:
    """Starts a server; yields its address with `DATABASE` for the name of a database."""
    as_user = [] if os.geteuid() else ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    with tempfile.TemporaryDirectory(prefix="turnwise-pg-") as name:
        if as_user:
            shutil.chown(name, "postgres", "postgres")
        data = f"{name}/data"
        options = (
            f"-c listen_addresses= -c unix_socket_directories={name} -c fsync=off -c max_connections=200"
        )
        initdb, control = [*as_user, str(_tool("initdb"))], [*as_user, str(_tool("pg_ctl")), "-D", data]
        make = [*initdb, "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, cwd=name)
        start = [*control, "-o", options, "-l", f"{name}/log", "-w", "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd=name)
        try:
            yield f"postgresql://tester:not-checked@/DATABASE?host={name}"
        finally:
            subprocess.run(
                [*control, "-m", "immediate", "-w", "stop"], check=True, capture_output=True, cwd=name
            )


def created(address: str, name: str) -> str:
    """Makes an empty database on a server; returns its address."""
    import psycopg

    with psycopg.connect(address.replace("DATABASE", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return address.replace("DATABASE", name)


def emptied(address: str) -> str:
    """Ends all other sessions of a database and removes everything in it; returns its address."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    others = "datname = current_database() AND pid <> pg_backend_pid()"
    schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)'"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
        for (name,) in connection.execute(schemas).fetchall():
            connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))
        connection.execute("CREATE SCHEMA public")
    return address
