"""Keeps whole conversations, so that they can be scored again."""

import json

import msgspec

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.recording import RecordingRow
from turnwise.schemas.run import RunInfo
from turnwise.transforms.conversion.plain import plain
from turnwise.transforms.matching.sample import Sample


def recording_rows(sample: Sample, run: RunInfo) -> list[RecordingRow]:
    """Returns the row of a conversation, if it is held against a case."""
    case, conversation = sample.eval_case, sample.conversation
    if case is None:
        return []
    return [
        {
            "run_id": run.run_id,
            "conversation_id": conversation.conversation_id,
            "eval_id": case.eval_id,
            "eval_set_id": case.eval_set_id,
            "app_version": conversation.app_version,
            "recording": _text(conversation),
        }
    ]


def _text(conversation: Conversation) -> str:
    """Returns JSON with all that Python reads back: large integers, NaN and lone surrogates too."""
    return json.dumps(plain(conversation), separators=(",", ":"), default=msgspec.to_builtins)


def recorded_conversation(text: str) -> Conversation:
    """Returns the conversation of a recording."""
    return msgspec.convert(json.loads(text), Conversation)
