"""Decides a scored conversation, and makes its rows and its transcript, without Beam."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple, cast

import msgspec
from msgspec.structs import asdict

from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import RedactConfig
from turnwise.schemas.conversation import Conversation, Expectation, ExpectedTurn, ToolCall, Turn, turn_name
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.schemas.rows import (
    MOST_BYTES,
    ConversationRow,
    ExpectedCall,
    ExpectedPart,
    LeftOut,
    MadeScoreRow,
    ResultRow,
    ScoreRow,
    Transcript,
    TranscriptCall,
    TranscriptTurn,
)
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import SEVERITIES, Score
from turnwise.transforms.ces.judgements import ces_verdict
from turnwise.transforms.ces.result import evaluation_result, result_parts
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.criteria.tool_effects import ToolEffects
from turnwise.transforms.effects.call_effects import DESTRUCTIVE, MadeCalls, ToolCatalog, agent_calls
from turnwise.transforms.effects.changes import call_text, value_text
from turnwise.transforms.judging.ask import known_sum
from turnwise.transforms.matching.sample import Sample, TurnPair, stated_task
from turnwise.transforms.metrics.state import AGENT, SumPart, slices_of
from turnwise.transforms.review.problems import (
    ReviewProblem,
    one_line,
    problems_of,
    severity_of,
    unclear_tools,
    why_of,
)
from turnwise.transforms.scoring.evaluate import Rules, ScoredConversation, Verdict, conversation_verdict
from turnwise.transforms.scoring.redaction import redact_failure, redact_rows, redactor_of
from turnwise.transforms.text.dates import rfc3339

RULES: Rules = {"ces": ces_verdict}
"""The dialects of eval cases that have a verdict of their own."""


class EvaluatedConversation(NamedTuple):
    """What a conversation gives to sinks and metrics: rows, of results and conversations one in a list each.

    `parts` are what it adds to the sums of its dialect.
    """

    scored: ScoredConversation
    verdict: Verdict
    scores: list[ScoreRow]
    results: list[ResultRow]
    conversations: list[ConversationRow]
    parts: list[SumPart]


def decide(scored: ScoredConversation, run: RunInfo) -> EvaluatedConversation:
    """Decides a scored conversation, and determines its slices."""
    sample = scored.sample
    if AGENT in run.slices or sample.tags or sample.has_answers or sample.conversation.language:
        scored.slices = slices_of(sample, run.slices)
    verdict = conversation_verdict(scored, RULES)
    message = evaluation_result(scored, verdict, run)
    parts = result_parts(message)
    conversation = conversation_row(run, scored, verdict)
    result: ResultRow = {
        "name": message["name"],
        "conversation_id": conversation["conversation_id"],
        "eval_id": conversation["eval_id"],
        "eval_set_id": conversation["eval_set_id"],
        "case_etag": sample.eval_case.etag if sample.eval_case else None,
        "case_digest": conversation["case_digest"],
        "app_version": conversation["app_version"],
        "verdict": verdict.status,
        "result": message,
    }
    evaluated = EvaluatedConversation(
        scored, verdict, score_rows(scored, run), [result], [conversation], parts
    )
    return evaluated if run.redact is None else _redacted(evaluated, run.redact)


def _redacted(evaluated: EvaluatedConversation, config: RedactConfig) -> EvaluatedConversation:
    """Returns what leaves the process: rows, failures and names of slices with markers."""
    scored = evaluated.scored
    redactor = scored.redactor
    if redactor is None:
        # What criteria of plugins say; those of turnwise have their words from the conversation.
        foreign = [e for e in scored.scores if not type(e.criterion).__module__.startswith("turnwise.")]
        words = [(s.reason, s.explanation, s.label, s.details) for e in foreign for _, s in e.scores()]
        redactor = scored.redactor = redactor_of(config, scored.sample, words)
    else:
        texts = [(row["reason"], row["explanation"], row["details"]) for row in evaluated.scores]
        redactor.learn([{"details": texts}])
    if redactor is None or not redactor.has_values(scored.sample.record.source):
        return evaluated
    conversation = scored.sample.conversation
    conversation.app_version = conversation.app_version and redactor.version(conversation.app_version)
    scored.slices = {redactor.identity(name): turns for name, turns in scored.slices.items()}
    for failure in scored.failures:
        redact_failure(failure, config, redactor)
    scores, results, conversations = redact_rows(redactor, *evaluated[2:5])
    parts = [
        ((turn, kind, redactor.identity(name)), passed, failed)
        for (turn, kind, name), passed, failed in evaluated.parts
    ]
    return evaluated._replace(scores=scores, results=results, conversations=conversations, parts=parts)


# Rows of scores and results.


def score_rows(scored: ScoredConversation, run: RunInfo) -> list[ScoreRow]:
    """Returns one row per score: the turns of every criterion, then the conversation as a whole."""
    sample, conversation = scored.sample, scored.sample.conversation
    start = conversation.start_time
    run_id, case = run.run_id, sample.eval_case
    eval_id = case.eval_id if case else None
    conversation_id, app_version = conversation.conversation_id, conversation.app_version
    language, tags, revision = conversation.language, sample.tags, conversation.revision
    times: list[str | None] = []
    spans: list[str | None] = []
    traces: set[str | None] = set()
    for pair in sample.pairs:
        span, time = (pair.actual.span, pair.actual.timestamp) if pair.actual else (None, None)
        spans.append(span)
        times.append(start if time is None else rfc3339(time))
        if pair.actual:
            traces.add(span.rpartition("/")[0] if span else None)
    trace = traces.pop() if len(traces) == 1 else None
    # The same for the same conversation, app version and case.
    ids = (case.eval_set_id, case.eval_id) if case else ()
    key = _digest((conversation_id, app_version, *ids), _CONVERSATION_BYTES)
    rows: list[ScoreRow] = []
    for entry in scored.scores:
        criterion = entry.criterion
        name, digest = criterion.name, criterion.digest
        if isinstance(criterion, JudgedCriterion):
            digest = _digest((digest, run.judge), _CRITERION_BYTES)
        # A key is CONVERSATION-CRITERION-TURN[.NUMBER]; scores of one turn are numbered from the second on.
        before, number = f"{key}-{digest}-", 0
        last: int | None = -1
        scores: list[tuple[int | None, Score]] = [*entry.turns]
        if entry.overall is not None:
            scores.append((None, entry.overall))
        for turn, score in scores:
            number = number + 1 if turn == last else 0
            last = turn
            score_id = f"{before}{_WHOLE if turn is None else turn}{f'.{number}' if number else ''}"
            # By position, in the order of `ScoreRow`: names of columns would cost seven times as much.
            row = MadeScoreRow(
                run_id, conversation_id, eval_id, app_version, turn, name, score.value, score.outcome,
                score.threshold, score.label, score.reason, score.explanation, score.details,
                None if score.judge is None else asdict(score.judge),
                start if turn is None else times[turn], language, tags, revision, score_id,
                trace if turn is None else spans[turn],
            )  # fmt: skip
            rows.append(row)
    return rows


# Stable keys of scores, by which labels and other runs refer to them.

_CONVERSATION_BYTES = 8
_CRITERION_BYTES = 4
_WHOLE = "all"


def _digest(texts: tuple[str | None, ...], size: int) -> str:
    text = "\0".join(["" if text is None else f"={text}" for text in texts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


# The row of a conversation: what there is to read, and why.

_MOST_REASON = 500


@lru_cache(maxsize=16)
def _effects_of(run: RunInfo) -> tuple[ToolEffects, ToolCatalog]:
    """Returns the effects of tools by the config of a run, shared by conversations that declare none."""
    criterion = ToolEffects(tools=dict(run.tools))
    return criterion, ToolCatalog(criterion.tools)


def conversation_row(run: RunInfo, scored: ScoredConversation, verdict: Verdict) -> ConversationRow:
    """Returns the row of a conversation."""
    sample, conversation, case = scored.sample, scored.sample.conversation, scored.sample.eval_case
    criterion, effects = _effects_of(run)
    if conversation.tools or (case is not None and case.tools):
        effects = sample.catalog(criterion.tools)
    seconds, tokens_in, tokens_out, event_time = _figures(conversation)
    made = agent_calls(conversation.turns, effects)
    problems: list[ReviewProblem] = []
    has_passed = verdict.status == "PASS" and conversation.ended is None and not made.destructive
    for entry in scored.scores:
        has_passed = has_passed and (entry.overall is None or entry.overall.outcome != "FAIL")
    if not has_passed:
        problems = problems_of(scored, verdict, criterion if made.destructive else None)
    worst = problems[0] if problems else None
    why, problem_type, problem_label = why_of(worst, sample) if worst else (None, None, None)
    worst_turn = worst.turn if worst else None
    unclear = unclear_tools(sample, made, effects, criterion) if any(made.changing) else []
    transcript = transcript_of(sample, made, effects, worst_turn) if run.transcripts else None
    is_open = bool(verdict.reasons) and verdict.status != "PASS"
    gaps = enumerate(conversation.turns) if sample.has_gaps else ()
    unknown = [f"{turn_name(i)}: {turn.unknown_calls}" for i, turn in gaps if turn.unknown_calls]
    return {
        "run_id": run.run_id,
        "conversation_id": conversation.conversation_id,
        "user_id": conversation.user_id,
        "eval_id": case.eval_id if case else None,
        "eval_set_id": case.eval_set_id if case else None,
        "case_digest": sample.case_digest,
        "task": stated_task(conversation) if conversation.meta else conversation.eval_id,
        "app_version": conversation.app_version,
        "language": conversation.language,
        "tags": sample.tags,
        "verdict": verdict.status,
        "reason": one_line("; ".join(verdict.reasons), _MOST_REASON) if is_open else None,
        "sampled_out": [*scored.sampled_out],
        "ended": conversation.ended,
        "worst_criterion": worst.criterion if worst else None,
        "worst_turn": worst_turn,
        "why": why,
        "severity": SEVERITIES[worst.term] if worst else None,
        "severity_score": severity_of(problems) if worst else 0.0,
        "severity_reason": worst.term if worst else None,
        "problem_type": problem_type,
        "problem_label": problem_label,
        "turns": len(conversation.turns),
        "tool_calls": made.number,
        "tool_errors": made.errors,
        "destructive_calls": made.destructive,
        "unclear_tools": unclear,
        "guessed_tools": made.guessed_tools,
        "unknown_calls": one_line(unknown[0], _MOST_REASON) if unknown else None,
        "latency_seconds": seconds,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "event_time": event_time,
        "source": sample.record.source,
        "position": sample.record.position,
        "revision": conversation.revision,
        "transcript": cast("JsonObject | None", transcript),
    }


def _figures(conversation: Conversation) -> tuple[float | None, int | None, int | None, str | None]:
    """Returns seconds, tokens read and written, each None if a turn has none, and the first time stated."""
    turns, time = conversation.turns, conversation.start_time
    # Most logs state nothing of these, and have one look at every turn.
    for turn in turns:
        if turn.latency_ms is not None or turn.usage is not None or turn.timestamp is not None:
            break
    else:
        return None, None, None, time
    usages = [turn.usage for turn in turns if turn.usage is not None]
    is_counted = len(usages) == len(turns)
    total = known_sum([turn.latency_ms for turn in turns])
    if time is None:
        stated = next((turn.timestamp for turn in turns if turn.timestamp is not None), None)
        time = None if stated is None else rfc3339(stated)
    return (
        None if total is None else total / 1000,
        known_sum([usage.input_tokens for usage in usages]) if is_counted else None,
        known_sum([usage.output_tokens for usage in usages]) if is_counted else None,
        time,
    )


# Makes the transcript of a sample: what was said and called, with what was expected beside it.

_NO_TURN = Turn()
_encode = msgspec.msgpack.Encoder().encode
_DOUBLE = b"\xcb"
_NOT_FINITE = b"\x7f\xff"
"""First bytes of doubles whose exponent has all bits set; great numbers start so too."""
_SURELY_FITS = MOST_BYTES // 6
"""Bytes of MessagePack whose JSON fits: one byte is at most six in JSON (a control character)."""


def transcript_of(
    sample: Sample, made: MadeCalls, effects: ToolCatalog, kept: int | None = None
) -> Transcript:
    """Returns the transcript of a sample, at most 64 KiB of JSON; the turn `kept` is left out last."""
    calls = iter(made.turns)
    turns = [_turn(sample, pair, next(calls) if pair.actual else [], effects) for pair in sample.pairs]
    expected = expected_of_whole(sample.eval_case, effects) if sample.eval_case else None
    transcript: Transcript = {"turns": turns, "expected": expected, "cut": False, "left_out": None}
    try:  # MessagePack costs less than to look at every part for a number that JSON does not have
        data = _encode(transcript)
        at = data.find(_DOUBLE)
        while at >= 0 and data[at + 1] not in _NOT_FINITE:
            at = data.find(_DOUBLE, at + 1)
        is_finite = at < 0  # the last byte is that of `left_out`
    except (ValueError, OverflowError, TypeError):  # it has no room for a value
        data, is_finite = None, False
    if not is_finite:
        transcript = cast(Transcript, _with_finite_numbers(cast(JsonValue, transcript)))
    is_small = data is not None and len(data) <= _SURELY_FITS
    return transcript if is_small else limited(transcript, kept)


def _turn(sample: Sample, pair: TurnPair, made: list[TranscriptCall], effects: ToolCatalog) -> TranscriptTurn:
    actual = pair.actual or _NO_TURN
    turn: TranscriptTurn = {
        "index": pair.index,
        "label": pair.label,
        "user": actual.user,
        "agent": actual.agent,
        "tool_calls": made,
        "seconds": None if actual.latency_ms is None else actual.latency_ms / 1000,
        "expected": None if pair.expected is None else _expected(sample, pair, pair.expected, made, effects),
    }
    # What only some turns have.
    if len(actual.agent_messages) > 1:
        turn["messages"] = actual.agent_messages
    if actual.user_tool_calls:
        made_by_user = MadeCalls()
        made_by_user.add(actual.user_tool_calls, actual.user_tool_responses, [], effects)
        turn["user_tool_calls"] = made_by_user.turns[0]
    if actual.transfers:
        turn["transfers"] = actual.transfers
    is_named = bool(actual.speakers or actual.transfers)
    for call in actual.tool_calls:
        is_named = is_named or call.agent is not None
    if is_named and (agents := actual.agents):
        turn["agents"] = agents
    if actual.unknown_calls or actual.unknown_words or actual.unknown_latency:
        doubts = (actual.unknown_calls, actual.unknown_words, actual.unknown_latency)
        turn["unknown"] = [doubt for doubt in doubts if doubt]
    return turn


def _expected(
    sample: Sample,
    pair: TurnPair,
    expected: ExpectedTurn,
    made: Sequence[TranscriptCall],
    effects: ToolCatalog,
) -> ExpectedPart | None:
    """Returns what is expected of a turn; None: nothing."""
    part: ExpectedPart = {}
    if expected.user and (pair.actual is None or pair.actual.user != expected.user):
        part["user"] = expected.user
    if expected.response is not None:
        part["response"] = expected.response
    if expected.tool_calls is not None:
        part["tool_calls"] = expected_calls(expected.tool_calls, effects, made)
    if expected.intermediate_responses:
        part["texts"] = expected.intermediate_responses
    if expected.scripted_transfers:
        part["transfers"] = expected.scripted_transfers
    if expected.expectations:
        add_expectations(part, expected.expectations, effects)
    if expected.rubrics:
        part["rubrics"] = [rubric.text for rubric in expected.rubrics]
    if expected.unread:
        part["other"] = [*part.get("other", ()), expected.unread]
    return part or None


def _with_finite_numbers(value: JsonValue) -> JsonValue:
    """Replaces infinite numbers and NaN by texts: JSON has null for them, as if nothing was there."""
    if isinstance(value, dict):
        return {name: _with_finite_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_finite_numbers(item) for item in value]
    if not isinstance(value, float) or isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


# What a case expects of a whole conversation, and single expectations, as they stand in transcripts.


def expected_calls(
    calls: Sequence[ToolCall], effects: ToolCatalog, made: Sequence[TranscriptCall] = ()
) -> list[ExpectedCall]:
    """Returns expected calls with their effects; equal calls that were made have the same."""
    rows: list[ExpectedCall] = []
    number = len(made)
    for index, want in enumerate(calls):
        name, args = want.name, want.args
        if index < number and (row := made[index])["name"] == name and row["args"] == args:
            effect = row["effect"]
        else:
            tool = effects.effect_of(want)
            effect = DESTRUCTIVE if tool.destructive else tool.effect
        rows.append({"name": name, "args": args, "effect": effect})
    return rows


def expected_of_whole(case: EvalCase, effects: ToolCatalog) -> ExpectedPart | None:
    """Returns what is expected of a conversation as a whole; None: nothing."""
    part: ExpectedPart = {}
    if case.actions is not None:
        part["tool_calls"] = expected_calls(case.actions, effects)
    if case.user_actions:
        part["user_tool_calls"] = expected_calls(case.user_actions, effects)
    if case.outputs:
        part["texts"] = case.outputs
    if case.expectations:
        add_expectations(part, case.expectations, effects)
    if case.final_session_state:
        part["variables"] = {**part.get("variables", {}), **case.final_session_state}
    if case.rubrics or case.evaluation_expectations:
        part["rubrics"] = [*(rubric.text for rubric in case.rubrics), *case.evaluation_expectations]
    if case.task:
        part["task"] = case.task
    if case.unread or case.not_found:
        doubts = [doubt for doubt in (case.unread, case.not_found) if doubt]
        part["other"] = [*part.get("other", ()), *doubts]
    return part or None


def add_expectations(part: ExpectedPart, expectations: Sequence[Expectation], effects: ToolCatalog) -> None:
    """Adds single expectations; calls and texts that a turn states already are not repeated."""
    states_calls = "tool_calls" in part
    for wanted in expectations:
        if wanted.skip:
            part["other"] = [*part.get("other", ()), f"skipped: {_expectation_text(wanted)}"]
        elif wanted.kind == "tool_call" and wanted.tool_call:
            if not states_calls:
                calls = expected_calls([wanted.tool_call], effects)
                part["tool_calls"] = [*part.get("tool_calls", ()), *calls]
        elif wanted.kind == "no_tool_calls":
            part.setdefault("tool_calls", [])
        elif wanted.kind == "agent_response" and wanted.text is not None:
            if wanted.text != part.get("response"):
                part["texts"] = [*part.get("texts", ()), wanted.text]
        elif wanted.kind == "agent_transfer" and wanted.target_agent:
            if wanted.target_agent not in part.get("transfers", ()):
                part["transfers"] = [*part.get("transfers", ()), wanted.target_agent]
        elif wanted.kind == "updated_variables":
            part["variables"] = {**part.get("variables", {}), **(wanted.variables or {})}
        elif wanted.kind != "mock_tool_response":
            part["other"] = [*part.get("other", ()), _expectation_text(wanted)]


def _expectation_text(expectation: Expectation) -> str:
    """Returns a single expectation in one line."""
    if expectation.tool_call is not None:
        return f"{expectation.kind}: {call_text(expectation.tool_call)}"
    response = expectation.tool_response
    if response is not None:
        return f"{expectation.kind}: {response.name}: {value_text(response.response)}"
    value = expectation.text or expectation.target_agent or expectation.variables
    return f"{expectation.kind}: {value_text(value)}" if value else expectation.kind


# Limits the size of transcripts, with a mark at every cut and counts of what was left out.


_STEPS = ((8_000, 200), (2_000, 50), (500, 20), (100, 5))
"""Characters of a text or value, and entries of a list, at most."""
_WHOLE_KEYS = frozenset(("index", "label", "seconds", "effect"))
_VALUES = frozenset(("args", "result", "variables"))


def limited(transcript: Transcript, kept: int | None = None, most: int = MOST_BYTES) -> Transcript:
    """Returns a transcript whose compact JSON has at most `most` bytes, shortened where it is longer.

    Long texts and values are shortened first, in four steps of 8,000 to 100 characters, and long lists to
    their first entries. Then turns are left out: the turn with the index `kept` stays, then the first and
    the last ones, as far as there is room.
    """
    if _size(transcript) <= most:
        return transcript
    for characters, entries in _STEPS:
        cut = _Cut(characters, entries)
        shortened = cut.transcript(transcript)
        if _size(shortened) <= most:
            return shortened
    turns = shortened["turns"]
    room = most - _size({**shortened, "turns": []}) - 64
    chosen, last = set(), len(turns) - 1
    # The one to keep, then alternately from the start and from the end.
    named = [index for index, turn in enumerate(turns) if turn["index"] == kept]
    ends = [index for i in range(len(turns) // 2 + 1) for index in (i, last - i) if 0 <= index <= last]
    for index in dict.fromkeys([*named, *ends]):
        size = len(dump_json(cast(JsonValue, turns[index]))) + 1
        if size <= room:
            room -= size
            chosen.add(index)
    cut.left_out["turns"] = len(turns) - len(chosen)
    return {**shortened, "turns": [turns[index] for index in sorted(chosen)]}


def _size(transcript: Transcript) -> float:
    """Returns the number of bytes of the compact JSON; infinite: it cannot be written as it is."""
    try:
        return len(dump_json(cast(JsonValue, transcript)))
    except ValueError:  # a lone surrogate
        return float("inf")


class _Cut:
    """Shortens the parts of a transcript, and counts what is left out."""

    def __init__(self, characters: int, entries: int) -> None:
        self._characters, self._entries = characters, entries
        self.left_out: LeftOut = {"turns": 0, "entries": 0, "characters": 0}

    def transcript(self, transcript: Transcript) -> Transcript:
        """Returns a shortened copy."""
        turns = [cast(TranscriptTurn, self._part(turn)) for turn in transcript["turns"]]
        expected = transcript["expected"] and self._part(transcript["expected"])
        return {"turns": turns, "expected": expected, "cut": True, "left_out": self.left_out}

    def _part(self, part: Any) -> Any:
        return {key: value if key in _WHOLE_KEYS else self._value(key, value) for key, value in part.items()}

    def _value(self, key: str, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._text(value)
        if key in _VALUES:
            return self._any(value)
        if isinstance(value, list):
            self.left_out["entries"] += max(0, len(value) - self._entries)
            return [self._value("", item) for item in value[: self._entries]]
        return self._part(value) if isinstance(value, dict) else value

    def _text(self, text: str) -> str:
        clean = text.encode("utf-8", "replace").decode()
        more = len(clean) - self._characters
        if more <= 0:
            return clean
        self.left_out["characters"] += more
        return f"{clean[: self._characters]}… [{more:,} characters left out]"

    def _any(self, value: JsonValue) -> JsonValue:
        """Returns a value as it is, or the start of its JSON text."""
        try:
            text = dump_json(value).decode()
        except ValueError:
            text = repr(value)
        else:
            if len(text) <= self._characters:
                return value
        return self._text(text)
