"""Nothing that leaves the process holds personal data, whichever way it leaves."""

import gzip
import io
import json
import re
import sqlite3
import urllib.request
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import fastavro
import pyarrow.parquet
import pytest

from benchmarks.engines.engines import ENGINES, find_tools
from tests.pipeline.io.test_otlp_sink import receiver
from tests.pipeline.service.conftest import Server
from turnwise import ConfigError, evaluate
from turnwise.pipeline.store.database import LOCAL_APP

pytestmark = pytest.mark.usefixtures("unchanged")
MAIL, PHONE, CARD, IBAN = (
    "kim.canary@example.org",
    "+49 170 5550123",
    "4111 1111 1111 1111",
    "MT84MALT011000012345MTLCAST001S",
)
IP, SECRET, IDENTITY = "198.51.100.77", "ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hJ2kLm", "123-45-6789"
CUSTOMER, PASSWORD, ID = "K-QWXZJV", "horse-battery", "bo.canary@example.net"
WORDS = (
    f"I am {MAIL}, {PHONE}, card {CARD}, account {IBAN}, from {IP}, key {SECRET}, SSN {IDENTITY}, {CUSTOMER}"
)
SEED = "legal winner thank year wave sausage worth useful legal winner thank yellow"
HEX, PASSPORT, IP6 = "4c0883a69102937d6231471b5dbb6204fe51296170827936", "XK7731905", "2001:db8:77::1a2b"
BEARER, SESSION, IN_URL, SIG = "quokka-bearer-1", "quokka-sid-22", "quokka-pw-3", "quokka4sig5abcdef"
SPOKEN, NATIONAL_PHONE = "ro dot quokka at example dot org", "0171 5550 987"
MORE = (
    f" My seed phrase: {SEED}. Private key {HEX}, passport number {PASSPORT}, from {IP6}, "
    f"cookie: sid={SESSION}; postgresql://app:{IN_URL}@db/x, https://files.example.org/a?sig={SIG}&page=2, "
    f"write to {SPOKEN}, Handynummer {NATIONAL_PHONE}"
)
VALUES = (MAIL, PHONE, CARD, IBAN, IP, SECRET, IDENTITY, CUSTOMER, PASSWORD, ID)
VALUES += (SEED, HEX, PASSPORT, IP6, BEARER, SESSION, IN_URL, SIG, SPOKEN, NATIONAL_PHONE)
# Parts of the values; a part of few digits would stand in ids and in stamps of nanoseconds, too, by chance.
NEEDLES = (
    *VALUES, *("canary", "+49 170", "1705550123", "4111111111111111", "1111 1111", "MALT0110", "MTLCAST"),
    *("198.51.100", "aB3dE6gH9", "123456789", "45-6789", "٥٥٥٠١٢٣", "horse", "QWXZJV"),
    *("quokka", "sausage", "7d6231471b", "K773190"),
)  # fmt: skip
KEEP = "4000 0000 0000 0002"
REDACT = {
    "patterns": {"CUSTOMER": "K-[A-Z]{6}"},
    "paths": ["tool_calls.args.password"],
    "keep": ["tool_calls.args.order_id"],
}
CRITERIA = {
    **{"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8, "tool_effects_v1": 1.0, "raises": {}},
    **{"expectations_met": {}, "turn_latency": {}, "quotes": 1.0},
}
PLUGIN = '''
import turnwise

class Raises(turnwise.MeasuredCriterion):
    """Raises."""
    name = "raises"

    def score(self, sample, turn):
        raise ValueError(f"{turn.actual.user!r} of {sample.record.data.decode()[:90]}...")

class Quotes(turnwise.MeasuredCriterion):
    """Quotes."""
    name = "quotes"
    scale = (0.0, 1.0)

    def score(self, sample, turn):
        said = turn.actual.user or ""
        details = {said: [said[:16] + "…"]}
        return turnwise.Score(0.0, explanation=said[:27] + "...", label=said[:40], details=details)
'''


def conversation(name: str, version: str) -> dict[str, Any]:
    args = {
        "to": MAIL, "card": int(CARD.replace(" ", "")), "password": PASSWORD, "order_id": KEEP,
        "note": json.dumps({"mail": MAIL, "phone": PHONE}, ensure_ascii=True), MAIL: {"ip": IP},
        "headers": [{"key": "authorization", "value": f"Bearer {BEARER}"}], "cookies": {"sid": SESSION},
    }  # fmt: skip
    long = "word " * 4000
    answer = {"error": f"no {MAIL} in {long}{CARD} {long}"}
    expected = {"name": "pay", "args": {"to": MAIL, "iban": IBAN, "note": MORE}}
    said = f"{MAIL.upper()}, {CARD.replace(' ', '-')} at +٤٩ ١٧٠ ٥٥٥٠١٢٣"
    first = {
        "user": WORDS + MORE,
        "agent": f"Thanks {said} is deleted with {PASSWORD}.",
        "tool_calls": [{"name": "delete_account", "args": args}],
        "tool_responses": [{"name": "delete_account", "response": answer}],
        "expected": {"response": f"Mail to {MAIL}.", "tool_calls": [expected]},
    }
    ids = {"conversation_id": name, "app_version": version, "user_id": MAIL}
    tags = [f"user:{MAIL}", "skipped:NO"]
    return {**ids, "tags": tags, "turns": [first, {"user": f"{'x' * 140} {CARD} {MAIL}", "agent": "Done."}]}


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Returns a folder with a log whose name is personal data, too, and records that cannot be read."""
    folder = tmp_path / "in"
    folder.mkdir()
    records = [conversation(name, version) for name in ("c1", ID) for version in ("v1", "v2")]
    records.append(conversation("c3", f"release of {MAIL}"))
    broken = [
        {"conversation_id": ID, "turns": WORDS},
        {"conversation_id": "x", "turns": [{"user": 1, "password": PASSWORD, "parts": [CARD[:9], CARD[9:]]}]},
    ]
    lines = [*map(json.dumps, [*records, *broken]), json.dumps(conversation("cut", "v1"))[:1500]]
    (folder / f"{MAIL}.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a file with criteria that quote what they read."""
    path = tmp_path_factory.mktemp("plugin") / "quoting_criteria.py"
    path.write_text(PLUGIN)
    return path


def left(*places: Path | str) -> Iterator[tuple[str, str]]:
    """Yields all that was written or said, decompressed."""
    for place in places:
        if isinstance(place, str):
            yield "text", place
            continue
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if not path.is_file():
                continue
            data = path.read_bytes()
            if path.suffix == ".avro":
                data = repr(list(fastavro.reader(io.BytesIO(data)))).encode()
            elif path.suffix == ".parquet":
                data = repr(pyarrow.parquet.read_table(path).to_pylist()).encode()
            elif data[:2] == b"\x1f\x8b":
                data = gzip.decompress(data)
            elif data[:15] == b"SQLite format 3":
                with sqlite3.connect(path) as base:
                    data += "\n".join(base.iterdump()).encode("utf-8", "replace")
            elif data[:2] == b"PK":
                data = b"".join(map(ZipFile(path).read, ZipFile(path).namelist()))
            yield str(path.relative_to(place.parent)), data.decode("utf-8", "replace")


def leaks(*places: Path | str) -> list[tuple[str, str]]:
    found = []
    for name, text in left(*places):
        plain = re.sub(r"\\+u([0-9a-f]{4})", lambda each: chr(int(each[1], 16)), text)
        for needle in NEEDLES:
            at = plain.lower().find(needle.lower())
            if at >= 0:
                found.append((name, plain[max(at - 60, 0) : at + 60]))
    return found


def config_file(tmp_path: Path, **more: Any) -> Path:
    path = tmp_path / "config.json"
    more.setdefault("gate", {"rules": [{"rule": "all_pass"}]})
    path.write_text(json.dumps({"criteria": CRITERIA, "redact": REDACT, **more}))
    return path


def test_the_canaries_are_found_where_nothing_is_redacted(turnwise, inputs, tmp_path):
    done = turnwise("run", "--input", inputs, "--judge", "none", output=tmp_path / "out")
    found = {needle for _, text in left(done.directory) for needle in VALUES if needle in text}
    assert found == set(VALUES)


@pytest.mark.parametrize("options", [(), ("--workers", "2"), ("--output_format", "avro")])
def test_a_batch(turnwise, inputs, plugin, tmp_path, options):
    args = ("--plugin", plugin, "--config", config_file(tmp_path), "--judge", "none")
    store = f"sqlite:///{tmp_path}/store.db"
    out = tmp_path / "out"
    done = turnwise("run", "--input", inputs / f"{MAIL}.jsonl", "--store", store, *args, *options, output=out)
    assert done.status == 1, done.err  # no conversation passes
    assert leaks(out, tmp_path / "store.db", done.out, done.err) == []
    everything = "".join(text for _, text in left(out))
    assert KEEP in everything  # a kept path
    counts = done.document("run.json")["redacted"]
    assert f"EMAIL {counts['EMAIL']}" in done.out
    assert {"EMAIL", "PHONE", "CARD", "IBAN", "IP", "SECRET", "NATIONAL_ID", "CUSTOMER", "PASSWORD"} <= set(
        counts
    )
    folder = tmp_path / "parquet"
    done = turnwise("run", "--input", inputs, "--store", f"parquet:{folder}", *args, output=tmp_path / "out2")
    assert done.status == 1, done.err  # no conversation passes
    assert leaks(folder, done.directory, done.out, done.err) == [] and any(folder.rglob("*.parquet"))
    with_config, sides = args[:4], ("--baseline", "v1", "--candidate", "v2")
    made = tmp_path / "made"
    made.mkdir()
    gate = ("--markdown", made / "gate.md", "--json", made / "gate.json", "--junit", made / "gate.xml")
    for command in (
        ("report", out, "--html", made / "report.html"),
        ("compare", out, *sides),
        ("compare", out, tmp_path / "out2", *sides, "--output", made / "compared"),
        ("gate", out, *gate),
        ("status", out),
        ("cases", "--from", out, "--select", "failed", "--to", made / "cases.json"),
        ("convert", out, made / "converted.evalset_result.json", "--to", "adk_eval_result"),
        ("store", "runs", "--store", store),
        ("labels", "queue", out, "--output", made / "queue.csv", "--criterion", "quotes"),
        ("inspect", inputs, *with_config),
        ("inspect", inputs, "--json", *with_config),
        ("tools", inputs, *with_config),
        ("convert", inputs, made / "logs.jsonl", "--to", "turnwise", *with_config),
        ("cases", "--from", inputs, "--select", "sample", "--to", made / "logged.json", *with_config),
    ):
        done = turnwise(*command)
        assert done.status in (0, 1), (command, done.err)
        said = " ".join(done.out.split())  # lines are wrapped
        hidden = "note: " in said and "values that left as markers: " in said
        assert hidden or command[0] != "compare", command
        texts = [text.replace(str(inputs), "") for text in (done.out, done.err)]
        assert leaks(*texts) == [], command
    assert leaks(made) == [] and len([*made.iterdir()]) == 10


JUDGED = {
    "final_response_match_v2": 0.5,
    "hallucinations_v1": 0.5,
    "rubric_based_final_response_quality_v1": {
        "rubrics": [{"rubric_id": "r", "rubric_content": {"text_property": "It is kind."}}]
    },
}


@pytest.mark.usefixtures("with_credentials")
def test_what_a_judge_is_asked(turnwise, inputs, server, tmp_path):
    quoted = {"reason": "It says <EMAIL_1> and <CARD_1>.", "quote": "Thanks <EMAIL_1>"}
    server.script({"values": quoted})
    judge = {"base_url": server.url, "retry_delay_s": 0.01, "cache": f"{tmp_path}/cache.sqlite"}
    config = config_file(tmp_path, criteria=JUDGED, judge=judge)
    out = tmp_path / "out"
    done = turnwise("run", "--input", inputs, "--config", config, "--judge", "gemini", output=out)
    assert done.status == 1, done.err  # no conversation passes
    bodies = server.last()["bodies"]
    assert len(bodies) > 10 and any("<EMAIL_1>" in body for body in bodies)
    assert leaks(*bodies, out, tmp_path / "cache.sqlite", done.out, done.err) == []


@pytest.mark.parametrize("form", ["whole", "events"])
def test_a_stream(turnwise, inputs, plugin, tmp_path, form):
    if form == "events":
        turns = conversation(ID, "v1")["turns"]
        events = [
            {"session_id": ID, "turn_index": i, "app_version": "v1", "timestamp": 1.6e9 + i, **turn}
            for i, turn in enumerate(turns)
        ]
        (inputs / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    alerts = [{"name": "low", "criterion": "quotes", "measure": "mean", "below": 1.0, "min_count": 1}]
    out = tmp_path / "out"
    args = ("--plugin", plugin, "--config", config_file(tmp_path, alerts=alerts), "--judge", "none")
    options = ("--streaming", "--max_run_time", "5", "--session_gap", "1")
    done = turnwise("run", "--input", inputs, *args, *options, output=out)
    assert done.status == 1, done.err  # no conversation passes
    assert any('"rule":"low"' in text for name, text in left(out) if "alerts" in name)
    texts = [text.replace(str(inputs), "") for text in (done.out, done.err)]
    # The file of the progress holds the names of files.
    found = leaks(out, *texts)
    assert not [own for own in found if "progress.sqlite" not in own[0] or f"{MAIL}.jsonl" not in own[1]]
    assert done.document("run.json")["redacted"]["CARD"] > 1


def asked(server: Server, tool: str, **arguments: Any) -> Any:
    """Returns the result of a tool of MCP."""
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    code, answer = server.call("POST", "/mcp", body, Accept="application/json, text/event-stream")
    assert code == 200 and not answer["result"].get("isError"), answer
    return answer["result"]


def test_a_database_and_the_service_over_it(turnwise, inputs, plugin, tmp_path, postgres_url):
    """No canary is in an event, in a row of PostgreSQL, or in an answer of REST, MCP or a page."""
    psycopg = pytest.importorskip("psycopg")
    args = ("--plugin", plugin, "--config", config_file(tmp_path), "--judge", "none")
    with receiver(lambda number: (200, 0)) as (url, taken):
        for name in ("first", "second"):
            places = ("--store", postgres_url, "--scores_to", url)
            done = turnwise("run", "--input", inputs, *places, *args, output=tmp_path / name)
            assert done.status == 1 and leaks(done.directory, done.out, done.err) == []
    events = [str(record) for _, record in taken]
    assert events and leaks(*events) == []
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        rows = {table: connection.execute(f'SELECT * FROM "{table}"').fetchall() for (table,) in tables}
    assert sum(map(len, rows.values())) > 50
    assert leaks(*(repr(of_table) for of_table in rows.values())) == []
    server = Server(postgres_url)
    said: dict[str, str] = {}
    try:
        app = f"/v1beta/{LOCAL_APP}"
        paths = [f"{app}/evaluationRuns", f"{app}/evaluations/-/results"]
        for path in paths:
            code, answer = server.call("GET", path)
            assert code == 200
            said[path] = json.dumps(answer, ensure_ascii=False)
            entries = [*answer.get("evaluationRuns", ()), *answer.get("evaluationResults", ())]
            entries = [entry for entry in entries if isinstance(entry, dict)]
            paths += [f"/v1beta/{entry['name']}" for entry in entries]
        runs = [f"{LOCAL_APP}/evaluationRuns/{path.rpartition('/')[2]}" for path in paths if "Runs/" in path]
        for tool, more in {
            "get_failures": {"readMask": "*"},
            "list_evaluation_runs": {},
            "list_conversations_to_read": {},
            "get_criterion_trend": {"criterion": "quotes"},
            "get_conversation": {"conversationId": "c1"},
            "compare_app_versions": {"baselineVersion": "v1", "candidateVersion": "v2"},
            "compare_evaluation_runs": {"baselineRun": runs[0], "candidateRun": runs[1]},
        }.items():
            said[tool] = json.dumps(asked(server, tool, parent=LOCAL_APP, **more), ensure_ascii=False)
        views = [f"/{view}?app={LOCAL_APP}&baseline=v1&candidate=v2" for view in ("runs", "trend", "compare")]
        for path in ("", "/apps", *views, f"/report?run={runs[0]}"):
            with urllib.request.urlopen(f"{server.url}/ui{path}") as response:
                said[path] = response.read().decode()
    finally:
        errors = server.stop()
    assert len(paths) > 8 and "<EMAIL_1>" in said["get_conversation"]
    assert leaks(*said.values(), errors) == []


def test_another_runner(turnwise, inputs, plugin, tmp_path):
    """The records go through a job service, which keeps what it is told, and its workers."""
    [service] = (engine for engine in ENGINES if engine.name == "Beam's job service")
    args = ("--plugin", plugin, "--config", config_file(tmp_path), "--judge", "none")
    with service.started(find_tools(), tmp_path) as options:
        done = turnwise("run", "--input", inputs, *args, *options, output=tmp_path / "out")
    assert done.status == 1 and done.rows("scores"), done.err
    assert leaks(done.directory, done.out.replace(str(inputs), ""), done.err.replace(str(inputs), "")) == []
    assert done.document("run.json")["redacted"]["EMAIL"] > 1


REFUSED = "postgresql://bob:zebra9@127.0.0.1:1/db?password=zebra9"


def test_python_shows_no_password_of_an_address():
    web = "https://bob:zebra9@h/x"
    for words in ({"cases": REFUSED}, {"config": web}, {"judge": web}):
        with pytest.raises(ConfigError) as caught:
            evaluate([], **words)
        assert "zebra9" not in str(caught.value) and "***" in str(caught.value)


def test_unknown_cases_have_the_markers_of_ids(turnwise: Any, tmp_path: Path) -> None:
    """Those by which the other tables name them, so that two are told apart, and found again."""
    turns = [{"user": "kim@example.org here", "agent": "b"}]
    names = ["of kim@example.org", "of jo@example.org"]
    logs = [{"conversation_id": f"c{i}", "eval_id": name, "turns": turns} for i, name in enumerate(names)]
    cases = [{"eval_id": name, "turns": [{"user": "a", "response": "b"}]} for name in names]
    tables = []
    for name, known in (("known", cases), ("unknown", [cases[0] | {"eval_id": "x"}])):
        for kind, records in (("log", logs), (name, known)):
            (tmp_path / f"{kind}.jsonl").write_text("\n".join(map(json.dumps, records)))
        options = ("--eval_cases", tmp_path / f"{name}.jsonl", "--redact", "default", "--judge", "none")
        tables.append(
            turnwise("run", "--input", tmp_path / "log.jsonl", *options, output=tmp_path / f"o-{name}")
        )
    by_id = itemgetter("conversation_id")
    markers = [row["eval_id"] for row in sorted(tables[0].rows("conversations"), key=by_id)]
    failures = sorted(tables[1].rows("failures"), key=by_id)
    assert len({*markers}) == 2 and all(marker.startswith("of <EMAIL_") for marker in markers)
    for marker, row in zip(markers, failures, strict=True):
        assert row["message"] == f"no eval case is called {marker!r}"
        assert json.loads(row["record"])["eval_id"] == marker and "@" not in str(row)


def test_a_language_and_a_time_that_are_none_are_searched(turnwise: Any, tmp_path: Path) -> None:
    turn = {"user": "Hi", "agent": "Hello", "timestamp": f"{MAIL} {CARD}", "expected": {"response": "Hello"}}
    record = {"conversation_id": "c", "app_version": "v1", "language": MAIL, "turns": [turn]}
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(record))
    config = config_file(tmp_path, criteria={"response_match_score": 0.5})
    done = turnwise("run", "--input", log, "--config", config, "--judge", "none", output=tmp_path / "out")
    assert done.status == 0, done.err
    assert leaks(done.directory, done.out, done.err) == []
    (row,) = done.rows("conversations")
    assert row["language"].startswith("<EMAIL_") and row["event_time"].startswith("<EMAIL_")
