"""Arrays with faults: what is read of them, and what is said of the rest."""

import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.io.records import file_records, split_records
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure

GOOD = [f'{{"conversation_id":"c{number}","note":"[{{,"}}' for number in range(1, 51)]
WHOLE = ("[" + ", ".join(GOOD) + "]").encode()


def read(text, limit=10000):
    """Returns the texts of the records and the messages of the failures; positions are used once."""
    found = list(split_records("a.json", io.BytesIO(text), limit))
    assert [one.position for one in found] == list(range(1, len(found) + 1))
    texts = [one.data.decode("utf-8", "replace") for one in found if isinstance(one, Record)]
    return texts, [one.message for one in found if isinstance(one, Failure)]


def with_element(text):
    return WHOLE.replace(GOOD[9].encode(), text)


def test_a_missing_comma_costs_no_element():
    texts, messages = read(WHOLE.replace(b"}, {", b"} {", 1))
    assert texts == GOOD and messages == ["a comma is missing before element 2; both sides were read"]


def test_arrays_that_are_nested_deeply():
    deep = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    texts, messages = read(with_element(deep), 300_000)
    assert texts == [*GOOD[:9], deep.decode(), *GOOD[10:]] and messages == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(['\\"', "[{", "]}", ",", "\\"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.lists(st.fixed_dictionaries({"conversation_id": st.text(), "v": VALUES}), max_size=9)
INDENTS = st.sampled_from([None, 0, 3])


class InPieces(io.BytesIO):
    """A file that is read a few bytes at a time."""

    def __init__(self, text, most):
        super().__init__(text)
        self._most = most

    def read(self, size=-1, /):
        """Returns at most so many bytes as a piece has."""
        return super().read(self._most if size is None or size < 0 else min(size, self._most))


@given(OBJECTS, INDENTS, st.booleans(), st.integers(1, 40))
def test_the_elements_are_those_of_the_array_however_it_is_read(objects, indent, is_ascii, piece):
    text = json.dumps(objects, indent=indent, ensure_ascii=is_ascii).encode()
    found = list(split_records("a.json", InPieces(text, piece), 10_000))
    assert [one.position for one in found] == list(range(1, len(objects) + 1))
    assert [json.loads(one.data) for one in found if isinstance(one, Record)] == objects


@given(OBJECTS.filter(bool), INDENTS, st.data(), st.integers(1, 40))
def test_every_array_that_breaks_off_is_told(objects, indent, data, piece):
    text = json.dumps(objects, indent=indent).encode()
    end = data.draw(st.integers(1, len(text) - 1))
    found = list(split_records("a.json", InPieces(text[:end], piece), 10_000))
    whole = [one for one in found if isinstance(one, Record)]
    assert [json.loads(one.data) for one in whole] == objects[: len(whole)]
    assert isinstance(found[-1], Failure) and "the array is cut off" in found[-1].message


# A second byte of zero is the mark of UTF-16.
@given(OBJECTS, st.binary(max_size=6).filter(lambda noise: noise[:1] != b"\0"), st.data(), st.integers(1, 40))
def test_a_fault_is_told_the_same_however_it_is_read(objects, noise, data, piece):
    text = json.dumps(objects).encode()
    place = data.draw(st.integers(1, len(text)))
    text = text[:place] + noise + text[place:]
    at_once = list(split_records("a.json", io.BytesIO(text), 10_000))
    assert list(split_records("a.json", InPieces(text, piece), 10_000)) == at_once


def elements(number, size=100):
    return b",".join(b'{"conversation_id":"c%d","note":"%s"}' % (i, b"x" * size) for i in range(number))


def cut(text):
    return text[: len(text) // 2]


@pytest.mark.parametrize(
    ("name", "broken", "message"),
    [
        ("a.json", lambda text: cut(text), "the array is cut off"),
        ("a.json.gz", lambda text: cut(gzip.compress(text, 0)), "end-of-stream marker was reached"),
    ],
)
def test_of_a_large_array_that_breaks_off_the_beginning_is_read(tmp_path, name, broken, message):
    path = tmp_path / name
    path.write_bytes(broken(b"[" + elements(10_000) + b"]"))
    *whole, last = file_records(str(path), 10_000)
    assert all(isinstance(one, Record) for one in whole) and 3_000 < len(whole) < 5_100
    assert isinstance(last, Failure) and message in last.message


@pytest.mark.parametrize("size", [9_000, 400_000])
def test_an_element_over_the_limit_is_passed_however_large(size):
    large = b'{"a":"' + b"x" * size + b'\\"]","b":[1,{}]}'
    texts, (message,) = read(b"[" + elements(2) + b"," + large + b"," + elements(2) + b"]", 8_000)
    assert len(texts) == 4 and "larger than" in message


def test_the_text_of_an_array_is_not_held():
    held = InPieces(b"[" + elements(100_000) + b"]", 1 << 16)
    records = split_records("a.json", held, 10_000)
    assert next(records).position == 1
    assert held.tell() < 1 << 20


def test_space_before_an_array():
    assert read(b"\xef\xbb\xbf" + b" \n" * 300_000 + WHOLE) == (GOOD, [])


def test_an_element_over_the_limit_is_a_failure_of_its_own():
    texts, messages = read(with_element(b'{"a": "' + b"x" * 20_000 + b'", "b": "\t"}'))
    assert texts == [*GOOD[:9], *GOOD[10:]] and len(messages) == 1 and "larger than" in messages[0]
