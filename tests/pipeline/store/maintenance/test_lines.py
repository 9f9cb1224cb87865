"""What is deleted of a store, and what is said of one that is not sound: lines of what is put and done.

Each line of `lines/*.jsonl` has steps for a store (`only` one of a kind), beside `files`: commands as those
of tests/pipeline/test_commands.py (`turnwise store ...` gets its `--store`), and functions of `Steps` below.
`$AGE` is one between the ages of the old and the new run, and `$NAME` the name of a conversation `c-1`.
"""

import contextlib
import json
from time import time_ns

import pytest
from sqlalchemy import text

from tests.pipeline.store.maintenance import conftest as made
from tests.pipeline.store.maintenance.conftest import APP, DAY, NEW, OLD
from tests.pipeline.test_commands import check_step, write_files
from tests.store_rows import DOCUMENT
from tests.tables import lines_beside
from turnwise.pipeline.store.database import open_store
from turnwise.pipeline.store.runs import Execution
from turnwise.pipeline.store.runs import begin as begin_run

LINES = lines_beside(__file__, "lines/*.jsonl")
TIMES = {"OLD": OLD, "NEW": NEW}


class Steps:
    """What is put into a store, and looked at in it."""

    def __init__(self, url, store):
        self.url, self.store, self.name = url, store, ""

    def fill(self):
        made.fill(self.store)
        names = "SELECT min(name) FROM conversations WHERE conversation_id = 'c-1'"
        self.name = self.sql(names)[0][0]

    def put_run(self, run, time, people=None, app=APP):
        made.put_run(self.store, run, TIMES[time], people or made.PEOPLE, app=app)

    def put_evaluation(self, name, words):
        made.put_evaluation(self.store, name, words)

    def begin(self, run, time, later, days=0):
        """Begins a run of this id again, so many days ago."""
        again = Execution(run, TIMES[time] + later, APP, "2026-11-01")
        self.store.write(lambda c: begin_run(c, again, DOCUMENT, time_ns() - days * DAY))

    def keep(self):
        self.kept = made.rows_of(self.store)

    def same(self, *tables):
        """All rows, or those of these tables, are those that were kept."""
        now = made.rows_of(self.store)
        for table in tables or {**self.kept, **now}:
            assert now.get(table) == self.kept.get(table), table

    def holds(self, *texts):
        """A table or (SQLite) a byte of the files holds each text."""
        assert [words for words in texts if not self.is_there(words)] == []

    def lacks(self, *texts):
        assert [words for words in texts if self.is_there(words)] == []

    def is_there(self, words):
        if words in str(made.rows_of(self.store)):
            return True
        return self.url.startswith("sqlite") and words.encode() in made.file_bytes(self.url)

    def sql(self, statement):
        """Returns the rows of a query, or runs a statement as an administrator of the database does."""
        return self.store.write(
            lambda c: (
                [list(row) for row in found] if (found := c.execute(text(statement))).returns_rows else []
            )
        )

    def removed(self, run):
        query = f"SELECT content FROM evaluation_runs WHERE run_id = '{run}'"
        return json.loads(self.sql(query)[0][0])["removed_rows"]


KINDS = [
    (name, kind)
    for name, line in LINES.items()
    for kind in ("sqlite", "postgres")
    if line.get("only", kind) == kind
]


@pytest.mark.parametrize(("name", "store_url"), KINDS, indirect=["store_url"])
def test_what_a_line_says(name, store_url, with_tables, turnwise, tmp_path):
    line = LINES[name]
    with contextlib.chdir(tmp_path), contextlib.closing(open_store(store_url, create=True)) as store:
        steps = Steps(store_url, store)
        write_files(line.get("files", {}))
        for step in line["steps"]:
            if hasattr(steps, step["do"]) and "raises" in step:
                with pytest.raises(OSError, match=step["raises"]):
                    getattr(steps, step["do"])(*step["with"])
            elif hasattr(steps, step["do"]):
                answer = getattr(steps, step["do"])(*step.get("with", ()))
                assert "answer" not in step or answer == step["answer"], step
            else:
                do = step["do"] + (" --store $STORE" if step["do"].startswith("store ") else "")
                do = do.replace("$STORE", f"'{store_url}'").replace(
                    "$AGE", f"{(time_ns() - OLD) // DAY - 1}d"
                )
                do = do.replace("$NAME", steps.name)
                check_step(turnwise, {**step, "do": do})
