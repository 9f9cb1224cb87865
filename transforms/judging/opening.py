"""Opens places by their addresses."""

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_postgresql_url, shown_url
from turnwise.transforms.judging.shared_places import PATIENCE_S, ReplyPlace, SqlitePlace


def open_place(address: str, patience_s: float = PATIENCE_S) -> ReplyPlace:
    """Opens a SQLite file or a PostgreSQL database, and makes what is missing in it.

    Args:
        address: Path of a file, or URL.
        patience_s: Seconds for which a broken connection is tried again before calls fail; 0: a database that
            does not answer cannot be used.

    Raises:
        ConfigError: It cannot be used; one line.
    """
    if is_postgresql_url(address):
        try:
            from turnwise.transforms.judging.places_postgres import PostgresPlace
        except ImportError:
            what = "needs turnwise[postgres], which is not installed: pip install 'turnwise[postgres]'"
            raise ConfigError(f"judge.cache: {shown_url(address)}: {what}") from None
        return PostgresPlace(address, patience_s)
    return SqlitePlace(address)
