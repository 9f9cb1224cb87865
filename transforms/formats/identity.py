"""Where records state the app version, the eval case and its set: in any format."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.messages.kinds import HIDDEN
from turnwise.transforms.formats.messages.streams import as_object
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
ANY = Paths(
    (KEYS[0], "app_version", "appVersion", "agent_version", "agentVersion"),
    (KEYS[1], "eval_id", "evalId", "eval_case_id", "evalCaseId", "test_case_id", "testCaseId"),
    (KEYS[2], "eval_set_id", "evalSetId"),
)
OF_CES = ANY._replace(eval_id=("evaluation", *ANY.eval_id))
_OF_SPAN = Paths(
    (
        KEYS[0],
        "app.version",
        "gen_ai.agent.version",
        *("langfuse.version", "langfuse.release", "mlflow.modelId"),
    ),
    (*ANY.eval_id, "langfuse.experiment.item.id", "langsmith.reference_example_id"),
    ANY.eval_set_id,
)
_OF_METADATA = Paths(
    (*ANY.app_version, "revision_id", "release"),
    (*ANY.eval_id, "dataset_item_id", "datasetItemId", "reference_example_id"),
    ANY.eval_set_id,
)
OF_KEPT = tuple((name, ANY) for name in ("labels", "state", "meta"))
Places: TypeAlias = tuple[tuple[str, Paths], ...]
"""Objects of the records of a format, and what they call the three there; the first that is stated counts.

What a conversation keeps as labels, state and meta is looked at after these, under the names of `ANY`.
"""
OF_ANY: Places = (("", ANY), ("metadata", ANY), ("labels", ANY), ("request.metadata", ANY))
"""Of every format that states no others: chats, requests, rows, formats that plug-ins add."""
OF_SPANS: Places = (
    ("attributes", _OF_SPAN),
    ("metadata", _OF_METADATA),
    ("attributes", Paths(app_version=("traceloop.entity.version",))),
    ("resource", ANY._replace(app_version=(*ANY.app_version, "app.version", "service.version"))),
)
"""Attributes of a span, what its writer calls metadata, and attributes of the resource."""


def stated_identity(places: Places, value: JsonValue) -> Identity:
    """Returns what a record of a format states.

    Args:
        places: Those of its format.
        value: The record, or the records of one conversation.

    Raises:
        ValueError: The records name several eval cases, so that which is meant is unknown; one line.
    """
    stated: list[str | None] = [None, None, None]
    for path, names in places:
        holders = list(_objects(value, path.split(".") if path else ()))
        for place, keys in enumerate(names if holders else ()):
            for key in keys if stated[place] is None else ():
                texts = dict.fromkeys(text for holder in holders if (text := _text(_held(holder, key))))
                if len(texts) > 1 and place:
                    shown = ", ".join(list(texts)[:3])
                    raise ValueError(f"the conversation names several eval cases or sets: {shown}")
                if texts:
                    stated[place] = next(iter(texts))
                    break
        if None not in stated:
            break
    return Identity(*stated)


def _held(holder: JsonObject, key: str) -> JsonValue:
    """Returns what an object states under a key, of `turnwise.app_version` also as an object in it."""
    value, (first, _, rest) = holder.get(key), key.partition(".")
    return value if value is not None or first != "turnwise" else as_object(holder.get(first)).get(rest)


def identity_at(paths: Paths, value: JsonValue, is_alone: bool = True) -> Identity:
    """Returns what stands at paths, such as those that a config names; the first text counts.

    Args:
        paths: The paths.
        value: A record, or the records of one conversation.
        is_alone: Whether the record holds one conversation.

    Raises:
        ValueError: A path leads to several texts of a record of several conversations; one line.
    """
    stated: list[str | None] = []
    for name, each in zip(Paths._fields, paths, strict=True):
        texts = list(dict.fromkeys(next((texts for path in each if (texts := _texts_at(path, value))), ())))
        if len(texts) > 1 and not is_alone:
            raise ValueError(
                f"{name}_from leads to several values in a record of several conversations, "
                f"and nothing says which is whose: {', '.join(texts[:3])}"
            )
        stated.append(texts[0] if texts else None)
    return Identity(*stated)


def _texts_at(path: str, value: JsonValue) -> list[str]:
    return [text for held in _values(value, path.split(".")) if (text := _text(held))]


def identify(
    conversation: Conversation,
    places: Places,
    value: JsonValue,
    given: Identity = _UNKNOWN,
    is_alone: bool = True,
) -> None:
    """Adds, in place, what a record states and its reader did not read.

    Args:
        conversation: A conversation of the record.
        places: Those of its format.
        value: The record, or the records of one conversation.
        given: What stands where the config says: it goes before everything else.
        is_alone: Whether the record holds no other conversation; otherwise it names no case of this one.

    Raises:
        ValueError: The records name several eval cases; one line.
    """
    own = _own(conversation)
    kept = map(_kept, _holders(conversation))
    if is_alone:
        known = _first(given, identity_at(_KEY_PATHS, value), own)
        known = _first(known, stated_identity(places, value), *kept) if None in known else known
    else:
        known = _first(given, own, *kept, Identity(stated_identity(places, value).app_version))
    conversation.app_version, conversation.eval_id, conversation.eval_set_id = known


def identify_kept(conversation: Conversation) -> None:
    """Adds, in place, what a conversation's own labels, state and meta state."""
    known = _first(_own(conversation), *map(_kept, _holders(conversation)))
    conversation.app_version, conversation.eval_id, conversation.eval_set_id = known


def _own(conversation: Conversation) -> Identity:
    version = conversation.app_version
    stated = version if version and version.strip() else None
    return Identity(stated, conversation.eval_id, conversation.eval_set_id)


def _holders(conversation: Conversation) -> Iterator[JsonObject]:
    return filter(None, (conversation.labels, conversation.state, conversation.meta))


def _kept(holder: JsonObject) -> Identity:
    return Identity(*(next(filter(None, (_text(holder.get(key)) for key in keys)), None) for keys in ANY))


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
