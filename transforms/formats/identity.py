"""Where records state the app version, the eval case and its set: in any format."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.fields import gaps
from turnwise.transforms.formats.messages.kinds import HIDDEN, as_object, objects_in
from turnwise.transforms.formats.traces.span import key_values


class Identity(NamedTuple):
    """What a record says of its conversation; None: it does not say."""

    app_version: str | None = None
    eval_id: str | None = None
    eval_set_id: str | None = None


class Paths(NamedTuple):
    """Where each of the three may stand; what comes first goes before.

    A path has dots between its keys, which may hold dots themselves; a number is the index of a list, and
    without one the first element that states something counts. A list of keys with values (OTLP) is read as
    an object, and a JSON text as what it holds.

    >>> import turnwise
    >>> places = (("", turnwise.Paths(app_version=("release",))),)
    >>> is_call = lambda record: "call" in record
    >>> calls = turnwise.Format(name="calls", help="calls", recognises=is_call, places=places)
    >>> calls.places[0][1].app_version
    ('release',)
    """

    app_version: tuple[str, ...] = ()
    eval_id: tuple[str, ...] = ()
    eval_set_id: tuple[str, ...] = ()


_NONE = Paths()
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
        *(*ANY.app_version, "app.version", "gen_ai.agent.version"),
        *("langfuse.version", "langfuse.release", "mlflow.modelId"),
    ),
    (*ANY.eval_id, "langfuse.experiment.item.id", "langsmith.reference_example_id"),
    ANY.eval_set_id,
)
_OF_METADATA = Paths(
    (*ANY.app_version, "mlflow.modelId", "revision_id", "release"),
    (*ANY.eval_id, "dataset_item_id", "datasetItemId", "reference_example_id"),
    ANY.eval_set_id,
)
OF_STATE = Paths(
    *((*keys, *(f"{scope}:{key}" for scope in ("app", "user") for key in keys[1:])) for keys in ANY)
)
"""In a state of google-adk, whose keys say whether they are of the session, of the app or of the user."""
OF_KEPT = (("labels", ANY), ("state", OF_STATE), ("meta", ANY))
FLOWS = ("flowVersions", "flow_versions")
BOTH = " and "
"""Between the paths of one place, whose objects count as one list."""
Places: TypeAlias = tuple[tuple[str, Paths], ...]
"""Objects of the records of a format, and what they call the three there; the first that is stated counts.

What a conversation keeps as labels, state and meta is looked at after these, under the names of `ANY`.
"""
_OF_HALVES = (f"{half}.{path}" for half in ("request", "response") for path in ("metadata", "body.metadata"))
OF_ANY: Places = tuple((path, ANY) for path in ("", "metadata", "labels", "meta", *_OF_HALVES))
"""Of every format that states no others: chats, requests, rows, formats that plug-ins add."""
OF_SPANS: Places = (
    ("attributes", _OF_SPAN),
    ("metadata", _OF_METADATA),
    ("attributes", Paths(app_version=("traceloop.entity.version",))),
    ("resource", ANY._replace(app_version=(*ANY.app_version, "app.version", "service.version"))),
)
"""Attributes of a span, what its writer calls metadata, and attributes of the resource."""


def stated_identity(places: Places, value: JsonValue) -> Identity:
    """Returns what a record of a format, or the records of one conversation, state.

    Of several app versions the first counts. Raises ValueError, one line, if they name several eval cases, so
    that which is meant is unknown.
    """
    versions, eval_ids, eval_set_ids = stated_texts(places, value)
    return Identity(*(texts[0] if texts else None for texts in (versions, eval_ids, eval_set_ids)))


def stated_texts(places: Places, value: JsonValue) -> list[list[str]]:
    """Returns all texts of the three, in order, at the first name of the first place that states each.

    Raises ValueError, one line, if they name several eval cases.
    """
    stated: list[list[str]] = [[], [], []]
    for path, names in places:
        paths = [part.split(".") if part else [] for part in path.split(BOTH)]
        records = value if isinstance(value, list) else [value]
        holders: list[JsonObject] = []
        for value_at in (item for record in records for steps in paths for item in _values(record, steps)):
            decoded = json_structure(value_at) if isinstance(value_at, str) else value_at
            whole = key_values(decoded) if _are_pairs(decoded) else decoded
            holders += objects_in(whole if isinstance(whole, list) else [whole])
        for index, keys in enumerate(names if holders else ()):
            for key in keys if not stated[index] else ():
                stated[index] = [text for holder in holders if (text := _text(_held(holder, key)))]
                if len(set(stated[index])) > 1 and index:
                    shown = ", ".join(list(dict.fromkeys(stated[index]))[:3])
                    raise ValueError(f"the conversation names several eval cases or sets: {shown}")
                if stated[index]:
                    break
        if all(stated):
            break
    return stated


def _held(holder: JsonObject, key: str) -> JsonValue:
    """Returns what an object states under a key, of `turnwise.app_version` also as an object in it."""
    value, (first, _, rest) = holder.get(key), key.partition(".")
    # Which versions of flows Dialogflow CX used: numbers by flow, or resource names.
    if key in FLOWS and isinstance(value, dict):
        return ", ".join(sorted(f"{name.rpartition('/')[2]}={number}" for name, number in value.items()))
    if key in FLOWS and isinstance(value, list) and len(value) > 1:
        return ", ".join(sorted(map(str, value)))
    return value if value is not None or first != "turnwise" else as_object(holder.get(first)).get(rest)


def identity_at(paths: Paths, value: JsonValue, is_alone: bool = True) -> Identity:
    """Returns what stands at paths, such as those that a config names.

    The first path that leads to texts counts; of an app version its last text, else the first. Raises
    ValueError, one line, if a path leads to several texts in a record of several conversations.
    """
    stated: list[str | None] = []
    for name, stated_paths in zip(Paths._fields, paths, strict=True):
        texts = next((texts for path in stated_paths if (texts := texts_at(path, value))), [])
        if len(set(texts)) > 1 and not is_alone:
            raise ValueError(
                f"{name}_from leads to several values in a record of several conversations, "
                f"and nothing says which is whose: {', '.join(list(dict.fromkeys(texts))[:3])}"
            )
        stated.append(texts[-1 if name == "app_version" else 0] if texts else None)
    return Identity(*stated)


def texts_at(path: str, value: JsonValue) -> list[str]:
    """Returns the texts that stand at a path; see `Paths`."""
    return [text for held in _values(value, path.split(".")) if (text := _text(held))]


def identify(
    conversation: Conversation, places: Places, value: JsonValue, paths: Paths = _NONE, is_alone: bool = True
) -> None:
    """Adds, in place, what a record (or records in the order of time) states and its reader did not read.

    What the config says (`paths`) goes before everything else. Of several app versions the last counts, which
    is a finding. A record that holds other conversations, too, names no case of this one. Raises ValueError,
    one line, if the records name several eval cases.
    """
    (stated_inside, kept), given = _kept(conversation), identity_at(paths, value, is_alone)
    for name, stated_paths, text in zip(Paths._fields, paths, given, strict=True):
        for path in stated_paths if text is None else ():
            kinds = [type(held) for held in _values(value, path.split(".")) if isinstance(held, dict | list)]
            if kinds:
                what = "an object" if kinds[0] is dict else "a list"
                message = f"{name}_from: {path} leads to {what}, and a text or a number is needed"
                gaps("UnreadPath", [message], calls=False, words=False).add_to_all(conversation.turns)
    if is_alone:
        keyed, stated = identity_at(_KEY_PATHS, value), stated_texts(places, value)
        last = Identity(*(texts[-1] if texts else None for texts in stated))
        known = _first(given, keyed, stated_inside, last, kept)
        add_several_versions(conversation, known, texts_at(KEYS[0], value) or stated[0])
    else:
        known = _first(given, stated_inside, kept, Identity(stated_identity(places, value).app_version))
    conversation.app_version, conversation.eval_id, conversation.eval_set_id = known


def add_several_versions(conversation: Conversation, known: Identity, versions: Sequence[str]) -> None:
    """Adds a finding, in place, to a conversation of which records or turns state several app versions.

    Without `known`, as which it counts, among them another place states it.
    """
    different = list(dict.fromkeys(versions))
    if len(different) > 1 and known.app_version in different:
        listed = f"the conversation states several app versions: {', '.join(different[:5])}"
        message = f"{listed}; it counts as {known.app_version}"
        gaps("SeveralVersions", [message], calls=False, words=False).add_to_all(conversation.turns)


def identify_kept(conversation: Conversation) -> None:
    """Adds, in place, what a conversation's own labels, state and meta state."""
    conversation.app_version, conversation.eval_id, conversation.eval_set_id = _first(*_kept(conversation))


def _kept(conversation: Conversation) -> tuple[Identity, Identity]:
    """Returns what the fields of a conversation state, and what its labels, state and meta do."""
    version = conversation.app_version
    version = version if version and version.strip() else None
    stated = []
    for name, names in OF_KEPT:
        holder: JsonObject = getattr(conversation, name)
        texts = ((_text(holder.get(key)) for key in keys) for keys in names)
        stated.append(Identity(*(next(filter(None, held), None) for held in texts)))
    return Identity(version, conversation.eval_id, conversation.eval_set_id), _first(*stated)


def _first(*identities: Identity) -> Identity:
    return Identity(*(next(filter(None, texts), None) for texts in zip(*identities, strict=True)))


def _text(value: JsonValue) -> str | None:
    """Returns a name: a text or a whole number, or the one element of a list."""
    if isinstance(value, list) and len(value) == 1:
        [value] = value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    return None if text in HIDDEN else text or None


def _are_pairs(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and "key" in value[0]


def _values(value: JsonValue, steps: Sequence[str]) -> Iterator[JsonValue]:
    """Yields what stands at a path; see `Paths`."""
    if not steps:
        yield value
        return
    value = json_structure(value) if isinstance(value, str) else value
    if isinstance(value, list):
        if steps[0].isdecimal():
            for item in value[int(steps[0]) :][:1]:
                yield from _values(item, steps[1:])
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
