"""The rows of an export without what was erased."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from sqlalchemy import Table

from turnwise.pipeline.store.maintenance.digests import ConversationKey, ErasedIds, user_key
from turnwise.pipeline.store.maintenance.erasure import HOLDING, emptied, mentions_one, without_entries
from turnwise.pipeline.store.maintenance.export_file import ExportFile
from turnwise.pipeline.store.maintenance.resources import resource_key
from turnwise.pipeline.store.maintenance.returned import ErasedWords
from turnwise.pipeline.store.removed_rows import ExecutionPlace, Removed, counted_columns, with_removed
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    DATASET_MEMBERS,
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    HISTORY,
    TAGS,
)
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

_NAMES = {
    EVALUATIONS: ("name",),
    TAGS: ("evaluation",),
    HISTORY: ("evaluation",),
    DATASET_MEMBERS: ("evaluation", "dataset"),
    EVALUATION_DATASETS: ("name",),
    EVALUATION_EXPECTATIONS: ("name",),
}
"""Table -> its columns with names of evaluations, expectations and datasets."""
_REMEMBERED = 1_000_000


class UnerasedRows:
    """The rows of an export without those of what was erased.

    Attributes:
        left_out: Number of rows that were left out so far.
        emptied: Number of failures that were emptied, and of entries of `to_read` that were removed.
    """

    def __init__(self, file: ExportFile, erased: ErasedIds) -> None:
        self._file, self._erased = file, erased
        self.left_out = self.emptied = 0
        self._is_erased_id = lru_cache(_REMEMBERED)(self._test)
        self._users: dict[ConversationKey, set[str]] = {}
        self._removed: Removed = {}
        apps = {row["app"] for table in (EXECUTIONS, EVALUATIONS) for row in file.rows_of(table)}
        self._mentions = ErasedWords(erased, apps, self._known_ids() if erased else ())

    def _known_ids(self) -> set[str]:
        """Returns the erased ids that the rows which are left out hold, and counts these rows."""
        for row in self._file.rows_of(CONVERSATION_ROWS):
            key = ConversationKey(row["app"], row["conversation_id"])
            self._users.setdefault(key, set()).add(row["user_id"] or "")
        ids = set()
        for table in HOLDING:
            for row in self._file.rows_of(table):
                if self._is_erased_id(row["app"], row["conversation_id"]):
                    ids |= {row["conversation_id"], *self._stated_ids(table, row)}
                    self._count(table, row)
        return ids

    def _count(self, table: Table, row: JsonObject) -> None:
        place = ExecutionPlace(row["evaluation_run"], row["execution"])
        for column in counted_columns(table, row.get("evaluation_status", "")):
            self._removed.setdefault(place, Counter())[column] += 1

    def _stated_ids(self, table: Table, row: JsonObject) -> set[str]:
        """Returns the id of a conversation, and that of a user who was erased, as the log has them."""
        content = (json.loads(row["content"]) or {}) if table is CONVERSATION_ROWS else {}
        conversation, user = content.get("conversation_id"), content.get("user_id")
        users = {user} if user and self._erased.holds(user_key(user)) else set()
        return users | ({conversation} if conversation else set())

    def of(self, table: Table) -> Iterator[JsonObject]:
        """Yields the rows of a table."""
        for row in self._file.rows_of(table):
            if not self._erased:
                yield row
            elif self._is_erased(table, row):
                self.left_out += 1
            else:
                yield self._without_mentions(table, row)

    def _is_erased(self, table: Table, row: JsonObject) -> bool:
        names = [row[column] for column in _NAMES.get(table, ())]
        if any(self._erased.holds(resource_key(name)) for name in names):
            return True
        return table in HOLDING and self._is_erased_id(row["app"], row["conversation_id"])

    def _test(self, app: str, conversation_id: str) -> bool:
        users = self._users.get(ConversationKey(app, conversation_id), {""})
        return any(self._erased.holds_conversation(app, conversation_id, user) for user in users)

    def _without_mentions(self, table: Table, row: JsonObject) -> JsonObject:
        """Returns a row without what mentions an erased id."""
        if table is FAILURE_ROWS:
            return self._emptied(row)
        if table is EVALUATION_DATASETS:
            return self._without_members(row)
        return self._without_entries(row) if table is EXECUTIONS and row["content"] else row

    def _emptied(self, row: JsonObject) -> JsonObject:
        content, own = json.loads(row["content"]), row["conversation_id"]
        is_own = bool(own) and self._is_erased_id(row["app"], own)
        if not is_own and not mentions_one(content, self._mentions):
            return row
        self.emptied += 1
        return {**row, **emptied(content)}

    def _without_members(self, row: JsonObject) -> JsonObject:
        content = json.loads(row["content"])
        names = content.get("evaluations", [])
        kept = [name for name in names if not self._erased.holds(resource_key(name))]
        return (
            row if kept == names else {**row, "content": dump_json({**content, "evaluations": kept}).decode()}
        )

    def _without_entries(self, row: JsonObject) -> JsonObject:
        document, count = without_entries(json.loads(row["content"]), self._mentions)
        removed = self._removed.get(ExecutionPlace(row["name"], row["execution"]))
        if not count and not removed:
            return row
        self.emptied += count
        document = with_removed(document, removed) if removed else document
        return {**row, "content": dump_json(document).decode()}
