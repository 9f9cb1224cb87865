"""A server of objects that speaks the JSON API of Google Cloud Storage, and what is in it."""

import json
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from benchmarks.engines.processes import free_port, service

BUCKET = "some-bucket"


class Objects(NamedTuple):
    """A server of objects with one bucket.

    Attributes:
        url: Its address, which Google's clients take from `STORAGE_EMULATOR_HOST`.
    """

    url: str

    def put(self, folder: Path, name: str) -> str:
        """Uploads a file, or all files of a folder; returns the URL of their place."""
        files = (
            [path for path in sorted(folder.rglob("*")) if path.is_file()] if folder.is_dir() else [folder]
        )
        for path in files:
            inside = f"{name}/{path.relative_to(folder)}" if folder.is_dir() else name
            place = (
                f"{self.url}/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={quote(inside, safe='')}"
            )
            _ask(place, path.read_bytes())
        return f"gs://{BUCKET}/{name}"

    def names(self, prefix: str) -> list[str]:
        """Returns the names of all objects that begin so."""
        listed = json.loads(_ask(f"{self.url}/storage/v1/b/{BUCKET}/o?prefix={quote(prefix, safe='')}"))
        return [item["name"] for item in listed.get("items", ())]

    def read(self, name: str) -> bytes:
        """Returns the content of an object."""
        return _ask(f"{self.url}/storage/v1/b/{BUCKET}/o/{quote(name, safe='')}?alt=media")

    def copy(self, prefix: str, folder: Path) -> Path:
        """Downloads all objects below a prefix into a folder, which is emptied before."""
        shutil.rmtree(folder, ignore_errors=True)
        for name in self.names(f"{prefix}/"):
            path = folder / name.removeprefix(f"{prefix}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.read(name))
        return folder


def _ask(url: str, data: bytes | None = None, kind: str = "application/octet-stream") -> bytes:
    request = urllib.request.Request(url, data, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=60) as answer:
        content: bytes = answer.read()
    return content


@contextmanager
def object_server(program: str, folder: Path) -> Iterator[Objects]:
    """Starts a server with an empty bucket; what it holds is gone in the end.

    Args:
        program: The program made of `benchmarks/engines/servers`, which wraps `fake-gcs-server`.
        folder: For what it says.
    """
    port = free_port()
    with service([program, "objects", str(port)], port, folder):
        made = Objects(f"http://localhost:{port}")
        bucket = json.dumps({"name": BUCKET}).encode()
        _ask(f"{made.url}/storage/v1/b?project=some-project", bucket, "application/json")
        yield made
