"""Deletes what a stream cannot need any more."""

import sqlite3

from turnwise.transforms.streaming.rules import StreamRules
from turnwise.transforms.streaming.sessions import FORGOTTEN_SECONDS


def prune(connection: sqlite3.Connection, rules: StreamRules, now: float, clock: float) -> None:
    """Prunes the database, inside the transaction that is open.

    Of a conversation that nothing may change any more its name and digest stay, as numbers, for
    `FORGOTTEN_SECONDS`, so that it is known if it comes again; its sums stay in those of its window. Places
    of sources that give no consecutive numbers are kept for the lateness, by the clock.

    Args:
        connection: The database.
        rules: They hold the lateness.
        now: How far the stream's time has come, seconds since the epoch.
        clock: The present time, seconds since the epoch.
    """
    _forget_sessions(connection, now - rules.allowed_lateness)
    _forget_conversations(connection, now - rules.window - rules.window_lateness)
    for table in ("settled", "lost"):
        connection.execute(
            f"DELETE FROM {table} WHERE at <= ?", (clock - rules.window - rules.window_lateness,)
        )


def _forget_sessions(connection: sqlite3.Connection, horizon: float) -> None:
    old = "FROM sessions WHERE closed_at <= ?"
    connection.execute(f"INSERT OR REPLACE INTO forgotten SELECT key, x'', closed_at {old}", (horizon,))
    connection.execute(f"DELETE {old}", (horizon,))


def _forget_conversations(connection: sqlite3.Connection, horizon: float) -> None:
    old = "FROM conversations WHERE kept_at <= ?"
    for key in ("key", "result"):
        connection.execute(
            f"INSERT OR REPLACE INTO forgotten SELECT {key}, digest, kept_at {old} AND {key} IS NOT NULL",
            (horizon,),
        )
    for table in ("digests", "spans"):
        connection.execute(f"DELETE FROM {table} WHERE key IN (SELECT key {old})", (horizon,))
    connection.execute(f"DELETE {old}", (horizon,))
    connection.execute("DELETE FROM forgotten WHERE at <= ?", (horizon - FORGOTTEN_SECONDS,))
