"""Runs turnwise and google-adk against the server that stands in for the judge, and counts what they ask."""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

from benchmarks.children import Cost, measured
from benchmarks.data import TURNS_EACH, write_turnwise
from benchmarks.judge_cases import Json, adk_cases, criteria, script

FIRST, SECOND, CANDIDATES = "first run", "second run", "with candidates"
_KEY = "loopback"


class JudgedRun(NamedTuple):
    """Cost of a run and its judge calls.

    Attributes:
        cost: What the whole process took.
        calls: Requests for answers.
        tokens: Tokens of the prompts, as the server counts them: a quarter of the texts' bytes.
        sent_mb: Size of the requests' bodies, schemas included.
        in_flight: The most calls that were in flight at once.
    """

    cost: Cost
    calls: int
    tokens: int
    sent_mb: float
    in_flight: int


@dataclass(frozen=True)
class JudgeBench:
    """A scratch directory, a server on a port of the loopback, and a number of conversations to judge."""

    directory: Path
    port: int
    conversations: int

    @property
    def turns(self) -> int:
        """How many turns are judged."""
        return self.conversations * TURNS_EACH

    def prepare(self) -> None:
        """Writes turnwise's input and configs."""
        write_turnwise(self._path("logs.jsonl"), self.turns)
        judge = {"backend": "gemini", "base_url": self._url(""), "cache": str(self._path("replies.sqlite"))}
        for kind in (FIRST, SECOND, CANDIDATES):
            document = {"criteria": criteria(), "judge": {**judge, "candidates": kind == CANDIDATES}}
            self._path(f"{kind}.json").write_text(json.dumps(document), encoding="utf-8")

    def output(self, kind: str) -> Path:
        """Returns where the last run of a kind wrote."""
        return self._path(kind)

    def turnwise(self, kind: str) -> JudgedRun:
        """Runs `turnwise run`; a second run finds the answers of the one before."""
        if kind != SECOND:
            for path in self.directory.glob("replies.sqlite*"):
                path.unlink()
        shutil.rmtree(self.output(kind), ignore_errors=True)
        command = [sys.executable, "-m", "turnwise", "run", "--input", str(self._path("logs.jsonl"))]
        command += ["--config", str(self._path(f"{kind}.json")), "--output", str(self.output(kind))]
        command += ["--workers", "1"]
        return self._run(command, script(0))

    def adk(self, python: str, parallelism: int | None, samples_together: int) -> tuple[JudgedRun, Json]:
        """Runs google-adk; returns its report too.

        Args:
            python: The Python of its environment.
            parallelism: How many cases are judged at once; None: its default.
            samples_together: How many samples of a case are asked for at once, per criterion.
        """
        cases, report = self._path("adk.json"), self._path("adk-report.json")
        options = {"criteria": criteria(samples_together), "parallelism": parallelism}
        cases.write_text(json.dumps({**adk_cases(self.turns), **options}), encoding="utf-8")
        command = [python, "-m", "benchmarks.judge_peer", str(cases), str(report)]
        run = self._run(command, script(self.turns))
        return run, json.loads(report.read_text(encoding="utf-8"))

    def _run(self, command: Sequence[str], rules: Sequence[Json]) -> JudgedRun:
        self._ask("/script", json.dumps(rules).encode())
        environ = {"GOOGLE_API_KEY": _KEY, "GOOGLE_GEMINI_BASE_URL": self._url("")}
        cost = measured(command, self._path("child.log"), environ)
        stats = self._ask("/stats")
        if stats["statuses"].keys() - {"200"}:
            sys.exit(f"{' '.join(command)}\nthe server answered {stats['statuses']}")
        sent_mb = stats["bytes_in"] / 1024 / 1024
        return JudgedRun(cost, stats["requests"], stats["tokens_in"], sent_mb, stats["max_in_flight"])

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(self._url(path), body, headers), timeout=60) as response:
            return json.load(response)

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def _path(self, name: str) -> Path:
        return self.directory / name
