"""The formats of Customer Engagement Suite (CES), as objects."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.ces import log
from turnwise.transforms.formats.ces.exports import wire_evaluation, without_underscores
from turnwise.transforms.formats.ces_cases import eval_case
from turnwise.transforms.formats.ces_conversations import conversation
from turnwise.transforms.formats.registry import EventReader, Format, register_format
from turnwise.transforms.formats.spellings import name_of, spelt

_OF_RESULTS = spelt("golden_result", "scenario_result", "execution_state")
_SCRIPTS = frozenset(("golden", "scenario"))
_TURN, _DIAGNOSIS = spelt("turn_index"), spelt("diagnostic_info")


def _is_session_output(record: JsonObject) -> bool:
    labels = record.get("labels")
    logged = "jsonPayload" in record and isinstance(labels, dict) and "session_id" in labels
    return logged or bool(record.keys() & _TURN and record.keys() & _DIAGNOSIS)


def _is_conversation(record: JsonObject) -> bool:
    turns = record.get("turns")
    holders = [record, *turns] if isinstance(turns, list) else [record]
    return "/conversations/" in name_of(record) or any(map(_holds_chunks, holders))


def _holds_chunks(holder: JsonValue) -> bool:
    messages = holder.get("messages") if isinstance(holder, dict) else None
    return isinstance(messages, list) and any(isinstance(m, dict) and "chunks" in m for m in messages)


def _place(value: JsonObject) -> tuple[str, int]:
    session_id, one_based = log.entry_session(value)
    return session_id, one_based - 1


register_format(
    Format(
        name="ces_evaluation_result",
        keys=("goldenResult", "evaluationStatus", "evaluationRun"),
        other_keys=(("scenarioResult", "evaluationStatus", "evaluationRun"),),
        help="CES EvaluationResult; not read",
        rank=100,
        recognises=lambda record: bool(record.keys() & _OF_RESULTS) or "/results/" in name_of(record),
    )
)
register_format(
    Format(
        name="ces_evaluation",
        help="CES Evaluation (proto3 JSON)",
        keys=("displayName", "golden"),
        other_keys=(("displayName", "scenario"),),
        rank=110,
        recognises=lambda record: bool(record.keys() & _SCRIPTS) or "/evaluations/" in name_of(record),
        read_cases=lambda value, record, settings: [eval_case(wire_evaluation(value), settings.ces)],
    )
)
register_format(
    Format(
        name="ces_session_output",
        help="CES session log entries, as Cloud Logging stores them",
        keys=("jsonPayload", "labels"),
        other_keys=(("turnIndex", "diagnosticInfo"),),
        rank=120,
        recognises=_is_session_output,
        events=EventReader(
            place=_place,
            is_end=log.ends_session,
            own_id=lambda value: value.get("insertId"),
            join=log.joined_conversation,
        ),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="ces_conversation",
        help="CES Conversation (proto3 JSON)",
        keys=("name", "startTime", "turns"),
        rank=130,
        recognises=_is_conversation,
        read_log=lambda value, record, settings: [conversation(without_underscores(value))],
        has_rubrics=False,
    )
)
