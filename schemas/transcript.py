"""The transcript of a conversation: what was said and called, and what was expected, bounded in size."""

from typing import TypedDict

from turnwise.schemas.values import JsonObject, JsonValue

MOST_BYTES = 64 * 1024
"""Size of the compact JSON of a transcript at most."""


class TranscriptCall(TypedDict):
    """A call of a tool.

    Attributes:
        name: Name of the tool; null: the log states none.
        args: Arguments; null: the log states none, or there are none.
        result: Response of the tool; null: not logged.
        error: Error message, or true; null: the call did not fail.
        effect: `read`, `write`, `handoff`, `destructive` (a write that cannot be undone) or `unknown`.
        seconds: Duration; null: not logged.
    """

    name: str | None
    args: JsonValue
    result: JsonValue
    error: bool | str | None
    effect: str
    seconds: float | None


class ExpectedCall(TypedDict):
    """A call that is expected, with its arguments (null: any)."""

    name: str | None
    args: JsonValue
    effect: str


class ExpectedPart(TypedDict, total=False):
    """What is expected of a turn or of the whole conversation; a key without content is left out.

    Attributes:
        user: Scripted message of the user.
        response: Expected final response.
        tool_calls: Expected calls; empty: no call may happen. Without the key, nothing is stated of calls.
        user_tool_calls: Calls that the user must make with their own tools.
        texts: Texts that must be said.
        transfers: Agents that must take over.
        variables: Expected session variables.
        rubrics: Statements for a judge.
        other: Other expectations, one line each.
        task: Task of the user.
    """

    user: str
    response: str
    tool_calls: list[ExpectedCall]
    user_tool_calls: list[ExpectedCall]
    texts: list[str]
    transfers: list[str]
    variables: JsonObject
    rubrics: list[str]
    other: list[str]
    task: str


class _MoreOfTurn(TypedDict, total=False):
    """Keys that a turn has only where there is something to say."""

    messages: list[str]
    user_tool_calls: list[TranscriptCall]
    transfers: list[str]
    unknown: list[str]


class TranscriptTurn(_MoreOfTurn):
    """A turn; its index is the `turn_index` of scores.

    Attributes:
        index: 0-based.
        label: `MISSING_TURN`, `EXTRA_TURN`, or null.
        user: Message of the user; null: none.
        agent: Final response of the agent; null: none.
        messages: All texts of the agent in order, where there are others beside the final response.
        tool_calls: Calls of the agent in order.
        user_tool_calls: Calls that the user made with their own tools.
        transfers: Agents that took over.
        unknown: What the log may miss of this turn, one line each.
        seconds: Duration of the turn; null: not logged.
        expected: What was expected; null: nothing.
    """

    index: int
    label: str | None
    user: str | None
    agent: str | None
    tool_calls: list[TranscriptCall]
    seconds: float | None
    expected: ExpectedPart | None


class LeftOut(TypedDict):
    """How much was left out of a transcript.

    Attributes:
        turns: Whole turns; their indices are missing in `turns`.
        entries: Calls, messages and other entries of lists.
        characters: Characters of texts and values; each cut text ends with a mark.
    """

    turns: int
    entries: int
    characters: int


class Transcript(TypedDict):
    """What was said and called in a conversation, and what was expected beside it.

    Attributes:
        turns: The turns in order.
        expected: What is expected of the conversation as a whole; null: nothing.
        cut: Whether anything was left out.
        left_out: How much; null: nothing.
    """

    turns: list[TranscriptTurn]
    expected: ExpectedPart | None
    cut: bool
    left_out: LeftOut | None
