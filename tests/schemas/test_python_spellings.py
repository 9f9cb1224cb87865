"""What `to_dict` of Google's own Python classes writes is read: some names get an underscore there."""

import json
from pathlib import Path

import proto
import pytest
from google.cloud import ces_v1beta
from google.protobuf import json_format

from tests.ces_messages import MESSAGE_TYPES, MESSAGES, cloud
from turnwise.schemas.ces.result import EvaluationResult
from turnwise.schemas.proto.message import WireError

SAMPLES = sorted((Path(__file__).parents[2] / "../shared/fixtures/ces/samples").glob("*.json"))


def real_class(message):
    """Returns the class that Google's package has of a message; None: it has none."""
    found = cloud(message)
    for part in message.PROTO.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, proto.Message) else None


PAIRS = [
    pytest.param(message, real, id=message.PROTO)
    for message in MESSAGE_TYPES
    if (real := real_class(message))
]


@pytest.mark.parametrize(("message", "real"), PAIRS)
def test_every_name_that_the_real_class_spells_otherwise_is_known(message, real):
    ours = set(message.model_fields)
    spelled = [name for name in real.meta.fields if name.endswith("_") and name[:-1] in ours]
    assert [name for name in spelled if name not in message._names] == []


def test_a_span_is_read_as_to_dict_writes_it():
    span = {"type_": "LLM", "displayName": "m", "executionLatency": "1s"}
    result = {"name": "n", "goldenResult": {"turnReplayResults": [{"spanLatencies": [span]}]}}
    real = ces_v1beta.EvaluationResult(
        name="n",
        golden_result={"turn_replay_results": [{"span_latencies": [{"type_": 4, "display_name": "m"}]}]},
    )
    for given in (result, ces_v1beta.EvaluationResult.to_dict(real)):
        for lenient in (False, True):
            (turn,) = EvaluationResult.from_value(given, lenient=lenient).to_value()["goldenResult"][
                "turnReplayResults"
            ]
            assert turn["spanLatencies"][0]["type"] == "LLM"
            assert turn["spanLatencies"][0]["displayName"] == "m"


@pytest.mark.parametrize(
    ("span", "why"),
    [
        ({"type_": "LLM", "type": "LLM"}, "under both of its names"),
        ({"display_name_": "x"}, "display_name_: no such field"),
        ({"type__": "LLM"}, "type__: no such field"),
    ],
)
def test_other_underscores_are_unknown_fields(span, why):
    with pytest.raises(WireError, match=why):
        EvaluationResult.from_value({"goldenResult": {"turnReplayResults": [{"spanLatencies": [span]}]}})


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("as_numbers", [True, False])
def test_a_sample_comes_through_to_dict_as_it_went(path, as_numbers):
    name = path.stem.rpartition("__")[2]
    message, real = MESSAGES.get(name), getattr(ces_v1beta, name, None)
    if message is None or real is None:
        pytest.skip("no message of the evaluation service")
    value = real(json_format.ParseDict(json.loads(path.read_text()), real.pb(real())))
    told = real.to_dict(value, use_integers_for_enums=as_numbers)
    assert message.from_value(told).to_value() == message.from_json(path.read_text()).to_value()
