"""turnwise's own formats, as objects."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.canonical import looks_canonical, read_case, read_recording, turn_event
from turnwise.transforms.formats.chat.format import is_chat
from turnwise.transforms.formats.registry import EventReader, Format, register_format

_OF_CASES = frozenset({"kind", "dialect", "turns", "task", "actions", "rubrics"})
_OF_TURN_EVENTS = frozenset({"turn", "turn_index", "event_id", "event_time", "end", "ended"})


def _is_turn_event(record: JsonObject) -> bool:
    return "conversation_id" in record and bool(record.keys() & _OF_TURN_EVENTS) and not is_chat(record)


register_format(
    Format(
        name="turnwise",
        help="turnwise's own canonical JSON",
        keys=("conversation_id", "turns"),
        rank=10,
        recognises=lambda record: "conversation_id" in record and "turns" in record,
        recognises_last=lambda record: "eval_id" in record and bool(record.keys() & _OF_CASES),
        looks_right=looks_canonical,
        read_text=read_recording,
        read_cases=lambda value, record, settings: [read_case(record.data)],
    )
)
register_format(
    Format(
        name="turn_event",
        help="turnwise's own events, one turn a record",
        keys=("conversation_id", "turn_index", "turn"),
        rank=20,
        recognises=_is_turn_event,
        events=EventReader(
            place=turn_event.place,
            is_end=turn_event.is_end,
            join=turn_event.joined_conversation,
            is_checked=True,
        ),
    )
)
