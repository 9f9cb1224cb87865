"""What the judges of model APIs send, and what becomes of what they get.

A line of `answers.jsonl` asks judges of some `wires`, by a `config`, step by step: the `script` of the server
stays until another is given; so many `questions` of the fixture are asked at once, for so many `samples`.
Then compared are `replies`, `reasons` and `tokens` (in, out) of the samples, how many were `answered` and
`cached`, the `usage` since the last step, how many `requests` the script answered, and the last of them: its
`path`, all that was `sent`, texts that it `holds` or `lacks`. Of a text that ends with `*`, the beginning is
compared.
"""

import json
from contextlib import nullcontext
from fnmatch import fnmatchcase

import pytest

from tests.tables import lines_beside, stated
from tests.transforms.judging.conftest import ask_all
from turnwise.schemas.config import ConfigError
from turnwise.transforms.judging.ask import JudgeModelOptions
from turnwise.transforms.judging.setup import check_judge

LINES = [(wire, line) for line in lines_beside(__file__, "answers.jsonl").values() for wire in line["wires"]]


def shortened(value, wanted):
    """Returns a value whose texts end where wanted ones have a `*`."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        return {key: shortened(item, wanted.get(key)) for key, item in value.items()}
    if isinstance(wanted, list) and isinstance(value, list) and len(value) == len(wanted):
        return [*map(shortened, value, wanted)]
    if isinstance(wanted, str) and wanted.endswith("*"):
        return value[: len(wanted) - 1] + "*"
    return value


@pytest.mark.parametrize(
    ("wire", "line"), LINES, indirect=["wire"], ids=[f"{line['name']}, {wire}"[:99] for wire, line in LINES]
)
def test_answers(server, open_worker, question, line):
    worker = open_worker(**line.get("config", {}))
    for step in line["steps"]:
        if "script" in step:
            server.script(*step["script"])
        questions = [question(**step.get("question", {})) for _ in range(step.get("questions", 1))]
        samples = [own for each in ask_all(worker, questions, step.get("samples", 1)) for own in each]
        assert all(sample.reason is None or len(sample.reason) <= 200 for sample in samples)
        assert not any("\n" in (sample.reason or "") for sample in samples)
        usage = next(iter(worker.counts.take().values()), None)
        last, stats = server.last(), server.stats()
        given = {
            "replies": [sample.reply and sample.reply.model_dump() for sample in samples],
            "reasons": [sample.reason for sample in samples],
            "tokens": [[sample.tokens_in, sample.tokens_out] for sample in samples],
            "usage": {key: getattr(usage, key) for key in step.get("usage", ())},
            "answered": sum(sample.reply is not None for sample in samples),
            "cached": sum(sample.is_cached for sample in samples),
            "requests": stats["requests"],
            "stats": {key: stats[key] for key in step.get("stats", ())},
            "path": last.get("path"),
            "sent": json.loads(last.get("text", "{}")),
        }
        for key in given.keys() & step.keys():
            assert shortened(given[key], step[key]) == step[key], key
        assert step.get("holds", "") in last.get("text", "")
        assert "lacks" not in step or step["lacks"] not in f"{last.get('path')} {last.get('text')}"


@stated("check", "wire, given, error", indirect=["wire"])
def test_a_check_before_a_run(server, settings, wire, given, error):
    """`environ`: the variables, or the key; `error`: beginning or part of the only line, if any."""
    server.script(*([given["script"]] if "script" in given else []))
    config = {key: own and own.replace("{url}", server.url) for key, own in given.get("config", {}).items()}
    environ = given.get("environ", server.key)
    variables = {wire.variable: environ} if isinstance(environ, str) else environ
    options = [JudgeModelOptions(**stated) for stated in given.get("options", [])]
    with pytest.raises(ConfigError) if error else nullcontext() as raised:
        check_judge(settings(**config), variables, options)
    if error:
        assert fnmatchcase(str(raised.value), error.replace("{url}", server.url).replace("[", "[[]"))
        assert "wrong-key" not in str(raised.value) and "\n" not in str(raised.value)
    stats = server.stats()
    assert stats["requests"] == 0 and stats["checks"] == given.get("checks", stats["checks"])
    assert stats["checks"] >= ("script" in given)
