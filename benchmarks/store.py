"""Measures a server of a large store: how long reading, listing, comparing and updating take.

Usage: python -m benchmarks.store [--results N] [--requests N] [--clients N ...] [--url URL] [--json FILE]
"""

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from benchmarks.children import ROOT, yardstick
from benchmarks.figures import Found, Row, Table, run_benchmark
from benchmarks.store_data import APP, CRITERIA, EVALUATIONS, RUNS, evaluation_name, fill, result_name, run_id
from tests.postgres_server import created, lacks_postgres, postgres_server
from turnwise.pipeline.store.database import open_store

_JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_RARE = 20
_SERVERS = 5
VERSIONS, COMPARED_RUNS, TREND = (
    f"MCP {name}" for name in ("compare_app_versions", "compare_evaluation_runs", "get_criterion_trend")
)
_FIRST = ("MCP get_evaluation", VERSIONS, VERSIONS, COMPARED_RUNS, TREND, "REST list 50 evaluations")
_BESIDE_WRITER = ("REST get result", "REST get evaluation", "REST list 50 results of an evaluation")
Ask = Callable[[random.Random], tuple[str, str, Any]]


@contextmanager
def writer(url: str) -> Iterator[None]:
    """Runs a process that writes runs in batches, until the end."""
    write = "import sys; from benchmarks.store_data import write_on; write_on(sys.argv[1])"
    command = [sys.executable, "-c", write, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout and process.stdout.readline()
            yield
        finally:
            process.terminate()


@contextmanager
def server(url: str) -> Iterator[int]:
    """Runs a server of a store; yields its port."""
    command = [sys.executable, "-m", "turnwise", "serve", "--store", url, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout
        try:
            found = re.search(r":(\d+)/mcp", process.stdout.readline())
            assert found
            yield int(found[1])
        finally:
            process.terminate()


def tool(name: str, /, **arguments: Any) -> tuple[str, str, Any]:
    params = {"name": name, "arguments": arguments}
    return "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def get(path: str) -> tuple[str, str, Any]:
    return "GET", f"/v1beta/{path}", None


def requests(results: int) -> dict[str, Ask]:
    """Returns what is asked: a label, and how to make a request at random."""

    def evaluation(rng: random.Random) -> str:
        return evaluation_name(rng.randrange(EVALUATIONS))

    def result(rng: random.Random) -> str:
        return result_name(rng.randrange(results), results)

    def compared_runs(rng: random.Random) -> tuple[str, str, Any]:
        base, candidate = (run_id(number) for number in rng.sample(range(RUNS), 2))
        return tool("compare_evaluation_runs", parent=APP, baselineRun=base, candidateRun=candidate)

    failed = quote("evaluation_status = FAIL AND app_version = v2")
    return {
        "REST get evaluation": lambda rng: get(evaluation(rng)),
        "REST get result": lambda rng: get(result(rng)),
        "REST list 50 results of an evaluation": lambda rng: get(f"{evaluation(rng)}/results"),
        "REST list 50 failed results of the app": lambda rng: get(
            f"{APP}/evaluations/-/results?filter={failed}"
        ),
        "REST list 50 evaluations": lambda rng: get(f"{APP}/evaluations"),
        "MCP get_evaluation": lambda rng: tool("get_evaluation", name=evaluation(rng)),
        "MCP get_evaluation_result": lambda rng: tool("get_evaluation_result", name=result(rng)),
        "MCP list_evaluation_results, 20": lambda rng: tool(
            "list_evaluation_results", parent=evaluation(rng)
        ),
        VERSIONS: lambda rng: tool(
            "compare_app_versions", parent=APP, baselineVersion="v1", candidateVersion="v2"
        ),
        COMPARED_RUNS: compared_runs,
        TREND: lambda rng: tool(
            "get_criterion_trend", parent=APP, criterion=rng.choice(list(CRITERIA)), pageSize=20
        ),
        "REST update tags of an evaluation": lambda rng: (
            "PATCH",
            f"/v1beta/{evaluation(rng)}?updateMask=tags",
            {"tags": [f"group-{rng.randrange(5)}"]},
        ),
    }


def _times(port: int, ask: Ask, count: int, seed: int) -> list[float]:
    rng, taken = random.Random(seed), []
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(count):
        method, path, body = ask(rng)
        data = None if body is None else json.dumps(body)
        start = time.perf_counter()
        connection.request(method, path, data, _JSON)
        response = connection.getresponse()
        text = response.read()
        taken.append(time.perf_counter() - start)
        assert response.status == 200 and b'"isError":true' not in text, text[:500]
    connection.close()
    return taken


def measure(port: int, ask: Ask, count: int, clients: int) -> list[float]:
    """Returns the seconds of every request, of several clients at once."""
    taken: list[list[float]] = [[] for _ in range(clients)]

    def work(client: int) -> None:
        taken[client] = _times(port, ask, count // clients, client)

    threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(second for seconds in taken for second in seconds)


def _row(label: str, clients: int, seconds: Sequence[float], wall: float) -> Row:
    p50, p99 = (seconds[min(len(seconds) - 1, int(len(seconds) * share))] * 1000 for share in (0.5, 0.99))
    return [label, clients, p50, p99, len(seconds) / wall]


def tables(url: str, results: int, count: int, clients: Sequence[int]) -> list[Table]:
    """Fills a store and measures its server."""
    store = open_store(url, create=True)
    filled = fill(store, results)
    kind = store.url.partition(":")[0].partition("+")[0]
    store.close()
    if kind == "postgresql":
        _vacuum(url)
    asked = requests(filled.results)
    columns = "", "clients", "p50 ms", "p99 ms", "per s"
    first = _first_requests(url, asked)
    with server(url) as port:
        rows: list[Row] = [_asked(port, asked, label, count, own) for label in asked for own in clients]
        beside: list[Row] = [_asked(port, asked, label, count, 1) for label in _BESIDE_WRITER]
        with writer(url):
            beside += [
                [f"{label}, beside a writer", *_asked(port, asked, label, count, 1)[1:]]
                for label in _BESIDE_WRITER
            ]
    return [
        Table(
            f"{kind}, filling it in batches of 500 rows",
            ("results", "their scores", "runs", "evaluations", "bytes of a result", "results per s"),
            [[*filled[:2], RUNS, EVALUATIONS, filled.bytes, filled.results / filled.seconds]],
        ),
        Table(f"{kind}, first requests of {_SERVERS} servers", ("", "median ms", "least", "most"), first),
        Table(f"{kind}, requests", columns, rows),
        Table(f"{kind}, readers with and without a writer beside them", columns, beside),
    ]


def _vacuum(url: str) -> None:
    """Has PostgreSQL do at once what it would do beside the first requests."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        with suppress(psycopg.errors.InsufficientPrivilege):
            connection.execute("CHECKPOINT")


def _first_requests(url: str, asked: Mapping[str, Ask]) -> list[Row]:
    """Returns what the first requests of servers take that were just started, each in milliseconds."""
    taken: list[list[float]] = [[] for _ in _FIRST]
    for _ in range(_SERVERS):
        with server(url) as port:
            for label, own in zip(_FIRST, taken, strict=True):
                own.append(measure(port, asked[label], 1, 1)[0] * 1000)
    return [[label, median(own), min(own), max(own)] for label, own in zip(_FIRST, taken, strict=True)]


def _asked(port: int, asked: dict[str, Ask], label: str, count: int, clients: int) -> Row:
    total = count // (_RARE if label in (VERSIONS, COMPARED_RUNS) else 1)
    start = time.perf_counter()
    seconds = measure(port, asked[label], max(total, clients), clients)
    return _row(label, clients, seconds, time.perf_counter() - start)


def measure_store(options: argparse.Namespace) -> Found:
    found, missing = [], []
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        urls = [options.url] if options.url else [f"sqlite:///{Path(directory)}/store.db"]
        if lack := lacks_postgres():
            missing.append(f"PostgreSQL: no {lack}")
        elif not options.url:
            urls.append(created(stack.enter_context(postgres_server()), "benchmark"))
        for url in urls:
            found += tables(url, options.results, options.requests, options.clients)
    work = Table("CPU s of a fixed piece of work", ("after",), [[yardstick()]])
    return Found([*found, work], missing=missing)


def main(argv: Sequence[str]) -> int:
    """Measures, and prints tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", allow_abbrev=False)
    parser.add_argument("--results", type=int, default=100_000, metavar="N")
    parser.add_argument("--requests", type=int, default=400, metavar="N", help="of each kind")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32], metavar="N")
    parser.add_argument(
        "--url", metavar="URL", help="an empty store (default: SQLite and PostgreSQL, removed)"
    )
    return run_benchmark(parser, measure_store, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
