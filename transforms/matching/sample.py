"""A conversation together with the case it is held against."""

import json
import re
import sqlite3
import unicodedata
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import finalize

import msgspec

from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.ces.names import app_in
from turnwise.schemas.config import MatchCasesBy
from turnwise.schemas.conversation import (
    Conversation,
    Ended,
    Expectation,
    ExpectedTurn,
    Problem,
    Record,
    Rubric,
    ToolCall,
    ToolSetting,
    Turn,
    turn_name,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, grouped, listed
from turnwise.schemas.score import Failure, record_failure
from turnwise.transforms.effects.call_effects import ToolCatalog
from turnwise.transforms.matching.alignment import align
from turnwise.transforms.matching.calls import PairedCalls, paired_calls
from turnwise.transforms.matching.expectations import (
    ExpectationOutcome,
    TurnReplay,
    agent_updates,
    replay_turn,
    scenario_outcomes,
    turn_expectations,
)

MISSING_TURN = "MISSING_TURN"
EXTRA_TURN = "EXTRA_TURN"

_NOTHING = ExpectedTurn()


class TurnPair(msgspec.Struct):
    """A recorded turn beside the golden turn it is held against.

    Attributes:
        index: 0-based place in the alignment of the golden with the recording. It is the recorded turn's
            index unless the golden has turns that the recording lacks.
        expected: The golden turn; None: nothing is expected of this turn, or it is an extra one.
        actual: The recorded turn; None: it is missing.
        label: MISSING_TURN or EXTRA_TURN where the two sides do not have the same number of turns.

    >>> import turnwise
    >>> pair = turnwise.TurnPair(0, None, turnwise.Turn(user="Hi", agent="Hello"))
    >>> pair.actual.agent
    'Hello'
    """

    index: int
    expected: ExpectedTurn | None
    actual: Turn | None
    label: str | None = None


@dataclass
class Sample:
    """A sample: a conversation, its case (or none), and their paired turns.

    Attributes:
        record: The raw record, kept for failure rows.
        pairs: The turns side by side.
        evaluable: Those that can be scored.
        unanswered: The others; their answers failed or are not finished.
        has_answers: Whether a turn is an answer engine's.
        has_findings: Whether something of a turn may be wrong or not understood.
        has_gaps: Whether calls or words of a turn may be missing in the log, or not all that is expected
            is read or found.
        is_whole: Whether there are no gaps, every turn can be scored, and the agent spoke in all of them.
        tags: The tags of the conversation and those of its case, each once.
        case_digest: See `EvalCase.digest`; None: nothing is expected, or there is no case.
        run_of: The key of the case that the conversation is a run of; None: it has none that is named.
        unit: What intervals count once: the named case; without a name, what is expected after which words,
            or, where nothing is expected, the conversation.

    >>> import turnwise
    >>> log = turnwise.Conversation(conversation_id="c1", turns=[turnwise.Turn(user="Hi", agent="Hello")])
    >>> [pair.index for pair in turnwise.Sample(log, None, turnwise.Record("log", 1, b"")).pairs]
    [0]
    """

    conversation: Conversation
    eval_case: EvalCase | None
    record: Record
    pairs: list[TurnPair] = field(init=False)
    evaluable: list[TurnPair] = field(init=False)
    unanswered: list[TurnPair] = field(init=False)
    has_answers: bool = field(init=False, default=False)
    has_findings: bool = field(init=False, default=False)
    has_gaps: bool = field(init=False, default=False)
    is_whole: bool = field(init=False)
    tags: list[str] = field(init=False)
    case_digest: str | None = field(init=False, default=None)
    run_of: str | None = field(init=False, default=None)
    unit: str = field(init=False)
    _paired: dict[int, PairedCalls] = field(init=False, default_factory=dict)
    _replays: dict[int, TurnReplay] = field(init=False, default_factory=dict)
    _catalogs: dict[int, ToolCatalog] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        case, conversation, turns = self.eval_case, self.conversation, self.conversation.turns
        if conversation.app_version is not None and not conversation.app_version.strip():
            conversation.app_version = None
        if case is not None:
            self.has_gaps = bool(case.unread or case.not_found)
            for expected in case.turns:
                if expected.unread:
                    self.has_gaps = True
        has_spoken = bool(turns)
        for turn in turns:
            if not (agent := turn.agent) or agent.isspace():
                has_spoken = False
            if turn.grounded is not None:
                self.has_answers = self.has_findings = True
            if turn.findings:
                self.has_findings = True
            if turn.unknown_calls or turn.unknown_words:
                self.has_gaps = True
        self.pairs = self.evaluable = pair_turns(case.turns if case else [], turns)
        self.unanswered = [p for p in self.pairs if unanswered_state(p)] if self.has_answers else []
        if self.unanswered:
            self.evaluable = [pair for pair in self.pairs if not unanswered_state(pair)]
        self.is_whole = has_spoken and not (self.has_gaps or self.unanswered)
        self.tags, self.unit = conversation.tags, f"\0{conversation.conversation_id}"
        if case is None:
            return
        if case.tags:
            known = set(self.tags)
            self.tags = [*self.tags, *(tag for tag in case.tags if tag not in known)]
        self.case_digest = case.digest
        if stated_case(conversation) is not None:
            self.unit = self.run_of = case.key.text
        elif self.case_digest is not None:
            self.unit = f"\0{self.case_digest}\0{[turn.user for turn in turns]!r}"

    def calls(self, pair: TurnPair) -> PairedCalls:
        """Returns the expected and the made calls of a pair, paired once."""
        paired = self._paired.get(pair.index)
        if paired is None:
            paired = self._paired[pair.index] = paired_calls(pair.expected or _NOTHING, pair.actual)
        return paired

    def replay(self, pair: TurnPair) -> TurnReplay:
        """Returns how a pair's golden turn was met, worked out once; raises ValueError without a case."""
        replay = self._replays.get(pair.index)
        if replay is None:
            if self.eval_case is None:
                raise ValueError("the conversation is held against no case")
            expected = pair.expected or _NOTHING
            updates = agent_updates(pair.actual) if expected.expectations else {}
            replay = replay_turn(self.eval_case, expected, pair.actual, updates, self.calls(pair))
            self._replays[pair.index] = replay
        return replay

    def catalog(self, settings: Mapping[str, ToolSetting]) -> ToolCatalog:
        """Returns the effects of its tools by the `tools` of a config, read once."""
        if id(settings) not in self._catalogs:  # a catalog holds its settings: no others get their id
            of_case = self.eval_case.tools if self.eval_case else ()
            self._catalogs[id(settings)] = ToolCatalog(settings, [*self.conversation.tools, *of_case])
        return self._catalogs[id(settings)]

    @cached_property
    def called_tools(self) -> list[ToolCall]:
        """One call of every tool that the agent or the user called."""
        calls = (c for turn in self.conversation.turns for c in (*turn.tool_calls, *turn.user_tool_calls))
        return list({(call.resource, call.name): call for call in calls}.values())

    @cached_property
    def scenario_outcomes(self) -> list[ExpectationOutcome]:
        """Outcomes of a scenario's expectations; empty without any."""
        case = self.eval_case
        return scenario_outcomes(case, self.conversation) if case and case.expectations else []

    def state_after(self, pair: TurnPair) -> JsonObject:
        """Returns the session variables that a pair's golden turn expects, as they are after the turn.

        Those whose changes the log does not show are left out.
        """
        state: JsonObject = {}
        for expectation in pair.expected.expectations if pair.expected else ():
            for name in expectation.variables or ():
                changes = self._changes.get(name, ())
                if number := bisect_right(changes, pair.index, key=itemgetter(0)):
                    state[name] = changes[number - 1][1]
        return state

    @cached_property
    def _changes(self) -> dict[str, list[tuple[int, JsonValue]]]:
        """Session variables -> indices of the pairs whose turns set them, and the values."""
        turns = ((pair.index, pair.actual.variables) for pair in self.pairs if pair.actual)
        return grouped((name, (index, value)) for index, values in turns for name, value in values.items())


def stated_case(conversation: Conversation) -> str | None:
    """Returns the id of a conversation's eval case; None: none is stated.

    Without `eval_id`, a trial (`meta.trial`) belongs to its task: `meta.task_id`, after `meta.domain` if
    given.
    """
    return stated_task(conversation) if "trial" in conversation.meta else conversation.eval_id


def stated_task(conversation: Conversation) -> str | None:
    """Returns what a conversation is a run of: its eval case, or else the task that its log names.

    The task is `meta.task_id`, after `meta.domain` if given. None: the log states neither.
    """
    meta = conversation.meta
    if conversation.eval_id is not None or meta.get("task_id") is None:
        return conversation.eval_id
    return "-".join(str(meta[key]) for key in ("domain", "task_id") if meta.get(key) is not None)


def unanswered_state(pair: TurnPair) -> str | None:
    """Returns the state of an answer that failed or is not finished; None: the turn can be scored."""
    answer = pair.actual.grounded if pair.actual is not None else None
    return None if answer is None or answer.is_evaluable else answer.state


def pair_turns(expected: list[ExpectedTurn], actual: list[Turn]) -> list[TurnPair]:
    """Puts golden and recorded turns side by side.

    With equal numbers, turn i stands beside turn i; otherwise the two are aligned by what was said and
    called. Without golden turns, every recorded turn stands alone. Greetings before the first question pair
    with greetings, the last ones first; of one that the other side lacks nothing is expected.
    """
    if not expected:
        return [TurnPair(i, None, turn) for i, turn in enumerate(actual)]
    shows_shift = len(expected) != len(actual)
    if not shows_shift and len(actual) > 1 and expected[0].user != actual[0].user:
        # Without a word of a user, as where a record itself says what is expected, nothing shows a shift.
        for golden in expected:
            if golden.user:
                shows_shift = True
    if not shows_shift:
        return [TurnPair(i, expected[i], turn) for i, turn in enumerate(actual)]
    greetings, recorded = _greetings(expected), _greetings(actual)
    missing, extra = max(0, greetings - recorded), max(0, recorded - greetings)
    rest, asked = expected[missing:], actual[extra:]
    # The first question must show that a golden has shifted, or turns of which both sides have as many.
    is_shifted = bool(rest and asked) and (missing or extra) > 0
    if len(expected) == len(actual):
        is_shifted = is_shifted and b"" != first_message(rest[:1]) == first_message(asked[:1])
    elif missing:
        is_shifted = is_shifted and align(rest[:1], asked[:1]) == [(0, 0)]
    expected, alone, actual = (rest, actual[:extra], asked) if is_shifted else (expected, [], actual)
    pairs = [TurnPair(i, None, turn) for i, turn in enumerate(alone)]
    is_greeted = is_shifted or not (missing or extra)
    both = min(greetings, recorded) if is_greeted else 0
    both = len(expected) if len(expected) == len(actual) else both
    for i in range(both):
        pairs.append(TurnPair(len(alone) + i, expected[i], actual[i]))
    if both == len(expected) == len(actual):
        return pairs
    for i, (e, a) in enumerate(align(expected[both:], actual[both:]), len(pairs)):
        label = MISSING_TURN if a is None else EXTRA_TURN if e is None else None
        sides = None if e is None else expected[both + e], None if a is None else actual[both + a]
        pairs.append(TurnPair(i, *sides, label))
    return pairs


_GREETING = re.compile(
    r"\W*(?:(?:oh |well )?(?:hi|hiya|hello|hey|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo"
    r"|moin|servus|grüß gott|grüezi|guten (?:morgen|tag|abend)|bonjour|bonsoir|salut|hola|buenos días"
    r"|buenas(?: tardes| noches)?|olá|oi|bom dia|boa (?:tarde|noite)|ciao|salve|buongiorno|buonasera|hoi"
    r"|goedemorgen|goedemiddag|goedenavond|hej|cześć|dzień dobry|привет|здравствуйте|你好|您好|こんにちは"
    r"|もしもし|안녕하세요|안녕|여보세요)(?: there| again| all| everyone| team| bot)?\W*){1,3}"
    r"(?:(?:can|could) (?:you|someone) (?:please )?help me|i need (?:some )?help)?\W*",
    re.IGNORECASE,
)


def _greetings(turns: Sequence[ExpectedTurn | Turn]) -> int:
    """Returns how many turns at the beginning only greet: the user asks nothing yet, nothing is called.

    The agent or an event of the app (a welcome) begins the first one, or the user says no more than hello.
    """
    for i, turn in enumerate(turns):
        text = (turn.user or "").strip()
        # Without any words of a user, no turn is known to be before the first question.
        is_welcome = i == 0 and bool(turns[1:] and turns[1].user) and not _is_asked(turn)
        is_calling = bool(turn.tool_calls) or (isinstance(turn, Turn) and bool(turn.transfers))
        is_unknown = isinstance(turn, Turn) and any(finding.kind in _GAPS for finding in turn.findings)
        if is_calling or is_unknown or not (is_welcome or _GREETING.fullmatch(text)):
            return i
    return len(turns)


# Converts between a recording and the golden case that expects exactly what it holds.


def contained_case(conversation: Conversation) -> EvalCase | None:
    """Returns the case that a conversation's record contains, with what the user said; None: none."""
    case = inline_case(conversation)
    if case is None:
        return None
    for expected, turn in zip(case.turns, conversation.turns, strict=False):
        expected.user = turn.user if expected.user is None else expected.user
    case.language, case.tags, case.tools = conversation.language, conversation.tags, conversation.tools
    return case


def recorded_case(conversation: Conversation) -> EvalCase:
    """Returns the golden case that expects what a conversation holds.

    Calls are not stated where the log may miss some, answers where it may miss words. Calls have no ids,
    which no other run repeats.
    """
    turns = []
    for turn in conversation.turns:
        answer, texts = (None, []) if turn.unknown_words else (turn.agent or None, turn.agent_messages[:-1])
        made = [call for call in turn.tool_calls if call.inside is None]
        calls = [ToolCall(name=c.name, args=c.args, resource=c.resource) for c in made]
        expected = ExpectedTurn(user=turn.user, response=answer, scripted_transfers=list(turn.transfers))
        expected.adk_text = turn.adk_text if answer else None
        expected.tool_calls = None if turn.unknown_calls else calls
        expected.intermediate_responses = [text for text in texts if text]
        turns.append(expected)
    return EvalCase(
        eval_id=stated_case(conversation) or conversation.conversation_id,
        eval_set_id=conversation.eval_set_id,
        tags=list(conversation.tags),
        language=conversation.language,
        turns=turns,
        tools=list(conversation.tools),
    )


def played_case(case: EvalCase) -> Conversation:
    """Returns the conversation in which a golden case is met word by word."""
    turns = []
    for index, expected in enumerate(case.turns):
        texts = [*expected.intermediate_responses, *([expected.response] if expected.response else [])]
        turn = Turn(
            turn_index=index,
            user=expected.user,
            agent=expected.response,
            adk_text=expected.adk_text,
            tool_calls=list(expected.tool_calls or ()),
            agent_messages=texts if len(texts) > 1 else [],
            transfers=list(expected.scripted_transfers),
        )
        turns.append(turn)
    return Conversation(
        conversation_id=case.eval_id,
        eval_id=case.eval_id,
        eval_set_id=case.eval_set_id,
        language=case.language,
        tags=list(case.tags),
        turns=turns,
        tools=list(case.tools),
    )


# Conversations whose log stops before the agent answered.
def unanswered_turn(sample: Sample) -> str | None:
    """Returns why the log of a conversation may stop too early or lack words: a turn has no answer.

    None: all have one, or none is due, as where the case states, say, calls of that turn, and no words.
    """
    for turn in silent_turns(sample.conversation):
        expected = next((pair.expected for pair in sample.pairs if pair.actual is turn), None)
        if expected is not None and (expected.tool_calls is not None or expected.expectations):
            words = expected.response or expected.intermediate_responses or expected.rubrics
            if not words and not any(e.kind == "agent_response" for e in expected.expectations):
                continue
        if turn is sample.conversation.turns[-1]:
            why = "the last turn has no answer, and the log does not say how the conversation ended"
            return f"{turn_name(turn.turn_index)}: {why}"
        return f"{turn_name(turn.turn_index)}: the turn has no answer: words may be missing in the log"
    return None


def silent_turns(conversation: Conversation) -> Iterator[Turn]:
    """Yields the turns without an answer, where one is due.

    None is due where the log rates the whole conversation (`labels.reward`) or, of the last turn, says how it
    ended; and where nobody asked anything, unless the turn is the last one.
    """
    turns = conversation.turns
    for turn in turns if conversation.labels.get("reward") is None else ():
        is_ended = conversation.ended or conversation.ended_detail
        is_due = not is_ended if turn is turns[-1] else _is_asked(turn)
        # Media may be an answer, and what is known to be missing is a reason of its own.
        has_answer = turn.payloads or turn.grounded is not None or turn.unknown_words
        if is_due and not (has_answer or (turn.agent and not turn.agent.isspace())):
            yield turn


NO_ANSWER = "[to be written: the log holds no answer]"
"""Stands in place of an answer, so that a case cannot pass before a person wrote it."""


def with_due_answers(conversation: Conversation) -> Conversation:
    """Returns a conversation in which `NO_ANSWER` stands for each answer that is due and not in the log.

    Of such a turn without calls, these are unknown. Where the agent says nothing in a whole conversation, the
    log may be of calls alone: turns with calls stay as they are.
    """
    turns, has_words = list(conversation.turns), any(turn.agent for turn in conversation.turns)
    for turn in silent_turns(conversation):
        has_calls = not turn.unknown_calls and any(call.inside is None for call in turn.tool_calls)
        if has_words or not has_calls:
            texts = [*turn.agent_messages, NO_ANSWER] if turn.agent_messages else []
            unknown = None if has_calls else turn.unknown_calls or "the log holds no answer"
            made = msgspec.structs.replace(turn, agent=NO_ANSWER, agent_messages=texts, unknown_calls=unknown)
            turns[next(i for i, other in enumerate(turns) if other is turn)] = made
    return msgspec.structs.replace(conversation, turns=turns)


def _is_asked(turn: ExpectedTurn | Turn) -> bool:
    text = (turn.user or "").strip()
    return bool(text) and not _EVENT.fullmatch(text)


# Finds the eval case that a conversation names, and joins it with what the record itself expects.

USED_CASE = "used case "
"""Start of the names of counters, by key: the given eval cases that conversations are held against."""
NO_CASES_GIVEN = "no_cases_given"
"""Name of the counter of conversations that name a case where none were given, and expect nothing."""
_NO_SET = "(no set)"
_SHOWN_TEXT = 80
NO_CASE = "NoMatchingCase"
"""Kind of the finding of a conversation that names no case, and that none begins as."""
_NO_MESSAGE = "the log does not hold the user's first message, by which eval cases are matched"
_EVENT = re.compile("<event>.*</event>", re.DOTALL)
_GAPS = (
    *("MissingHistory", "MissingTurn", "CompactedTurns"),
    *("ContentNotRecorded", "UnreadUserText", "UnreadPart"),
)
"""Kinds of findings of turns of which words of the user may be missing."""


class UnknownCaseError(LookupError):
    """A conversation names a case that is not among the eval cases."""


class AmbiguousCaseError(LookupError):
    """A conversation names a case that several sets have, and no set."""


class AmbiguousMessageError(LookupError):
    """A conversation names no case, and several begin with the same message of the user."""


def first_message(turns: Sequence[ExpectedTurn | Turn]) -> bytes:
    """Returns a digest of the user's first message, by which a case can be found; b"": none is stated.

    Messages that differ in letter case, in white space or in the width of their characters count as equal.
    """
    turn = _first_of_user(turns)
    text = turn.user if turn else None
    words = " ".join(unicodedata.normalize("NFKC", text or "").casefold().split())
    return blake2b(words.encode("utf-8", "replace"), digest_size=16).digest() if words else b""


def _first_of_user(turns: Sequence[ExpectedTurn | Turn]) -> ExpectedTurn | Turn | None:
    """Returns the first turn that a message of the user begins; None: earlier messages may be missing.

    Turns that the agent or an event of the app (a welcome) begins come before it.
    """
    for turn in turns:
        if turn.user is not None and not _EVENT.fullmatch(turn.user.strip()):
            return turn
        if isinstance(turn, Turn) and any(finding.kind in _GAPS for finding in turn.findings):
            return None
    return None


def inline_case(conversation: Conversation) -> EvalCase | None:
    """Returns the case that a record contains; None: it contains no expectations."""
    expected: list[ExpectedTurn] = []
    are_stated = False
    for turn in conversation.turns:
        are_stated = are_stated or turn.expected is not None
        expected.append(turn.expected or ExpectedTurn())
    outcome = conversation.expected
    if outcome is None and not are_stated:
        return None
    eval_id, turns = stated_case(conversation) or conversation.conversation_id, expected if are_stated else []
    case = EvalCase(eval_id, conversation.eval_set_id, turns=turns)
    if outcome is not None:
        case.rubrics = [Rubric(rubric_id=str(i), text=text) for i, text in enumerate(outcome.rubric)]
        case.actions, case.outputs = outcome.actions, outcome.outputs
        case.user_actions, case.final_session_state = outcome.user_actions, outcome.final_session_state
        case.unread = outcome.unread
    return case


class PackedCase(NamedTuple):
    """An eval case as a row; texts are JSON in ASCII, because SQLite refuses lone surrogates in texts."""

    set_id: str  # of an empty text: none is stated
    eval_id: str
    segment: str  # what follows the last slash of the name, if there is one
    asked: bytes  # see `first_message`
    source: str  # file or address that it was read from
    position: int  # number of its record there
    data: bytes

    @property
    def key(self) -> CaseKey:
        """Unique key of the case."""
        return CaseKey(json.loads(self.set_id), json.loads(self.eval_id))

    def unpacked(self) -> tuple[Record, EvalCase]:
        """Returns the record, without its text, and the case."""
        record = Record(json.loads(self.source), self.position, b"")
        if self.data.startswith(b"{"):  # in MessagePack a number, which is no case
            return record, msgspec.convert(json.loads(self.data), EvalCase)
        return record, _DECODER.decode(self.data)


_ENCODER, _DECODER = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(EvalCase)
_ROWS = msgspec.msgpack.Decoder(list[PackedCase])


def packed_case(record: Record, case: EvalCase) -> PackedCase:
    """Encodes a case that was read from a record."""
    try:
        data = _ENCODER.encode(case)
    except (ValueError, OverflowError, RecursionError):  # such as integers of more than 64 bits
        data = json.dumps(msgspec.to_builtins(case)).encode()
    texts = (*case.key, case.eval_id.rpartition("/")[2], record.source)
    set_id, eval_id, segment, source = map(json.dumps, texts)
    return PackedCase(set_id, eval_id, segment, first_message(case.turns), source, record.position, data)


def encode_cases(cases: Sequence[PackedCase]) -> bytes:
    """Returns cases as one element of a pipeline; alike ones take less room together."""
    return zlib.compress(_ENCODER.encode(cases), 1)


def decode_cases(data: bytes) -> list[PackedCase]:
    """Returns the cases that `encode_cases` encoded."""
    return _ROWS.decode(zlib.decompress(data))


_OPEN = (
    "PRAGMA journal_mode = OFF",  # what breaks off is not read again
    "PRAGMA synchronous = OFF",
    f"CREATE TABLE IF NOT EXISTS cases ({', '.join(PackedCase._fields)})",
    "BEGIN",
)
_FINISH = (
    "CREATE INDEX IF NOT EXISTS by_eval_id ON cases (eval_id, set_id)",
    "CREATE INDEX IF NOT EXISTS by_segment ON cases (segment)",
    "CREATE INDEX IF NOT EXISTS by_asked ON cases (asked)",
    "COMMIT",
    "BEGIN",  # else every look locks the file
)
_ADD = f"INSERT INTO cases VALUES ({', '.join('?' for _ in PackedCase._fields)})"
_OF_KEY = "FROM cases WHERE set_id = ? AND eval_id = ?"
_KEYS = "SELECT set_id, eval_id FROM cases"
_MOST_UNPACKED = 1_000


class CaseIndex:
    """Eval cases by id, by the last segment of a resource name and by what is asked first.

    They are in a temporary database, of which those that were used last are in memory: a run is given all
    cases, and uses few.
    """

    def __init__(self, match_by: MatchCasesBy | None = None, path: str = "") -> None:
        """Opens the database at a path; "" is SQLite's name for one that it deletes.

        `match_by`: by what the case of a conversation is found that names none; None: it has none.
        """
        self._matches, self._unpacked = match_by is not None, dict[CaseKey, EvalCase]()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        finalize(self, self._database.close)
        for statement in _OPEN:
            self._execute(statement)

    def __iter__(self) -> Iterator[PackedCase]:
        """Yields all cases."""
        return map(PackedCase._make, self._execute("SELECT * FROM cases"))

    def add(self, cases: Iterable[PackedCase]) -> None:
        """Keeps cases; raises OSError if the disk is full."""
        for case in cases:
            self._execute(_ADD, case)

    def finish(self) -> None:
        """Makes the cases ready to be looked for, also where the database is opened again."""
        for statement in _FINISH:
            self._execute(statement)

    def distinct(self, counts: Counter[str]) -> list[Failure]:
        """Finishes; of several with one key at most one stays, and failures of the others are returned."""
        self.finish()
        failures: list[Failure] = []
        for key in self._execute(f"{_KEYS} GROUP BY eval_id, set_id HAVING COUNT(*) > 1").fetchall():
            rows = self._execute(f"SELECT rowid, * {_OF_KEY}", key).fetchall()
            is_case, repeated = _repeated([PackedCase._make(row[1:]).unpacked() for row in rows], counts)
            failures += repeated
            self._execute(f"DELETE {_OF_KEY} AND rowid > ?", (*key, rows[0][0] if is_case else 0))
        self.finish()
        return failures

    def find(self, conversation: Conversation) -> EvalCase | None:
        """Returns the conversation's case: the one it names, with the record's own expectations first.

        Where the named case is not among the given ones, the record's own expectations are returned with
        the reason in `not_found`. A conversation that names none gets, in place, the name of the case that
        begins as it does, or a finding, if cases are matched by that.

        Raises:
            UnknownCaseError: It names a case that is not among the given ones and expects nothing itself.
            AmbiguousCaseError: It names no set, several have the case, and it expects nothing itself.
            AmbiguousMessageError: It names no case, several begin as it does, and it expects nothing itself.
        """
        inline = inline_case(conversation)
        try:
            if conversation.eval_id is None and self._matches:
                self._name_by_message(conversation)
            if conversation.eval_id is None:
                return inline
            case = self._named(conversation, conversation.eval_id)
        except LookupError as error:
            if inline is None:
                raise
            inline.not_found = str(error)
            return inline
        if inline is None:
            return case
        names = ("outputs", "user_actions", "final_session_state", "rubrics", "unread")
        stated = {name: getattr(inline, name) for name in names if getattr(inline, name)}
        actions = case.actions if inline.actions is None else inline.actions
        turns = joined_turns(case.turns, inline.turns, conversation.turns)
        return msgspec.structs.replace(case, turns=turns, actions=actions, **stated)

    def has(self, key: CaseKey) -> bool:
        """Returns whether a case is among the given ones."""
        return key in self._unpacked or key in self._same("eval_id", json.dumps(key.eval_id))

    def _name_by_message(self, conversation: Conversation) -> None:
        """Names the case that begins with the user's first message; adds a finding if none does."""
        asked, turns = first_message(conversation.turns), conversation.turns
        stated = conversation.eval_set_id
        same = self._same("asked", asked) if asked else []
        if stated:
            same = [key for key in same if key.eval_set_id in ("", stated)]
        first = _first_of_user(turns)
        shown = repr(first.user[:_SHOWN_TEXT]) if first and first.user else None
        if len(same) > 1:
            names = listed([case.eval_id for case in same])
            raise AmbiguousMessageError(f"{len(same)} eval cases begin with the message {shown}: {names}")
        if same:
            conversation.eval_id, conversation.eval_set_id = same[0].eval_id, same[0].eval_set_id or None
        elif turns:
            why = f"no eval case begins with the message {shown}" if asked else _NO_MESSAGE
            turns[0].findings = [*turns[0].findings, Problem(NO_CASE, why)]

    def _named(self, conversation: Conversation, name: str) -> EvalCase:
        # Of two full names that differ, each is a case; a short name stands for all that end with it.
        short = name.rpartition("/")[2]
        same = self._same("eval_id", json.dumps(name))
        same = same or self._same("segment" if short == name else "eval_id", json.dumps(short))
        if not same:
            raise UnknownCaseError(f"no eval case is called {name!r}")
        chosen = _of_set(same, conversation)
        if len(chosen) == 1:
            return self._case(chosen[0])
        shown = listed(list(dict.fromkeys(_set_of(case) or _NO_SET for case in same)))
        if conversation.eval_set_id:
            where = f"in the set {conversation.eval_set_id!r}"
            raise UnknownCaseError(f"no eval case is called {name!r} {where}; sets that have one: {shown}")
        raise AmbiguousCaseError(
            f"several eval cases are called {name!r}; name the set in eval_set_id: {shown}"
        )

    def _same(self, column: str, value: str | bytes) -> list[CaseKey]:
        rows = self._execute(f"{_KEYS} WHERE {column} = ?", (value,))
        return [CaseKey(json.loads(set_id), json.loads(eval_id)) for set_id, eval_id in rows]

    def _case(self, key: CaseKey) -> EvalCase:
        case = self._unpacked.get(key)
        if case is None:
            (row,) = self._execute(f"SELECT * {_OF_KEY}", [json.dumps(text) for text in key])
            if len(self._unpacked) >= _MOST_UNPACKED:
                self._unpacked.clear()
            case = self._unpacked[key] = PackedCase._make(row).unpacked()[1]
        return case

    def _execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise OSError(f"eval cases cannot be kept in a temporary file: {error}") from error


def _repeated(entries: list[tuple[Record, EvalCase]], counts: Counter[str]) -> tuple[bool, list[Failure]]:
    """Returns whether entries with one key are one case, and the failures of those that do not count.

    Of equal ones the first counts. Of ones that differ none does: which is meant is unknown. A failure holds
    the case as canonical JSON.
    """
    entries.sort(key=lambda entry: entry[0][:2])
    places = [f"{record.source}:{record.position}" for record, _ in entries]
    first = entries[0][1]
    name = f"eval id {first.eval_id!r}" + (f" of the set {first.eval_set_id!r}" if first.eval_set_id else "")
    are_equal = all(case == first for _, case in entries)
    if are_equal:
        message = f"{name} stands already at {places[0]}"
    else:
        message = f"{name} stands several times and differs, so none counts: {listed(places, 3)}"
    repeated = entries[are_equal:]
    counts["cases"] -= len(repeated)
    counts["rejected_cases"] += len(repeated)
    held = (record._replace(data=dump_json(msgspec.to_builtins(case))) for record, case in repeated)
    return are_equal, [record_failure("parse_case", ValueError(message), record) for record in held]


def match_case(
    index: CaseIndex | None, conversation: Conversation, record: Record, counts: Counter[str]
) -> Sample | Failure:
    """Returns a conversation beside its case; a counted failure if its case is unknown or ambiguous.

    Where no cases are given, a name alone points nowhere and the conversation is scored without a case.
    """
    try:
        case = inline_case(conversation) if index is None else index.find(conversation)
        counts[NO_CASES_GIVEN] += case is None and conversation.eval_id is not None
        return Sample(conversation, case, record)
    except Exception as error:
        counts["rejected_conversations"] += 1
        failure = record_failure("match", error, record, conversation.conversation_id)
        failure.app_version = conversation.app_version
        return failure


def _set_of(case: CaseKey) -> str:
    """Returns the set of a case: the one that it states, or the app of its resource name."""
    app, is_resource, _ = case.eval_id.rpartition("/evaluations/")
    return case.eval_set_id or (app if is_resource else "")


def _of_set(cases: Sequence[CaseKey], conversation: Conversation) -> Sequence[CaseKey]:
    """Returns the cases of the set that a conversation states, or else, of several, those of its app."""
    stated = conversation.eval_set_id
    if stated:
        of_set = [case for case in cases if _set_of(case) == stated]
        return of_set or [case for case in cases if not _set_of(case)]
    if len(cases) == 1:
        return cases
    app = app_in(conversation.conversation_id, conversation.app_version)
    return [case for case in cases if app and _set_of(case) == app]


# Joins the turns that a record itself expects with those of the case that it names, field by field.

_CALLS, _WORDS = "calls", "words"
_GROUPS = {"tool_call": _CALLS, "no_tool_calls": _CALLS, "agent_response": _WORDS}
_LISTS = ("intermediate_responses", "scripted_transfers", "rubrics")


def joined_turns(
    given: list[ExpectedTurn], stated_turns: Sequence[ExpectedTurn], recorded: Sequence[Turn]
) -> list[ExpectedTurn]:
    """Returns the turns of a case, with what the record expects itself in place of what the case does.

    With equal numbers of turns, turn i is joined with turn i; otherwise the recorded turns are aligned with
    the case's. No turn of the case is left out. `stated_turns` is empty where the record expects nothing.
    """
    if all(turn == _NOTHING for turn in stated_turns):
        return given
    if not given:
        return list(stated_turns)
    if len(stated_turns) == len(given):
        return [_joined(case, turn) for case, turn in zip(given, stated_turns, strict=True)]
    joined: list[ExpectedTurn] = []
    for i, j in align(given, recorded):
        if i is None and j is not None and stated_turns[j] != _NOTHING:
            user = stated_turns[j].user or recorded[j].user
            joined.append(msgspec.structs.replace(stated_turns[j], user=user))
        elif i is not None:
            joined.append(given[i] if j is None else _joined(given[i], stated_turns[j]))
    return joined


def _joined(case: ExpectedTurn, stated_turn: ExpectedTurn) -> ExpectedTurn:
    if stated_turn == _NOTHING:
        return case
    # What the record states something of: words, calls, and the further kinds of expectations.
    stated = {_group(expectation) for expectation in stated_turn.expectations}
    stated |= {_WORDS} if stated_turn.response is not None else set()
    stated |= {_CALLS} if stated_turn.tool_calls is not None else set()
    words, calls = (stated_turn if _WORDS in stated else case), (stated_turn if _CALLS in stated else case)
    expectations: list[Expectation] = []
    if case.expectations or stated_turn.expectations:  # else neither has the CES form
        kept = [expectation for expectation in turn_expectations(case) if _group(expectation) not in stated]
        expectations = [*turn_expectations(stated_turn), *kept]
    return ExpectedTurn(
        user=case.user if stated_turn.user is None else stated_turn.user,
        response=words.response,
        adk_text=words.adk_text,
        adk_reads=words.adk_reads and calls.adk_reads,
        tool_calls=calls.tool_calls,
        expectations=expectations,
        thresholds=stated_turn.thresholds or case.thresholds,
        unread=stated_turn.unread or case.unread,
        **{name: getattr(stated_turn, name) or getattr(case, name) for name in _LISTS},
    )


def _group(expectation: Expectation) -> str:
    return _GROUPS.get(expectation.kind, expectation.kind)


# Describes the end of conversations, and detects aborted ones.

BROKEN: tuple[Ended, ...] = ("agent_error", "limit")
"""The ends by which a conversation fails, whatever its scores."""

_TEXTS: dict[Ended, str] = {
    "normally": "ended normally",
    "agent_error": "broke off: the agent failed",
    "limit": "broke off: a limit was reached",
    "user_left": "ended because the user left",
    "hand_off": "ended with a hand-off",
    "environment_error": "broke off, and not by the agent's failure",
}


def broke_off(conversation: Conversation) -> bool:
    """Returns whether the agent's failure or a limit ended a conversation."""
    return conversation.ended in BROKEN


def end_unclear(conversation: Conversation) -> bool:
    """Returns whether a conversation cannot pass because of its end.

    Something other than the agent ended it, or the log has a word for it that is not known.
    """
    ended = conversation.ended
    return ended == "environment_error" or (ended is None and conversation.ended_detail is not None)


def end_text(conversation: Conversation) -> str:
    """Returns how a conversation ended, in one line."""
    ended, detail = conversation.ended, conversation.ended_detail
    if ended is not None:
        return f"the conversation {_TEXTS[ended]}" + (f" ({detail})" if detail else "")
    if detail is None:
        return "the log does not say how the conversation ended"
    return f"how the conversation ended is not known: the log says {detail!r}"
