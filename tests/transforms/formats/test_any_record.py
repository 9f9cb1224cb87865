"""Records are read as logs or as eval cases, whichever they are."""

import json

import pytest

from tests.tables import rows_test
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.reading import AnyReader, LoggedConversation

test_rows = rows_test(globals(), "any_record")


def record(value, name, kind):
    """What a record is."""
    data = value if isinstance(value, str) else json.dumps(value)
    read = AnyReader().read(Record("x", 1, data.encode()))
    assert read.format == name and [type(content).__name__ for content in read.contents] == [kind]


@pytest.mark.parametrize(
    "value", ['{"messages": [{"role": "user", "content": "a %s"}]}', '{"turns": ["%s b"]}']
)
@pytest.mark.parametrize("half", [r"\ud83d", r"\udc00"])
def test_half_a_character_is_named(value, half):
    [found] = AnyReader().read(Record("x", 1, (value % half).encode())).contents
    assert isinstance(found, Failure) and found.message.startswith(r"half a character, such as \ud83d")


def test_the_failure_is_that_of_the_nearer_reader():
    texts = []
    for value in ({"conversation_id": "c", "turns": []}, {"eval_id": "e", "turns": []}):
        (failure,) = AnyReader().read(Record("x", 1, json.dumps(value).encode())).contents
        assert isinstance(failure, Failure)
        texts.append(failure.message)
    assert "has no turn" in texts[0] and "expects nothing" in texts[1]


def test_the_mapping_of_the_config_is_applied():
    mapping = {"conversation_id": "call", "turns": "lines[*].{user: asked, agent: said}"}
    reader = AnyReader(config=EvalConfig.model_validate({"mapping": mapping}))
    data = json.dumps({"call": "c", "lines": [{"asked": "Hi", "said": "Hello"}]}).encode()
    (found,) = reader.read(Record("x", 1, data)).contents
    assert isinstance(found, LoggedConversation) and found.conversation.turns[0].agent == "Hello"
