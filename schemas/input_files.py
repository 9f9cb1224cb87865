"""The input files of a run, as they were when it started."""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b

import msgspec

MOST_LISTED = 200
"""Files that are listed one by one."""
_SHOWN = 3


class InputFile(msgspec.Struct, frozen=True, order=True):
    """One file.

    Attributes:
        name: Path or address.
        size: Bytes.
        changed: Time of the last change, RFC 3339 in UTC.
    """

    name: str
    size: int
    changed: str


class InputFiles(msgspec.Struct, frozen=True):
    """All files.

    Attributes:
        count: Their number.
        bytes: The sum of their sizes.
        digest: Digest over names, sizes and times of all files.
        files: The files by name; None: there are more than `MOST_LISTED`.
    """

    count: int
    bytes: int
    digest: str
    files: list[InputFile] | None


def input_files(files: Iterable[InputFile]) -> InputFiles:
    """Returns what is recorded of files; one that several paths name counts once."""
    found = sorted(set(files))
    text = json.dumps([msgspec.structs.astuple(file) for file in found])
    digest = blake2b(text.encode(), digest_size=16).hexdigest()
    total = sum(file.size for file in found)
    return InputFiles(len(found), total, digest, found if len(found) <= MOST_LISTED else None)


def files_changed(before: InputFiles, now: InputFiles) -> str:
    """Says how files differ from those of an earlier run, in one line; "": they do not."""
    if before.digest == now.digest:
        return ""
    if before.files is None or now.files is None:
        return f"{now.count:,} files of {now.bytes:,} bytes, not those {before.count:,} of {before.bytes:,}"
    old = {file.name: file for file in before.files}
    new = {file.name: file for file in now.files}
    kinds: Mapping[str, list[str]] = {
        "new": [name for name in new if name not in old],
        "changed": [name for name in new if name in old and new[name] != old[name]],
        "gone": [name for name in old if name not in new],
    }
    return "; ".join(f"{len(names)} {kind} ({_shown(names)})" for kind, names in kinds.items() if names)


def _shown(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
