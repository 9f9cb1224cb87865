"""Conversations of which eval cases may be made: of logs, or of the rows of a run."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, cast

from msgspec import Struct, field

from turnwise.schemas.conversation import Conversation, ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.rows import ConversationRow, ExpectedPart, Transcript, TranscriptCall, TranscriptTurn
from turnwise.transforms.matching.sample import MISSING_TURN, broke_off

_OF_ROWS = (
    *("conversation_id", "eval_id", "eval_set_id", "task", "app_version", "language", "tags", "verdict"),
    *("reason", "ended", "worst_criterion", "why", "harm", "harm_term", "cluster", "turns", "tool_calls"),
    *("tool_errors", "destructive_calls", "latency_seconds", "event_time", "source"),
)
_OF_LOGS = ("conversation_id", "eval_id", "eval_set_id", "app_version", "language", "tags", "ended")


class Candidate(Struct, frozen=True):
    """A conversation of which a case may be made.

    Attributes:
        conversation: What was said and called.
        facts: What a query can ask for.
        source: File of its record.
        position: 1-based line or index in that file; 0: unknown.
        failed: Indices of the turns whose answers or calls are known to be wrong.
        verdict: PASS or FAIL; None: not decided, or it was not scored.
        cut: Whether parts of it are missing.
    """

    conversation: Conversation
    facts: JsonObject
    source: str
    position: int
    failed: frozenset[int] = field(default_factory=frozenset)
    verdict: str | None = None
    cut: bool = False

    @property
    def digest(self) -> bytes:
        """Digest of what was asked and done: the user's words, but for case and spaces, and the calls."""
        turns = self.conversation.turns
        asked = [" ".join((turn.user or "").casefold().split()) for turn in turns]
        done = [[[call.name, call.args or {}] for call in turn.tool_calls] for turn in turns]
        return blake2b(dump_json([asked, _sorted(done)]), digest_size=12).digest()


def _sorted(value: Any) -> Any:
    """Returns a value whose objects have their keys in order."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def logged_candidate(conversation: Conversation, source: str, position: int) -> Candidate:
    """Returns a conversation of a log; nobody knows whether its answers are right, unless it broke off."""
    facts = {name: getattr(conversation, name) for name in _OF_LOGS}
    facts |= _facts(conversation) | {"source": source}
    last = frozenset({len(conversation.turns) - 1}) if broke_off(conversation) else frozenset[int]()
    return Candidate(conversation, facts, source, position, last)


def row_candidate(row: ConversationRow, failed_turns: frozenset[int]) -> Candidate:
    """Returns a conversation of a run.

    Args:
        row: Its row, with a transcript.
        failed_turns: Turns of which a score fails. Where the conversation failed and none did, all turns are
            taken as failed.

    Raises:
        ValueError: The run kept no transcript.
    """
    if row["transcript"] is None:
        raise ValueError("the run kept no transcript (--no_transcripts); name the logs instead")
    transcript = cast(Transcript, row["transcript"])
    conversation = transcript_conversation(row, transcript)
    places = {turn["index"]: place for place, turn in enumerate(recorded_turns(transcript))}
    failed = frozenset(places[index] for index in failed_turns if index in places)
    if row["verdict"] == "FAIL" and not failed:
        failed = frozenset(range(len(conversation.turns)))
    facts = {name: cast(JsonObject, row)[name] for name in _OF_ROWS} | _facts(conversation)
    place = (row["source"] or "", row["position"] or 0)
    return Candidate(conversation, facts, *place, failed, row["verdict"], transcript["cut"])


def _facts(conversation: Conversation) -> JsonObject:
    turns = conversation.turns
    return {
        "turns": len(turns),
        "tool_calls": sum(len(turn.tool_calls) for turn in turns),
        "tool": sorted({call.name for turn in turns for call in turn.tool_calls if call.name}),
        "text": [text for turn in turns for text in (turn.user, turn.agent) if text],
    }


def transcript_conversation(row: ConversationRow, transcript: Transcript) -> Conversation:
    """Returns the conversation that a transcript shows, without the turns that only were expected."""
    return Conversation(
        conversation_id=row["conversation_id"],
        app_version=row["app_version"],
        language=row["language"],
        eval_id=row["eval_id"],
        eval_set_id=row["eval_set_id"],
        tags=list(row["tags"]),
        turns=[_turn(turn, place) for place, turn in enumerate(recorded_turns(transcript))],
    )


def recorded_turns(transcript: Transcript) -> list[TranscriptTurn]:
    """Returns the turns that happened; their `index` is the `turn_index` of scores."""
    return [turn for turn in transcript["turns"] if turn["label"] != MISSING_TURN]


def _turn(turn: TranscriptTurn, index: int) -> Turn:
    unknown = "; ".join(turn.get("unknown", ())) or None
    calls = turn["tool_calls"]
    return Turn(
        turn_index=index,
        user=turn["user"],
        agent=turn["agent"],
        agent_messages=turn.get("messages", []),
        tool_calls=[ToolCall(call["name"], call["args"]) for call in calls],
        tool_responses=_responses(calls),
        user_tool_calls=[ToolCall(call["name"], call["args"]) for call in turn.get("user_tool_calls", ())],
        transfers=turn.get("transfers", []),
        expected=_expected(turn["expected"]) if turn["expected"] else None,
        unknown_calls=unknown,
        unknown_words=unknown,
    )


def _responses(calls: Sequence[TranscriptCall]) -> list[ToolResponse]:
    answered = (call for call in calls if call["result"] is not None or call["error"])
    return [ToolResponse(call["name"], None, call["result"], call["error"]) for call in answered]


def _expected(part: ExpectedPart) -> ExpectedTurn | None:
    """Returns what a person expected of a turn: words and calls; None: neither."""
    calls = part.get("tool_calls")
    if "response" not in part and calls is None:
        return None
    stated = None if calls is None else [ToolCall(call["name"], call["args"]) for call in calls]
    return ExpectedTurn(response=part.get("response"), tool_calls=stated)
