"""Reads records of any form as conversations, by the mapping of the config."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import islice
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter

from turnwise.schemas.config import MappingConfig, states_no_calls
from turnwise.schemas.conversation import Conversation, Record, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, json_structure, listed, shown
from turnwise.transforms.formats import endings, registry
from turnwise.transforms.formats.canonical import check_calls
from turnwise.transforms.formats.events import ConversationEvent, read_event
from turnwise.transforms.formats.fields import UNREAD, Unread, canonical, gaps, may_hold_work
from turnwise.transforms.formats.messages import kinds
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.messages_base import DIALECTS, dialects_of
from turnwise.transforms.formats.messages.model_apis import CHAT, chat_conversation
from turnwise.transforms.formats.messages.parts import SpanMessage, add_text

FIELDS = (
    *("app_version", "language", "eval_id", "eval_set_id", "start_time", "tags", "ended", "ended_detail"),
    *("labels", "state", "tools", "user_id"),
)
SINGLE = ("conversation_id", "order", *FIELDS)
"""What a mapping reads in a record beside its turns and messages."""


class MappedRecord:
    """A record, and what the expressions of a mapping read in it."""

    def __init__(self, record: JsonValue) -> None:
        self._record = record
        self._interpreter = _TracingInterpreter()
        # Results are kept, so that no other object gets the id of one.
        self._results: list[JsonValue] = []

    def at(self, expression: str | None) -> JsonValue:
        """Returns what an expression finds (None: nothing); raises ValueError, one line, where it cannot."""
        if expression is None:
            return None
        try:
            result = self._interpreter.visit(jmespath.compile(expression).parsed, self._record)
        except (JMESPathError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"mapping: {expression}: {' '.join(str(error).split())[:300]}") from None
        self._results.append(result)
        return result

    @cached_property
    def _ids(self) -> frozenset[int]:
        return frozenset(_ids(self._record))

    def states_calls(self, held: JsonValue, is_spelt: bool = False) -> bool:
        """Returns whether a turn or message can hold calls.

        It can if it has a place for them, or if it is an object of the record, also one that a text
        spells, that no expression made.
        """
        if not isinstance(held, dict):
            return False
        has_place = not held.keys() <= _PLAIN or isinstance(held.get("content"), list)
        is_whole = is_spelt or id(held) in self._ids
        holds_parts = is_whole and not held.keys().isdisjoint(("parts", "type"))
        return "tool_calls" in held or holds_parts or ("content" in held and (has_place or is_whole))

    def fields(self, mapping: MappingConfig) -> JsonObject:
        """Returns the fields of the conversation that the record states; raises ValueError as `at` does."""
        fields = {name: self.at(getattr(mapping, name)) for name in FIELDS}
        return {name: value for name, value in fields.items() if value is not None}

    def unread(self, mapping: MappingConfig) -> list[str]:
        """Returns the places of what may hold calls, words or errors, and that no expression reads.

        Where the mapping states that there are no calls, they are those of errors. Raises ValueError as `at`
        does.
        """
        self.at(mapping.ignored)
        whole = set(_ids(self._results)) | self._interpreter.whole
        return list(dict.fromkeys(self._unread(self._record, "", whole, states_no_calls(mapping.content))))

    def _unread(self, value: JsonValue, path: str, whole: set[int], only_errors: bool) -> Iterator[str]:
        if id(value) in whole:
            return
        for item in value if isinstance(value, list) else ():
            yield from self._unread(item, f"{path}[]", whole, only_errors)
        fields = value if isinstance(value, dict) else {}
        read = {key for key in fields if (id(value), key) in self._interpreter.read}
        if path and fields and not (read or only_errors):
            yield path
            return
        is_call = id(value) in self._interpreter.calls
        for key, item in fields.items():
            inner_path = f"{path}.{key}" if path else key
            if only_errors:
                is_unread = bool(item) and not _ERRORS.isdisjoint(kinds.snake(key).split("_"))
            else:
                is_unread = may_hold_work(key, item)
            if is_call and not (only_errors or is_unread) and item not in (None, "", [], {}):
                # The value of a key of a call may say how the call ended, if it is no figure and no label.
                name = kinds.snake(key)
                is_number = isinstance(item, int | float) and not isinstance(item, bool)
                is_label = name in _LABELS or name.endswith(("_id", "_at", "_time"))
                is_unread = not is_label and (not is_number or name in _CODES)
            if is_unread and key not in read:
                yield inner_path
            elif only_errors or key in read:
                yield from self._unread(item, inner_path, whole, only_errors)


_ERRORS = frozenset(("error", "errors", "exception", "failure", "failed"))
_LABELS = frozenset(("id", "type", "kind", "index", "time", "timestamp", "description", "title"))
_CODES = ("status", "status_code", "code", "exit_code")


def _ids(value: JsonValue) -> Iterator[int]:
    if isinstance(value, dict | list):
        yield id(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from _ids(item)


class _TracingInterpreter(TreeInterpreter):
    def __init__(self) -> None:
        super().__init__()
        self.read: set[tuple[int, str]] = set()  # id of each object, and the key of it that was read
        self.whole: set[int] = set()  # ids of what was turned into text, all of which counts as read
        self.calls: set[int] = set()  # ids of objects of which name and arguments were made a call

    def visit_multi_select_dict(self, node: Any, value: Any) -> Any:
        if isinstance(value, dict) and {"name", "args"} <= {child["value"] for child in node["children"]}:
            self.calls.add(id(value))
        return super().visit_multi_select_dict(node, value)

    def visit_field(self, node: Any, value: Any) -> Any:
        if isinstance(value, dict):
            self.read.add((id(value), node["value"]))
        return super().visit_field(node, value)

    def visit_value_projection(self, node: Any, value: Any) -> Any:
        base = self.visit(node["children"][0], value)
        if isinstance(base, dict):
            self.read.update((id(base), key) for key in base)
        return super().visit_value_projection(node, value)

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        if node["value"] == "to_string":
            self.whole.update(id(self.visit(child, value)) for child in node["children"])
        return super().visit_function_expression(node, value)


MAPPING = "mapping"
PART = "mapped_part"
"""Name of the format of a part of a conversation, and the key that holds it."""
_CALLS = ("tool_calls", "user_tool_calls")
_WHAT = "the mapping"
_TEXTS = ("app_version", "eval_id", "eval_set_id", "start_time", "user_id")
_PLAIN = frozenset(("role", "content", "name", "id", "timestamp", "created_at"))
_NO_CALLS = "the mapping names no tool_calls; if the agent has no tools, state it: tool_calls: `[]`"


def _join(session_id: str, values: Sequence[JsonObject]) -> Conversation:
    parts = [value[PART] for value in values]
    orders = [part["order"] for part in parts]
    numbers: list[Decimal] = []
    for order in orders:
        # Cells of a CSV file state numbers as texts.
        with suppress(InvalidOperation):
            if isinstance(order, str | int | float) and (number := Decimal(order)).is_finite():
                numbers.append(number)
    if len(numbers) == len(parts):
        parts = [part for _, part in sorted(zip(numbers, parts, strict=True), key=lambda pair: pair[0])]
    elif all(isinstance(order, str) for order in orders):
        parts.sort(key=lambda part: part["order"])
    fields: JsonObject = {}
    for part in parts:
        # A conversation starts with its first part.
        fields |= part["fields"] | {key: fields[key] for key in ("start_time",) if key in fields}
    read, key = (_of_turns, "turn") if "turn" in parts[0] else (_of_messages, "message")
    conversation = read([part.get(key) for part in parts], fields, session_id)
    unread = list(dict.fromkeys(path for part in parts for path in part["unread"]))
    return _with_gaps(conversation, any(part["states_calls"] for part in parts), unread)


def _read(value: JsonValue, record: Record, settings: registry.ReadSettings) -> list[Conversation]:
    mapping = settings.mapping
    if mapping is None:
        raise ValueError("the config has no mapping")
    mapped = MappedRecord(value)
    name = endings.as_text(mapped.at(mapping.conversation_id)) or registry.record_place(record)
    path = mapping.turns or mapping.messages
    given = mapped.at(path)
    held = kinds.decoded(given)  # cells hold JSON text
    if not isinstance(held, list):
        raise ValueError(f"{_WHAT}: {path} finds no array in the record")
    read = _of_turns if mapping.turns else _of_messages
    conversation = read(held, mapped.fields(mapping), name)
    states_calls = any(mapped.states_calls(item, isinstance(given, str)) for item in held)
    return [_with_gaps(conversation, states_calls, mapped.unread(mapping))]


def _with_gaps(conversation: Conversation, states_calls: bool, places: Sequence[str]) -> Conversation:
    message = "the mapping does not read {!r}; it may hold calls, results or errors"
    missing = [message.format(path[:200]) for path in places]
    if not states_calls and not any(turn.tool_calls for turn in conversation.turns):
        missing.append(_NO_CALLS)
    gaps(UNREAD, missing, words=False).add_to_all(conversation.turns)
    return conversation


def _of_turns(held: Sequence[JsonValue], fields: JsonObject, name: str) -> Conversation:
    turns: list[Turn] = []
    for index, turn in enumerate(kinds.objects(list(held), "turns")):
        given = {key: item for key, item in turn.items() if item is not None}
        if not given:
            raise ValueError(f"{_WHAT}: turns.{index}: nothing is found in it")
        for key in given.keys() & {*_CALLS, "tool_responses"}:  # cells hold JSON text
            given[key] = list(kinds.objects(kinds.decoded(given[key] or []), key))
        agents, users = ([endings.own_result(call) for call in given.get(key, ())] for key in _CALLS)
        for key in given.keys() & _CALLS:
            given[key] = [canonical(ToolCall, endings.call_fields(call), _WHAT) for call in given[key]]
        for key in given.keys() & {"tool_responses"}:
            given[key] = [canonical(ToolResponse, answer, _WHAT) for answer in given[key]]
        made, unread = canonical(Turn, {**given, "turn_index": index}, _WHAT), Unread()
        made.agent = made.agent and _words(made.agent, unread)
        made.agent_messages = [words for text in made.agent_messages if (words := _words(text, unread))]
        endings.add_own_results(made, agents, users, unread)
        turns.append(unread.add_to(made))
    check_calls(turns)
    return _conversation(turns, fields, name, endings.UNKNOWN)


def _words(text: str, unread: Unread) -> str:
    """Returns a text of the agent as that of a message is read: without thoughts."""
    message = SpanMessage(kinds.AGENT)
    add_text(message, text)
    message.add_unread(unread)
    return message.text


def _of_messages(held: Sequence[JsonValue], fields: JsonObject, name: str) -> Conversation:
    messages = list(held)
    for index, message in enumerate(messages):
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        if isinstance(calls, list) and any(isinstance(call, str) for call in calls):
            # JSON texts in place of calls spell one or several each.
            spelt = map(kinds.decoded, calls)
            single = [call for given in spelt for call in (given if isinstance(given, list) else [given])]
            messages[index] = {**kinds.as_object(message), "tool_calls": single}
    names = dialects_of({"messages": messages})
    if len(names) > 1:
        raise ValueError(f"{_WHAT}: messages in several formats: {', '.join(sorted(names))}")
    log = Dialogue()
    DIALECTS[next(iter(names), CHAT.name)].read(messages, log)
    end = log.end({})
    return _conversation(log.close(end), fields, name, end)


def _conversation(turns: list[Turn], fields: JsonObject, name: str, end: endings.End) -> Conversation:
    stated = endings.stated_end(fields.get("ended"), fields.get("ended_detail"))
    end = end if stated == endings.UNKNOWN else stated
    given = {**fields, **{key: endings.as_text(fields.get(key)) for key in _TEXTS}}
    given |= {"conversation_id": name, "source": MAPPING, "turns": turns}
    given["tags"] = endings.tag_texts(fields.get("tags"))
    given["tools"] = endings.declared_tools(fields.get("tools"))
    given |= {"ended": end.ended, "ended_detail": end.detail}
    return canonical(Conversation, given, _WHAT)


# For example any record, such as {"call": "c", "lines": [{"asked": "Hi", "said": "Hello"}]}
registry.register_built_in(
    MAPPING, 200, "records of any form, by the mapping of the config", lambda record: False, read_log=_read,
    may_be_part=True,
)  # fmt: skip
# For example any row, such as {"chat": "c", "n": 1, "from": "human", "text": "Hi"}
registry.register_built_in(
    PART, 190, "parts of conversations, by the mapping of the config",
    lambda record: isinstance(record.get(PART), dict),
    events=registry.EventReader(locate=lambda value: (str(value[PART]["conversation_id"]), -1), join=_join),
)  # fmt: skip


def takes_rows(mapping: MappingConfig, rows: Sequence[JsonValue], chosen: registry.Format | None) -> bool:
    """Returns whether each object of an array is a record of its own, because the mapping is meant for it.

    A format may take the array for the messages of one chat. `chosen` is the format of every record; None:
    they are recognised.
    """
    if chosen is not None:
        return chosen is registry.FORMATS[MAPPING] and mapping.is_part
    if mapping.when is not None:
        return any(_finds(mapping.when, row) for row in rows)
    if not (mapping.is_part and rows) or dialects_of({"messages": list(rows)}):
        return False
    first = kinds.as_object(rows[0])
    is_known = any(kind.is_list and kind.is_list(first) for kind in registry.formats_in_order() if first)
    is_chat = _is_message(first) or not is_known
    return is_chat and any(_finds(mapping.conversation_id, row) for row in rows)


def _finds(expression: str | None, row: JsonValue) -> bool:
    try:
        return isinstance(row, dict) and bool(MappedRecord(row).at(expression))
    except ValueError:
        return False


def mapped_format(mapping: MappingConfig | None, value: JsonValue, is_table: bool = False) -> registry.Format:
    """Returns the format of a record, which a mapping may read; raises ValueError as `recognise` does."""
    condition = None if mapping is None else mapping.when
    if condition is not None and isinstance(value, dict) and MappedRecord(value).at(condition):
        return registry.FORMATS[MAPPING]
    try:
        return registry.FORMATS[recognise(value, is_table and mapping is None)]
    except ValueError:
        if mapping is None or condition is not None or not isinstance(value, dict):
            raise
    return registry.FORMATS[MAPPING]


def part_event(mapping: MappingConfig, value: JsonValue, record: Record) -> ConversationEvent:
    """Returns the event that a record is, with what the mapping finds in it; raises ValueError: nothing."""
    if not isinstance(value, dict):
        raise ValueError(f"a JSON object is needed, not {shown(value)}")
    mapped = MappedRecord(value)
    name = endings.as_text(mapped.at(mapping.conversation_id))
    if not name:
        raise ValueError(f"{_WHAT}: {mapping.conversation_id} finds no id of the conversation")
    held = mapped.at(mapping.turn or mapping.message)
    if not isinstance(held, dict):
        raise ValueError(f"{_WHAT}: {mapping.turn or mapping.message} finds no object in the record")
    part: JsonObject = {"conversation_id": name, "turn" if mapping.turn else "message": held}
    part |= {"order": mapped.at(mapping.order), "fields": mapped.fields(mapping)}
    part |= {"states_calls": mapped.states_calls(held), "unread": mapped.unread(mapping)}
    times = ("timestamp", "event_time", "time", "created_at", "start_time")
    event = {PART: part, **{key: value[key] for key in times if key in value}}
    return read_event(PART, event, record._replace(data=dump_json(event)))


SHOWN_KEYS = 8
_SUGGEST = (
    "read it by a `mapping` in the config, which `turnwise inspect --suggest` proposes, or by a --plugin, or "
    f"{registry.NEXT_STEP}"
)


def recognise(value: JsonValue, is_table: bool = False) -> str:
    """Returns the name of a parsed record's format.

    It is a JSON object, of the formats that are lists (see `Format.is_list`) also the list; `is_table`: of a
    CSV file. Raises ValueError, one line that says what it is, if no format that is read fits.
    """
    # Columns that are empty in a row may be what only its format has.
    for spelling in (kinds.without_nulls(value), value):
        sample = spelling[0] if isinstance(spelling, list) and spelling else spelling
        record = {"messages": spelling} if _is_list_of(spelling, sample) else sample
        if isinstance(record, dict):
            for kind in registry.formats_in_order():
                if kind.recognises(record):
                    return kind.name
            for kind in registry.formats_in_order():
                if kind.recognises_last and kind.recognises_last(record):
                    return kind.name
    if page := page_items(value):
        try:
            recognise(page[0])
        except registry.UnknownFormatError as error:
            what = f"a page of a list of {len(page)} {_listed(value) or 'log events'}"
            raise registry.UnknownFormatError(f"{what}: {error}") from None
    if isinstance(record, dict) and isinstance(record.get("criteria"), dict):
        raise registry.ConfigInLogsError("a config of criteria, no log; give it with --config")
    kind_of_error = registry.UnknownTableError if is_table else registry.UnknownFormatError
    raise kind_of_error(_refusal(value, record, is_table))


NEXT_PAGE = ("nextPageToken", "next_page_token", "nextToken")
CURSORS = "cursors"  # of LangSmith's pages of runs: `next` names the next page
_OF_PAGES = {*NEXT_PAGE, CURSORS, "totalSize", "total_size", "unreachable", "search_cursors", "parsed_query"}


def page_items(value: JsonValue) -> list[JsonObject]:
    """Returns the records of a page, as Google's APIs list them under one key; empty: it is no page.

    So are events of CloudWatch, each of which holds a record as the JSON text of its message.
    """
    texts = filter(None, map(json_structure, log_lines(value)))
    if records := [text for text in texts if isinstance(text, dict)]:
        return records
    key = _listed(value)
    return kinds.objects_in(value[key]) if key and isinstance(value, dict) else []


def log_lines(value: JsonValue) -> list[str]:
    """Returns the messages of what CloudWatch gives out: of events, an event, or the results of a query.

    For example `{"events": [{"timestamp": 1, "message": "{...}"}], "searchedLogStreams": []}`.
    """
    held = kinds.as_object(value)
    events = kinds.objects_in(held.get("events")) or kinds.objects_in(held.get("logEvents")) or [held]
    rows = held.get("results")
    for row in rows if isinstance(rows, list) else ():
        fields = {str(cell.get("field")): cell.get("value") for cell in kinds.objects_in(row)}
        events.append({"message": fields.get("@message"), "timestamp": fields.get("@timestamp")})
    is_log = held.keys() & _OF_LOGS or all(event.keys() <= _OF_LOG_EVENTS for event in events)
    lines = [event.get("message") for event in events if is_log and "timestamp" in event]
    return [line for line in lines if isinstance(line, str)]


_OF_LOGS = frozenset(("searchedLogStreams", "nextForwardToken", "logEvents", "statistics"))
_OF_LOG_EVENTS = frozenset(("timestamp", "message", "ingestionTime", "eventId", "logStreamName", "id"))
_LISTS = ("conversations", "sessions", "evaluations", "evaluationResults", "evaluation_results")


def _listed(value: JsonValue) -> str | None:
    keys = [key for key in value if key not in _OF_PAGES] if isinstance(value, dict) else []
    is_page = len(keys) == 1 and isinstance(value, dict) and (len(value) > 1 or keys[0] in _LISTS)
    return keys[0] if is_page else None


def _is_list_of(value: JsonValue, sample: JsonValue) -> bool:
    """Returns whether a value is a list of messages, or a single one that is no whole reply of a model."""
    if not isinstance(sample, dict):
        return False
    fits = _is_message(sample) or any(dialect.fits(sample) for dialect in DIALECTS.values())
    return fits and (isinstance(value, list) or not dialects_of(sample))


def _refusal(value: JsonValue, record: JsonValue, is_table: bool) -> str:
    """Returns what is said of a record that no format fits, given also as a sample of a list."""
    dialects = dialects_of(record) if isinstance(record, dict) else frozenset()
    if len(dialects) > 1:
        return f"messages in several formats: {', '.join(sorted(dialects))}; name one as --input_format"
    foreign = registry.foreign_format(record if isinstance(record, dict) else value)
    near = registry.nearest_format(record) if isinstance(record, dict) else None
    if foreign:
        near = None if foreign == registry.SHARE_GPT else near  # CES's goldens have only the same key
        return f"{foreign}: this format is not read; {f'{near}; ' if near else ''}{_SUGGEST}"
    if _is_list_of(value, value):
        why = "a single message; a chat is one record that holds all its messages in a list under messages"
        return f"unrecognised record: {_described(value)}: {why}"
    if is_table and not near:
        step = "`turnwise inspect --suggest FILE` proposes a `mapping` of the config that does"
        return f"a CSV file, {_described(record)}: nothing says what its columns hold; {step}"
    what = f"{near}; {_described(record)}" if near else f"{_described(record)}; near to none of the formats"
    return f"unrecognised record: {what}; {_SUGGEST}"


def _described(record: JsonValue) -> str:
    if not isinstance(record, dict):
        return f"{shown(record)}, not a JSON object"
    if not record:
        return "an object without keys"
    # A key may hold line ends.
    keys = [key if key.isprintable() else repr(key) for key in islice(record, SHOWN_KEYS)]
    return f"keys {listed(keys, SHOWN_KEYS, len(record))}"


def _is_message(value: JsonValue) -> bool:
    return isinstance(value, dict) and "role" in value


def _is_chat(record: JsonObject) -> bool:
    """Returns whether a record holds a list of messages, and is in no other format."""
    if dialects_of(record) or registry.foreign_format(record):
        return False
    messages = kinds.decoded(record.get("messages", record.get("traj")))
    if messages == [] and "task_id" in record:  # a run of a task that failed before its first message
        return bool(kinds.as_object(record.get("info")).get("error"))
    return isinstance(messages, list) and any(map(_is_message, messages))


# For example {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
registry.register_built_in(
    CHAT.name, 140, CHAT.help, _is_chat, CHAT.keys[0],
    read_log=lambda value, record, settings: [chat_conversation(value, registry.record_place(record))],
    is_list=_is_message,
)  # fmt: skip
