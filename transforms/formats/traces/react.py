"""ReAct agents, which tell their models the results of tools in messages of a user."""

import re
from collections.abc import Iterator

from turnwise.transforms.formats.traces.message import SYSTEM
from turnwise.transforms.formats.traces.tree import SpanNode
from turnwise.transforms.formats.traces.units import WorkUnit

_OBSERVATION = re.compile(r"\s*Observation:")
_ACTION = re.compile(r"^\s*\**Action\b", re.MULTILINE)
"""How such an agent begins the message, and the line of the reply before it."""


def tells_result(unit: WorkUnit, node: SpanNode, before: SpanNode) -> bool:
    """Returns whether a message of a user is `Observation: RESULT`, as ReAct agents tell their models."""
    messages = [each for each in node.step.input or () if each.role != SYSTEM]
    told = messages[-1].text if messages else ""
    if not _OBSERVATION.match(told):
        return False
    is_react = any(_ACTION.search(each.text) for each in before.step.output or ())
    return is_react or any(map(told.endswith, _results(unit, node)))


def _results(unit: WorkUnit, node: SpanNode) -> Iterator[str]:
    """Yields the results of the tools that ran before a model call, as far as they are texts."""
    for tool in unit.tools:
        if tool.span.end <= node.span.start and isinstance(tool.step.result, str) and tool.step.result:
            yield tool.step.result
