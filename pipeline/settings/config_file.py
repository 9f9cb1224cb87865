"""Reads the config file."""

from pathlib import Path

from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.transforms.scoring.config import parse_config


def read_config(path: str | None) -> EvalConfig:
    """Reads a config file; None returns the default config.

    Raises:
        ConfigError: It cannot be read, or is not valid.
    """
    if path is None:
        return EvalConfig()
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--config {path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}"
        ) from None
    return parse_config(text, path)
