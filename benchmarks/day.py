"""Estimates a day of conversations in BigQuery from some of them: worker hours, bytes, calls of a judge.

Rows of google-adk's plugin come from a local stand-in of BigQuery's Storage Read API. What is measured of
them is multiplied; start-up is taken off by a second, smaller run.

Usage: python -m benchmarks.day [--conversations N] [--day N] [--json FILE]
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.children import measured
from benchmarks.figures import Found, Table, run_benchmark
from tests.bigquery.append import started_storage
from tests.pipeline.io.warehouse.conftest import PROJECT, connected
from turnwise.pipeline.io.bigquery_source import RowsQuery

_TURNS = 4
_COLUMNS = {
    "timestamp": "TIMESTAMP", "event_type": "STRING", "agent": "STRING", "session_id": "STRING",
    "invocation_id": "STRING", "trace_id": "STRING", "span_id": "STRING", "parent_span_id": "STRING",
    "content": "JSON", "attributes": "JSON", "latency_ms": "JSON", "status": "STRING",
}  # fmt: skip
_CRITERIA = {"hallucinations_v1": 0.8, "ended_normally": 1.0, "turn_latency": {"threshold": None}}
_JUDGED = {"hallucinations_v1": 0.8, "safety_v1": 0.8}
_RUN = (sys.executable, "-m", "turnwise", "run", f"--input=bigquery://{PROJECT}/logs/agent_events")
_KEY = {"GEMINI_API_KEY": "of-the-benchmark"}


def _rows(conversation: int) -> Iterator[list[Any]]:
    """Yields the rows of a conversation, as google-adk 2.13 writes them."""
    history: list[dict[str, str]] = []
    session, micros = f"session-{conversation:08}", 1_763_719_200_000_000
    for turn in range(_TURNS):
        invocation, order = f"e-{conversation:08}-{turn}", 5_000 + 10 * conversation + turn
        user = f"Where is my order {order}, and when will it be here? I have to leave the house on Thursday."
        answer = f"Your order {order} was shipped from Bonn, and arrives on Thursday before noon."
        history.append({"role": "user", "content": user})
        call = {"tool": "find_order", "args": {"order": order}}
        found = {"tool": "find_order", "result": {"city": "Bonn", "day": "Thursday", "order": order}}
        prompt = {"prompt": [*history], "system_prompt": "You help with orders. " * 40}
        events: list[tuple[str, str, Any, int | None]] = [
            ("USER_MESSAGE_RECEIVED", "i", {"text_summary": user}, None),
            ("INVOCATION_STARTING", "i", None, None),
            ("AGENT_STARTING", "a", None, None),
            ("LLM_REQUEST", "m", prompt, None),
            ("LLM_RESPONSE", "m", {"response": "call: find_order"}, 700),
            ("TOOL_STARTING", "t", call, None),
            ("TOOL_COMPLETED", "t", found, 90),
            ("LLM_REQUEST", "n", prompt, None),
            ("LLM_RESPONSE", "n", {"response": f"text: '{answer}'"}, 900),
            ("AGENT_RESPONSE", "i", {"response": f"text: '{answer}'"}, None),
            ("AGENT_COMPLETED", "a", None, 1_800),
            ("INVOCATION_COMPLETED", "i", None, 1_900),
        ]
        history.append({"role": "model", "content": answer})
        about = {
            "root_agent_name": "desk",
            "session_metadata": {"session_id": session, "app_name": "shop", "state": {"app_version": "v7"}},
        }
        for kind, span, content, latency in events:
            micros += 200_000
            waited = None if latency is None else json.dumps({"total_ms": latency})
            yield [
                *(str(micros), kind, "desk", session, invocation, f"{conversation:032x}"),
                *(f"{invocation}-{span}", None, json.dumps(content), json.dumps(about), waited, "OK"),
            ]


def measure(options: argparse.Namespace) -> Found:
    number, day = options.conversations, options.day
    small = number // 4
    cpu, held = {}, {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, criteria in (("local", _CRITERIA), ("judge", _JUDGED)):
            (folder / f"{name}.json").write_text(json.dumps({"criteria": criteria}))
        for part in (number, small):
            with connected(folder, "logs") as service, started_storage(service) as (_, address):
                service.tables["agent_events"] = {}
                rows = [row for conversation in range(part) for row in _rows(conversation)]
                service.answer("SELECT", list(_COLUMNS.items()), *rows)
                held[part] = sum(len(cell or "") for row in rows for cell in row)
                environ = {"BIGQUERY_STORAGE_EMULATOR_HOST": address, **_KEY}
                local = ["--judge=local", f"--config={folder}/local.json", f"--output={folder}/{part}"]
                cpu[part] = measured([*_RUN, *local], folder / "log", environ).cpu
                if part == small:
                    estimate = ["--judge=gemini", f"--config={folder}/judge.json", "--estimate"]
                    measured([*_RUN, *estimate], folder / "log", environ)
        found = re.search(
            r"([\d,]+) calls .* ([\d,]+) tokens in and ([\d,]+) out", (folder / "log").read_text()
        )
        assert found, (folder / "log").read_text()
        calls, tokens_in, tokens_out = (int(text.replace(",", "")) / small for text in found.groups())
        written = sum(path.stat().st_size for path in (folder / str(number)).rglob("*.jsonl")) / number
    each = (cpu[number] - cpu[small]) / (number - small)
    size = held[number] / number
    plan = RowsQuery("", "", size=int(size * day)).plan.partition("list price: ")[2].rstrip(")")
    lines = [
        ("rows read", _TURNS * 12, _TURNS * 12 * day, "rows"),
        ("bytes read by the Storage Read API", size, size * day / 2**30, f"GiB ({plan})"),
        ("CPU of workers, local judge", each, each * day / 3600, "hours"),
        ("tables written, as JSON Lines", written, written * day / 2**30, "GiB"),
        ("calls of a model that judges all", calls, calls * day, "calls"),
        ("tokens in", tokens_in, tokens_in * day / 1e6, "millions"),
        ("tokens out", tokens_out, tokens_out * day / 1e6, "millions"),
    ]
    table = Table(f"a day of {day:,} conversations", ("what", "a conversation", "a day", "unit"), lines)
    return Found([table])


def main(argv: Sequence[str]) -> int:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.day", allow_abbrev=False)
    parser.add_argument("--conversations", type=int, default=1_000, metavar="N", help="default: 1000")
    parser.add_argument("--day", type=int, default=2_000_000, metavar="N", help="default: 2000000")
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
