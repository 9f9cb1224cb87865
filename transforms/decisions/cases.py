"""Eval cases made of conversations: candidates of logs or runs, a sample of them, the case of each."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from operator import ge, gt, le, lt
from typing import Any, cast

from msgspec import Struct, field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Ended, ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, shown
from turnwise.schemas.proto.masks import Condition, FieldComparison, FilterError, Junction
from turnwise.schemas.rows import ConversationRow, Transcript, TranscriptTurn
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.formats.messages.messages_base import MISSING_HISTORY
from turnwise.transforms.formats.traces.turns import STRANGER
from turnwise.transforms.matching.sample import (
    MISSING_TURN,
    NO_ANSWER,
    broke_off,
    recorded_case,
    with_due_answers,
)
from turnwise.transforms.text.patterns import glob_matches

_OF_ROWS = (
    *("conversation_id", "eval_id", "eval_set_id", "task", "app_version", "language", "tags", "verdict"),
    *("reason", "ended", "worst_criterion", "why", "severity", "severity_score", "severity_reason"),
    *("problem_type", "turns", "tool_calls", "tool_errors", "destructive_calls", "latency_seconds"),
    *("event_time", "source"),
)
_NAMED = ("conversation_id", "eval_id", "eval_set_id", "app_version", "language")
_OF_LOGS = (*_NAMED, "tags", "ended")


class Candidate(Struct, frozen=True):
    """A conversation of which a case may be made; `failed`: turns whose answers or calls are known as wrong.

    `position` is the 1-based line or index in `source` (0: unknown); of a `cut` one, parts are missing.
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
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def logged_candidate(conversation: Conversation, source: str, position: int) -> Candidate:
    """Returns a conversation of a log; nobody knows whether its answers are right, unless it broke off."""
    facts = {name: getattr(conversation, name) for name in _OF_LOGS}
    facts |= _facts(conversation) | {"source": source}
    last = frozenset({len(conversation.turns) - 1}) if broke_off(conversation) else frozenset[int]()
    return Candidate(conversation, facts, source, position, last)


def row_candidate(row: ConversationRow, failed_turns: frozenset[int]) -> Candidate:
    """Returns a conversation of a run, with the turns of which a score fails.

    Where the conversation failed and no turn did, all turns are taken as failed. Raises ValueError if the run
    kept no transcript.
    """
    if (transcript := row["transcript"]) is None:
        raise ValueError("the run kept no transcript (--no_transcripts); name the logs instead")
    conversation = transcript_conversation(row)
    numbers = (number for number, turn in enumerate(recorded_turns(row)) if turn["index"] in failed_turns)
    failed = frozenset(numbers)
    if row["verdict"] == "FAIL" and not failed:
        failed = frozenset(range(len(conversation.turns)))
    facts = {name: cast(JsonObject, row)[name] for name in _OF_ROWS} | _facts(conversation)
    where = (row["source"] or "", row["position"] or 0)
    return Candidate(conversation, facts, *where, failed, row["verdict"], transcript["cut"])


def _facts(conversation: Conversation) -> JsonObject:
    turns = conversation.turns
    return {
        "turns": len(turns),
        "tool_calls": sum(len(turn.tool_calls) for turn in turns),
        "tool": sorted({call.name for turn in turns for call in turn.tool_calls if call.name}),
        "agent": sorted({name for turn in turns for name in turn.agents}),
        "text": [text for turn in turns for text in (turn.user, turn.agent) if text],
    }


def transcript_conversation(row: ConversationRow) -> Conversation:
    """Returns the conversation that a transcript shows, without the turns that only were expected."""
    turns = []
    for index, turn in enumerate(recorded_turns(row)):
        unknown = "; ".join(turn.get("unknown", ())) or None
        calls, part, expected = turn["tool_calls"], turn["expected"] or {}, None
        answered = (call for call in calls if call["result"] is not None or call["error"])
        wanted = part.get("tool_calls")
        if "response" in part or wanted is not None:  # what a person expected: words, or calls
            stated = None if wanted is None else [ToolCall(call["name"], call["args"]) for call in wanted]
            expected = ExpectedTurn(response=part.get("response"), tool_calls=stated)
        made = Turn(
            turn_index=index,
            user=turn["user"],
            agent=turn["agent"],
            agent_messages=turn.get("messages", []),
            speakers=turn.get("agents", []),
            tool_calls=[ToolCall(call["name"], call["args"], inside=call.get("inside")) for call in calls],
            tool_responses=[ToolResponse(c["name"], None, c["result"], c["error"]) for c in answered],
            user_tool_calls=[
                ToolCall(call["name"], call["args"]) for call in turn.get("user_tool_calls", ())
            ],
            transfers=turn.get("transfers", []),
            expected=expected,
            unknown_calls=unknown,
            unknown_words=unknown,
        )
        turns.append(made)
    named = {name: cast(JsonObject, row)[name] for name in _NAMED}
    return Conversation(**named, tags=list(row["tags"]), turns=turns, ended=cast(Ended | None, row["ended"]))


def recorded_turns(row: ConversationRow) -> list[TranscriptTurn]:
    """Returns the turns that happened, if they were kept; their `index` is the `turn_index` of scores."""
    transcript = cast(Transcript | None, row["transcript"])
    return [turn for turn in transcript["turns"] if turn["label"] != MISSING_TURN] if transcript else []


# Leaves out what was asked and done before, and draws a sample that is the same in every run.


class CandidateSample:
    """Candidates that differ in what was asked and done.

    Of equal ones the one with the lowest conversation id is kept. A sample has those whose content comes
    first by a hash with the seed, so that it depends neither on the order nor on how the files are split.
    `repeated` ones were left out as equal; `left_out` ones are distinct, and not in the sample.
    """

    def __init__(self, number: int | None, seed: int = 0) -> None:
        """Creates an empty one; `number` is its size at most, None: all."""
        self._number, self._seed = number, str(seed).encode()
        self._kept: dict[bytes, Candidate] = {}
        self._seen: set[bytes] = set()
        self.repeated = self.left_out = 0

    def add(self, candidate: Candidate) -> None:
        """Adds a candidate."""
        key = candidate.digest
        if key in self._seen:
            self.repeated += 1
            kept = self._kept.get(key)
            if kept is not None and _name(candidate) < _name(kept):
                self._kept[key] = candidate
            return
        self._seen.add(key)
        self._kept[key] = candidate
        if self._number is not None and len(self._kept) > 2 * self._number + 1000:
            self._shrink(self._number)

    def _shrink(self, number: int) -> None:
        ordered = sorted(self._kept, key=lambda key: blake2b(key, key=self._seed, digest_size=8).digest())
        self.left_out += max(0, len(ordered) - number)
        self._kept = {key: self._kept[key] for key in ordered[:number]}

    def chosen(self) -> list[Candidate]:
        """Returns the candidates, by conversation id."""
        if self._number is not None:
            self._shrink(self._number)
        return sorted(self._kept.values(), key=_name)


def _name(candidate: Candidate) -> tuple[str, str]:
    return candidate.conversation.conversation_id, candidate.conversation.app_version or ""


def distinct_names(candidates: Iterable[Candidate]) -> list[tuple[str, Candidate]]:
    """Returns candidates with names that differ: the last segment of the id, with a number if it is taken."""
    taken: set[str] = set()
    named = []
    for candidate in candidates:
        stem = candidate.conversation.conversation_id.rsplit("/", 1)[-1]
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name)
        named.append((name, candidate))
    return named


# Makes an eval case of a conversation, and notes what a person has to decide.

TO_APPROVE, FROM_FAILED = "to_approve", "from_failed"
"""Tags: nobody has looked at the case; its conversation failed."""
TO_WRITE = "[to be written: the recorded answer failed]"
"""Stands in place of an answer that failed, so that the case cannot pass before a person wrote it."""

_OF_USERS = (STRANGER, MISSING_HISTORY)


def made_case(candidate: Candidate, eval_id: str, eval_set_id: str) -> tuple[EvalCase, Counter[str]]:
    """Returns the case that expects what a conversation holds, and what is to be decided -> number of turns.

    A turn for which a person stated expectations keeps those. An answer that failed is not expected: a text
    stands in its place that no agent says, and its calls are not stated. Nor is an answer that is due and not
    in the log, unless the conversation passed. Raises ValueError if the log holds neither answers nor calls
    that are certain.
    """
    conversation, notes = candidate.conversation, Counter[str]()
    case = recorded_case(conversation if candidate.verdict == "PASS" else with_due_answers(conversation))
    case.eval_id, case.eval_set_id = eval_id, eval_set_id
    for index, turn in enumerate(conversation.turns):
        expected, recorded = turn.expected, case.turns[index]
        if not (turn.user or "").strip() and not turn.user_tool_calls:
            notes["turns without a message of the user, to be looked at"] += 1
        elif any(finding.kind in _OF_USERS for finding in turn.findings):
            notes["turns of which the log may miss what the user said, to be looked at"] += 1
        if expected is not None and (expected.response is not None or expected.tool_calls is not None):
            notes["turns with the expectations that they were held against"] += 1
            stated = ExpectedTurn(response=expected.response, tool_calls=expected.tool_calls)
        elif turn.turn_index in candidate.failed:
            notes["turns whose answer failed, to be written"] += 1
            stated = ExpectedTurn(response=TO_WRITE)
        elif recorded.response == NO_ANSWER:
            notes["turns whose answer is not in the log, to be written"] += 1
            continue
        else:
            if any(has_failed(response, response.name or "") for response in turn.tool_responses):
                notes["turns with a call that failed, to be looked at"] += 1
            if recorded.tool_calls is None or (recorded.response is None and turn.unknown_words):
                notes["turns of which the log may miss something, not stated"] += 1
            notes["turns that expect the recorded answer and calls"] += 1
            continue
        stated.user = turn.user
        case.turns[index] = stated
    if not any(turn.response or turn.tool_calls is not None for turn in case.turns):
        raise ValueError("no turn of the log holds an answer or calls that are certain: nothing to expect")
    marks = [TO_APPROVE, *([FROM_FAILED] if candidate.failed else [])]
    marks.append(f"conversation:{conversation.conversation_id}")
    case.tags = [*case.tags, *(mark for mark in marks if mark not in case.tags)]
    return case, notes


# Filters (https://google.aip.dev/160) over the facts of one conversation.

Facts = Mapping[str, JsonValue]
_ORDERED: dict[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def meets(condition: Condition, facts: Facts) -> bool:
    """Returns whether the facts of a conversation meet a condition.

    `=` compares a text, in which `*` stands for any characters, or a number; of a list, one entry. `:` looks
    for a part of a text in any case. What is not stated (null) meets only `!=`. Raises FilterError if a field
    is unknown, or is no number where an order is asked for.
    """
    if isinstance(condition, Junction):
        are_met = (meets(part, facts) for part in condition.parts)
        return all(are_met) if condition.kind == "AND" else any(are_met)
    if isinstance(condition, FieldComparison):
        check_fields(condition, facts)
        value = facts[condition.field]
        values = [item for item in (value if isinstance(value, list) else [value]) if item is not None]
        if condition.operator in _ORDERED:
            return any(_ordered(condition, item) for item in values)
        if condition.operator == ":":
            return any(condition.value.casefold() in str(item).casefold() for item in values)
        texts = (f"{item:g}" if isinstance(item, float) else str(item) for item in values)
        try:
            is_equal = any(glob_matches(condition.value, text) for text in texts)
        except ValueError as error:
            raise FilterError(f"{condition.field} {condition.operator}: {error}") from None
        return is_equal == (condition.operator == "=")
    return not meets(condition.part, facts)


def check_fields(condition: Condition, known: Facts) -> None:
    """Raises FilterError if a condition names a field that there is not."""
    if isinstance(condition, FieldComparison):
        if condition.field not in known:
            raise FilterError(f"no field {shown(condition.field)}; fields are {', '.join(known)}")
    else:
        parts = condition.parts if isinstance(condition, Junction) else (condition.part,)
        for part in parts:
            check_fields(part, known)


def _ordered(wanted: FieldComparison, value: JsonValue) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FilterError(f"{wanted.field} {wanted.operator}: it is no number")
    try:
        return _ORDERED[wanted.operator](value, float(wanted.value))
    except ValueError:
        raise FilterError(f"{wanted.field} {wanted.operator}: {shown(wanted.value)} is no number") from None
