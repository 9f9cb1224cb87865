"""How a command ended: its exit status, and why."""

from collections.abc import Callable
from traceback import extract_tb
from typing import NamedTuple

from turnwise.pipeline.settings.options import HelpShown
from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import error_text


class Ending(NamedTuple):
    """The end of a command.

    Attributes:
        status: 0: done. 1: a gate was missed, or a disk or network failed. 2: usage error.
        problem: Why it could not go on, in one line; "": it did.
    """

    status: int
    problem: str = ""


def ending_of(command: Callable[[], int]) -> Ending:
    """Runs a command and returns how it ended; a signal's KeyboardInterrupt passes."""
    try:
        return Ending(command())
    except ConfigError as error:
        return Ending(2, str(error))
    except OSError as error:
        return Ending(1, " ".join(str(error).split()))
    except HelpShown:
        return Ending(0)
    except (SystemExit, GeneratorExit) as error:
        return Ending(1, f"{_origin(error)}: {error_text(error)}")


def _origin(error: BaseException) -> str:
    """Returns file and line where an error was raised, such as a plugin that ended the process."""
    place = extract_tb(error.__traceback__)[-1]
    return f"{place.filename}:{place.lineno}"
