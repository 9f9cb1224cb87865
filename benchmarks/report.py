"""Measures reports of 1,000 and 100,000 turns: how long they take to write, their size, how fast they open.

Usage: python -m benchmarks.report [--turns N ...] [--rounds N] [--json FILE]

Conversations of five turns in two versions, scored by `turnwise run`. Opening is the time from the request of
the file to the first screen, in headless Chromium (Debian: chromium and
chromium-driver), the median of the rounds.
"""

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.children import ROOT
from benchmarks.figures import Found, NotMeasured, Row, Table, run_benchmark

LENGTH = 5
WORDS = [
    "the",
    "bike",
    "slot",
    "booked",
    "tyre",
    "free",
    "monday",
    "price",
    "euro",
    "claim",
    "refund",
    "help",
    "pause",
    "date",
    "time",
    "city",
    "order",
]
SHOWN = "return document.getElementById('main').dataset.view === 'overview' && performance.now()"


def conversations(turns: int) -> Iterator[str]:
    """Yields logs of two versions of the same cases, with expected responses and calls."""
    chance = random.Random(1)

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    for i in range(turns // LENGTH):
        recorded = []
        for _ in range(LENGTH):
            args = {"date": f"2026-05-{chance.randint(1, 28):02}", "city": words(1)}
            wrong = {**args, "date": "2026-01-01"} if chance.random() < 0.1 else args
            expected = {"response": words(20), "tool_calls": [{"name": "book_slot", "args": args}]}
            call = {"name": "book_slot", "args": wrong}
            turn = {"user": words(15), "agent": words(40), "tool_calls": [call], "expected": expected}
            recorded.append({**turn, "latency_ms": chance.uniform(300, 4000)})
        yield json.dumps(
            {
                "conversation_id": f"c{i}",
                "eval_id": f"case-{i // 2}",
                "app_version": f"v{i % 2 + 1}",
                "language": chance.choice(["en", "de", "ja"]),
                "tags": [chance.choice("abcdefgh")],
                "turns": recorded,
            }
        )


def write_report(folder: Path, turns: int) -> tuple[float, float]:
    """Scores logs and writes their report; returns its seconds and its peak memory in MB."""
    (folder / "logs.jsonl").write_text("\n".join(conversations(turns)))
    command = [sys.executable, "-m", "turnwise"]
    run = ["run", "--input", folder / "logs.jsonl", "--judge", "none", "--output", folder / "out"]
    subprocess.run(list(map(str, [*command, *run])), check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    start = time.perf_counter()
    subprocess.run([*command, "report", str(folder / "out")], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def opening_seconds(path: Path, rounds: int) -> float:
    """Returns how long the first screen takes."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(option)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        found = []
        for _ in range(rounds):
            driver.get("about:blank")
            driver.get(path.as_uri())
            wait = WebDriverWait(driver, 300, poll_frequency=0.02)
            found.append(wait.until(lambda d: d.execute_script(SHOWN)) / 1000)
        return median(found)
    finally:
        driver.quit()


def measure(options: argparse.Namespace) -> Found:
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        raise NotMeasured("the report in a browser: no chromium or chromedriver")
    rows: list[Row] = []
    for turns in options.turns:
        with tempfile.TemporaryDirectory() as folder:
            seconds, memory = write_report(Path(folder), turns)
            path = Path(folder) / "out/report.html"
            beside = sum(file.stat().st_size for file in (path.parent / "report_data").glob("*"))
            opens = opening_seconds(path, options.rounds)
            size = path.stat().st_size
        rows.append([turns, seconds, memory, size / 1e6, beside / 1e6, opens])
    columns = ("turns", "report s", "peak MB", "file MB", "beside it MB", "opens in s")
    return Found([Table("reports", columns, rows)])


def main(argv: Sequence[str]) -> int:
    """Measures, and prints one row a size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", allow_abbrev=False)
    parser.add_argument("--turns", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
