"""Files that appear, grow, are rotated and replaced while they are watched."""

import gzip
import json
import os
import shutil
import tempfile
from pathlib import Path

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.pipeline.streaming.inputs.files import DirectorySource
from turnwise.schemas.config import ConfigError
from turnwise.schemas.score import IncompleteReadError

LIMIT = 1000


class Watch:
    """A source over a directory, and what it has given so far."""

    def __init__(self, paths, checkpoints, clock, limit=100):
        self.source = DirectorySource([str(path) for path in paths], checkpoints, LIMIT, clock)
        self.checkpoints, self.clock, self.limit, self.items = checkpoints, clock, limit, []

    def look(self, after=0.2):
        """Polls until nothing comes; returns what came."""
        self.clock.wait(after)
        found = []
        while items := self.source.poll(self.limit):
            assert len(items) <= self.limit
            found += items
        self.items += found
        return found

    def texts(self, after=0.2):
        return [item.data.decode() for item in self.look(after)]


@pytest.fixture
def watch(tmp_path, checkpoints, clock):
    watch = Watch([tmp_path], checkpoints, clock)
    yield watch
    watch.source.close()


def append(path, text, clock=None):
    """Writes at the end of a file, at the time of the clock."""
    with open(path, "ab") as file:
        file.write(text.encode())
    if clock:
        os.utime(path, (clock.now, clock.now))


def places(items):
    return [(Path(item.source).name, item.position) for item in items]


def test_new_files_are_found_in_order_of_name(tmp_path, watch):
    for day in (3, 1, 2):
        append(tmp_path / f"2026-01-0{day}.jsonl", f'{{"day":{day}}}\n')
    append(tmp_path / ".hidden.jsonl", "1\n")
    append(tmp_path / "a.jsonl.tmp", "1\n")
    append(tmp_path / "a.tsv", "1\n")
    assert watch.texts() == ['{"day":1}', '{"day":2}', '{"day":3}']
    (tmp_path / "later").mkdir()
    append(tmp_path / "later/0.ndjson", '{"day":4}\n')
    assert watch.texts(after=60) == ['{"day":4}']
    assert watch.source.backlog() == 0 and watch.texts() == [] and not watch.source.is_finished


def test_a_line_is_given_when_its_end_is_there(tmp_path, watch):
    path = tmp_path / "a.jsonl"
    append(path, '{"a":')
    assert watch.texts() == []
    append(path, '1}\n\n{"a":2}\r\n{"a":')
    assert watch.texts() == ['{"a":1}', '{"a":2}']
    append(path, "3}")
    assert watch.texts() == []
    assert watch.texts(after=2) == ['{"a":3}']
    append(path, "\n \n[4]\n")
    assert watch.texts() == ["[4]"]
    assert places(watch.items) == [("a.jsonl", n) for n in (1, 3, 4, 6)]
    assert watch.checkpoints.settled[str(path)] == {2, 5}


def test_half_a_line_is_left_for_the_next_process(tmp_path, watch):
    append(tmp_path / "a.jsonl", '{"a":1}\n{"a":')
    append(tmp_path / "b.jsonl", '{"b":')
    assert watch.texts() == ['{"a":1}'] and watch.texts(after=30) == []
    append(tmp_path / "c.jsonl", '{"c":', watch.clock)
    append(tmp_path / "d.jsonl", '{"d":1}', watch.clock)
    assert watch.texts() == []
    last = [item.data for item in watch.source.last_items()]
    assert last == [b'{"d":1}'], "half a line may go on in the next process"


def test_a_text_that_goes_on_after_its_last_line_was_taken(tmp_path, watch, checkpoints, clock):
    path = tmp_path / "a.jsonl"
    append(path, '{"a":1}')
    assert watch.texts(after=2) == ['{"a":1}']
    append(path, '{"a":2}\n{"a":3}\n')
    assert watch.texts() == ['{"a":2}', '{"a":3}']
    checkpoints.settle(watch.items[:1])
    again = Watch([tmp_path], checkpoints, clock)
    assert again.texts() == ['{"a":2}', '{"a":3}'] and places(again.items) == places(watch.items)[1:]


def test_documents_are_given_when_they_are_complete(tmp_path, watch):
    path = tmp_path / "a.json"
    append(path, '{"a":1')
    with gzip.open(tmp_path / "b.jsonl.gz", "wb") as file:
        file.write(b'{"b":1}\n\n{"b":2}\n')
    with open(tmp_path / "c.avro", "wb") as file:
        schema = {"type": "record", "name": "c", "fields": [{"name": "c", "type": "int"}]}
        fastavro.writer(file, schema, [{"c": 1}, {"c": 2}])
    assert watch.texts() == [], "all were written less than a second ago"
    assert watch.texts(after=2) == ['{"b":1}', '{"b":2}', '{"c": 1}', '{"c": 2}']
    append(path, "}")
    assert watch.texts() == [] and watch.texts(after=2) == ['{"a":1}']
    path.write_text('[{"a":2},{"a":3}]')
    assert watch.texts() == [] and watch.texts(after=2) == ['{"a":2}', '{"a":3}']
    assert places(watch.items)[-3:] == [("a.json", 1), ("a.json (2)", 1), ("a.json (2)", 2)]


def test_a_document_that_never_parses_is_given_in_the_end(tmp_path, watch):
    append(tmp_path / "a.json", '{"a":')
    watch.look(after=0)
    assert watch.texts(after=5) == [] and watch.texts(after=6) == ['{"a":']
    append(tmp_path / "b.json", '{"b":1}', watch.clock)
    append(tmp_path / "c.json", '{"c":', watch.clock)
    watch.look()
    assert [item.data for item in watch.source.last_items()] == [b'{"b":1}']


@pytest.mark.parametrize("kept_elsewhere", [True, False])
def test_rotation_loses_and_doubles_nothing(tmp_path, watch, checkpoints, clock, kept_elsewhere):
    path = tmp_path / "app.jsonl"
    append(path, '{"n":1}\n{"n":2}\n')
    assert len(watch.look()) == 2
    append(path, '{"n":3}\n')
    old = tmp_path / ("app-1.jsonl" if kept_elsewhere else "app.jsonl.1")
    path.rename(old)
    append(path, '{"n":1}\n{"n":2}\n')
    watch.look()
    append(old, '{"n":4}\n')
    watch.look()
    assert sorted(places(watch.items)) == [("app.jsonl", n) for n in (1, 2, 3, 4)] + [
        ("app.jsonl (2)", n) for n in (1, 2)
    ]
    checkpoints.settle(watch.items)
    append(path, '{"n":3}\n')
    again = Watch([tmp_path], checkpoints, clock)
    assert places(again.look()) == [("app.jsonl (2)", 3)]


@pytest.mark.parametrize(
    "text", ['{"n":9}\n', '{"n":1}\n', '{"n":9}\n{"n":2}\n{"n":3}\n', '{"n":1}\n{"m":2}\n']
)
def test_a_text_that_is_replaced_is_a_new_source(tmp_path, watch, checkpoints, clock, text):
    path = tmp_path / "app.jsonl"
    append(path, '{"n":1}\n{"n":2}\n')
    checkpoints.settle(watch.look())
    with open(path, "r+b") as file:
        file.truncate()
        file.write(text.encode())
    os.utime(path, (1, 1))
    lines = text.splitlines()
    assert places(watch.look()) == [("app.jsonl (2)", n) for n in range(1, len(lines) + 1)]
    again = Watch([tmp_path], checkpoints, clock)
    assert again.texts() == lines, "not settled"
    assert again.look(after=60) == []


@pytest.mark.parametrize("idle", [0, 60])
@pytest.mark.parametrize("text", ['{"n":9}\n', '{"n":1}\n'])
def test_a_text_that_is_replaced_between_two_processes(tmp_path, watch, checkpoints, clock, text, idle):
    path = tmp_path / "app.jsonl"
    append(path, '{"n":1}\n{"n":2}\n')
    checkpoints.settle(watch.look() + watch.look(after=idle))
    watch.source.close()
    with open(path, "r+b") as file:
        file.truncate()
        file.write(text.encode())
    again = Watch([tmp_path], checkpoints, clock)
    assert places(again.look()) == [("app.jsonl (2)", 1)]


def test_an_idle_file_is_read_on_where_it_ended(tmp_path, watch, checkpoints, clock):
    path = tmp_path / "a.jsonl"
    append(path, '{"n":1}\n{"n":2}')
    checkpoints.settle(watch.look(after=2))
    assert watch.look(after=60) == []
    note = json.loads(next(note for key, note in checkpoints.notes.items() if key.startswith("lines")))
    assert (note["offset"], note["line"], note["cuts"]) == (15, 2, [15])
    append(path, '\n{"n":3}\n')
    assert places(Watch([tmp_path], checkpoints, clock).look()) == [("a.jsonl", 3)]


def test_what_cannot_be_read_is_an_item_with_an_error(tmp_path, watch, checkpoints, clock):
    append(tmp_path / "a.jsonl", '{"a":1}\n"' + "x" * 2 * LIMIT + '"\n{"a":2}\n')
    append(tmp_path / "b.json", '"' + "x" * 2 * LIMIT + '"')
    (tmp_path / "c.gz").mkdir()
    (tmp_path / "d.jsonl.gz").write_bytes(gzip.compress(b'{"d":1}\n' * 9)[:-9])
    items = watch.look(after=20)
    problems = [(Path(item.source).name, item.position, type(item.error).__name__) for item in items]
    assert problems[:4] == [
        ("a.jsonl", 1, "NoneType"),
        ("a.jsonl", 2, "OversizedRecordError"),
        ("a.jsonl", 3, "NoneType"),
        ("b.json", 1, "OversizedRecordError"),
    ]
    assert problems[-1][0] == "d.jsonl.gz" and items[-1].error
    checkpoints.settle(items)
    assert Watch([tmp_path], checkpoints, clock).look(after=20) == []


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may read everything")
def test_a_file_without_the_right_to_read_it(tmp_path, watch):
    path = tmp_path / "a.jsonl"
    append(path, '{"a":1}\n')
    path.chmod(0)
    (item,) = watch.look()
    assert isinstance(item.error, PermissionError) and watch.look() == []
    path.chmod(0o600)
    assert watch.texts() == ['{"a":1}']


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs Linux")
def test_a_file_that_fails_while_it_is_read(checkpoints, clock):
    watch = Watch(["/proc/self/mem"], checkpoints, clock)
    (item,) = watch.look(after=2)
    assert isinstance(item.error, IncompleteReadError) and watch.look(after=2) == []
    checkpoints.settle([item])
    assert Watch(["/proc/self/mem"], checkpoints, clock).look() == []


DEEP = "[" * 100_000


@pytest.mark.parametrize("name", ["deep.json", "deep.jsonl"])
@pytest.mark.parametrize("text", [DEEP, DEEP + "]" * len(DEEP)], ids=["cut_off", "whole"])
@pytest.mark.parametrize("is_last", [False, True])
def test_a_text_too_deep_to_read_ends_nothing(tmp_path, checkpoints, clock, name, text, is_last):
    data = text.encode()
    (tmp_path / name).write_bytes(data)
    watch = Watch([tmp_path / "*"], checkpoints, clock)
    watch.source = DirectorySource([str(tmp_path / "*")], checkpoints, len(text) + 1, clock)
    append(tmp_path / "good.jsonl", '{"n":1}\n')
    if is_last:
        watch.items = [*watch.source.poll(100), *watch.source.last_items()]
    watch.look(after=20)
    append(tmp_path / "good.jsonl", '{"n":2}\n')
    watch.look(after=20)
    assert [item.data for item in watch.items if item.source.endswith("good.jsonl")] == [
        b'{"n":1}',
        b'{"n":2}',
    ]
    (deep,) = (item for item in watch.items if not item.source.endswith("good.jsonl"))
    element = data[1:].removesuffix(b"]")
    assert deep.error or deep.data in (data, element, data[1:]), "the parser says why"
    checkpoints.settle(watch.items)
    assert Watch([tmp_path / "*"], checkpoints, clock).look(after=20) == []


@pytest.mark.parametrize("error", [UnicodeDecodeError, KeyError])
def test_whatever_a_file_raises_is_one_failure(tmp_path, new_checkpoints, clock, error):
    checkpoints = FailingCheckpoints(new_checkpoints(), "poison", error)
    append(tmp_path / "a.jsonl", '{"a":1}\n')
    append(tmp_path / "poison.jsonl", '{"b":1}\n')
    append(tmp_path / "poison.json", '{"b":1}')
    watch = Watch([tmp_path], checkpoints, clock)
    items = watch.look(after=20) + watch.look(after=20)
    assert [(Path(item.source).name, type(item.error)) for item in items] == [
        ("a.jsonl", type(None)),
        ("poison.json (unreadable)", IncompleteReadError),
        ("poison.jsonl (unreadable)", IncompleteReadError),
    ]
    append(tmp_path / "a.jsonl", '{"a":2}\n')
    assert watch.texts(after=20) == ['{"a":2}']
    checkpoints.settle(watch.items)
    again = Watch([tmp_path], checkpoints, clock)
    assert again.look(after=20) == []
    checkpoints.error = None
    append(tmp_path / "poison.jsonl", '{"b":2}\n')
    assert again.texts(after=20) == ['{"b":1}', '{"b":2}'], "it is tried again when it changes"


class FailingCheckpoints:
    """A book that raises an error about the files of a name."""

    def __init__(self, checkpoints, name, error):
        self._checkpoints, self._name, self.error = checkpoints, name, error

    def note(self, source):
        if self.error is UnicodeDecodeError and self._name in source:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        if self.error and self._name in source:
            raise self.error("bad")
        return self._checkpoints.note(source)

    def __getattr__(self, name):
        return getattr(self._checkpoints, name)


def test_a_poll_is_bounded(tmp_path, checkpoints, clock):
    append(tmp_path / "a.jsonl", '{"a":1}\n' * 1000)
    append(tmp_path / "b.json", json.dumps([{"b": 1}] * 1000))
    watch = Watch([tmp_path], checkpoints, clock, limit=7)
    assert len(watch.source.poll(7)) == 7 and watch.source.backlog() > 6900
    assert len(watch.look(after=2)) == 1993 and watch.source.backlog() == 0


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothing.jsonl", "no such file"),
        ("", "empty path"),
        ("gs://b/x/", "--runner"),
        ("a.tsv", "divided by tabs"),
    ],
)
def test_paths_that_give_nothing(tmp_path, checkpoints, path, said):
    (tmp_path / "a.tsv").touch()
    with pytest.raises(ConfigError, match=said):
        DirectorySource([path if path in ("", "gs://b/x/") else str(tmp_path / path)], checkpoints, LIMIT)


def test_more_files_than_may_be_open(tmp_path, watch):
    before = len(os.listdir("/dev/fd"))
    for number in range(600):
        append(tmp_path / f"{number:03}.jsonl", f"[{number}]\n")
    assert watch.texts() == [f"[{number}]" for number in range(600)]
    assert len(os.listdir("/dev/fd")) < before + 300
    append(tmp_path / "000.jsonl", "[0]\n")
    assert watch.texts(after=60) == ["[0]"], "the next look is later where the last one took long"


LINES = st.lists(
    st.one_of(
        st.builds(lambda n: json.dumps({"n": n}).encode(), st.integers(0, 99)),
        st.sampled_from([b"", b"  ", b"{", b"\xff", b'{"x":"\\n"}\r', b"[" + b"1," * LIMIT + b"1]"]),
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(LINES, st.data())
def test_any_way_of_writing_and_reading_gives_every_line_once(new_checkpoints, new_clock, lines, data):
    """Writes in pieces, with pauses, restarts and settlements between them."""
    text = b"\n".join([*lines, b""])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    checkpoints, clock, given_items = new_checkpoints(), new_clock(), {}
    with tempfile.TemporaryDirectory() as directory:
        watch = Watch([directory], checkpoints, clock)
        for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            with open(f"{directory}/a.jsonl", "ab") as file:
                file.write(text[start:end])
            items = watch.look(after=data.draw(st.sampled_from([0.2, 2, 20])))
            assert not given_items.keys() & {item.position for item in items}
            given_items |= {item.position: item for item in items}
            if data.draw(st.booleans()):
                checkpoints.settle(
                    data.draw(st.lists(st.sampled_from(sorted(given_items.values())))) if given_items else []
                )
                given_items = {
                    place: given_items[place]
                    for place in checkpoints.settled.get(f"{directory}/a.jsonl", ())
                    if place in given_items
                }
                watch.source.close()
                watch = Watch([directory], checkpoints, clock)
        given_items |= {item.position: item for item in watch.look()}
        watch.source.close()
    expected = [(n, line) for n, line in enumerate(lines, 1) if line.strip()]
    assert [place for place, _ in sorted(given_items.items())] == [place for place, _ in expected]
    for place, line in expected:
        assert line.startswith(given_items[place].data[:50].rstrip())


def test_what_cannot_be_read_is_told_once(tmp_path, watch, checkpoints, add_odd_files):
    odd = add_odd_files(tmp_path)
    append(tmp_path / "a.jsonl", '{"a":1}\n')
    items = watch.look(after=20)
    failed = {item.source.rpartition("/")[2].removesuffix(" (unreadable)") for item in items if item.error}
    assert failed == odd and [item.data for item in items if not item.error] == [b'{"a":1}']
    assert all(item.source.encode() for item in items) and watch.look(after=20) == []
    checkpoints.settle(items)
    assert Watch([tmp_path], checkpoints, watch.clock).look(after=20) == []


def test_a_binary_file_is_one_failure(tmp_path, watch):
    (tmp_path / "a.jsonl").write_bytes(b"SQLite format 3\0" + b"\0\n\1" * 99)
    (tmp_path / "b.json").write_bytes(b"PK\x03\x04" + b"\0\n\1" * 99)
    (tmp_path / "c.jsonl").write_bytes(b"PAR1, and no line ends here")
    append(tmp_path / "d.jsonl", '{"d":1}\n')
    items = watch.look() + watch.look(after=20)
    failed = {Path(item.source).name: str(item.error) for item in items if item.error}
    assert [item.data for item in items if not item.error] == [b'{"d":1}'] and len(items) == 4
    kinds = {"is a SQLite database", "the zip archive cannot be read", "is a Parquet file"}
    assert {text.replace(";", ":").split(":")[0] for text in failed.values()} == kinds
    assert {name.split(" ")[0] for name in failed} == {"a.jsonl", "b.json", "c.jsonl"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("half.jsonl", '{"i": 1}\n{"i": 2', "line 2 breaks off after 7 bytes"),
        ("document.json", '[{"i": 1}, {"i"', "the text breaks off after 15 bytes"),
    ],
)
def test_what_breaks_off_is_named_at_the_end_and_read_when_it_is_whole(
    tmp_path, watch, checkpoints, clock, name, text, said
):
    append(tmp_path / name, text, clock)
    checkpoints.settle(watch.look(after=0.2))
    checkpoints.settle(watch.source.last_items())
    (line,) = watch.source.unread()
    assert line.startswith(f"{tmp_path / name}: {said}")
    watch.source.close()
    (tmp_path / name).write_text('{"i": 1}\n{"i": 2}\n' if name.startswith("half") else '{"i": 2}\n')
    again = Watch([tmp_path], checkpoints, clock)
    assert '{"i": 2}' in [text.strip() for text in again.texts(after=2)]
    assert again.source.unread() == [] and list(again.source.last_items()) == []
    again.source.close()


def test_what_is_whole_without_a_line_end_is_not_unread(tmp_path, watch, clock):
    append(tmp_path / "a.jsonl", '{"i": 1}\n{"i": 2}', clock)
    append(tmp_path / "b.jsonl", "\n  \n", clock)
    append(tmp_path / "c.jsonl", "")
    watch.look(after=0.2)
    assert len(watch.source.last_items()) == 1 and watch.source.unread() == []


def test_a_line_of_a_file_that_was_not_read_to_its_end_does_not_break_off(tmp_path, watch, clock):
    lines = "".join(f'{{"i": {i}, "text": "{"x" * 1000}"}}\n' for i in range(1_000))
    append(tmp_path / "a.jsonl", lines, clock)
    clock.wait(0.2)
    items = list(watch.source.poll(10))
    assert len(items) == 10 and watch.source.unread() == []


def test_a_last_line_that_breaks_off_in_a_file_that_is_removed_is_a_failure(tmp_path, watch, clock):
    append(tmp_path / "a.jsonl", '{"i": 1}\n{"i": 2', clock)
    assert watch.texts() == ['{"i": 1}']
    (tmp_path / "a.jsonl").unlink()
    assert watch.look() == []
    (item,) = [*watch.look(after=11), *watch.look()]
    assert str(item.error).startswith(
        "line 2 breaks off after 7 bytes, without a line end, and the file is gone;"
    )
    assert watch.source.unread() == []


@pytest.mark.parametrize("pattern", ["", "/*.jsonl"])
@pytest.mark.parametrize("at_end", [True, False])
def test_a_watched_directory_that_is_removed_is_a_failure(tmp_path, checkpoints, clock, pattern, at_end):
    root = tmp_path / "in"
    root.mkdir()
    append(root / "a.jsonl", '{"i": 1}\n', clock)
    watch = Watch([f"{root}{pattern}"], checkpoints, clock)
    assert watch.texts() == ['{"i": 1}']
    shutil.rmtree(root)
    assert watch.look() == []
    items = watch.source.last_items() if at_end else watch.look(after=11)
    (item,) = items
    assert item.source == f"{root} (unreadable)"
    assert str(item.error) == "the watched directory is gone; an unknown number of records is missing"
    assert watch.look(after=20) == [] and list(watch.source.last_items()) == []
    watch.source.close()


def test_a_watched_directory_that_is_replaced_goes_on(tmp_path, checkpoints, clock):
    (tmp_path / "in").mkdir()
    watch = Watch([tmp_path / "in"], checkpoints, clock)
    watch.look()
    (tmp_path / "in").rmdir()
    assert watch.look(after=5) == []
    (tmp_path / "in").mkdir()
    append(tmp_path / "in/a.jsonl", '{"i": 1}\n', clock)
    assert watch.texts(after=6) == ['{"i": 1}'] and list(watch.source.last_items()) == []
    watch.source.close()
