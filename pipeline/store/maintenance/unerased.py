"""The rows of an export that a store has not erased."""

import json
from collections.abc import Iterator

from sqlalchemy import Table

from turnwise.pipeline.store.maintenance.digests import CONVERSATION, EVALUATION, USER, ErasedIds
from turnwise.pipeline.store.maintenance.export_file import ExportFile
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    DATASET_MEMBERS,
    EVALUATIONS,
    EXECUTIONS,
    HISTORY,
    TAGS,
    key_text,
)
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject


class UnerasedRows:
    """The rows of an export without those of what was erased.

    Attributes:
        left_out: Number of rows that were left out so far.
    """

    def __init__(self, file: ExportFile, erased: ErasedIds) -> None:
        self._file, self._erased = file, erased
        self.left_out = 0
        rows = file.rows_of(CONVERSATION_ROWS) if erased else iter(())
        self._users = {(row["app"], row["conversation_id"]): row["user_id"] for row in rows}

    def of(self, table: Table) -> Iterator[JsonObject]:
        """Yields the rows of a table."""
        for row in self._file.rows_of(table):
            if not self._erased:
                yield row
            elif self._is_erased(table, row):
                self.left_out += 1
            else:
                yield self._without_quotes(row) if table is EXECUTIONS else row

    def _is_erased(self, table: Table, row: JsonObject) -> bool:
        if table in (EVALUATIONS, TAGS, HISTORY, DATASET_MEMBERS):
            return self._erased.holds(EVALUATION, row["name" if table is EVALUATIONS else "evaluation"])
        return self._is_erased_id(row["app"], row["conversation_id"]) if "conversation_id" in row else False

    def _is_erased_id(self, app: str, conversation_id: str) -> bool:
        user = self._users.get((app, conversation_id))
        return self._erased.holds(CONVERSATION, app, conversation_id) or bool(
            user and self._erased.holds(USER, user)
        )

    def _without_quotes(self, row: JsonObject) -> JsonObject:
        """Returns an execution whose document names no erased conversation to read."""
        document = json.loads(row["content"] or "null")
        if not document or "to_read" not in document:
            return row
        entries = document["to_read"]
        kept = [
            each for each in entries if not self._is_erased_id(row["app"], key_text(each["conversation_id"]))
        ]
        return (
            row if kept == entries else {**row, "content": dump_json({**document, "to_read": kept}).decode()}
        )
