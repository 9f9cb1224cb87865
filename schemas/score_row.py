"""Score rows as a run makes them; they are read as `turnwise.schemas.rows.ScoreRow`."""

from collections.abc import Sequence
from typing import Any

import msgspec

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject


class MadeScoreRow(msgspec.Struct, gc=False):
    """A score row with the columns of `ScoreRow`, made and encoded in less time than a dictionary."""

    run_id: str
    conversation_id: str
    eval_id: str | None
    app_version: str | None
    turn_index: int | None
    criterion: str
    value: float | None
    outcome: str | None
    threshold: float | None
    label: str | None
    reason: str | None
    explanation: str | None
    details: JsonObject | None
    judge: JsonObject | None
    event_time: str | None
    language: str | None
    tags: list[str]
    revision: int
    score_id: str


def plain_rows(rows: Sequence[Any]) -> list[JsonObject]:
    """Returns rows of any table as objects."""
    return [msgspec.structs.asdict(row) if isinstance(row, MadeScoreRow) else row for row in rows]


def _other(value: object) -> msgspec.Raw:
    """Returns the JSON of what only the general encoder can write, such as a subclass of str."""
    return msgspec.Raw(dump_json(value))


_ENCODER = msgspec.json.Encoder(enc_hook=_other)


def score_lines(rows: Sequence[MadeScoreRow | JsonObject]) -> bytes:
    """Returns score rows as JSON Lines."""
    return _ENCODER.encode_lines(rows)
