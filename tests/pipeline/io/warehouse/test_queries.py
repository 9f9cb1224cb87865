"""Rows of queries as records, and runs on them.

A line of `queries.jsonl` has the `answers` of BigQuery (SQL, columns, rows), those that go wrong (`failing`),
requests that fail (`fails`), and `tables`. An address is `read`, which gives `records` (position, value), or
is `refused` before, or `breaks` off; or `steps` are commands (see
test_commands.py), from which on there are other `answers`. `asked` says how many
requests there were of a kind, and `billed` what jobs may bill.
"""

import contextlib
import json
import subprocess
import sys

import pytest

from tests.pipeline.test_commands import check_step, write_files
from tests.tables import lines_beside
from turnwise.pipeline.io.bigquery_source import (
    STORAGE_EMULATOR,
    part_records,
    prepare_query,
    result_parts,
)
from turnwise.pipeline.settings.options import parse_address, with_query_text
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure

URL = "bigquery://our-project/logs/turns"
QUERY = "bigquery://our-project?query=SELECT * FROM logs.turns"
EVENTS = "bigquery://our-project/logs/agent_events"
LINES = lines_beside(__file__, "queries.jsonl")


def records(line):
    """Reads an address as the workers of a pipeline do."""
    query, patience = prepare_query(line["read"], line.get("patience", 30.0)), line.get("patience", 30.0)
    assert "where" not in line or query.where == line["where"]
    parts = result_parts(query, line.get("most", 0), patience)
    return [record for part in parts for record in part_records(part, 1 << 20, patience)]


@pytest.mark.parametrize("name", LINES)
def test_what_a_line_says(name, rows, turnwise, tmp_path):
    line = LINES[name]
    rows.tables |= line.get("tables", {})
    rows.page = line.get("page", rows.page)
    for answer in line.get("answers", ()):
        rows.answer(*answer)
    for sql, columns, more in line.get("failing", ()):
        rows.answer(sql, columns, **more)
    for request in line.get("fails", ()):
        rows.fail(*request)
    with contextlib.chdir(tmp_path):
        write_files(line.get("files", {}))
        for step in line.get("steps", ()):
            for answer in step.get("answers", ()):
                rows.answer(*answer)
                rows.answers.insert(0, rows.answers.pop())
            check_step(turnwise, step)
    if "refused" in line or "breaks" in line:
        with pytest.raises(ConfigError if "refused" in line else OSError) as raised:
            records(line)
        assert str(raised.value).startswith(line.get("refused", line.get("breaks")))
        assert "\n" not in str(raised.value)
    elif "read" in line:
        found = records(line)
        assert [[record.position, json.loads(record.data)] for record in found] == line["records"]
        assert {record.source for record in found} <= {line["read"]}
    for request, number in line.get("asked", {}).items():
        assert len(rows.asked(request)) == number, request
    if "billed" in line:
        bounds = [job["configuration"]["query"]["maximumBytesBilled"] for job in rows.jobs.values()]
        assert bounds == line["billed"]


@pytest.mark.parametrize("url", [URL, QUERY])
@pytest.mark.parametrize(("page", "most"), [(7, 0), (1, 1), (50, 4)])
def test_parts_give_every_row_once(rows, url, page, most):
    rows.page = page
    rows.answer("SELECT", [("n", "INTEGER")], *([str(i)] for i in range(45)))
    found = records({"read": url, "most": most})
    assert sorted(json.loads(record.data)["n"] for record in found) == list(range(45))
    shown = {each.source for each in found}
    number = most or rows.streams
    assert shown == ({url} if number == 1 else {f"{url} part {i} of {number}" for i in range(1, number + 1)})
    assert len({(each.source, each.position) for each in found}) == 45


def test_a_row_that_is_too_large_is_a_failure_with_its_number(rows):
    rows.answer("SELECT", [("text", "STRING")], ["short"], ["x" * 2000], ["short"])
    [part] = result_parts(prepare_query(URL), 1)
    first, large, last = part_records(part, 1000)
    assert isinstance(first, Record) and isinstance(last, Record)
    assert isinstance(large, Failure)
    assert (large.source, large.position, large.error_type) == (URL, 2, "OversizedRecordError")


def test_half_an_emulator_is_refused(rows, monkeypatch):
    monkeypatch.delenv(STORAGE_EMULATOR)
    with pytest.raises(ConfigError, match=f"{STORAGE_EMULATOR} is missing"):
        prepare_query(URL)


def test_sql_is_taken_as_it_is(tmp_path):
    sql = "SELECT a + b AS c, '%?&#' AS d\nFROM `p.d.t` WHERE text LIKE '100%';\n"
    file = tmp_path / "logs.sql"
    file.write_text(sql)
    url = f"bigquery://our-project?file={file}"
    found = parse_address(url)
    assert found.query == sql.strip().rstrip(";")
    assert found.shown == url
    again = parse_address(with_query_text(url))
    assert again.query == found.query
    assert again.shown == (
        "bigquery://our-project?query=SELECT a + b AS c, '%?&#' AS d FROM `p.d.t` WHERE text LIKE ..."
    )


def test_a_missing_package_is_named(tmp_path):
    code = (
        "import sys, importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'google.cloud.bigquery' else find(n, *a)\n"
        "from turnwise.pipeline.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    arguments = ["run", "--input", EVENTS, "--output", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 2
    said = f"turnwise: --input {EVENTS}: needs turnwise[gcp], which is not installed"
    assert done.stderr.splitlines()[-1].startswith(said)


def test_no_row_is_read_before_the_pipeline_runs(rows):
    import apache_beam as beam

    from turnwise.pipeline.io.sources import BigQuerySource

    rows.answer("SELECT", [("conversation_id", "STRING")], ["a-name-of-a-row"])
    root = beam.Pipeline(runner="FnApiRunner")
    BigQuerySource([prepare_query(EVENTS)], None, 1 << 20, "unread_records", True).read(root, "Logs")
    root.to_runner_api()
    assert len(rows.asked("SESSION")) == 1
    assert rows.asked("READ") == []
    root.run().wait_until_finish()
    assert len(rows.asked("SESSION")) == 2
    assert rows.asked("READ")
