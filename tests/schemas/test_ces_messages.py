import json
import re
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import NoneType
from typing import get_args, get_origin, get_type_hints

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.rpc import status_pb2
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.alias_generators import to_camel

from tests.ces_messages import MESSAGE_TYPES, MESSAGES, cloud
from turnwise.schemas.ces.result import Status
from turnwise.schemas.proto import message as proto_any
from turnwise.schemas.proto import message as proto_fields
from turnwise.schemas.proto.scalars import nanos_duration, nanos_timestamp

SHARED = Path(__file__).parents[2] / "../shared"
SAMPLES = sorted((SHARED / "fixtures/ces/samples").glob("*.json"))

PACKAGES = re.compile(r"^google\.(cloud\.(ces|discoveryengine)\.v1beta|rpc|protobuf)\.")
WELL_KNOWN = ["Any", "Duration", "FieldMask", "Struct", "Timestamp"]
RESOURCES_KEPT_AS_OBJECTS = ["App", "Agent", "Tool", "Example", "Guardrail", "Toolset", "AssistAnswer"]
SCALARS = {
    FieldDescriptor.TYPE_STRING: "Text",
    FieldDescriptor.TYPE_BOOL: "Bool",
    FieldDescriptor.TYPE_INT32: "Int32",
    FieldDescriptor.TYPE_INT64: "Int64",
    FieldDescriptor.TYPE_FLOAT: "Float32",
    FieldDescriptor.TYPE_DOUBLE: "Double",
    FieldDescriptor.TYPE_BYTES: "Bytes",
}
TYPES = {name: getattr(proto_fields, name) for name in [*SCALARS.values(), *WELL_KNOWN[1:]]}
TYPES["Any"] = proto_any.AnyMessage


@cache
def real_class(message):
    """The protobuf class that the installed packages have of a message."""
    found = status_pb2 if message is Status else cloud(message)
    for part in message.PROTO.split("."):
        found = getattr(found, part)
    return found if message is Status else type(found.pb(found()))


INSTALLED = [message for message in MESSAGE_TYPES if cloud(message)]
BY_NAME = [pytest.param(message, id=message.PROTO) for message in INSTALLED]


def kind_of(hint):
    """What a type stands for: a scalar's or message's name, or an enum's names and numbers."""
    if get_origin(hint) is not None or not isinstance(hint, type):
        named = [name for name, known in TYPES.items() if known == hint]
        return named[0] if named else kind_of(get_args(hint)[0])
    if issubclass(hint, IntEnum):
        return {name: int(member) for name, member in hint.__members__.items()}
    return hint.PROTO


def our_shape(message):
    """JSON name -> (kind, form) of our fields."""
    hints = get_type_hints(message, include_extras=True)
    return {to_camel(name): field_shape(hints[name]) for name in message.model_fields}


def field_shape(hint):
    arguments = get_args(hint)
    if arguments and NoneType in (*arguments, *get_args(arguments[0])):  # the latter of a oneof
        return kind_of(arguments[0]), "present"
    if get_origin(hint) is list:
        return kind_of(arguments[0]), "repeated"
    if get_origin(hint) is dict:
        return kind_of(arguments[1]), "map"
    return kind_of(hint), "implicit"


def real_shape(descriptor):
    return {
        field.json_name: (real_kind(map_value(field) or field), real_form(field))
        for field in descriptor.fields
    }


def map_value(field):
    inner = field.message_type
    return inner.fields_by_name["value"] if inner and inner.GetOptions().map_entry else None


def real_form(field):
    if field.is_repeated:
        return "map" if map_value(field) else "repeated"
    return "present" if field.has_presence else "implicit"


def real_kind(field):
    if field.enum_type:
        return {value.name: value.number for value in field.enum_type.values}
    if not field.message_type:
        return SCALARS[field.type]
    name = PACKAGES.sub("", field.message_type.full_name)
    return "Struct" if name in RESOURCES_KEPT_AS_OBJECTS else name


@pytest.mark.parametrize("message", BY_NAME)
def test_a_message_is_the_real_one(message):
    real = real_class(message).DESCRIPTOR
    assert our_shape(message) == real_shape(real)
    assert set(message.model_fields) == {field.name.rstrip("_") for field in real.fields}
    oneofs = [sorted(f.name for f in one.fields) for one in real.oneofs if not one.name.startswith("_")]
    assert [sorted(message.ONEOF)] * bool(message.ONEOF) == oneofs


def test_no_two_messages_share_a_name():
    ours = [m.PROTO for m in MESSAGE_TYPES if m.__module__.startswith("turnwise.")]
    assert len(set(ours)) == len(ours)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_come_back_as_they_were(path):
    message = MESSAGES[path.stem.split("__")[1]]
    assert message.from_json(path.read_bytes()).to_value() == json.loads(path.read_text())


TEXTS = st.text(max_size=5)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
STRUCTS = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none() | st.booleans() | TEXTS | NUMBERS | st.integers(-(2**60), 2**60),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
        max_leaves=3,
    ),
    max_size=2,
)
INT32 = st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, 1, 3.0, "7", "2e1"])
VALUES = {
    "Text": TEXTS,
    "Bool": st.booleans(),
    "Int32": INT32,
    "Int64": INT32 | st.integers(-(2**63), 2**63 - 1).map(str),
    "Float32": st.floats(width=32, allow_nan=False, allow_infinity=False).filter(lambda x: abs(x) < 3.4e38)
    | st.sampled_from([0, 0.1, 1 / 3, "NaN", "-Infinity", "0.25"]),
    "Double": NUMBERS | st.sampled_from([0, 1, "Infinity", "1e3"]),
    "Bytes": st.sampled_from(["", "aGk", "aGk=", "_-8=", "/+8="]),
    "Timestamp": st.integers(-(10**18), 10**18).map(nanos_timestamp) | st.just("2026-01-02T03:04:05.1-08:00"),
    "Duration": st.integers(-(10**12), 10**12).map(nanos_duration) | st.just("3.50s"),
    "FieldMask": st.sampled_from(["displayName,golden.turns", "*"]),
    "Struct": STRUCTS,
    "Any": st.just({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "R"}),
}


@st.composite
def documents(draw, descriptor, depth=2):
    """JSON objects of a message: a few of its fields, under either name, some of them null."""
    fields = list(descriptor.fields)
    chosen = draw(st.lists(st.sampled_from(fields), max_size=3, unique_by=slot)) if fields else []
    keys = [draw(st.sampled_from([field.json_name, field.name.rstrip("_")])) for field in chosen]
    return {key: draw(st.none() | values(field, depth)) for key, field in zip(keys, chosen, strict=True)}


def slot(field):
    return field.containing_oneof.name if field.containing_oneof else field.json_name


@cache
def values(field, depth):
    inner = map_value(field)
    if inner:
        return st.dictionaries(TEXTS, elements(inner, depth), max_size=1)
    return st.lists(elements(field, depth), max_size=2) if field.is_repeated else elements(field, depth)


def elements(field, depth):
    kind = real_kind(field)
    if isinstance(kind, dict):
        return st.sampled_from([*kind, *kind.values(), *map(str, kind.values()), 99])
    if kind in VALUES:
        return VALUES[kind]
    return documents(field.message_type, depth - 1) if depth else st.just({})


# What is kept as an object is a plain object here.
WITH_OBJECTS = ("Session", "Session.Turn")
COMPARED = [message for message in INSTALLED if message.PROTO not in WITH_OBJECTS]


def protobuf_prints(message, document):
    copied = json.loads(json.dumps(document))
    return json_format.MessageToDict(json_format.ParseDict(copied, real_class(message)()))


@settings(deadline=None)
@given(st.data())
def test_what_we_print_is_what_protobuf_prints(data):
    message = data.draw(st.sampled_from(COMPARED))
    document = data.draw(documents(real_class(message).DESCRIPTOR))
    before = json.dumps(document)
    printed = message.from_value(document).to_value()
    assert json.dumps(document) == before
    assert printed == protobuf_prints(message, document)
    assert printed == protobuf_prints(message, printed)
    assert printed == message.from_value(printed).to_value()
