"""Finds how many processors this process may use."""

import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def usable_cores(groups: Path = _GROUPS, own: Path = _OWN_GROUPS) -> int:
    """Returns the number of processors that this process may use: at least 1, whole ones.

    The limits of its control groups count, which containers have, and the processors it is bound to.

    Args:
        groups: Where control groups are.
        own: File that names those of this process.
    """
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([bound, *(int(limit) for limit in _limits(groups, own))]))


def _limits(groups: Path, own: Path) -> Iterator[float]:
    """Yields processors by the limits of the control groups, of versions 2 and 1."""
    for folder in _folders(groups, own):
        for quota, period in (("cpu.max", None), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            words = [word for name in (quota, period) if name for word in _words(folder / name)]
            if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
                yield int(words[0]) / int(words[1])


def _folders(groups: Path, own: Path) -> Iterator[Path]:
    """Yields the folders of the control groups of this process and of those that hold them."""
    yield from (groups, groups / "cpu")
    for line in _words(own):
        place = Path(line.rpartition(":")[2].lstrip("/"))
        for part in (place, *place.parents):
            yield from (groups / part, groups / "cpu" / part)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return []
