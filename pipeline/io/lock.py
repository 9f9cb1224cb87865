"""One run at a time in an output directory."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwise.schemas.config import ConfigError

_LOCK_FILE = ".turnwise.lock"


@contextmanager
def locked(directory: str) -> Iterator[None]:
    """Makes a local directory and holds it for this run; the system lets go of it if the process dies.

    Raises:
        ConfigError: It cannot be made, or another run is writing into it.
    """
    if "://" in directory:
        yield
        return
    try:
        Path(directory).mkdir(parents=True, exist_ok=True)
        file = (Path(directory) / _LOCK_FILE).open("w")
    except OSError as error:
        raise ConfigError(f"--output {directory}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ConfigError(f"--output {directory}: another run is writing into it") from None
        try:
            yield
        finally:
            (Path(directory) / _LOCK_FILE).unlink(missing_ok=True)
