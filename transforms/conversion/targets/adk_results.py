"""google-adk's eval results as a target, which `adk web` shows."""

import json
from collections.abc import Iterator

from turnwise.schemas.conversation import APP_DETAILS, Conversation, ExpectedTurn, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.conversion.plain import earlier_texts, with_texts
from turnwise.transforms.conversion.targets.adk_parts import (
    content,
    expected_invocation,
    recorded_invocation,
    step_contents,
)
from turnwise.transforms.formats.adk_formats import eval_result_conversations
from turnwise.transforms.text.dates import time_seconds
from turnwise.transforms.tools.conversion import Codec, RunOfConversation, Target, register_target

_SUFFIX = ".evalset_result.json"
_USER = "user"
_STATUS = {"PASS": 1, "FAIL": 2}
_NOT_EVALUATED, _INFORMATIONAL = 3, 4
_MADE = frozenset(
    ("turns.inference_calls", "turns.agent_messages", "ended", "labels", "meta", "eval_id", "source", "state")
)


def _write(conversation: Conversation) -> JsonObject:
    """Returns a conversation that was not scored as an EvalCaseResult."""
    return _case_result(RunOfConversation(conversation, None, (), "turnwise"))


def _case_result(run: RunOfConversation) -> JsonObject:
    """Returns a scored conversation as an EvalCaseResult."""
    conversation = run.conversation
    overall = [row for row in run.scores if row["turn_index"] is None]
    details = conversation.meta.get(APP_DETAILS)
    agents = [*(details if isinstance(details, list) else []), *([None] * len(conversation.turns))]
    pairs = [
        {
            "actual_invocation": {
                **recorded_invocation(turn, agent),
                "invocation_id": _invocation_id(turn),
            },
            "expected_invocation": _expected(turn),
            "eval_metric_results": [
                _metric(row) for row in run.scores if row["turn_index"] == turn.turn_index
            ],
        }
        for turn, agent in zip(conversation.turns, agents, strict=False)
    ]
    return {
        "eval_set_id": conversation.eval_set_id or "",
        "eval_id": conversation.eval_id or conversation.conversation_id,
        "final_eval_status": _STATUS.get(run.verdict or "", _NOT_EVALUATED),
        "overall_eval_metric_results": [_metric(row) for row in overall],
        "eval_metric_result_per_invocation": pairs,
        "session_id": conversation.conversation_id,
        "session_details": _session(conversation, run.app_name),
        "user_id": _USER,
    }


def _invocation_id(turn: Turn) -> str:
    return f"turn-{turn.turn_index}"


def _expected(turn: Turn) -> JsonObject | None:
    expected = turn.expected
    if expected is None:
        return None
    user = turn.user if expected.user is None else expected.user
    stated = ExpectedTurn(**{name: getattr(expected, name) for name in ExpectedTurn.__struct_fields__})
    stated.user = user
    return expected_invocation(stated)


def _metric(row: ScoreRow) -> JsonObject:
    """Returns a score as an EvalMetricResult; why it fails or is missing is the rationale of a rubric."""
    name = f"{row['criterion']} ({row['label']})" if row["label"] else row["criterion"]
    status = _STATUS.get(row["outcome"] or "")
    if status is None:
        informs = row["value"] is not None and row["threshold"] is None
        status = _INFORMATIONAL if informs else _NOT_EVALUATED
    metric: JsonObject = {"metric_name": name, "score": row["value"], "eval_status": status}
    if row["threshold"] is not None:
        metric |= {"threshold": row["threshold"], "criterion": {"threshold": row["threshold"]}}
    why = row["explanation"] or row["reason"]
    rubrics = [{"rubric_id": row["criterion"], "rationale": why, "score": row["value"]}] if why else None
    return {**metric, "details": {"rubric_scores": rubrics}}


def _session(conversation: Conversation, app_name: str) -> JsonObject:
    """Returns the session that `adk web` shows."""
    events = [event for turn in conversation.turns for event in _events(turn)]
    state = dict(conversation.state)
    if conversation.app_version is not None:
        state.setdefault("app_version", conversation.app_version)
    session = {"id": conversation.conversation_id, "app_name": app_name, "user_id": _USER}
    ended = max((event["timestamp"] for event in events), default=0.0)
    return {**session, "state": state, "events": events, "last_update_time": ended}


def _events(turn: Turn) -> Iterator[JsonObject]:
    said: list[tuple[str, JsonObject]] = []
    if turn.user:
        said.append((_USER, content("user", {"text": turn.user})))
    said += [("agent", each) for each in step_contents(turn)]
    said += [("agent", content("model", {"text": text})) for text in earlier_texts(turn)]
    if turn.agent:
        said.append(("agent", content("model", {"text": turn.agent})))
    stamp = time_seconds(turn.timestamp) or 0.0
    for place, (author, message) in enumerate(said):
        name = f"{_invocation_id(turn)}-{place}"
        event = {"id": name, "invocation_id": _invocation_id(turn), "author": author, "timestamp": stamp}
        yield {**event, "content": message}


def _read(record: JsonObject) -> Conversation:
    (conversation,) = eval_result_conversations(record)
    conversation.turns = with_texts(conversation.turns)
    return conversation


def _document(name: str, first: JsonObject) -> tuple[str, str]:
    if not name.endswith(_SUFFIX):
        raise ValueError(f"adk web lists files whose names end in {_SUFFIX}")
    stem = name.removesuffix(_SUFFIX)
    about = {
        "eval_set_result_id": stem,
        "eval_set_result_name": stem,
        "eval_set_id": first.get("eval_set_id", ""),
        "creation_timestamp": first.get("session_details", {}).get("last_update_time", 0.0),
    }
    return f'{json.dumps(about)[:-1]}, "eval_case_results": [\n', "\n]}\n"


register_target(
    Target(
        name="adk_eval_result",
        help="ADK eval result (.evalset_result.json), of logs or of the output directory of a run",
        conversation=Codec(write=_write, read=_read, made=_MADE),
        scored=_case_result,
        document=_document,
    )
)
