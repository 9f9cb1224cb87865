"""Interaction logs of Dialogflow CX: one row a turn, by the documented columns."""

from collections.abc import Sequence

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.endings import End
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.platforms.dialogflow_row import add_row
from turnwise.transforms.formats.registry import EventReader, Format, register_format
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.unread import add_leap


def _place(value: JsonObject) -> tuple[str, int]:
    name, position = as_text(value.get("conversation_name")), value.get("turn_position")
    try:
        index = int(position) if isinstance(position, int | str) else -1
    except ValueError:
        index = -1
    if not name or index < 0:
        raise ValueError("a row of Dialogflow CX needs conversation_name and turn_position")
    return name, index


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    log, end = Dialogue(), End()
    leaps: list[tuple[int, int, int]] = []
    last: int | None = None
    for row in values:
        position = _place(row)[1]
        before = last or 0
        if position > before + 1 or position == last:
            leaps.append((len(log.turns), before, position))
        last = position
        end = add_row(row, log) or end
    first = values[0]
    turns = log.close(end)
    for place, before, position in leaps:
        add_leap(turns[min(place, len(turns) - 1)], before, position, first=1)
    return Conversation(
        conversation_id=session_id,
        source="dialogflow_cx",
        language=as_text(first.get("language_code")),
        start_time=as_text(first.get("request_time")),
        turns=turns,
        ended=end.ended,
        ended_detail=end.detail,
        meta={key: first[key] for key in ("project_id", "agent_id") if key in first},
    )


register_format(
    Format(
        name="dialogflow_cx",
        help="interaction logs of Dialogflow CX (BigQuery rows)",
        keys=("conversation_name", "turn_position", "request", "response"),
        rank=86,
        recognises=lambda record: record.keys() >= {"conversation_name", "turn_position"},
        events=EventReader(place=_place, join=_join),
        time_keys=("request_time",),
        has_rubrics=False,
    )
)
