"""A command-line parser that raises ConfigError."""

import argparse
from typing import NoReturn

from turnwise.schemas.config import ConfigError


class HelpShown(SystemExit):
    """`--help` was printed, so that there is nothing left to do."""


class OptionParser(argparse.ArgumentParser):
    """Raises ConfigError for a wrong option instead of printing the usage."""

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends the command after its help; `error` handles errors.

        Raises:
            HelpShown: Always.
        """
        raise HelpShown(status)

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raises ConfigError."""
        raise ConfigError(message)
