"""Where records state the app version, the eval case and its set: one table for all formats."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.messages.kinds import HIDDEN
from turnwise.transforms.formats.traces.span import key_values


class Identity(NamedTuple):
    """What a record says of its conversation; None: it does not say.

    Attributes:
        app_version: Version of the app that spoke.
        eval_id: The eval case that the conversation is held against.
        eval_set_id: The set of that case.
    """

    app_version: str | None = None
    eval_id: str | None = None
    eval_set_id: str | None = None


class Paths(NamedTuple):
    """Where each of the three may stand; what comes first goes before.

    A path has dots between its keys, which may hold dots themselves; a number is the index of a list, and
    without one the first element that states something counts. A list of keys with values (OTLP) is read as
    an object, and a JSON text as what it holds.
    """

    app_version: tuple[str, ...] = ()
    eval_id: tuple[str, ...] = ()
    eval_set_id: tuple[str, ...] = ()


_UNKNOWN = Identity()
KEYS = ("turnwise.app_version", "turnwise.eval_id", "turnwise.eval_set_id")
"""Names that state the three in any record or span, before all others."""
_KEY_PATHS = Paths(*((key,) for key in KEYS))
_ANY = Paths(
    (KEYS[0], "app_version", "appVersion", "agent_version", "agentVersion"),
    (KEYS[1], "eval_id", "evalId", "eval_case_id", "evalCaseId", "test_case_id", "testCaseId"),
    (KEYS[2], "eval_set_id", "evalSetId"),
)
_OF_CES = _ANY._replace(eval_id=("evaluation", *_ANY.eval_id))
_OF_SPAN = Paths(
    (
        KEYS[0],
        "app.version",
        "gen_ai.agent.version",
        *("langfuse.version", "langfuse.release", "mlflow.modelId"),
    ),
    (*_ANY.eval_id, "langfuse.experiment.item.id", "langsmith.reference_example_id"),
    _ANY.eval_set_id,
)
_OF_METADATA = Paths(
    (*_ANY.app_version, "revision_id", "release"),
    (*_ANY.eval_id, "dataset_item_id", "datasetItemId", "reference_example_id"),
    _ANY.eval_set_id,
)
_KEPT = tuple((name, _ANY) for name in ("labels", "state", "meta"))
CANONICAL, SPANS = "turnwise", "spans"
NO_VERSION = "no version "
"""Start of the names of counters of conversations that state no app version, by their row of the table."""
_SHOWN = 3
PLACES: dict[str, tuple[tuple[str, Paths], ...]] = {
    # Every format that is not named below: chats, requests, rows, formats that plug-ins add.
    "": (("", _ANY), ("metadata", _ANY), ("labels", _ANY), ("request.metadata", _ANY)),
    # Attributes of a span, what its writer calls metadata, and attributes of the resource.
    SPANS: (
        ("attributes", _OF_SPAN),
        ("metadata", _OF_METADATA),
        ("attributes", Paths(app_version=("traceloop.entity.version",))),
        ("resource", _ANY._replace(app_version=(*_ANY.app_version, "app.version", "service.version"))),
    ),
    CANONICAL: (("", Paths(app_version=("app_version",))),),
    "trace_part": (),
    "adk_agent_events": (
        ("attributes.custom_tags", _ANY),
        ("attributes.session_metadata.state", _ANY),
        ("labels", _ANY),
        ("attributes.labels", _ANY),
        ("attributes", _ANY),
        ("", _ANY),
    ),
    "adk_event": (("", _ANY), ("labels", _ANY), ("event.custom_metadata", _ANY), ("custom_metadata", _ANY)),
    "adk_session": (("", _ANY), ("labels", _ANY), ("events.custom_metadata", _ANY)),
    "ces_conversation": (("", _OF_CES), ("labels", _OF_CES)),
    "ces_session_output": (("labels", _OF_CES), ("", _OF_CES)),
    "discovery_engine": (("", _OF_CES),),
    "dialogflow_cx": (
        ("", _ANY),
        ("labels", _ANY),
        ("request.queryParams", Paths(app_version=("flowVersions",))),
        ("request.query_params", Paths(app_version=("flow_versions",))),
    ),
    "dialogflow_history": (
        ("", _ANY),
        ("interactions.request.queryParams", Paths(app_version=("flowVersions",))),
        ("interactions.request.query_params", Paths(app_version=("flow_versions",))),
    ),
    "vertex_log": (("", _ANY), ("full_request.labels", _ANY)),
    "langgraph_thread": (("", _ANY), ("metadata", _ANY), ("config.configurable", _ANY)),
    "inspect_log": (("eval.revision", Paths(app_version=("commit",))), ("eval.metadata", _ANY)),
    "claude_code": (("", Paths(app_version=(*_ANY.app_version, "version"))),),
    "claude_stream": (
        ("", Paths(app_version=("claude_code_version",))),
        ("messages.message", Paths(app_version=("claude_code_version",))),
    ),
    "codex": (("", _ANY), ("payload", Paths(app_version=("cli_version",)))),
}
"""Format -> objects of its records, and what they call the three there; the first that is stated counts.

What a conversation keeps as labels, state and meta is looked at after these, under the same names.
"""


@lru_cache(maxsize=256)
def no_version_counter(source: str | None) -> str:
    """Returns the counter of conversations of a source that state no version, by the row of the table."""
    name = (source or CANONICAL).partition(" ")[0]
    name = "adk_agent_events" if name == SPANS and "adk_events" in str(source) else name
    name = {"adk": "adk_session", "ces": "ces_conversation"}.get(name, name)
    return f"{NO_VERSION}{name if name in PLACES else ''}"


def no_version_text(kinds: Iterable[str], paths: Sequence[str]) -> str:
    """Returns, in one sentence, that no conversation states an app version, and where it was looked for.

    Args:
        kinds: Rows of the table.
        paths: What the config names.
    """
    holders: dict[tuple[str, ...], list[str]] = {}
    for place, names in (each for kind in dict.fromkeys(kinds) for each in (*PLACES[kind], *_KEPT)):
        if names.app_version:
            keys = tuple(key for key in names.app_version if key != KEYS[0])
            where = holders.setdefault(keys, [])
            where += [place] if place not in where else []
    texts = [
        f"{', '.join(keys)} ({', '.join(p or 'at the top' for p in where)})"
        for keys, where in holders.items()
    ]
    looked = "; ".join([*paths, KEYS[0], *texts])
    return (
        f"no conversation states an app version; looked at: {looked}; app_version_from of the config names "
        "other fields"
    )


def stated_identity(kind: str, value: JsonValue) -> Identity:
    """Returns what a record of a format states, by the table.

    Args:
        kind: Name of the format; one that has no row is read as most are.
        value: The record, or the records of one conversation.

    Raises:
        ValueError: The records name several eval cases, so that which is meant is unknown; one line.
    """
    stated: list[str | None] = [None, None, None]
    for path, names in PLACES.get(kind, PLACES[""]):
        holders = list(_objects(value, path.split(".") if path else ()))
        for place, keys in enumerate(names if holders else ()):
            for key in keys if stated[place] is None else ():
                texts = dict.fromkeys(text for holder in holders if (text := _text(holder.get(key))))
                if len(texts) > 1 and place:
                    shown = ", ".join(list(texts)[:_SHOWN])
                    raise ValueError(f"the conversation names several eval cases or sets: {shown}")
                if texts:
                    stated[place] = next(iter(texts))
                    break
        if None not in stated:
            break
    return Identity(*stated)


def identity_at(paths: Paths, value: JsonValue) -> Identity:
    """Returns what stands at paths, such as those that a config names."""
    return Identity(*(next(_texts_at(each, value), None) for each in paths))


def _texts_at(paths: Iterable[str], value: JsonValue) -> Iterator[str]:
    for path in paths:
        for held in _values(value, path.split(".")):
            if text := _text(held):
                yield text


def identify(
    conversation: Conversation,
    kind: str,
    value: JsonValue,
    given: Identity = _UNKNOWN,
    is_alone: bool = True,
) -> None:
    """Adds, in place, what a record states and its reader did not read.

    Args:
        conversation: A conversation of the record.
        kind: Name of the format.
        value: The record, or the records of one conversation.
        given: What stands where the config says: it goes before everything else.
        is_alone: Whether the record holds no other conversation; otherwise it names no case of this one.

    Raises:
        ValueError: The records name several eval cases; one line.
    """
    own = Identity(conversation.app_version, conversation.eval_id, conversation.eval_set_id)
    kept = map(_kept, _holders(conversation))
    if is_alone:
        known = _first(given, identity_at(_KEY_PATHS, value), own)
        known = _first(known, stated_identity(kind, value), *kept) if None in known else known
    else:
        version = given.app_version or stated_identity(kind, value).app_version
        known = _first(own, *kept, Identity(version))
    conversation.app_version, conversation.eval_id, conversation.eval_set_id = known


def identify_kept(conversation: Conversation) -> None:
    """Adds, in place, what a conversation's own labels, state and meta state."""
    if conversation.app_version is None or conversation.eval_id is None:
        own = Identity(conversation.app_version, conversation.eval_id, conversation.eval_set_id)
        known = _first(own, *map(_kept, _holders(conversation)))
        conversation.app_version, conversation.eval_id, conversation.eval_set_id = known


def _holders(conversation: Conversation) -> Iterator[JsonObject]:
    return filter(None, (conversation.labels, conversation.state, conversation.meta))


def _kept(holder: JsonObject) -> Identity:
    return Identity(*(next(filter(None, (_text(holder.get(key)) for key in keys)), None) for keys in _ANY))


def _first(*identities: Identity) -> Identity:
    return Identity(*(next(filter(None, each), None) for each in zip(*identities, strict=True)))


def _text(value: JsonValue) -> str | None:
    """Returns a name: a text or a whole number, or the one element of a list."""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    return None if text in HIDDEN else text or None


def _objects(value: JsonValue, steps: Sequence[str]) -> Iterator[JsonObject]:
    """Yields the objects at a path."""
    for held in _values(value, steps):
        held = json_structure(held) if isinstance(held, str) else held
        held = key_values(held) if _are_pairs(held) else held
        for item in held if isinstance(held, list) else (held,):
            if isinstance(item, dict):
                yield item


def _are_pairs(value: JsonValue) -> bool:
    """Returns whether a value is OTLP's list of keys and values."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "key" in value[0]


def _values(value: JsonValue, steps: Sequence[str]) -> Iterator[JsonValue]:
    """Yields what stands at a path; see `Paths`."""
    if not steps:
        yield value
        return
    if isinstance(value, str):
        value = json_structure(value)
    if isinstance(value, list):
        if steps[0].isdecimal():
            place = int(steps[0])
            yield from _values(value[place], steps[1:]) if place < len(value) else ()
        elif _are_pairs(value):
            value = key_values(value)
        else:
            for item in value:
                yield from _values(item, steps)
    if isinstance(value, dict):
        for size in range(1, len(steps) + 1):
            key = ".".join(steps[:size])
            if key in value:
                yield from _values(value[key], steps[size:])
