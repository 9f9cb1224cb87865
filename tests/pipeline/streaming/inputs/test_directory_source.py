"""Files that appear, grow, are rotated and replaced while they are watched.

A line of `watched.jsonl` has `steps`: first files change (`add` at the end of their text, also at the time of
the clock: `add_now`, `replace` it, `move`, `remove` ...), then another process may go on (`again`), and what
it gives after so many seconds, or `at_end`, is compared: `texts`, `places` and `errors`, then what is left.
"""

import gzip
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipeline.streaming.inputs.conftest import Clock
from tests.sources import InMemoryCheckpoints
from tests.tables import lines_beside, stated
from turnwise.pipeline.streaming.inputs.files import DirectorySource
from turnwise.schemas.config import ConfigError
from turnwise.schemas.score import IncompleteReadError

LIMIT = 1000
WATCHED = lines_beside(__file__, "watched.jsonl")


class Watch:
    """A source over a directory, and what it has given so far."""

    def __init__(self, paths, checkpoints, clock, limit=100):
        self.source = DirectorySource([str(path) for path in paths], checkpoints, LIMIT)
        self.source.clock = clock
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
    return [[Path(item.source).name, item.position] for item in items]


def begin(texts, wanted):
    return len(texts) == len(wanted) and all(map(str.startswith, texts, wanted))


def change(folder, step, clock):
    """Changes files as a step says."""
    for key, at in (("add", None), ("add_now", clock)):
        for name, text in step.get(key, {}).items():
            (folder / name).parent.mkdir(exist_ok=True)
            append(folder / name, text, at)
    for name, text in step.get("replace", {}).items():
        (folder / name).write_text(text)
        if "close" not in step:
            os.utime(folder / name, (1, 1))
    for name, text in step.get("zip", {}).items():
        (folder / name).write_bytes(gzip.compress(text.encode())[: step.get("cut")])
    for name, members in step.get("archive", {}).items():
        with zipfile.ZipFile(folder / name, "w") as archive:
            for member, text in members.items():
                archive.writestr(member, text)
    for name, rows in step.get("avro", {}).items():
        with open(folder / name, "wb") as file:
            schema = {"type": "record", "name": "c", "fields": [{"name": "c", "type": "int"}]}
            fastavro.writer(file, schema, rows)
    if "move" in step:
        old, new = (folder / name for name in step["move"])
        old.rename(new)
        append(old, step["then"])
    if "make" in step:
        (folder / step["make"]).mkdir()
    if "remove" in step:
        path = folder / step["remove"]
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("name", WATCHED)
def test_what_a_watched_directory_gives(tmp_path, checkpoints, clock, name):
    paths = [f"{tmp_path}/{WATCHED[name].get('paths', '')}".rstrip("/")]
    watch = None
    for step in WATCHED[name]["steps"]:
        if "close" in step:
            watch.source.close()
        change(tmp_path, step, clock)
        if watch is None or "again" in step:
            watch = Watch(paths, checkpoints, clock)
        found = []
        if step.keys() & {"texts", "places", "errors", "look"}:
            found = watch.source.last_items() if "at_end" in step else watch.look(step.get("after", 0.2))
        if "more" in step:
            found += watch.look()
        if "texts" in step:
            assert [item.data.decode().strip() for item in found] == step["texts"]
        assert step.get("places", places(found)) == places(found)
        assert begin([str(item.error) for item in found if item.error], step.get("errors", []))
        see(tmp_path, watch, step)
        if "settle" in step:
            checkpoints.settle(watch.items)
    watch.source.close()


def see(folder, watch, step):
    """Sees what is left and noted."""
    if "all" in step:
        assert sorted(places(watch.items)) == step["all"]
    for name, positions in step.get("settled", {}).items():
        assert watch.checkpoints.settled[f"{folder}/{name}"] == {*positions}
    if "unread" in step:
        assert begin(watch.source.unread(), [f"{folder}/{said}" for said in step["unread"]])
    if "note" in step:
        notes = watch.checkpoints.notes.items()
        note = json.loads(next(note for key, note in notes if key.startswith("lines")))
        assert {key: note[key] for key in step["note"]} == step["note"]
    assert watch.source.backlog() == step.get("backlog", watch.source.backlog())
    assert not watch.source.is_finished


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
    watch.source = DirectorySource([str(tmp_path / "*")], checkpoints, len(text) + 1)
    watch.source.clock = clock
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
def test_whatever_a_file_raises_is_one_failure(tmp_path, checkpoints, clock, error):
    checkpoints = FailingCheckpoints(checkpoints, "poison", error)
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


@stated("nothing", "path, said")
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
def test_any_way_of_writing_and_reading_gives_every_line_once(lines, data):
    """Writes in pieces, with pauses, restarts and settlements between them."""
    text = b"\n".join([*lines, b""])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    checkpoints, clock, given_items = InMemoryCheckpoints(), Clock(), {}
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


def test_a_line_of_a_file_that_was_not_read_to_its_end_does_not_break_off(tmp_path, watch, clock):
    lines = "".join(f'{{"i": {i}, "text": "{"x" * 1000}"}}\n' for i in range(1_000))
    append(tmp_path / "a.jsonl", lines, clock)
    clock.wait(0.2)
    items = list(watch.source.poll(10))
    assert len(items) == 10 and watch.source.unread() == []
