"""Reads the config file."""

from pathlib import Path

from turnwise.pipeline.settings.extras import check_google
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.jsonio import is_local
from turnwise.transforms.scoring.config import parse_config


def read_config(path: str | None) -> EvalConfig:
    """Reads a config file.

    Args:
        path: Path, or address on a filesystem that Beam supports (`gs://...`); None: the default config.

    Raises:
        ConfigError: It cannot be read, or is not valid.
    """
    if path is None:
        return EvalConfig()
    check_google(f"--config {path}", path)
    try:
        text = _content(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"--config {path}: not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"--config {path}: {getattr(error, 'strerror', None) or error}") from None
    return parse_config(text, path)


def _content(path: str) -> bytes:
    if is_local(path):
        return Path(path).read_bytes()
    from apache_beam.io.filesystems import FileSystems

    try:
        with FileSystems.open(path) as file:
            return file.read()
    except Exception as error:  # services have classes of their own
        raise OSError(" ".join(str(error).split())) from None
