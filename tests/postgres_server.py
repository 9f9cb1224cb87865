"""A PostgreSQL server in a directory of its own."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path


def _tool(name):
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(installed[-1]) if installed else shutil.which(name)


def lacks_postgres():
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
def postgres_server():
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


def created(address, name):
    """Makes an empty database on a server; returns its address."""
    import psycopg

    with psycopg.connect(address.replace("DATABASE", "postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return address.replace("DATABASE", name)


def emptied(address):
    """Ends all other sessions of a database and removes everything in it; returns its address."""
    import psycopg
    from psycopg.sql import SQL, Identifier

    schemas = "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$)'"
    with psycopg.connect(address, autocommit=True) as connection:
        _end_others(connection)
        for (name,) in connection.execute(schemas).fetchall():
            connection.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(name)))
        connection.execute("CREATE SCHEMA public")
    return address


class MadeDatabase:
    """A database whose tables are made once and emptied for each test: to make them takes ten times longer.

    They are made again where the definition of anything in the database is no longer the one that was made.

    Args:
        address: Its address.
        make: Makes the tables in an empty database, given its address.
        kept: The one table that has rows then.
    """

    def __init__(self, address, make, kept):
        self._address, self._make, self._kept = address, make, kept
        self._state: object = None

    def without_rows(self):
        """Ends all other sessions and makes the database as it was made; returns its address."""
        import psycopg

        with psycopg.connect(self._address, autocommit=True) as connection:
            _end_others(connection)
            if self._state is not None and self._state == self._found(connection):
                self._empty(connection)
                return self._address
        self._make(emptied(self._address))
        with psycopg.connect(self._address, autocommit=True) as connection:
            self._state = self._found(connection)
        return self._address

    def _found(self, connection):
        """Returns what changes with any definition (places and writers of its rows), and with a kept row."""
        names = " UNION ALL ".join(
            f"SELECT concat_ws(' ', tableoid, {key}, ctid, xmin) FROM {catalog} WHERE {key} >= {_FIRST_OWN}"
            for catalog, key in _DEFINITIONS.items()
        )
        rows = f"SELECT concat_ws(' ', ctid, xmin) FROM {self._kept}"
        is_there = connection.execute("SELECT to_regclass(%s)", [self._kept]).fetchone()[0]
        query = f"{names} UNION ALL {rows}" if is_there else names
        return sorted(connection.execute(query).fetchall())

    def _empty(self, connection):
        own = "relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> %s"
        query = f"SELECT relname FROM pg_class WHERE {own}"
        tables = [name for (name,) in connection.execute(query, [self._kept]).fetchall()]
        deletions = "; ".join(f'DELETE FROM "{name}"' for name in tables)
        # Without triggers, which refuse some deletions and repeat others.
        connection.execute(f"SET session_replication_role = replica; {deletions}")


_FIRST_OWN = 16384
"""The first number of what is not PostgreSQL's own."""
_DEFINITIONS = {
    **dict.fromkeys(
        ("pg_class", "pg_proc", "pg_trigger", "pg_constraint", "pg_attrdef", "pg_rewrite"), "oid"
    ),
    **dict.fromkeys(("pg_type", "pg_namespace", "pg_policy", "pg_event_trigger", "pg_extension"), "oid"),
    "pg_attribute": "attrelid",
    "pg_index": "indexrelid",
}


def _end_others(connection):
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
