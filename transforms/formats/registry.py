"""Input formats and their registry."""

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar

from msgspec import Struct
from pydantic_core import from_json

from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import CesConfig, DiscoveryEngineConfig, MappingConfig
from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.registry import Registry
from turnwise.schemas.score import RAISED
from turnwise.transforms.formats.identity import KEYS, OF_ANY, OF_KEPT, OF_SPANS, Paths, Places
from turnwise.transforms.formats.messages.kinds import snake
from turnwise.transforms.text.dates import time_seconds, value_time

P = ParamSpec("P")
T = TypeVar("T")


def nearest_format(record: JsonObject) -> str | None:
    """Returns which two formats a record is nearest to and what is missing; None: it is near to none."""
    return _nearest(tuple(islice(record, 100)), FORMATS.changes)


@lru_cache(maxsize=256)
def _nearest(keys: tuple[str, ...], changes: int) -> str | None:
    kinds = formats_in_order()
    wanted_keys = ((kind, wanted) for kind in kinds for wanted in (kind.keys, *kind.other_keys) if wanted)
    compared: list[tuple[int, list[str], Format]] = []
    for kind, wanted in wanted_keys:
        further = {snake(key): key for key in keys if key not in wanted}
        missing: list[str] = []
        # A key that is misspelt is neither there nor missing, and stands with the spelling that may be meant.
        score = sum(key in keys for key in wanted)
        for key in (key for key in wanted if key not in keys):
            near = get_close_matches(snake(key), list(further), n=1, cutoff=0.8)
            score -= not near
            meant = further[near[0]] if near else ""
            shown = meant if meant.isprintable() else repr(meant)
            missing.append(f"{key} (is it {shown}?)" if shown else key)
        compared.append((score, missing, kind))
    # A record that misses no key of a format that it is not in is rather one that misses a few of another's.
    order = sorted(compared, key=lambda entry: (entry[0], bool(entry[1]), -len(entry[1])), reverse=True)
    points, lacks, first = order[0]
    if points < 0:
        return None
    others = (entry for entry in order if entry[2] is not first and entry[1] and entry[0] >= 0)
    _, lacks_too, second = next(others, (0, [], first))
    also = f"; {_lacking(lacks_too)} missing for {second.name} ({second.help})" if lacks_too else ""
    why = f"{_lacking(lacks)} missing for" if lacks else "its keys do not hold what they hold in"
    return f"{why} the nearest format, {first.name} ({first.help}){also}"


def _lacking(missing: Sequence[str]) -> str:
    return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'}"


class NoConversation(ValueError):
    """A group of events belongs to no conversation."""


class CaseInLogsError(ValueError):
    """A record of the logs holds eval cases."""


class LogInCasesError(ValueError):
    """A record of the eval cases holds none."""


class ConfigInLogsError(ValueError):
    """A record is a config."""


class UnknownFormatError(ValueError):
    """A record is in no format."""


class UnknownTableError(UnknownFormatError):
    """A row of a CSV file is in no format."""


class Lent(NamedTuple):
    """An event of a group, or a piece of it, with its conversation.

    Attributes:
        position: 0-based place of the event in the group.
        conversation_id: Id of the conversation.
        data: UTF-8 JSON of the event or of the piece.

    >>> import turnwise
    >>> turnwise.Lent(0, "c1", b'{"span": "s1"}').conversation_id
    'c1'
    """

    position: int
    conversation_id: str
    data: bytes


AUTO = "auto"
"""In place of a format's name: every record is recognised."""
CASES_GO_TO = "eval cases go to --eval_cases (in Python: cases)"


class ReadSettings(NamedTuple):
    """The parts of the config that readers depend on."""

    ces: CesConfig = CesConfig()
    answers: DiscoveryEngineConfig = DiscoveryEngineConfig()
    mapping: MappingConfig | None = None
    identity: Paths = Paths()


Test: TypeAlias = Callable[[JsonObject], bool]
_Reader: TypeAlias = Callable[[JsonValue, Record, ReadSettings], Sequence[T] | Sequence[T | ValueError]]


class EventReader(Struct, frozen=True, kw_only=True):
    """Functions that read and join the events of a format.

    Attributes:
        locate: Returns the conversation's id and the 0-based turn index (-1: unknown); raises ValueError.
        join: Joins the id and the events of a conversation, given in order; raises ValueError.
        is_end: Returns whether an event says that its conversation ended.
        own_id: Returns the event's id; None: equal records are the same event. `event_id` goes before it.
        is_checked: Whether the types of what `join` returns need no check.
        group: Returns the group of an event ("": it has none), for events that may not name their
            conversation: `locate` then returns "" as the id.
        lend: Returns the events of a whole group with their conversations, from the group and the events'
            texts; raises `NoConversation` if there is none.
        is_endless: Whether a group is of any number of conversations, such as all that open alike.

    >>> import turnwise
    >>> def join(call, events):
    ...     return turnwise.Conversation(call, turns=[turnwise.Turn(user=each["said"]) for each in events])
    >>> reader = turnwise.EventReader(locate=lambda value: (value["call"], value["line"]), join=join)
    >>> reader.locate({"call": "c1", "line": 0, "said": "Hi"})
    ('c1', 0)
    """

    locate: Callable[[JsonObject], tuple[str, int]]
    join: Callable[[str, Sequence[JsonObject]], Conversation]
    is_end: Test = lambda value: False
    own_id: Callable[[JsonObject], JsonValue] = lambda value: None
    is_checked: bool = False
    group: Callable[[JsonObject], str] = lambda value: ""
    lend: Callable[[str, Sequence[bytes]], Sequence[Lent]] | None = None
    is_endless: bool = False


class SplitEvent(NamedTuple):
    """An event that a record holds beside others.

    Attributes:
        value: What the functions of its format's `EventReader` read.
        data: UTF-8 JSON of the whole event, in the format of the splitter.

    >>> import turnwise
    >>> turnwise.SplitEvent({"call": "c1", "n": 0}, b'{"call": "c1", "n": 0}').value["call"]
    'c1'
    """

    value: JsonObject
    data: bytes


class Splitter(Struct, frozen=True, kw_only=True):
    """How a record that holds events of several conversations is split.

    Attributes:
        into: Name of the format that the events are in.
        split: Returns the events of a parsed record, an error in place of what is none; raises ValueError.

    >>> import json, turnwise
    >>> def split(value, settings):
    ...     return [turnwise.SplitEvent(event, json.dumps(event).encode()) for event in value["events"]]
    >>> splitter = turnwise.Splitter(into="turnwise_events", split=split)
    >>> [event.value["n"] for event in splitter.split({"events": [{"n": 0}, {"n": 1}]}, None)]
    [0, 1]
    """

    into: str
    split: Callable[[JsonValue, ReadSettings], Sequence[SplitEvent | ValueError]]


class Format(Struct, frozen=True, kw_only=True):
    """An input format: everything that is needed to recognise and read its records.

    Add one with `register_format`, in a module that an entry point of the group `turnwise.formats` or
    `--plugin` names. It has at least one of `read_log`, `read_cases`, `events` and `splitter`.

    Attributes:
        name: Its name for `--input_format`.
        help: What it is, in one line.
        recognises: Returns whether a JSON object is such a record, by keys that only this format has.
        keys: Keys at the top of a typical record; a record that is not recognised is told which are missing.
        other_keys: Such keys of its other records, as of replies beside requests.
        read_log: Returns the conversations of a parsed record, an error in place of one that is bad; raises
            ValueError.
        read_cases: Returns the eval cases of a parsed record in the same way.
        events: How its records are joined, if they are events of conversations.
        splitter: How its records are split, if each holds events of several conversations.
        may_be_part: Whether its records are events where the config says so.
        time_keys: Top-level keys that hold the time of a record, before those that all formats share
            (`timestamp`, `event_time`, ...).
        is_list: Returns whether a JSON array is one record as a whole, by its first object.
        is_lines: Returns whether the lines of a file are one record, an array, by one of the first objects.
        time: Returns when a record happened, in seconds since the epoch; None: by its time keys.
        has_rubrics: Whether its records may bring rubrics along.
        rank: Formats of a low rank are asked first; those that are added have 0.
        places: Where its records state app version, eval case and set.
        source: Start of the sources of its conversations; "": its name.
        recognises_last: Recognises a record that no other format does.
        read_text: Reads a record's text without general parsing; what it returns needs no check.
        read_unparsed: Does so where the text seems to be such a record; None: it is to be parsed first.
        read_case_text: Returns the eval case that a record's text surely is; None: it is to be parsed first.
        from_array: Returns the record that an array of at most 20 elements spells, as named tuples are
            dumped; None: it spells none.
        is_in_text: Whether a record may be a JSON text inside a JSON text.

    >>> import turnwise
    >>> def read(value, record, settings):
    ...     return [turnwise.Conversation(value["call"], turns=[turnwise.Turn(user=value["said"])])]
    >>> kind = turnwise.Format(name="call", help="calls", recognises=lambda record: False, read_log=read)
    >>> kind.is_log
    True
    """

    name: str
    rank: int = 0
    help: str
    recognises: Test
    keys: tuple[str, ...] = ()
    other_keys: tuple[tuple[str, ...], ...] = ()
    read_log: _Reader[Conversation] | None = None
    read_cases: _Reader[EvalCase] | None = None
    events: EventReader | None = None
    splitter: Splitter | None = None
    may_be_part: bool = False
    time_keys: tuple[str, ...] = ()
    is_list: Test | None = None
    time: Callable[[JsonObject], float | None] | None = None
    is_lines: Test | None = None
    has_rubrics: bool = True
    places: Places = OF_ANY
    source: str = ""
    recognises_last: Test | None = None
    read_text: Callable[[bytes], Conversation] | None = None
    read_unparsed: Callable[[bytes], Conversation | None] | None = None
    read_case_text: Callable[[bytes], EvalCase | None] | None = None
    from_array: Callable[[list[JsonValue]], JsonObject | None] | None = None
    is_in_text: bool = False

    @property
    def is_log(self) -> bool:
        """Whether its records hold conversations, or parts of them."""
        return any((self.read_log, self.read_text, self.events, self.splitter))


def _fault(item: object) -> str | None:
    if not isinstance(item, Format):
        return "it is no Format"
    if not item.name.isidentifier() or item.name == AUTO:
        return f"{item.name!r} cannot be a name"
    return None if item.rank or item.is_log or item.read_cases else "it reads neither logs nor eval cases"


FORMATS = Registry[Format]("input format", "turnwise.formats", "turnwise.transforms.formats", _fault)
"""Name -> format."""


def register_format(item: Format) -> Format:
    """Adds an input format, for all readers of this process, and returns it.

    Raises:
        TypeError: It is no `Format`, reads nothing, or its name is taken.

    >>> import turnwise
    >>> def read(value, record, settings):
    ...     return [turnwise.Conversation(value["call"], turns=[turnwise.Turn(user=value["said"])])]
    >>> def fits(record):
    ...     return "call" in record and "said" in record
    >>> kind = turnwise.Format(name="call", help="calls", recognises=fits, read_log=read)
    >>> turnwise.register_format(kind) is kind
    True
    >>> turnwise.read_conversations({"call": "c1", "said": "Hi"})[0].turns[0].user
    'Hi'
    """
    return FORMATS.add(item)


class _BuiltIn(Format, frozen=True):
    name: str
    rank: int
    help: str
    recognises: Test
    keys: tuple[str, ...] = ()
    has_rubrics: bool = False


def registering(make: Callable[P, T], add: Callable[[T], object]) -> Callable[P, T]:
    """Returns a function that makes an implementation of its fields, adds it and returns it."""

    def register(*args: P.args, **fields: P.kwargs) -> T:
        item = make(*args, **fields)
        add(item)
        return item

    return register


register_built_in = registering(_BuiltIn, register_format)
"""Adds a format of the house, given name, rank, help, test, keys and more; most bring no rubrics along."""


def log_formats() -> dict[str, Format]:
    """Returns the formats that `--input_format` can name."""
    return {name: kind for name, kind in FORMATS.items() if kind.is_log}


def check_log_format(name: str) -> None:
    """Raises ConfigError if `--input_format` cannot be this name."""
    if name != AUTO:
        FORMATS.find(name, "--input_format ", [AUTO, *log_formats()])


def formats_in_order() -> tuple[Format, ...]:
    """Returns all formats as a record is tried on them."""
    return _in_order(len(FORMATS), FORMATS.changes)


@lru_cache(maxsize=1)
def _in_order(count: int, changes: int) -> tuple[Format, ...]:
    return tuple(sorted(FORMATS.values(), key=lambda kind: kind.rank))


def record_place(record: Record) -> str:
    """Returns the name of a conversation that has none of its own: file and position."""
    return f"{PurePosixPath(record.source).name}:{record.position}"


def record_time(data: bytes) -> float | None:
    """Returns when a JSON record of any log format happened, as `time_by` does; never raises."""
    try:
        value = from_json(data)
        for kind in formats_in_order() if isinstance(value, dict) else ():
            if (kind.time_keys or kind.time) and kind.recognises(value):
                return time_by(kind, value)
        return value_time(value)
    except RAISED:
        return None


def time_by(kind: Format, value: JsonObject) -> float | None:
    """Returns when a record happened, by its format's own keys or else by those that all formats share."""
    if kind.time is not None:
        return kind.time(value)
    times = (time_seconds(value[key]) for key in kind.time_keys if key in value)
    time = next((time for time in times if time is not None), None)
    return value_time(value) if time is None else time


NEXT_STEP = "convert it to chat messages (openai_chat) or canonical JSON first"
SHARE_GPT = "ShareGPT's messages of from and value"
OF_PRODUCTS = {
    frozenset(("span_id", "root_span_id")): "a span of Braintrust",
    frozenset(("traceId", "spanId", "spanType")): "a span of Mastra",
    frozenset(("trace_id", "span_id", "start_ns")): "a span of Datadog's LLM Observability",
    frozenset(("op_name", "trace_id", "started_at")): "a call of Weave",
}
"""Keys of spans of products that are not read -> what they are."""
_OF_BATCHES = (
    *({"custom_id", key} for key in ("body", "params", "response", "result")),
    {"recordId", "modelInput"},
)
_OF_SPANS = ("trace_id span_id", "traceId spanId", "context span_kind", "spanContext attributes")


def foreign_format(record: JsonValue) -> str | None:
    """Returns the name of the format of another system that a record is in; None: it is in none of them."""
    if not isinstance(record, dict):
        return None
    if record.keys() >= {"request", "response"}:
        inner = foreign_format(record["response"]) or foreign_format(record["request"])
        return f"a request with its reply{f', {inner}' if inner else ''}"
    if "resourceMetrics" in record:
        return "an OpenTelemetry export of metrics"
    if "spans" in record:
        return "an incomplete export of spans"
    if isinstance(page := record.get("data"), list) and page and isinstance(page[0], dict):
        return foreign_format(page[0].get("attributes"))  # of Datadog's API
    if "messages" not in record and any(keys <= record.keys() for keys in _OF_BATCHES):
        return "a line of a batch (join each request with its result, as request and response)"
    lines = record.get("conversations")
    if isinstance(lines, list) and any(isinstance(m, dict) and {"from", "value"} <= m.keys() for m in lines):
        return SHARE_GPT
    is_span = any(record.keys() >= set(keys.split()) for keys in _OF_SPANS)
    spans = "an incomplete OpenTelemetry span" if is_span else None
    return next((name for keys, name in OF_PRODUCTS.items() if keys <= record.keys()), spans)


REACHED = "reached "
"""Start of the names of counts: `reached redact.paths PATH`, the conversations or records that have it."""
NO_VERSION = "no version "
"""Start of the names of counters of conversations that state no app version, by their source."""


@lru_cache(maxsize=256)
def no_version_counter(source: str | None) -> str:
    """Returns the counter of conversations of a source that state no version."""
    return f"{NO_VERSION}{source or 'turnwise'}"


def no_version_text(sources: Iterable[str], paths: Sequence[str]) -> str:
    """Returns, in one sentence, that no conversation states an app version, and where it was looked for.

    That depends on the sources of the conversations; `paths` are what the config names.
    """
    holders: dict[tuple[str, ...], dict[str, None]] = {}
    for source in dict.fromkeys(sources):
        kinds = [kind for kind in FORMATS.values() if source.startswith(kind.source or kind.name)]
        stated = tuple(dict.fromkeys(entry for kind in kinds for entry in kind.places))
        places = stated or (OF_SPANS if source.startswith("spans") else OF_ANY)
        for field_path, names in (*places, *OF_KEPT):
            keys = tuple(key for key in names.app_version if key != KEYS[0])
            if names.app_version:
                holders.setdefault(keys, {})[field_path or "at the top"] = None
    texts = [f"{', '.join(keys)} ({', '.join(where)})" for keys, where in holders.items()]
    looked = "; ".join([*paths, KEYS[0], *texts])
    return (
        f"no conversation states an app version; looked at: {looked}; app_version_from of the config names "
        "other fields"
    )
