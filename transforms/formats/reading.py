"""One reader for logs and one for eval cases, of all formats."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from msgspec import to_builtins
from pydantic_core import from_json

from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig, EvalConfig
from turnwise.schemas.conversation import Conversation, Receipt, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, json_structure, json_value, no_utf8
from turnwise.schemas.registry import modules_of
from turnwise.schemas.score import RAISED, Failure, IncompleteReadError, record_failure
from turnwise.transforms.formats import fields
from turnwise.transforms.formats.events import (
    ConversationEvent,
    add_clashes,
    distinct,
    in_order,
    join_events,
    read_event,
)
from turnwise.transforms.formats.identity import KEYS, Paths, identify, identify_kept, identity_at, texts_at
from turnwise.transforms.formats.mapped import (
    CURSORS,
    MAPPING,
    NEXT_PAGE,
    PART,
    SINGLE,
    MappedRecord,
    log_lines,
    mapped_format,
    page_items,
    part_event,
    recognise,
    takes_rows,
)
from turnwise.transforms.formats.messages.kinds import as_object, first_of, stated, without_nulls
from turnwise.transforms.formats.messages.messages_base import DIALECTS
from turnwise.transforms.formats.registry import (
    AUTO,
    CASES_GO_TO,
    FORMATS,
    REACHED,
    CaseInLogsError,
    Format,
    LogInCasesError,
    NoConversation,
    ReadSettings,
    Test,
    formats_in_order,
    no_version_counter,
    record_place,
)

FIRST_ELEMENTS = 20
"""Number of elements of an array that suffice to tell whether it is one record."""
_ReadItem: TypeAlias = Conversation | ConversationEvent | ValueError
"""What a record holds, or the error in place of what is bad."""


class LogReader:
    """Reads log records."""

    def __init__(self, input_format: str = AUTO, config: EvalConfig | None = None) -> None:
        self.input_format = input_format
        # How many records have what a path of the config leads to, by `REACHED`, its key and the path.
        self.reached = Counter[str]()
        config = config or EvalConfig()
        paths = Paths(config.app_version_from, config.eval_id_from, config.eval_set_id_from)
        self._settings = ReadSettings(config.ces, config.discovery_engine, config.mapping, paths)
        self._has_paths = any(paths)

    # Looked up by the process that reads, as formats are not pickled.
    @cached_property
    def _chosen(self) -> Format | None:
        return None if self.input_format == AUTO else FORMATS[self.input_format]

    @cached_property
    def _quick(self) -> Format:
        return self._chosen or formats_in_order()[0]

    @cached_property
    def _read_quickly(self) -> Callable[[bytes], Conversation | None] | None:
        return self._quick.read_text if self._chosen else self._quick.read_unparsed

    def read(self, record: Record) -> Sequence[_ReadItem]:
        """Returns what a record holds, an error in place of what is bad; raises ValueError, one line."""
        try:
            return self._read(record)
        except RAISED as error:
            cases: Sequence[EvalCase | ValueError] = ()
            if not isinstance(error, CaseInLogsError):
                with suppress(*RAISED):
                    value = from_json(record.data)
                    if isinstance(value, dict) and "conversation_id" not in value:
                        cases = CaseReader(self._settings.ces).read(record)
            if any(isinstance(item, EvalCase) for item in cases):
                raise CaseInLogsError(f"the record holds eval cases; {CASES_GO_TO}") from None
            if fields.is_foreseen(error):
                raise
            raise _unforeseen(error, record, self._chosen, self._read) from error

    def _read(self, record: Record) -> Sequence[_ReadItem]:
        chosen, read_quickly = self._chosen, self._read_quickly
        if read_quickly and (conversation := read_quickly(record.data)) is not None:
            # Most records need nothing else: no path of a config, and no labels that may name a version.
            is_blank = conversation.app_version is not None and not conversation.app_version.strip()
            may_say_more = self._has_paths or conversation.labels or conversation.state or conversation.meta
            if conversation.turns and conversation.conversation_id and not (may_say_more or is_blank):
                return [conversation]
            if conversation.turns or chosen:
                return [self._of_text(conversation, self._quick, record)]
        value, record = _parsed(record)
        if page := _page(value, chosen):
            items = [*self._read_rows(page, record), *_next_page(value)]
            for index, item in enumerate(items):
                is_nameless = isinstance(item, Conversation) and item.conversation_id == record_place(record)
                if isinstance(item, Conversation) and is_nameless and len(page) > 1:
                    item.conversation_id = f"{item.conversation_id}:{index + 1}"
                if isinstance(item, ValueError) and str(item).endswith("has no turn"):
                    items[index] = ValueError(f"{item}: lists leave turns out; get each record by its name")
            return items
        mapping = self._settings.mapping
        if mapping is not None and isinstance(value, list) and takes_rows(mapping, value, chosen):
            return list(self._read_rows(value, record))
        is_table = record.source.lower().removesuffix(".gz").endswith(".csv")
        kind = chosen or mapped_format(mapping, value, is_table)
        return self._read_as(kind, without_nulls(value), record)

    def _read_as(self, kind: Format, value: JsonValue, record: Record) -> Sequence[_ReadItem]:
        mapping = self._settings.mapping
        if mapping is not None and mapping.is_part and kind is FORMATS[MAPPING]:
            return [self._named_event(part_event(mapping, value, record), value)]
        if isinstance(value, list) and kind.name in DIALECTS:
            fields.check_one_conversation(value)
        if kind.read_text:
            return [self._of_text(kind.read_text(record.data), kind, record)]
        if kind.splitter:
            if isinstance(value, dict) and FORMATS[kind.splitter.into].recognises(value):
                return [read_event(kind.splitter.into, value, record)]
            into = kind.splitter.into
            return [
                item
                if isinstance(item, ValueError)
                else read_event(into, item.value, record._replace(data=item.data))
                for item in kind.splitter.split(value, self._settings)
            ]
        if kind.events:
            return [self._named_event(read_event(kind.name, value, record), value)]
        if kind.read_log is None:
            raise CaseInLogsError(f"a record of the format {kind.name} holds no conversation; {CASES_GO_TO}")
        items = kind.read_log(value, record, self._settings)

        def identified(item: Conversation | ValueError) -> Conversation:
            if isinstance(item, ValueError):
                raise item
            made = fields.with_turns(fields.checked(_named(item, record), is_added=not kind.rank))
            self._count_reached(value, kind is FORMATS[MAPPING])
            identify(made, kind.places, value, self._settings.identity, len(items) == 1)
            return made

        return fields.read_each(items, identified)

    def _of_text(self, conversation: Conversation, kind: Format, record: Record) -> Conversation:
        """Adds app version and eval case to a conversation that was read without general parsing."""
        if not (conversation.turns and conversation.conversation_id):
            fields.with_turns(_named(conversation, record))
        if self._has_paths:
            value = from_json(record.data)
            self._count_reached(value)
            identify(conversation, kind.places, value, self._settings.identity)
        else:
            identify_kept(conversation)
        return conversation

    def _named_event(self, event: ConversationEvent, value: JsonValue) -> ConversationEvent:
        """Adds to an event, which is joined without the config, what stands where the config says."""
        self._count_reached(value, event.kind == PART)
        given = identity_at(self._settings.identity, value)
        if not any(given):
            return event
        named = {key: text for key, text in zip(KEYS, given, strict=True) if text}
        data = dump_json({**from_json(event.record.data), **named})
        return event._replace(record=event.record._replace(data=data))

    def _count_reached(self, value: JsonValue, is_mapped: bool = False) -> None:
        for key, paths in zip(Paths._fields, self._settings.identity, strict=True):
            self.reached.update(f"{REACHED}{key}_from {path}" for path in paths if texts_at(path, value))
        if is_mapped and (mapping := self._settings.mapping) is not None:
            mapped = MappedRecord(value)
            stated = ((name, path) for name in SINGLE if (path := getattr(mapping, name)))
            self.reached.update(
                f"{REACHED}mapping.{name} {path}" for name, path in stated if mapped.at(path) is not None
            )

    def _read_rows(self, rows: list[JsonValue], record: Record) -> Iterator[_ReadItem]:
        for number, row in enumerate(rows, 1):
            try:
                for item in self.read(record._replace(data=dump_json(row))):
                    if isinstance(item, ConversationEvent) and item.kind == PART:
                        # Its number tells a part of a conversation from that of an equal row.
                        item = item._replace(event_id=f"{item.event_id} {number}")
                    yield item
            except ValueError as error:
                yield ValueError(f"row {number}: {error}")


def _page(value: JsonValue, chosen: Format | None = None) -> list[JsonValue]:
    """Returns the records of a page of an API's list; empty: it is none, or a format reads it whole."""
    items = page_items(value)
    if not items or not isinstance(value, dict):
        return []
    with suppress(ValueError):
        if CURSORS not in value and (chosen.recognises(value) if chosen else recognise(value)):
            return []
    for item in items[:FIRST_ELEMENTS]:
        with suppress(ValueError):
            recognise(item)
            return list(items)
    return []


class MissingPageError(NoConversation):
    """A page of a list is not all of it: it names the next one, or holds what is no record."""


def _next_page(value: JsonValue) -> list[NoConversation]:
    held = value if isinstance(value, dict) else {}
    goes_on = first_of(held, NEXT_PAGE) or as_object(held.get(CURSORS)).get("next")
    findings: list[str] = []
    if goes_on:
        findings.append("the list goes on on another page, which is scored only if it is given, too")
    if held.get("status") in ("Running", "Scheduled", "Failed", "Cancelled", "Timeout"):
        findings.append(f"the query has the status {held['status']}: its results are not whole")
    lines = log_lines(value)
    if others := sum(not isinstance(json_structure(line), dict) for line in lines):
        findings.append(f"{others} of {len(lines)} messages of the log are no JSON object, and are left out")
    return list(map(MissingPageError, findings))


def _unforeseen(
    error: BaseException, record: Record, chosen: Format | None, read: Callable[[Record], object]
) -> ValueError:
    try:
        kind = chosen or FORMATS[recognise(_parsed(record)[0])]
    except RAISED:  # the format is not known yet, or its own test raised
        kind = None
    modules = None if kind and kind.rank else modules_of(kind)
    message = fields.unforeseen(error, record.data, lambda data: read(record._replace(data=data)), modules)
    return ValueError(f"not a record of the format {kind.name}: {message}" if kind else message)


def _parsed(record: Record) -> tuple[JsonValue, Record]:
    """Returns what a record holds, and the record itself, in whose place an array may be spelt out."""
    given = json_value(record.data)
    fields.check_keys(record.data, given)
    value = decoded(given)
    is_spelt_out = isinstance(given, list) and value is not given
    return value, record._replace(data=dump_json(value)) if is_spelt_out else record


def decoded(value: JsonValue) -> JsonValue:
    """Returns what a JSON text inside a JSON text holds, as older result files of google-adk do.

    Of an array that spells a record (see `Format.from_array`), or of an array of such, it returns these.
    """
    if isinstance(value, list):
        record = _of_array(value)
        if record is None and value and _of_array(value[0]) is not None:
            return [item if (inner := _of_array(item)) is None else inner for item in value]
        return value if record is None else record
    held = json_structure(value) if isinstance(value, str) else None
    is_record = isinstance(held, dict) and any(k.is_in_text and k.recognises(held) for k in FORMATS.values())
    return held if is_record else value


def _of_array(value: JsonValue) -> JsonObject | None:
    if not isinstance(value, list):
        return None
    read = (kind.from_array for kind in FORMATS.values() if kind.from_array)
    return next((record for spelt in read if (record := spelt(value)) is not None), None)


def _named(conversation: Conversation, record: Record) -> Conversation:
    conversation.conversation_id = conversation.conversation_id or record_place(record)
    return conversation


class CaseReader:
    """Reads eval cases of every format, strictly; `config` judges CES cases where they do not say how."""

    def __init__(self, config: CesConfig) -> None:
        self.config = config

    def read(self, record: Record) -> Sequence[EvalCase | ValueError]:
        """Returns the cases of a record, an error in place of a bad one; raises ValueError, one line."""
        try:
            return self._read(record)
        except RAISED as error:
            if fields.is_foreseen(error):
                raise
            raise _unforeseen(error, record, None, self._read) from error

    def _read(self, record: Record) -> Sequence[EvalCase | ValueError]:
        quick = formats_in_order()[0].read_case_text
        case = quick(record.data) if quick else None
        if case is not None:
            return [case]
        value = json_value(record.data)
        fields.check_keys(record.data, value)
        if page := _page(value):
            given = fields.read_each(page, lambda item: self._read(record._replace(data=dump_json(item))))
            cases = chain.from_iterable([it] if isinstance(it, ValueError) else it for it in given)
            return [*cases, *_next_page(value)]
        name = recognise(value)
        value = without_nulls(value)
        read = FORMATS[name].read_cases
        if read is None and FORMATS[name].is_log:
            raise LogInCasesError(f"a record of the format {name} holds no eval case; logs go to --input")
        if read is None:
            raise ValueError(f"a record of the format {name} holds no eval case")
        return read(value, record, ReadSettings(self.config))


def is_one_record(elements: list[Any]) -> bool:
    """Returns whether a JSON array is one record as a whole: rows of an eval case, or messages of a chat."""
    value = decoded(elements)
    if isinstance(value, dict):
        return True
    first = value[:1] if isinstance(value, list) else []
    return _fits_any(first, [kind.is_list for kind in FORMATS.values()]) or is_one_file(first)


def is_one_file(lines: Sequence[object]) -> bool:
    """Returns whether the lines of a file are one record, such as a session, by the first ones."""
    return _fits_any(lines, [kind.is_lines for kind in FORMATS.values()])


def _fits_any(items: Sequence[object], tests: Iterable[Test | None]) -> bool:
    # Columns that are empty in the first row may be what only its format has.
    held = [spelling for item in items if isinstance(item, dict) for spelling in (stated(item), item)]
    return any(test(item) for test in tests if test for item in held)


_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]")


class LoggedConversation(NamedTuple):
    """A conversation and the record it was read from."""

    conversation: Conversation
    record: Record


def parse_record(
    reader: LogReader, record: Record, counts: Counter[str]
) -> Sequence[LoggedConversation | ConversationEvent | Failure]:
    """Returns what a log record holds; of several things in one record each has its own receipt."""
    counts["records"] += 1
    try:
        items = reader.read(record)
        if not items:
            raise ValueError("the record holds no conversation")
        counts.update(reader.reached)
        reader.reached.clear()
    except NoConversation as error:
        counts["parsed_records"] += 1
        return [record_failure("check", error, record)]
    except RAISED as error:
        counts["rejected_records"] += 1
        damage = _damage(record)
        return [record_failure("read" if damage else "parse", damage or error, record)]
    counts["parsed_records"] += 1
    parts: list[LoggedConversation | ConversationEvent | Failure] = []
    for part, item in enumerate(items):
        held = item.record if isinstance(item, ConversationEvent) else record
        if len(items) > 1:
            held = held._replace(receipts=(Receipt(held.source, held.position, part, len(items)),))
        if isinstance(item, ConversationEvent):
            parts.append(item._replace(record=held))
            continue
        if isinstance(item, NoConversation):
            parts.append(record_failure("check", item, held))
            continue
        counts["conversations"] += 1
        if isinstance(item, ValueError):
            counts["rejected_conversations"] += 1
            parts.append(record_failure("parse", item, held))
        else:
            if item.app_version is None:  # as in `_logged`, without its call for every record
                counts[no_version_counter(item.source)] += 1
            parts.append(LoggedConversation(item, held))
    return parts


def _damage(record: Record) -> ValueError | None:
    """Returns the error of a record in whose place there are bytes of no text; None: it is UTF-8 text."""
    # A crash or a bad disk leaves NUL bytes or noise where several records, with their line ends, were.
    try:
        if b"\0" not in record.data:
            if _CONTROL.search(record.data):
                record.data.decode()
            return no_utf8(record.data)
    except UnicodeDecodeError:
        pass
    return IncompleteReadError("the file is damaged here, or protobuf (OTLP: export JSON): bytes of no text")


def parse_conversation(
    conversation: Conversation, record: Record, counts: Counter[str]
) -> LoggedConversation | Failure:
    """Returns a copy of a conversation that was not read from a record, if it can be scored."""
    counts["records"] += 1
    try:
        copy = _named(fields.with_turns(fields.checked(conversation)), record)
    except RAISED as error:
        counts["rejected_records"] += 1
        return record_failure("parse", error, record)
    counts["parsed_records"] += 1
    counts["conversations"] += 1
    return _logged(copy, record, counts)


def _logged(conversation: Conversation, record: Record, counts: Counter[str]) -> LoggedConversation:
    if conversation.app_version is None:
        counts[no_version_counter(conversation.source)] += 1
    return LoggedConversation(conversation, record)


def join_session(
    session_id: str, given: Sequence[ConversationEvent], counts: Counter[str]
) -> Sequence[LoggedConversation | Failure]:
    """Returns the conversation that all events of one session make, or a failure for each event."""
    counts["conversations"] += 1
    try:
        events = in_order(distinct(given))
        conversation = join_events(session_id, events)
        add_clashes(conversation, given, events)
    except RAISED as error:
        counts["rejected_conversations"] += 1
        return [record_failure("parse", error, event.record, session_id) for event in given]
    counts["joined_entries"] += len(given)
    return [_logged(conversation, events[0].record, counts)]


def parse_case(
    reader: CaseReader, record: Record, counts: Counter[str], given: EvalCase | None = None
) -> Iterator[tuple[Record, EvalCase] | Failure]:
    """Yields the cases of a record, or the given one, each with the record, but without its (long) text."""
    cases: Sequence[EvalCase | BaseException]
    try:
        copy = given and fields.canonical(EvalCase, to_builtins(given), "not an eval case")
        cases = [copy] if copy else reader.read(record)
    except RAISED as error:
        cases = [_damage(record) or error]
    held = record._replace(data=b"")
    for case in cases:
        if isinstance(case, NoConversation):
            yield record_failure("check", case, record)
        elif isinstance(case, BaseException):
            counts["rejected_cases"] += 1
            yield record_failure("parse_case", case, record)
        else:
            counts["cases"] += 1
            yield held, case


class FoundCase(NamedTuple):
    """An eval case and the record it was read from."""

    case: EvalCase
    record: Record


Found: TypeAlias = LoggedConversation | ConversationEvent | FoundCase | Failure


class ReadRecord(NamedTuple):
    """What a record holds."""

    format: str | None  # name of its format; None: it could not be recognised
    contents: Sequence[Found]  # its conversations, its cases, the event that it is, or failures


class AnyReader:
    """Reads records of every format; `redact` is what commands that show or write them replace by markers."""

    def __init__(self, input_format: str = AUTO, config: EvalConfig | None = None) -> None:
        config = config or EvalConfig()
        self.redact = config.redact
        self._input_format = input_format
        self._logs = LogReader(input_format, config)
        self._cases = CaseReader(config.ces)
        self._mapping = config.mapping

    def read(self, record: Record) -> ReadRecord:
        """Returns what a record holds: conversations if it is a log, else eval cases. It never raises."""
        kind = None if self._input_format == AUTO else FORMATS[self._input_format]
        with suppress(*RAISED):
            if kind is None:
                value = decoded(from_json(record.data))
                value = next(iter(_page(value)), value)
                if self._mapping and isinstance(value, list) and takes_rows(self._mapping, value, None):
                    kind = FORMATS[MAPPING]
                else:
                    kind = mapped_format(self._mapping, value)
        name = kind.name if kind else None
        if kind is not None and not kind.is_log:
            return ReadRecord(name, self._read_cases(record))
        contents = parse_record(self._logs, record, Counter())
        if kind and kind.read_cases and any(isinstance(content, Failure) for content in contents):
            cases = self._read_cases(record)
            if any(isinstance(item, FoundCase) for item in cases) or b'"conversation_id"' not in record.data:
                return ReadRecord(name, cases)
        return ReadRecord(name, contents)

    def _read_cases(self, record: Record) -> list[Found]:
        cases = parse_case(self._cases, record, Counter())
        return [case if isinstance(case, Failure) else FoundCase(case[1], record) for case in cases]
