"""The CombineFn of the conversations to read first."""

from collections.abc import Iterable

import apache_beam as beam

from turnwise.schemas.conversation_row import ConversationRow
from turnwise.transforms.review.choice import MOST_OF_A_CLUSTER, MOST_READ, to_read


class ToReadFn(beam.CombineFn):
    """Chooses the ten conversations to read first, in a bounded accumulator."""

    def create_accumulator(self) -> list[ConversationRow]:
        """Returns no row."""
        return []

    def add_input(self, rows: list[ConversationRow], row: ConversationRow) -> list[ConversationRow]:
        """Adds a row."""
        rows.append(row)
        return rows if len(rows) < _MOST_KEPT else to_read(rows)

    def merge_accumulators(self, parts: Iterable[list[ConversationRow]]) -> list[ConversationRow]:
        """Joins the rows of several parts."""
        return to_read([row for rows in parts for row in rows])

    def extract_output(self, rows: list[ConversationRow]) -> list[ConversationRow]:
        """Returns the chosen rows, in the order of reading."""
        return to_read(rows)


_MOST_KEPT = 8 * MOST_READ * MOST_OF_A_CLUSTER
