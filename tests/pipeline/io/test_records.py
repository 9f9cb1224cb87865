"""The limit of a record's size, exactly, and records over many lines."""

import gzip
import io
import json

import pytest

import turnwise
from turnwise.pipeline.io.records import contained_records, split_records
from turnwise.schemas.score import Failure

LIMIT = 20


def record(size):
    return b'"' + b"x" * (size - 2) + b'"'


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
@pytest.mark.parametrize("end", [b"", b"\n"])
@pytest.mark.parametrize(("size", "is_read"), [(LIMIT - 1, True), (LIMIT, True), (LIMIT + 1, False)])
def test_a_record_of_exactly_the_limit_is_read(name, end, size, is_read):
    # A document is measured as a whole; of a line, its end does not count.
    text = record(size - (len(end) if name == "a.json" else 0)) + end
    (found,) = split_records(name, io.BytesIO(text), LIMIT)
    assert isinstance(found, Failure) != is_read


@pytest.mark.parametrize("size", [LIMIT + 1, LIMIT + 2, 3 * LIMIT])
def test_the_line_after_an_oversized_one_is_read(size):
    lines = record(size) + b"\n" + record(LIMIT) + b"\n" + record(size)
    found = list(split_records("a.jsonl", io.BytesIO(lines), LIMIT))
    assert [isinstance(one, Failure) for one in found] == [True, False, True]
    assert found[1].data == record(LIMIT)


ONE, TWO = '{"a": 1}', '{\n "a":\n  2}'


def test_a_table_in_another_encoding_is_named():
    (found,) = contained_records([("a.csv", "a,b\n1,2\n".encode("utf-16"))], 1000)
    assert isinstance(found, Failure) and "UTF-16 text" in found.message


LATIN = '{"conversation_id": "k", "turns": [{"user": "Where?", "agent": "In Köln"}]}'


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.log", "a.yaml", "a.csv", "a.jsonl.gz"])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_text_in_another_encoding_is_rejected_with_its_likely_name(tmp_path, name, indent):
    data = json.dumps(json.loads(LATIN), indent=indent, ensure_ascii=False).encode("latin-1")
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    (row,) = turnwise.evaluate(str(tmp_path / name), config={"criteria": {"turn_latency": {}}}).failures
    assert row["stage"] == "read" and "likely ISO-8859-1: convert it" in row["message"]


def test_a_line_in_another_encoding_leaves_the_others():
    good = LATIN.replace("ö", "oe").encode()
    found = split_records("a.jsonl", io.BytesIO(LATIN.encode("latin-1") + b"\n" + good), 1000)
    assert [one.data for one in found] == [LATIN.encode("latin-1"), good]
