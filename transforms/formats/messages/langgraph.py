"""Snapshots of a LangGraph thread, newest and earlier ones, as `get_state_history` lists them."""

from collections.abc import Iterator, Sequence

from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import as_text
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.langchain import LANGCHAIN
from turnwise.transforms.formats.messages.messages_base import conversation, read_half
from turnwise.transforms.formats.messages.streams import as_object, objects
from turnwise.transforms.formats.registry import (
    EventReader,
    Format,
    ReadSettings,
    record_place,
    register_format,
)

_OWN = ("next", "parent_config", "parent_checkpoint")
_FIELDS = ("values", "next", "config", "metadata", "created_at", "parent_config", "tasks", "interrupts")
_FEWEST_FIELDS = 6
_PLACES = ("config", "checkpoint", "metadata")
_BRANCH = "an earlier state of the thread holds messages that the newest does not hold"


def _is_snapshot(value: JsonObject) -> bool:
    return isinstance(value.get("values"), dict) and not value.keys().isdisjoint(_OWN)


def _from_array(value: list[JsonValue]) -> JsonObject | None:
    """Returns the snapshot that an array spells: `StateSnapshot` is a named tuple."""
    if not _FEWEST_FIELDS <= len(value) <= len(_FIELDS):
        return None
    values, nodes, config, metadata, created_at, parent, *_ = value
    is_one = isinstance(values, dict) and isinstance(config, dict) and isinstance(nodes, list)
    is_one = is_one and all(isinstance(node, str) for node in nodes) and isinstance(metadata, dict | None)
    if not (is_one and isinstance(created_at, str | None) and isinstance(parent, dict | None)):
        return None
    return dict(zip(_FIELDS, value, strict=False))


def _about(snapshot: JsonObject) -> Iterator[JsonObject]:
    """Yields the objects that may name the thread and the checkpoint."""
    for key in _PLACES:
        yield as_object(as_object(snapshot.get(key)).get("configurable"))
        yield as_object(snapshot.get(key))


def _stated(snapshot: JsonObject, key: str) -> str | None:
    return next((as_text(each[key]) for each in _about(snapshot) if each.get(key)), None)


def _thread(snapshot: JsonObject) -> str | None:
    return _stated(snapshot, "thread_id")


def _is_nameless(value: JsonObject) -> bool:
    return _is_snapshot(value) and _thread(value) is None


def _age(snapshot: JsonObject) -> tuple[bool, str, str]:
    """Returns what orders snapshots: those of the graph itself after those of its subgraphs, then by time."""
    made = as_text(snapshot.get("created_at")) or ""
    own = as_text(snapshot.get("checkpoint_id")) or _stated(snapshot, "checkpoint_id") or ""
    return not _stated(snapshot, "checkpoint_ns"), made, own


def _steps(snapshot: JsonObject) -> list[tuple[object, ...]]:
    log = Dialogue()
    read_half(LANGCHAIN, snapshot, log)
    return log.steps


def _conversation(snapshot: JsonObject, earlier: Sequence[JsonObject], name: str) -> Conversation:
    """Returns the conversation of the newest snapshot, given also those before it."""
    log = Dialogue()
    read_half(LANGCHAIN, snapshot, log)
    if any(steps != log.steps[: len(steps)] for steps in map(_steps, earlier)):
        log.general.add("OtherBranch", _BRANCH, calls=True)
    log.failure = _failure(snapshot)
    return conversation(LANGCHAIN, log, snapshot, name)


def _failure(snapshot: JsonObject) -> JsonValue:
    """Returns the error of a task that the snapshot still holds, so that its graph stopped there."""
    tasks = snapshot.get("tasks")
    given = tasks if isinstance(tasks, list) else []
    return next((each["error"] for each in given if isinstance(each, dict) and each.get("error")), None)


def _join(thread: str, values: Sequence[JsonObject]) -> Conversation:
    newest = max(values, key=_age)
    main = [each for each in values if _age(each)[0] == _age(newest)[0] and each is not newest]
    return _conversation(newest, main, thread)


def _read(value: JsonValue, record: Record, settings: ReadSettings) -> list[Conversation]:
    """Returns the conversations of snapshots that name no thread: those that no other one continues."""
    found = list(objects(value if isinstance(value, list) else [value], "snapshots"))
    steps = sorted(((_steps(each), i) for i, each in enumerate(found)), key=lambda one: -len(one[0]))
    kept: list[tuple[list[tuple[object, ...]], int]] = []
    for own, place in steps:
        if not any(own == other[: len(own)] for other, _ in kept):
            kept.append((own, place))
    name = record_place(record)
    names = [name] if len(kept) == 1 else [f"{name}:{i + 1}" for _, i in kept]
    return [_conversation(found[i], (), each) for (_, i), each in zip(kept, names, strict=True)]


register_format(
    Format(
        name="langgraph_thread",
        keys=("values", "next", "config"),
        help="snapshots of LangGraph threads, as get_state and get_state_history return them; "
        "the newest of a thread counts",
        rank=110,
        recognises=lambda record: _is_snapshot(record) and _thread(record) is not None,
        from_array=_from_array,
        events=EventReader(place=lambda value: (_thread(value) or "", -1), join=_join),
        time_keys=("created_at",),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="langgraph_history",
        keys=("values", "next", "parent_config"),
        help="snapshots of LangGraph threads that name no thread: a list of them, newest first",
        rank=110,
        recognises=_is_nameless,
        read_log=_read,
        is_list=_is_nameless,
        has_rubrics=False,
    )
)
