"""Objects that state one key twice: parsers would keep only the last value."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.pipeline.io.records import file_records
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import key_twice
from turnwise.transforms.formats.reading import CaseReader


def test_eval_cases_are_refused(tmp_path):
    case = b'{"eval_id": "e", "turns": [{"user": "a", "user": "b", "response": "c"}]}'
    with pytest.raises(ValueError, match="'user' stands twice"):
        CaseReader(CesConfig()).read(Record("cases.jsonl", 1, case))
    path = tmp_path / "goldens.yaml"
    path.write_text("conversations:\n- conversation: a\n  turns: []\n  turns:\n  - user: Hi\n    agent: Yo\n")
    [failure] = file_records(str(path), 1 << 20)
    assert "the key 'turns' stands twice" in failure.message


def test_a_mapping_of_yaml_may_override_what_it_merges(tmp_path):
    path = tmp_path / "goldens.yaml"
    path.write_text("a: &a {agent: Yo, user: A}\nb:\n  <<: *a\n  user: Hi\n")
    [record] = file_records(str(path), 1 << 20)
    assert json.loads(record.data)["b"] == {"agent": "Yo", "user": "Hi"}


ALIASES = [
    (f"a: &a [x, x, x, x]\nb: [*a{', *a' * 600}]\n---\n" * 20, "aliases stand for more than 100,000"),
    (f"a: &a {'x' * 60_000}\nb: [*a, *a]\n", "aliases stand for more than 100,000"),
    ("a: &a [*a]\n", "the alias *a stands in what it names"),
    ("a: &a 1\n---\na: &a [*a]\n", "the alias *a stands in what it names"),
]


@pytest.mark.parametrize(("text", "said"), ALIASES)
def test_aliases_of_yaml_stand_for_little(tmp_path, text, said):
    path = tmp_path / "goldens.yaml"
    path.write_text(text)
    [failure] = file_records(str(path), 1 << 20)
    assert said in failure.message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.booleans())
def test_a_value_that_was_written_states_no_key_twice(value, is_ascii):
    text = json.dumps(value, ensure_ascii=is_ascii, indent=1).encode("utf-8", "replace")
    try:
        parsed = json.loads(text)
    except ValueError:
        return
    assert key_twice(text, parsed) is None
