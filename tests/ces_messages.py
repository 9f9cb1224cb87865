"""The classes of protobuf messages by their names, and a strict reading of results."""

import json
from collections.abc import Iterator
from typing import Any

from google.cloud import ces_v1beta, discoveryengine_v1beta
from google.protobuf import json_format

from turnwise.schemas import discovery_engine
from turnwise.schemas.ces import tools
from turnwise.schemas.ces.evaluation import CaseContent, CaseToScore
from turnwise.schemas.ces.tools import PageRequest
from turnwise.schemas.proto.message import Message

CLOUD = {tools.__name__: None, discovery_engine.__name__: discoveryengine_v1beta}
"""Google's package of the messages of a module; those of other modules are CES's."""


PARTS = (CaseContent, CaseToScore, PageRequest)
"""Bases of messages, and what is read of one in place of it."""


def _below(kind: type[Message]) -> Iterator[type[Message]]:
    for message in kind.__subclasses__():
        if message.__module__.startswith("turnwise.") and message not in PARTS:
            yield message
        yield from _below(message)


def cloud(message: type[Message]) -> Any:
    """Returns Google's package that a message is of; None: it is turnwise's."""
    return CLOUD.get(message.__module__, ces_v1beta)


MESSAGE_TYPES = [*_below(Message)]
MESSAGES = {message.PROTO: message for message in MESSAGE_TYPES}


def parsed(result: Any) -> Any:
    """Returns an EvaluationResult that Google's class and ours take strictly, and print as it stands."""
    real = ces_v1beta.EvaluationResult.pb(ces_v1beta.EvaluationResult())
    json_format.Parse(json.dumps(result), real)
    wanted = _without_empty_lists(result)
    assert json.loads(json_format.MessageToJson(real)) == wanted
    assert MESSAGES["EvaluationResult"].from_value(result).to_value() == wanted
    return result


OUR_LISTS = {"expectationOutcome", "toolCallLatencies", "turnReplayResults"}
"""What a result may hold more than its canonical form, where it is empty."""


def _without_empty_lists(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_empty_lists(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key not in OUR_LISTS or item != []}
    return {key: _without_empty_lists(item) for key, item in kept.items()}
