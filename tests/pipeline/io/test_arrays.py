"""Arrays with faults: what is read of them, and what is said of the rest."""

import io
import json

import pytest

from turnwise.pipeline.io.records import split_records
from turnwise.schemas.failure import Failure
from turnwise.schemas.record import Record

GOOD = [json.dumps({"conversation_id": f"c{number}", "note": "[{,"}) for number in range(1, 51)]
WHOLE = ("[" + ", ".join(GOOD) + "]").encode()


def read(text: bytes, limit: int = 10_000) -> tuple[list[str], list[str]]:
    """Returns the texts of the records and the messages of the failures; positions are used once."""
    found = list(split_records("a.json", io.BytesIO(text), limit))  # type: ignore[arg-type]
    assert [one.position for one in found] == list(range(1, len(found) + 1))
    texts = [one.data.decode("utf-8", "replace") for one in found if isinstance(one, Record)]
    return texts, [one.message for one in found if isinstance(one, Failure)]


def with_element(text: bytes) -> bytes:
    return WHOLE.replace(GOOD[9].encode(), text)


def test_an_array_that_is_cut_off_keeps_its_whole_elements() -> None:
    texts, (message,) = read(WHOLE[:-30])
    assert texts == GOOD[:49] and message.endswith("from element 50 on nothing was read")
    texts, (message,) = read(WHOLE[:-1])
    assert texts == GOOD and message.endswith("from element 51 on nothing was read")
    texts, (message,) = read(WHOLE[: -len(GOOD[49]) - 1])
    assert texts == GOOD[:49] and message.endswith("from element 50 on nothing was read")


@pytest.mark.parametrize(
    "bad", [b'{"a": "x\ty"}', b'{"a": "\xff"}', b'{"a": 01}', b'{"a" 1}', b"{,}", b"nonsense"]
)
def test_an_element_with_a_fault_is_one_record_and_the_others_are_read(bad: bytes) -> None:
    texts, messages = read(with_element(bad))
    assert texts == [*GOOD[:9], bad.decode("utf-8", "replace"), *GOOD[10:]] and messages == []


@pytest.mark.parametrize("bad", [b'{"a": 1', b'{"a": {"b": 1}', b'["a"'])
def test_where_no_end_can_be_told_the_rest_is_one_failure(bad: bytes) -> None:
    texts, (message,) = read(with_element(bad))
    assert texts == GOOD[:9] and message.endswith("from element 10 on nothing was read")


def test_what_follows_a_bracket_too_many_is_one_failure() -> None:
    texts, (message,) = read(with_element(b'{"a": 1}}'))
    assert texts == [*GOOD[:9], '{"a": 1}']
    assert message == "what follows the end of the array (element 10) is not read"


def test_a_missing_comma_costs_no_element() -> None:
    texts, messages = read(WHOLE.replace(b"}, {", b"} {", 1))
    assert texts == GOOD and messages == ["a comma is missing before element 2; both sides were read"]
    texts, messages = read(b"[1 2 3,,4,]")
    assert texts == ["1", "2", "3", "4"] and len(messages) == 3


def test_an_array_that_is_one_record_stays_one() -> None:
    chat = b'[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b\tc"}]'
    assert read(chat) == ([chat.decode()], [])


def test_lines_that_are_arrays_are_lines() -> None:
    assert read(b'[]\n{"a": 1}\n') == (["[]", '{"a": 1}'], [])


def test_an_element_over_the_limit_is_a_failure_of_its_own() -> None:
    texts, messages = read(with_element(b'{"a": "' + b"x" * 20_000 + b'", "b": "\t"}'))
    assert texts == [*GOOD[:9], *GOOD[10:]] and len(messages) == 1 and "larger than" in messages[0]


def test_arrays_that_are_nested_deeply() -> None:
    deep = b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    texts, messages = read(with_element(deep), 300_000)
    assert texts == [*GOOD[:9], deep.decode(), *GOOD[10:]] and messages == []
