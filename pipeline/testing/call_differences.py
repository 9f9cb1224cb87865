"""The calls of a conversation beside the expected ones, for a comparison of lists."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.criteria.trajectory import ToolTrajectory
from turnwise.transforms.matching.sample import Sample

_ORDERED = ("EXACT", "IN_ORDER")


class ShownCall:
    """A call that is shown as `tool(parameter=value)`."""

    def __init__(self, call: ToolCall) -> None:
        arguments = (
            f"{name}={json.dumps(value, ensure_ascii=False, default=repr)}"
            for name, value in (call.args or {}).items()
        )
        self._text = f"{call.name or '?'}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShownCall) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class CallDifference(NamedTuple):
    """The calls that were made and expected somewhere, where they differ.

    An expected call that the criterion takes for met is shown as the call that meets it.

    Attributes:
        turn: 0-based turn; None: the whole conversation.
        made: Calls of the agent in order.
        expected: Expected calls, in order if it counts.
    """

    turn: int | None
    made: list[ShownCall]
    expected: list[ShownCall]


def call_differences(sample: Sample, compare: ToolTrajectory) -> list[CallDifference]:
    """Returns where the calls differ from the expected ones: turns in order, then the whole conversation.

    Args:
        sample: A conversation and its case.
        compare: Says which calls are as good as the expected ones, and whether their order counts.
    """
    found = [
        _difference(
            pair.index,
            pair.expected.tool_calls if pair.expected else [],
            pair.actual.tool_calls if pair.actual else [],
            compare,
        )
        for pair in sample.pairs
        if (pair.expected.tool_calls is not None if pair.expected else pair.label is not None)
    ]
    actions = sample.eval_case.actions if sample.eval_case else None
    if actions is not None:
        made = [call for turn in sample.conversation.turns for call in turn.tool_calls]
        found.append(_difference(None, actions, made, compare))
    return [one for one in found if one.made != one.expected]


def _difference(
    turn: int | None, expected: Sequence[ToolCall] | None, made: Sequence[ToolCall], compare: ToolTrajectory
) -> CallDifference:
    wanted = expected or ()
    partners = compare.partners(wanted, made)
    places = list(range(len(wanted)))
    if compare.match_type not in _ORDERED:
        places.sort(key=lambda i: len(made) if (j := partners[i]) is None else j)
    shown = [ShownCall(call) for call in made]
    met = [ShownCall(wanted[i]) if (j := partners[i]) is None else shown[j] for i in places]
    return CallDifference(turn, shown, met)
