"""What a stream keeps: rows and progress in one step, or none of both."""

import json
import random
import shutil
import sqlite3
from threading import Event

import pytest

from turnwise.pipeline.io.sinks import RefusedRow
from turnwise.pipeline.streaming.inputs.base import SettledPositions
from turnwise.pipeline.streaming.local.counts import stream_counts
from turnwise.schemas.conversation import Receipt
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.sessions import FORGOTTEN_SECONDS
from turnwise.transforms.beam.windows import RecordOutcome
from turnwise.transforms.metrics.state import MetricsState

RULES = StreamRules(session_gap=6.0, window=100.0, allowed_lateness=1000.0)


def results(opened):
    return sorted((row["name"], row["revision"]) for row in opened.rows("results"))


def test_reopening_gives_the_same(opened, new_outcome):
    opened.commit(new_outcome("a", 1, events=b"[1]"), new_outcome("b", 2, failures=2), new_outcome("c", 4))
    opened.commit(
        new_outcome("a", 5, revision=1, events=b"[1,2]"), new_outcome("-", 6, is_scored=False, failures=1)
    )
    before, counts = opened.state(), stream_counts(opened.store.counts)
    opened.reopen()
    assert opened.state() == before and stream_counts(opened.store.counts) == counts
    assert opened.store.checkpoints.done("logs") == SettledPositions(2, frozenset({4, 5, 6}))


def test_a_repeated_outcome_is_settled_and_not_kept_twice(opened, new_outcome):
    opened.commit(new_outcome("a", 1))
    opened.commit(new_outcome("a", 2))
    opened.reopen().commit(new_outcome("a", 3))
    assert results(opened) == [("a", 0)] and opened.live_scores() == [("a", 0)]
    assert (opened.store.counts["results"], opened.store.counts["repeated"]) == (1, 2)
    assert opened.store.checkpoints.done("logs") == SettledPositions(3)


def test_a_whole_record_and_events_of_one_conversation_replace_each_other_with_a_finding(opened, new_outcome):
    def joined(position, revision):
        made = new_outcome("a", position, revision=revision, digest=b"%d" % revision, events=b"[1]")
        return made._replace(contribution=made.contribution._replace(name="conversation a"))

    def found():
        return opened.store.counts["finding ReplacedRecord"], opened.store.sums.totals["v1"].conversations

    opened.commit(new_outcome("a", 1))
    opened.commit(joined(2, 1))
    assert found() == (1, 1)
    opened.commit(joined(3, 2))
    assert found() == (1, 1)
    opened.commit(new_outcome("a", 4, digest=b"other"))
    assert found() == (1, 1)


REPLACED = [
    ("a higher revision", {"revision": 1}, {"revision": 3, "digest": b"b"}),
    ("the same revision of another record", {}, {"digest": b"b"}),
    ("a higher revision of the same record", {}, {"revision": 1}),
]
GIVES_WAY = pytest.mark.parametrize(
    ("first", "second"), [case[1:] for case in REPLACED], ids=[case[0] for case in REPLACED]
)


@GIVES_WAY
def test_a_replaced_outcome_counts_no_more(opened, new_outcome, first, second):
    opened.commit(new_outcome("a", 1, version="v1", **first), new_outcome("b", 2))
    opened.commit(new_outcome("a", 3, version="v2", **second))
    assert (opened.store.counts["results"], opened.store.counts["replaced"]) == (2, 1)
    assert {version: state.conversations for version, state in opened.store.sums.totals.items()} == {
        "v1": 1,
        "v2": 1,
    }
    opened.store.compact()
    assert results(opened) == [("a", second.get("revision", 0)), ("b", 0)]
    assert opened.conversation("a")[1::2] == (second.get("digest", b"a"), "v2")


@pytest.mark.parametrize(("first", "second"), [REPLACED[0][1:], REPLACED[2][1:]])
def test_an_older_revision_changes_nothing(opened, new_outcome, first, second):
    opened.commit(new_outcome("a", 1, **second))
    before = opened.state()[1:]
    opened.commit(new_outcome("a", 2, **first))
    assert opened.state()[1:] == before and opened.store.counts["repeated"] == 1
    assert opened.store.checkpoints.done("logs") == SettledPositions(2)


def test_a_rejected_record_is_rejected_once(opened, new_outcome):
    rejected = new_outcome("-", 1, is_scored=False, failures=1)
    opened.commit(rejected)
    opened.commit(rejected)
    opened.reopen().commit(rejected, new_outcome("-", 2, is_scored=False, failures=1))
    assert len(opened.rows("failures")) == 2
    assert opened.store.counts["rejected_records"] == 2


def test_parts_of_one_record_are_rejected_each(opened, new_outcome):
    parts = [
        new_outcome("-", 1, is_scored=False, failures=1)._replace(receipts=(Receipt("logs", 1, part, 3),))
        for part in range(3)
    ]
    opened.commit(parts[0], parts[1])
    assert opened.settled == [] and opened.store.checkpoints.done("logs") == SettledPositions()
    opened.commit(parts[1], parts[2])
    assert opened.settled == [("logs", 1)] and len(opened.rows("failures")) == 3
    assert opened.store.counts["records"] == 1


def test_what_is_ignored_is_settled(opened):
    opened.commit(RecordOutcome(None, None, [], [], [], (Receipt("logs", 1), Receipt("logs", 2))))
    assert opened.store.checkpoints.done("logs") == SettledPositions(2) and opened.rows("failures") == []
    assert stream_counts(opened.store.counts)["records"] == 2


def test_compaction_leaves_exactly_the_live_rows_and_can_go_on(opened, new_outcome):
    """Many rounds of random revisions, with compactions and reopenings between them."""
    chance, live = random.Random(4), {}
    for position in range(1, 300):
        name, size = f"c{chance.randrange(40)}", chance.randrange(4)
        revision = live[name][0] + 1 if name in live else 0
        opened.commit(new_outcome(name, position, revision=revision, size=size, failures=chance.randrange(2)))
        live[name] = (revision, size)
        if chance.random() < 0.05:
            opened.store.compact()
        if chance.random() < 0.05:
            opened.reopen()
    opened.store.compact()
    expected = sorted((name, revision) for name, (revision, size) in live.items() for _ in range(size))
    assert opened.live_scores() == expected
    assert results(opened) == sorted((name, revision) for name, (revision, _) in live.items())
    assert all(row["revision"] == live[row["conversation_id"]][0] for row in opened.rows("failures"))
    assert opened.store.sums.totals["v1"].conversations == len(live)
    assert merged(one.state for one in opened.store.sums.all()) == opened.store.sums.totals["v1"]


def test_compaction_without_dead_rows_touches_nothing(opened, new_outcome):
    opened.commit(new_outcome("a", 1))
    before = sorted(path.name for path in opened.directory.glob("*.jsonl"))
    opened.store.compact()
    assert sorted(path.name for path in opened.directory.glob("*.jsonl")) == before


@pytest.fixture
def broken(opened, new_outcome):
    """A store in which one thing was opened, and whose next write fails."""
    opened.commit(new_outcome("a", 1))
    broken_row = new_outcome("b", 2)
    broken_row.failures.append(
        {"stage": "score", "error_type": "E", "conversation_id": None, "bad": object()}
    )
    with pytest.raises(ValueError):
        opened.commit(new_outcome("c", 3), broken_row)
    return opened


def test_nothing_half_written_counts_after_reopening(broken, new_outcome):
    broken.reopen()
    assert results(broken) == [("a", 0)] and broken.live_scores() == [("a", 0)]
    assert (broken.store.counts["results"], broken.store.checkpoints.done("logs")) == (1, SettledPositions(1))
    broken.commit(new_outcome("b", 2), new_outcome("c", 3))
    assert results(broken) == [("a", 0), ("b", 0), ("c", 0)]


def test_a_directory_as_a_crash_leaves_it(opened, new_outcome, tmp_path):
    """The files as they stand between the rows and the transaction, and during a compaction."""
    opened.commit(new_outcome("a", 1, size=2), new_outcome("b", 2))
    opened.commit(new_outcome("a", 3, revision=1))
    crashed = tmp_path / "crashed"
    shutil.copytree(opened.directory, crashed)
    for path in crashed.glob("*.jsonl"):
        path.write_bytes(path.read_bytes() + b'{"name": "half')
    (crashed / "scores-00001.jsonl").write_bytes(b'{"name": "a"}\n')
    again = type(opened)(crashed)
    assert again.state() == opened.state()
    again.store.compact()
    assert results(again) == [("a", 1), ("b", 0)]
    again.store.close()


def test_a_database_that_cannot_be_written_is_an_error_of_the_disk(opened, new_outcome):
    other = sqlite3.connect(opened.directory / "progress.sqlite", isolation_level=None)
    other.execute("DROP TABLE rejected")
    other.close()
    with pytest.raises(OSError, match=r"progress\.sqlite: no such table: rejected"):
        opened.commit(new_outcome("-", 1, is_scored=False, failures=1))


def test_sums_are_kept_by_window_and_version(opened, new_outcome):
    opened.commit(
        *(new_outcome("a", 1, event_time=205.0), new_outcome("b", 2, event_time=299.9, version="v2")),
        *(new_outcome("c", 3, event_time=300.0), new_outcome("d", 4, event_time=250.0, events=b"[4]")),
    )
    opened.commit(new_outcome("a", 5, event_time=999.0, revision=1))
    sums = {(one.start, one.app_version): one.state.conversations for one in opened.reopen().store.sums.all()}
    assert sums == {(200.0, "v1"): 2, (200.0, "v2"): 1, (300.0, "v1"): 1}
    assert {v: state.conversations for v, state in opened.store.sums.totals.items()} == {"v1": 3, "v2": 1}
    assert merged(one.state for one in opened.store.sums.all()) == merged(opened.store.sums.totals.values())


def merged(states):
    total = MetricsState()
    for state in states:
        total.merge(state)
    return total


def rejected(new_outcome, position, revision, digest, events=b"[1]"):
    fields = {"failures": 2, "is_scored": False, "digest": digest, "events": events}
    return new_outcome("a", position, revision=revision, **fields)


def test_a_rejected_closing_takes_the_place_of_a_result_and_is_withdrawn_in_turn(opened, new_outcome):
    for step in range(2):
        opened.commit(new_outcome("a", 2 * step + 1, events=b"[1]", revision=step, failures=1))
        counts = stream_counts(opened.store.counts)
        assert (counts["results"], counts["rejected_conversations"], counts["rejected_records"]) == (1, 0, 0)
        assert counts["failures"] == {"score: ValueError": 1}
        assert opened.store.sums.totals["v1"].conversations == 1
        opened.commit(rejected(new_outcome, 2 * step + 2, step + 1, b"b"))
        counts = stream_counts(opened.store.counts)
        assert (counts["results"], counts["rejected_conversations"], counts["rejected_records"]) == (0, 1, 0)
        assert counts["failures"] == {"parse: ValueError": 2} and opened.store.sums.totals == {}
        assert opened.store.sums.all() == [] and opened.reopen().store.sums.totals == {}
    opened.store.compact()
    assert (opened.rows("results"), opened.rows("scores"), len(opened.rows("failures"))) == ([], [], 2)
    opened.commit(new_outcome("a", 5, events=b"[1]", revision=2, digest=b"c"))
    opened.store.compact()
    assert ([row["name"] for row in opened.rows("results")], opened.rows("failures")) == (["a"], [])
    assert +opened.store.counts == {"results": 1, "records": 5, "replaced": 2}


def test_events_of_a_rejected_conversation_go_on_after_a_restart(opened, new_outcome):
    opened.commit(rejected(new_outcome, 1, 0, b"a", b"[1,2]"), new_outcome("b", 2, revision=4, events=b"[3]"))
    sessions = opened.reopen().store.earlier
    found = sessions.session("a")
    assert (found.revision, found.events, found.closed_at) == (-1, b"[1,2]", 7200.0)
    assert (sessions.session("b").revision, sessions.session("c")) == (4, None)


def test_what_an_earlier_process_counted_is_looked_up(opened, new_outcome):
    opened.commit(new_outcome("a", 1), new_outcome("b", 2, version="v2"))
    assert opened.store.earlier.counted("a") is None, "counted by this process"
    earlier = opened.reopen().store.earlier
    opened.commit(new_outcome("a", 3, revision=1), new_outcome("c", 4))
    found = {name: earlier.counted(name) for name in "abc"}
    assert (found["a"].revision, found["a"].digest, found["b"].app_version) == (
        0,
        b"a",
        "v2",
    )
    assert found["c"] is None
    assert opened.reopen().store.earlier.counted("a").revision == 1


def test_what_lateness_allows_is_pruned(opened, new_outcome):
    for number in range(20):
        opened.commit(new_outcome(f"c{number}", number + 1, event_time=100.0 * number, events=b"[1]"))
    for number in (0, 19):
        again = new_outcome(f"c{number}", number + 1, event_time=100.0 * number, events=b"[1]", revision=1)
        opened.commit(again)
    opened.commit(new_outcome("-", 21, is_scored=False, failures=1))
    totals = dict(opened.store.sums.totals)
    opened.store.now = 1700.0
    opened.store.compact()
    opened.reopen()
    horizon = 1700.0 - 100.0 - RULES.window_lateness
    gone = [number for number in range(20) if 100.0 * number <= horizon]
    late = [number for number in range(20) if 100.0 * number <= 700.0]
    assert 0 < len(gone) < len(late) < 20
    assert len(opened.select("SELECT * FROM conversations")) == 20 - len(gone)
    assert len(opened.select("SELECT * FROM digests")) == 1, "of the replaced one that is left"
    assert len(opened.select("SELECT DISTINCT key FROM spans")) == 20 - len(gone)
    assert [opened.store.earlier.session(f"c{n}").events for n in range(20)] == [
        b"" if n in late else b"[1]" for n in range(20)
    ]
    assert opened.store.sums.totals == totals and len(results(opened)) == 20
    assert opened.store.now == 1700.0, "the time goes on; a conversation of a later time does not move it"


def test_events_that_are_pruned_leave_no_bytes(opened, new_outcome, tmp_path):
    """Free pages of a database keep what was in them unless it is overwritten."""
    for number in range(50):
        events = f"zebra-{number} ".encode() * 300
        opened.commit(new_outcome(f"c{number}", number + 1, event_time=100.0, events=events))
    opened.store.now = 1e6
    opened.store.compact()
    opened.reopen()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "progress.sqlite" for path in files)
    assert not [path.name for path in files if b"zebra-" in path.read_bytes()]


def test_a_pruned_conversation_that_comes_again(opened, new_outcome):
    opened.commit(new_outcome("a", 1, event_time=100.0))
    opened.store.now = 5000.0
    opened.store.compact()
    before = opened.state()[1:-1]
    assert opened.store.earlier.counted("a").revision > 10**9, "nothing replaces it"
    assert opened.reopen().store.earlier.counted("a").revision > 10**9, "nor in the next process"
    opened.commit(new_outcome("a", 2, event_time=100.0), new_outcome("a", 3, digest=b"b", revision=1))
    opened.commit(new_outcome("other", 4, digest=b"b")._replace(results=[{"name": "a", "result": {}}]))
    assert opened.state()[1:-1] == before and results(opened) == [("a", 0)]
    rows = [(row["error_type"], row["position"], row["conversation_id"]) for row in opened.rows("failures")]
    assert rows == [("LateEventError", 3, "a"), ("LateEventError", 4, "other")]
    counts = stream_counts(opened.store.counts)
    assert (counts["repeated"], counts["rejected_conversations"], counts["results"]) == (1, 2, 1)


def test_a_forgotten_name_is_forgotten_in_the_end(opened, new_outcome):
    opened.commit(new_outcome("a", 1, event_time=100.0, events=b"[1]"))
    opened.store.now = 5000.0
    opened.store.compact()
    assert len(opened.select("SELECT * FROM forgotten")) == 2
    opened.store.now += FORGOTTEN_SECONDS
    opened.store.compact()
    assert opened.select("SELECT * FROM forgotten") == [] == opened.select("SELECT * FROM sessions")


def test_the_events_of_a_group_are_those_of_all_sessions_with_some_of_it(opened, new_outcome):
    for name, events, groups in (("a", b"[1,2]", ("g", "h")), ("b", b"[3]", ("g",)), ("c", b"[4]", ())):
        outcome = new_outcome(name, events=events)
        closing = outcome.joined.closing._replace(groups=groups)
        opened.commit(outcome._replace(joined=outcome.joined._replace(closing=closing)))
    earlier = opened.reopen().store.earlier
    assert sorted(json.loads(earlier.group("g").events)) == [1, 2, 3]
    assert (json.loads(earlier.group("h").events), earlier.group("a")) == ([1, 2], None)


class Refusing:
    """A service that takes no row of some revisions."""

    def __init__(self, *revisions):
        self.stop, self.revisions = Event(), revisions

    def write(self, changes):
        refused = [change for change in changes if change.revision in self.revisions]
        return [
            RefusedRow(change.change_id, f"{change.revision}, row {n}") for change in refused for n in (1, 2)
        ]


def test_refused_rows_are_told_until_a_later_change_is_taken(opened, new_outcome):
    opened.store.service = Refusing(1)
    opened.commit(new_outcome("a", 1), new_outcome("a", 2, revision=1, digest=b"b"))
    told = ["1, row 1", "1 more rows were not written into the --store"]
    assert opened.store.refused_rows() == told
    assert opened.reopen().store.refused_rows() == told
    opened.store.service = Refusing(2)
    opened.commit(new_outcome("b", 3))
    assert opened.store.refused_rows() == told
    both = new_outcome("a", 4, revision=2, digest=b"c"), new_outcome("a", 5, revision=3, digest=b"d")
    opened.commit(*both)
    assert opened.store.refused_rows() == []


def test_of_many_refused_rows_the_first_are_told(opened, new_outcome):
    opened.store.service = Refusing(0)
    opened.commit(*(new_outcome(f"n{i}", i + 1) for i in range(12)))
    *shown, more = opened.store.refused_rows()
    assert shown == ["0, row 1"] * 10 and more == "14 more rows were not written into the --store"


def test_a_revision_stays_in_the_window_of_the_first(opened, new_outcome):
    opened.commit(new_outcome("a", 1, event_time=100.0))
    opened.commit(new_outcome("a", 2, revision=1, event_time=90_000.0))
    assert opened.conversation("a")[0::2] == (1, 100.0)


@pytest.mark.parametrize(
    ("content", "said"), [(b"no database at all, but text" * 50, "not a database"), ("UPDATE", "format 99")]
)
def test_another_format_is_refused(opened, new_outcome, tmp_path, content, said):
    folder = tmp_path / "other"
    folder.mkdir()
    path = folder / "progress.sqlite"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        shutil.copy(opened.directory / "progress.sqlite", path)
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('format', '99')")
        connection.close()
    with pytest.raises(ValueError, match=said):
        type(opened)(folder)


def test_a_group_of_which_one_session_was_pruned_has_no_events(opened, new_outcome):
    for name, events, seen in (("a", b"[1,2]", 100.0), ("b", b"[3]", 4500.0)):
        outcome = new_outcome(name, events=events, event_time=seen)
        closing = outcome.joined.closing._replace(groups=("g",))
        opened.commit(outcome._replace(joined=outcome.joined._replace(closing=closing)))
    assert sorted(json.loads(opened.store.earlier.group("g").events)) == [1, 2, 3]
    opened.store.now = 5000.0
    opened.store.compact()
    earlier = opened.reopen().store.earlier
    assert earlier.session("b").events == b"[3]"
    assert earlier.group("g").events == b"", "a part of them would be scored as all"
