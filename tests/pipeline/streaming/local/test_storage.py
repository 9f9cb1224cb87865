"""What a stream keeps: rows and progress in one step, or none of both.

A line of `kept.jsonl` has `steps`: outcomes that are committed together (conversation, position, fields of
`new_outcome`), what is done (`reopen`, `compact`), or what is set or seen then, by the names in `SEEN`.
"""

import json
import random
import shutil
import sqlite3
from collections import Counter
from threading import Event

import pytest

from tests.tables import lines_beside
from turnwise.pipeline.io.sinks import RefusedRow
from turnwise.pipeline.streaming.inputs.base import SettledPositions
from turnwise.pipeline.streaming.local.conversations import key_of
from turnwise.pipeline.streaming.local.counts import WindowSums, stream_counts
from turnwise.schemas.conversation import Closing, Receipt, Record
from turnwise.schemas.rows import MadeScoreRow, ScoreRow
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.sessions import FORGOTTEN_SECONDS
from turnwise.transforms.beam.windows import Contribution, RecordOutcome, SumsChange, window_start
from turnwise.transforms.metrics.state import MetricsState, Tally

RULES = StreamRules(session_gap=6.0, window=100.0, allowed_lateness=1000.0)
LINES = lines_beside(__file__, "kept.jsonl")
FIELDS = {"revision": 0, "digest": "a", "version": "v1", "event_time": 7200.0, "size": 1, "failures": 0}
FIELDS |= {"events": "", "is_scored": True, "part": (0, 1), "groups": (), "of": None, "result": None}


def new_outcome(name, position=1, fields=None, **more):
    """Returns the outcome of a conversation of the file `logs`, with so many score rows.

    `events` make it one that was joined; it is rejected if it is not scored.
    """
    given = {**FIELDS, **(fields or {}), **more}
    revision, seen, is_scored = given["revision"], given["event_time"], given["is_scored"]
    receipts = (Receipt("logs", position, *given["part"]),)
    if name == "ignored":
        return RecordOutcome(None, None, [], [], [], receipts)
    known = {**dict.fromkeys(ScoreRow.__annotations__), "run_id": "r", "criterion": "match", "tags": []}
    known |= {"conversation_id": name, "app_version": given["version"], "revision": revision}
    turns = ({"turn_index": n, "score_id": f"{name} {n}"} for n in range(given["size"]))
    rows = [MadeScoreRow(**known | turn) for turn in turns]
    named = {"conversation_id": name, "app_version": given["version"]} if is_scored else {}
    row = {"stage": "score" if is_scored else "parse", "error_type": "ValueError", "revision": revision}
    failures = [{"conversation_id": None, "app_version": None, **row, **named}] * given["failures"]
    joined = None
    if given["events"]:
        closing = Closing(name, revision, seen, seen, b"[]")._replace(groups=tuple(given["groups"]))
        joined = Record("logs", position, given["events"].encode(), receipts, closing)
    digest, state = given["digest"].encode(), MetricsState()
    if not is_scored:
        empty = Contribution(name, revision, digest, seen, "", state) if joined else None
        return RecordOutcome(name if joined else None, empty, [], [], failures, receipts, joined)
    tally = Tally()
    tally.add(1.0, "PASS")
    state = MetricsState(conversations=1, turns=2, passes=1, tallies={("c", None): tally})
    contribution = Contribution(given["of"] or name, revision, digest, seen, given["version"], state)
    result = [{"name": given["result"] or name, "result": {"name": name, "revision": revision}}]
    return RecordOutcome(name, contribution, rows, result, failures, receipts, joined)


class Refusing:
    """A service that takes no row of some revisions."""

    def __init__(self, revisions):
        self.stop, self.revisions = Event(), revisions

    def write(self, changes):
        refused = [change for change in changes if change.revision in self.revisions]
        return [RefusedRow(own.change_id, f"{own.revision}, row {n}") for own in refused for n in (1, 2)]


def results(opened):
    return sorted([row["name"], row["revision"]] for row in opened.rows("results"))


def totals(opened):
    """Returns the conversations of each version, of which the windows have as many."""
    by_version = {version: state.conversations for version, state in opened.store.sums.totals.items()}
    of_windows = merged(one.statistics for one in opened.store.sums.all())
    assert of_windows == merged(opened.store.sums.totals.values())
    return by_version


def merged(states):
    total = MetricsState()
    for state in states:
        total.merge(state)
    return total


def session(opened, name):
    found = opened.store.conversations.session(name)
    return found and [found.revision, found.events.decode(), found.closed_at]


def group(opened, name):
    found = opened.store.conversations.group(name)
    return found and found.events.decode() and sorted(json.loads(found.events))


def failures(opened):
    rows = opened.rows("failures")
    return [[row["error_type"], row.get("position"), row["conversation_id"]] for row in rows]


def conversation(opened, name):
    query = "SELECT revision, digest, app_version, event_time FROM conversations WHERE key = "
    ((revision, digest, *rest),) = opened.select(f"{query}{key_of(name)}")
    return [revision, digest.decode(), *rest]


SEEN = {
    **{"results": results, "totals": totals, "failures": failures},
    **{"session": session, "group": group, "conversation": conversation},
    "scores": lambda opened: [[*row] for row in opened.live_scores()],
    "settled": lambda opened: [[*place] for place in opened.settled],
    "done": lambda opened: [(done := opened.store.checkpoints.done("logs")).through, sorted(done.beyond)],
    "counts": lambda opened: opened.store.counts,
    "told": lambda opened: stream_counts(opened.store.counts),
    "all_counts": lambda opened: dict(+opened.store.counts),
    "sums": lambda opened: [[*own[1:3], own.statistics.conversations] for own in opened.store.sums.all()],
    "is_forgotten": lambda opened, name: opened.store.conversations.forgotten(name, None) is not None,
    "rows": lambda opened, table: len(opened.select(f"SELECT * FROM {table}")),
    "refused": lambda opened: opened.store.refused_rows(),
}
REMEMBERED = {
    "all": lambda opened: (opened.state(), stream_counts(opened.store.counts)),
    "kept": lambda opened: opened.state()[1:],
    "but_rows": lambda opened: opened.state()[1:-1],
    "files": lambda opened: sorted(path.name for path in opened.directory.glob("*.jsonl")),
}


@pytest.mark.parametrize("name", LINES)
def test_what_is_kept(opened, name):
    remembered = {}
    for step in LINES[name]["steps"]:
        if isinstance(step, list):
            opened.commit(*(new_outcome(*given) for given in step))
        elif isinstance(step, str):
            opened.reopen() if step == "reopen" else opened.store.compact()
        else:
            for key, wanted in step.items():
                look(opened, remembered, key, wanted)


def look(opened, remembered, key, wanted):
    """Sets what is to be so, or sees whether it is so."""
    if key == "now":
        opened.store.now = wanted
    elif key == "later":
        opened.store.now += FORGOTTEN_SECONDS
    elif key == "refuse":
        opened.store.service = Refusing(wanted)
    elif key == "state":
        state = REMEMBERED[wanted](opened)
        assert remembered.setdefault(wanted, state) == state
    else:
        what, *names = key.split(" ")
        value = SEEN[what](opened, *names)
        assert ({own: value[own] for own in wanted} if key in ("counts", "told") else value) == wanted, key


def test_compaction_leaves_exactly_the_live_rows_and_can_go_on(opened):
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
    expected = sorted([name, revision] for name, (revision, size) in live.items() for _ in range(size))
    assert SEEN["scores"](opened) == expected
    assert results(opened) == sorted([name, revision] for name, (revision, _) in live.items())
    assert all(row["revision"] == live[row["conversation_id"]][0] for row in opened.rows("failures"))
    assert totals(opened) == {"v1": len(live)}


def test_nothing_half_written_counts_after_reopening(opened):
    opened.commit(new_outcome("a", 1))
    broken = new_outcome("b", 2)
    broken.failures.append({"stage": "score", "error_type": "E", "conversation_id": None, "bad": object()})
    with pytest.raises(ValueError):
        opened.commit(new_outcome("c", 3), broken)
    opened.reopen()
    assert results(opened) == SEEN["scores"](opened) == [["a", 0]]
    assert (opened.store.counts["results"], opened.store.checkpoints.done("logs")) == (1, SettledPositions(1))
    opened.commit(new_outcome("b", 2), new_outcome("c", 3))
    assert results(opened) == [["a", 0], ["b", 0], ["c", 0]]


def test_a_directory_as_a_crash_leaves_it(opened, tmp_path):
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
    assert results(again) == [["a", 1], ["b", 0]]
    again.store.close()


def test_a_database_that_cannot_be_written_is_an_error_of_the_disk(opened):
    other = sqlite3.connect(opened.directory / "progress.sqlite", isolation_level=None)
    other.execute("DROP TABLE rejected")
    other.close()
    with pytest.raises(OSError, match=r"progress\.sqlite: no such table: rejected"):
        opened.commit(new_outcome("-", 1, is_scored=False, failures=1))


def test_sums_are_of_the_windows_of_their_times():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE sums (start, app_version, statistics, UNIQUE (start, app_version))")
    times = [1_785_590_000 + n / 16 for n in range(160)]
    for window in (0.1, 0.7, 2.2, 60.0):
        sums = WindowSums(connection, window)
        sums.changes += [SumsChange(1, time, "", MetricsState(conversations=1)) for time in times]
        sums.write()
        kept = [(change.event_time, change.statistics.conversations) for change in sums.all()]
        assert dict(kept) == Counter(window_start(time, window) for time in times)
        assert all(window_start(start, window) == start for start, _ in kept), "after a restart, too"
        connection.execute("DELETE FROM sums")


def test_what_lateness_allows_is_pruned(opened):
    for number in range(20):
        opened.commit(new_outcome(f"c{number}", number + 1, event_time=100.0 * number, events="[1]"))
    for number in (0, 19):
        again = new_outcome(f"c{number}", number + 1, event_time=100.0 * number, events="[1]", revision=1)
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
    assert [opened.store.conversations.session(f"c{n}").events for n in range(20)] == [
        b"" if n in late else b"[1]" for n in range(20)
    ]
    assert opened.store.sums.totals == totals and len(results(opened)) == 20
    assert opened.store.now == 1700.0, "the time goes on; a conversation of a later time does not move it"


def test_events_that_are_pruned_leave_no_bytes(opened, tmp_path):
    """Free pages of a database keep what was in them unless it is overwritten."""
    for number in range(50):
        events = f"zebra-{number} " * 300
        opened.commit(new_outcome(f"c{number}", number + 1, event_time=100.0, events=events))
    opened.store.now = 1e6
    opened.store.compact()
    opened.reopen()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "progress.sqlite" for path in files)
    assert not [path.name for path in files if b"zebra-" in path.read_bytes()]
