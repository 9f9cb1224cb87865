"""Measures what redaction costs a turn, on the benchmark's text and where every conversation holds values.

Usage: python -m benchmarks.redaction [--conversations N] [--rounds N]
"""

import argparse
import gc
import time
from statistics import median
from typing import Any

import turnwise
from benchmarks.data import TURNS_EACH, conversation

CONFIG: dict[str, Any] = {"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}}
VALUES = " Write to jo.miller@example.org, call +49 170 5550123, my card is 4111 1111 1111 1111."


def with_values(record: dict[str, Any]) -> dict[str, Any]:
    """Returns a conversation whose first message holds a mail address, a phone and a card number."""
    first, *others = record["turns"]
    return {**record, "turns": [{**first, "user": first["user"] + VALUES}, *others]}


def seconds(logs: list[dict[str, Any]], config: dict[str, Any]) -> float:
    """Returns the CPU time of an evaluation, without that of collecting garbage, which is any one's."""
    gc.collect()
    gc.disable()
    start = time.process_time()
    turnwise.evaluate(logs, config=config, judge="none")
    spent = time.process_time() - start
    gc.enable()
    return spent


def main() -> None:
    """Prints the medians of several rounds, and of the ratios of one with redaction to one without."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    plain = [conversation(index) for index in range(options.conversations)]
    for name, logs in (("the benchmark's text", plain), ("with values", [*map(with_values, plain)])):
        rounds = []
        for _ in range(options.rounds + 1):
            off, on = (seconds(logs, config) for config in (CONFIG, {**CONFIG, "redact": {}}))
            rounds.append((on / off, off, on))
        ratio, off, on = (median(figures) for figures in zip(*rounds[1:], strict=True))
        off, on = (each / len(logs) / TURNS_EACH * 1e6 for each in (off, on))
        print(f"{name}: {off:.0f} µs a turn, redacted {on:.0f} µs: {ratio - 1:+.1%}")


if __name__ == "__main__":
    main()
