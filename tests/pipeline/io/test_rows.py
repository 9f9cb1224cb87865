"""Texts on a terminal, records of a file, and files of a folder: rows of what comes of them."""

import contextlib
import io
import json

from tests.pipeline.io.test_arrays import GOOD, WHOLE, read
from tests.pipeline.io.test_walking import make_tree, names
from tests.tables import rows_beside
from turnwise.pipeline.io.files import matches, other_files
from turnwise.pipeline.io.records import split_records
from turnwise.pipeline.io.terminal import printable
from turnwise.schemas.conversation import Record


@rows_beside(__file__)
def test_rows(check, arguments, tmp_path):
    with contextlib.chdir(tmp_path):
        globals()[check](*arguments)


def printed(text, shown):
    assert printable(text) == shown
    assert json.loads(f'"{shown}"') == text, "what stands in JSON can be read back"


def printed_in(text, width, shown):
    assert printable(text, width) == shown


def over_lines(text, records, failed):
    """A file of any suffix may be printed over many lines."""
    parts = list(split_records("a.log", io.BytesIO(text.encode()), 1000))
    messages = [part.message for part in parts if not isinstance(part, Record)]
    assert len(parts) - len(messages) == records and len(messages) == len(failed)
    assert all(words in message for words, message in zip(failed, messages, strict=True))


def whole(text, texts, failures):
    """What comes of an array, or of lines that are arrays."""
    assert read(text.encode())[0] == texts and len(read(text.encode())[1]) == failures


def with_element(element, texts, failed, goes_on):
    """An array whose tenth element is another."""
    array = WHOLE.replace(GOOD[9].encode(), element.encode("latin-1"))
    found, messages = read(array)
    assert found == [*GOOD[:9], *texts, *(GOOD[10:] if goes_on else [])]
    assert len(messages) == len(failed) and all(map(str.__contains__, messages, failed))


def cut_off(size, records, failed):
    """An array without its last bytes keeps its whole elements."""
    found, [message] = read(WHOLE[:-size])
    assert found == GOOD[:records] and failed in message


def not_read(paths, found):
    """Files whose names say that they are not read."""
    make_tree("a.jsonl", "b.txt", "x/c.jsonl", "c.csv", "x/d.JSONL")
    assert other_files(paths) == found


def matched(pattern, found):
    root = make_tree("a.jsonl", "b.txt", "x/c.jsonl", "x/y/d.jsonl", "z.jsonl/e.jsonl")
    assert names(root, matches(f"{root}/{pattern}")) == names(root, matches(pattern)) == found
