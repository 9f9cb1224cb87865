"""Tells paths of this machine from URLs."""

import re

_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)+//")


def is_local(path: str) -> bool:
    """Returns whether a path is no URL (`gs://...`, `parquet:gs://...`); `./gs://x` is a path."""
    return not _URL.match(path)
