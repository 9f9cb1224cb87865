"""Builds turns from the messages of a conversation, in order, and reads those of all providers into them."""

import re
from collections.abc import Sequence
from typing import Any

from turnwise.schemas.conversation import Conversation, ToolCall, ToolResponse, Turn, Usage, decoded_arguments
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats import endings
from turnwise.transforms.formats.canonical import check_calls
from turnwise.transforms.formats.fields import NO_ANSWER, OPEN_CALL, UNREAD, Unread, gaps
from turnwise.transforms.formats.messages import parts
from turnwise.transforms.formats.messages.kinds import AGENT, SYSTEM, TOOL, USER, as_object, first_of, objects
from turnwise.transforms.formats.messages.spellings import CALL_ITEMS, HOLDERS, MEMORY, messages_of
from turnwise.transforms.matching.calls import answered_calls, pair_responses

TRANSFER = "transfer_to_"
"""How names of calls begin that hand over to another agent."""
_TARGET = re.compile(r"""\{\s*['"]assistant['"]\s*:\s*['"](.*)['"]\s*\}""", re.DOTALL)

NO_CONTENT = "a message without content"
"""Start of the finding of a message of whose keys none is known to hold words or calls."""
_BARE = frozenset(("role", "name", "id", "error", "requestor", "usage", "tool_call_id", "type", "timestamp"))
"""Keys of a message that says nothing."""


class Dialogue:
    """The turns of a conversation; a reader adds what each message says.

    Attributes:
        general: What is not read, and belongs to no turn.
        steps: What was said and done, in order, to compare two dialogues.
        finish: The model's last finish reason; None: not stated.
        failure: The error that ended the conversation; None: none is stated.
        uncounted: Positions of the turns with a report of tokens that cannot be counted.
        silent_calls: Positions of the turns with a call of a model that states no tokens.
        goes_on: Whether the agent's next text goes on with its last one.
        begun: Steps before the last reply, if that went on with their last text.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.general = Unread()
        self.steps: list[tuple[Any, ...]] = []
        self.finish: JsonValue = None
        self.failure: JsonValue = None
        self.goes_on = False
        self.begun: list[tuple[Any, ...]] = []
        self._unread: list[Unread] = []
        self._last: JsonObject = {}
        self.uncounted: set[int] = set()
        self._stating: set[int] = set()
        self.silent_calls: set[int] = set()
        self._own: dict[int, ToolResponse | None] = {}
        self._open_calls: dict[str | None, ToolCall] = {}
        self._again: set[int] = set()
        self._has_agent = self._is_heard = self._is_silent = self._is_users_work = False

    @property
    def turn(self) -> Turn:
        """The turn that is open; opened without a user's message if there is none."""
        return self.turns[-1] if self.turns else self.open()

    @property
    def unread(self) -> Unread:
        """What is not read of the turn that is open."""
        return self._unread[-1] if self._unread else self.general

    def open(self, timestamp: JsonValue = None, text: str | None = None) -> Turn:
        """Opens a turn; None: its user's message is not in the log."""
        self.turns.append(Turn(turn_index=len(self.turns), user=text, timestamp=timestamp))
        self._unread.append(Unread())
        self._open_calls.clear()
        return self.turns[-1]

    def undo(self, number: int) -> None:
        """Leaves out the last turns, because they were rolled back."""
        undone = self.turns[-number:] if number > 0 else []
        kept = len(self.turns) - len(undone)
        self.turns, self._unread = self.turns[:kept], self._unread[:kept]
        for positions in (self.uncounted, self._stating, self.silent_calls):
            positions.intersection_update(range(kept))
        message = f"{len(undone)} turns were rolled back and are left out; what they did may have its effects"
        self.general.add("UndoneTurns", message, calls=any(turn.tool_calls for turn in undone))

    def user(
        self, text: str, time: JsonValue = None, made: Sequence[tuple[ToolCall, ToolResponse | None]] = ()
    ) -> None:
        """Opens a turn with what the user wrote; one in which only the user's own tools worked goes on.

        `made` are the calls of the user's own tools, each with the result that it holds.
        """
        if not self._is_users_work:
            self.open(time, text)
        else:
            self.turn.user = "\n".join(filter(None, (self.turn.user, text)))
        self.turn.user_tool_calls = [*self.turn.user_tool_calls, *(call for call, _ in made)]
        self._own.update((id(call), result) for call, result in made)
        self._step("user", text.strip(), *((call.name, call.id, call.args) for call, _ in made))
        self._is_users_work = bool(made) and not text

    def agent(self, text: str, name: str = "") -> None:
        """Adds a text of the agent, or of one of several; an empty one says nothing."""
        self._is_users_work = False
        if text and self.goes_on:
            # A client that repeats the messages sends the whole text.
            self.begun = [*self.steps]
            self.steps.pop()
            *self.turn.agent_messages, start = self.turn.agent_messages
            self.turn.speakers = self.turn.speakers[: len(self.turn.agent_messages)]
            text = start + text
        if text:
            unknown = [""] * (len(self.turn.agent_messages) - len(self.turn.speakers))
            self.turn.agent_messages = [*self.turn.agent_messages, text]
            self.turn.speakers = [*self.turn.speakers, *unknown, name] if name else self.turn.speakers
            self._step("agent", text.strip())

    def call(self, name: JsonValue, args: JsonValue, call_id: JsonValue = None, resource: str = "") -> None:
        """Adds a call; arguments may be an object or its JSON text."""
        text, made_id = endings.as_text(name), endings.as_text(call_id)
        self.made(ToolCall(text, decoded_arguments(args), made_id, resource=resource or None))

    def made(self, call: ToolCall, result: ToolResponse | None = None) -> None:
        """Adds a call that is read already, and may hold its own result."""
        if call.id and result is None and self._open_calls.setdefault(call.id, call) == call:
            self._again |= {id(call)} - {id(self._open_calls[call.id])}
        self.turn.tool_calls = [*self.turn.tool_calls, call]
        self._own[id(call)] = result
        self._step("call", call.name, call.id, call.args)

    def result(
        self,
        response: JsonValue,
        call_id: JsonValue = None,
        name: JsonValue = None,
        error: JsonValue = None,
        by_user: bool = False,
    ) -> None:
        """Adds the result of a call, of the user's own tools too; of a hand-off also who takes over."""
        answer = ToolResponse(endings.as_text(name), endings.as_text(call_id), response)
        answer.error = endings.error_mark(error) or None
        turn, is_work = self.turn, self._is_users_work and by_user
        if by_user:
            turn.user_tool_responses = [*turn.user_tool_responses, answer]
        else:
            turn.tool_responses = [*turn.tool_responses, answer]
            self._open_calls.pop(answer.id, None)
            if answer.id is None:
                self._open_calls.clear()
        self._step("result", answer.id, answer.name)
        self._is_users_work = is_work

    def alternatives(self, number: int) -> None:
        """Adds a finding if a reply has several alternatives; only the first one is read."""
        if number > 1:
            self.unread.add(UNREAD, f"the reply has {number} alternatives; only the first is read")

    def usage(self, report: JsonValue, model: JsonValue = None) -> None:
        """Adds tokens of a model to the turn that is open; a negative count makes all of them unknown."""
        counts = endings.token_counts(as_object(report))
        if endings.wrong_tokens(report) or endings.wrong_tokens(counts):
            self.uncounted.add(len(self.turns) - 1)
        elif self.turns:
            self.turn.usage = counted(self.turn.usage, counts, model)

    def _step(self, kind: str, *what: Any) -> None:
        self.steps.append((kind, *what))
        self.finish, self._last, self._is_silent, self._is_users_work = None, {}, False, False
        self.goes_on = False
        if kind in ("agent", "call"):
            self._has_agent = self._is_heard = True

    def note_message(self, message: JsonObject, has_calls: bool, finish: JsonValue) -> None:
        """Notes what a message of the agent, whose parts are added, states of its end and its tokens."""
        self._last, self._is_silent, self.finish = message, not self._is_heard, finish
        # What is nothing but a role is no message.
        self._has_agent, self._is_heard = self._has_agent or len(message) > 1, False
        # Older messages of LangChain state tokens in the metadata of the response.
        about = as_object(message.get("response_metadata"))
        stated = (message.get(key) for key in ("usage_metadata", "usage", "models_usage"))
        reports = map(as_object, (*stated, about.get("token_usage"), about.get("usage")))
        report = next(filter(None, reports), None)
        model = message.get("model") or about.get("model_name") or about.get("model")
        if report:
            self.usage(report, model)
        if report or has_calls or model:
            (self._stating if report else self.silent_calls).add(len(self.turns) - 1)

    @property
    def last(self) -> str | None:
        """The kind of the last step: user, agent, call or result."""
        return self.steps[-1][0] if self.steps else None

    def check_end(self) -> None:
        """Adds a finding if the last reply, which was streamed, has no finish reason and no error."""
        if self.finish is None and not self.failure:
            message = "the stream of the reply has no end, and may be cut off"
            self.unread.add(UNREAD, message, calls=True, words=True)

    def end(self, record: JsonObject) -> endings.End:
        """Returns how the conversation ended: as the record states it, or by the last message."""
        stated = endings.record_end(record)
        if self.failure:
            stated = endings.agreed_end(stated, endings.error_end(self.failure))
        reasons = self.finish, endings.stated_reason(self._last)
        marked = endings.marked_end(self._last)
        if marked.detail and marked.ended is None:
            # A message may be incomplete because of a limit, which the reply names.
            marked = endings.agreed_end(endings.reasons_end(reasons, True, False), marked)
        stated = endings.agreed_end(stated, marked)
        if stated != endings.UNKNOWN or not self.steps:
            return stated
        if self.last == "user" and reasons == (None, None) and not self._is_silent:
            return endings.users_end(self.steps[-1][1])
        has_answer = self.last == "agent" and not self._is_silent
        return endings.reasons_end((*reasons, endings.stated_reason(record)), not has_answer, has_answer)

    def conversation(self, name: str, source: str, end: endings.End | None = None) -> Conversation:
        """Returns the conversation; to be called once. Without an `end` it ended as its last message says."""
        end = self.end({}) if end is None else end
        return Conversation(name, source, turns=self.close(end), ended=end.ended, ended_detail=end.detail)

    def close(self, end: endings.End) -> list[Turn]:
        """Returns the turns with their findings; to be called once."""
        # Of a turn of several calls, the tokens of some are not those of the turn.
        self.uncounted |= self._stating & self.silent_calls
        for index, (turn, unread) in enumerate(zip(self.turns, self._unread, strict=True)):
            texts = turn.agent_messages
            turn.agent, turn.agent_messages = (texts[-1] if texts else ""), (texts if len(texts) > 1 else [])
            turn.speakers += [""] * (len(texts) - len(turn.speakers)) if turn.speakers else []
            turn.usage = None if index in self.uncounted else turn.usage
            for call in [call for call in turn.tool_calls if id(call) in self._again]:
                # The log states a call twice, unless it has a result for both.
                ids = [response.id for response in turn.tool_responses if response.id in (None, call.id)]
                if len(ids) < sum(other.id == call.id for other in turn.tool_calls):
                    turn.tool_calls = [other for other in turn.tool_calls if other is not call]
            sides = turn.tool_calls, turn.user_tool_calls
            held, users = ([self._own.get(id(call)) for call in calls] for calls in sides)
            endings.add_own_results(turn, held, users, unread)
            _name(turn)
            unread.add_to(turn)
        check_calls(self.turns)
        if self.turns and not self._has_agent:
            said_none = "no message is the agent's: its answers are not in the log"
            gaps(NO_ANSWER, [said_none]).add_to(self.turns[0])
        last = self.turns[-1].tool_calls[-1:] if end == endings.UNKNOWN and self.last == "call" else []
        if any(self._own.get(id(call)) is None for call in last):
            stops = f"the log stops at the call {(last[0].name or '')[:60]!r}, without its result"
            gaps(OPEN_CALL, [stops], words=False).add_to(self.turns[-1])
        self.general.add_to_all(self.turns)
        return self.turns


def counted(usage: Usage | None, fields: JsonObject, model: JsonValue = None) -> Usage | None:
    """Adds a report to tokens; what is no count is left out, and all of a report with a negative one."""
    counts = endings.known_tokens(fields)
    known: dict[str, Any] = {name: count for name, count in counts.items() if type(count) is int}
    if not known:
        return usage
    report = Usage(**known, model=endings.as_text(model) or None)
    return usage.plus(report) if usage else report


def _name(turn: Turn) -> None:
    """Gives results the names of their calls, and adds the hand-offs that results state."""
    users = turn.user_tool_calls
    answers = pair_responses(users, turn.user_tool_responses)
    for call, response in (*answered_calls(turn), *zip(users, answers, strict=True)):
        if response is not None and response.name is None:
            response.name = call.name
        if response is not None and (call.name or "").startswith(TRANSFER):
            held = response.response
            # Older results are a Python text.
            match = _TARGET.fullmatch(held.strip()) if isinstance(held, str) else None
            target = as_object(held).get("assistant") if match is None else match[1]
            if isinstance(target, str) and target and target not in turn.transfers:
                turn.transfers = [*turn.transfers, target]


def read_dialogue(
    messages: list[JsonValue], log: Dialogue, role: str = parts.UNKNOWN, joint: str = "\n"
) -> None:
    """Adds messages to a dialogue, in order; raises ValueError for a value of the wrong type.

    What states no role is of `role`; `joint` stands between texts of a message that follow each other.
    """
    for value in objects(messages, "messages"):
        if not isinstance(calls := value.get("tool_calls"), str):  # JSON text, as columns hold it
            list(objects(calls or None, "tool_calls"))
        if value.get("type") == MEMORY:
            log.turn.unknown_evidence = "what the agent's memory gave it is not read"
        for message in messages_of(value, role):
            if message.role == SYSTEM:
                message.add_unread(log.general, by_agent=False)
                continue
            if message.role == USER and message.calls and not value.get("role"):
                message.role = AGENT  # Gemini's contents without a role are the user's, if they only say.
            _add(message, log, joint, value)
            if value.keys().isdisjoint(HOLDERS) and message.is_empty and not value.keys() <= _BARE:
                keys = (key if key.isprintable() else repr(key) for key in list(value)[:8])
                shown = f"{NO_CONTENT} (keys {', '.join(keys)})"
                log.unread.add(UNREAD, shown, calls=True, words=message.role not in (USER, TOOL))
            # An item that is a call states its own error, not that of the conversation.
            if message.role == AGENT and value.get("type") not in CALL_ITEMS:
                log.note_message(value, bool(message.calls), message.finish)


def _add(message: parts.SpanMessage, log: Dialogue, joint: str, value: JsonObject) -> None:
    """Adds what a message says and does, in order; an agent's call that somebody else has to run ends it."""
    by_user, time = message.role in (USER, TOOL), first_of(value, ("timestamp", "createdAt"))
    if not (by_user or log.turns or message.is_empty):
        log.open(time)
    is_own = value.get("requestor") == USER
    # The name of an item that is a call is the tool's.
    is_spoken = message.role == AGENT and not str(value.get("type")).endswith("_call")
    speaker = endings.as_text(first_of(value, ("name", "source"))) if is_spoken else None

    def tool_call(call: parts.MessageCall) -> ToolCall:
        args = decoded_arguments(call.args)
        return ToolCall(call.name, args, call.id, agent=speaker, resource=call.resource or None)

    if by_user:
        for result in message.results:
            log.result(result.response, result.id, result.name, result.error, is_own)
        holds_results = message.results or parts.INTERIM in message.parts
        says_more = message.texts or any(part != parts.INTERIM for part in message.parts)
        is_said = message.role == USER and (says_more or not holds_results)
        if is_said and (message.is_users or message.results or not message.texts):
            log.user(message.text, time, [(tool_call(call), call.result) for call in message.calls])
    else:
        answered = {result.id for result in message.results} - {None}
        inside = {id(c) for c in message.calls if c.is_hosted or c.is_stated or c.result or c.id in answered}
        texts, start = message.texts if message.role == AGENT else [], 0
        steps: list[parts.MessageCall | parts.MessageResult] = [*message.calls, *message.results]
        for step in sorted(steps, key=lambda step: step.after):
            log.agent(joint.join(texts[start : step.after]), speaker or "")
            start = max(start, step.after)
            if isinstance(step, parts.MessageResult):
                log.result(step.response, step.id, step.name, step.error, is_own)
            elif id(step) in inside:
                log.made(tool_call(step), step.result)
        log.agent(joint.join(texts[start:]), speaker or "")
        for call in message.calls:
            if id(call) not in inside:
                log.made(tool_call(call), call.result)
        if message.hands_to:
            log.turn.transfers = [*log.turn.transfers, message.hands_to]
    message.add_unread(log.unread, not by_user)
