"""A command-line parser that raises ConfigError."""

import argparse

from turnwise.schemas.config import ConfigError


class OptionParser(argparse.ArgumentParser):
    """Raises ConfigError for a wrong option instead of printing the usage."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raises ConfigError."""
        raise ConfigError(message)
