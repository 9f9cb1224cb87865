"""The shapes of input whose growth is measured: what is written for a size, and what turnwise is given."""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.data import conversation, write_turnwise

Json = dict[str, Any]
_WORDS = ["order", "late", "refund", "parcel", "card", "address", "change", "confirm", "stock", "price"]
_SOME = 10


class Shape(NamedTuple):
    """A shape of input.

    Attributes:
        unit: What one more of it is.
        sizes: How many are measured.
        write: Writes the input of a size into a directory; returns the arguments of `turnwise run`.
        is_streamed: Whether the memory must not depend on the size.
    """

    unit: str
    sizes: tuple[int, ...]
    write: Callable[[Path, int], Sequence[str]]
    is_streamed: bool = False


def _turn(user: str, agent: str, calls: Iterable[Json] = (), **more: Any) -> Json:
    return {"user": user, "agent": agent, "tool_calls": list(calls), **more}


def _talk(index: int, turns: Iterable[Json], **more: Any) -> Json:
    return {"conversation_id": f"c-{index:07}", "app_version": "v1", "turns": list(turns), **more}


def _small(index: int, **more: Any) -> Json:
    turn = _turn(_text(index, 8), _text(index + 1, 12), expected={"response": _text(index + 2, 12)})
    return _talk(index, [turn], **more)


def _text(seed: int, words: int) -> str:
    rng = random.Random(seed)
    return " ".join([*rng.choices(_WORDS, k=words - 1), f"w{seed % 97}"])


def _call(name: str, **args: Any) -> Json:
    return {"name": name, "args": args}


def _lines(path: Path, records: Iterable[Json]) -> str:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return str(path)


def _logs(directory: Path, records: Iterable[Json]) -> list[str]:
    return ["--input", _lines(directory / "logs.jsonl", records)]


def _config(directory: Path, config: Json) -> list[str]:
    path = directory / "config.json"
    path.write_text(json.dumps(config))
    return ["--config", str(path)]


def _turns(directory: Path, size: int) -> list[str]:
    write_turnwise(directory / "logs.jsonl", size)
    return ["--input", str(directory / "logs.jsonl")]


def _app_versions(directory: Path, size: int) -> list[str]:
    talks = ({**conversation(index), "app_version": f"version-{index}"} for index in range(size))
    return _logs(directory, talks)


def _case(index: int) -> Json:
    turns = conversation(index)["turns"]
    return {
        "eval_id": f"case-{index}",
        "turns": [{"user": turn["user"], **turn["expected"]} for turn in turns],
    }


def _cases(directory: Path, size: int) -> list[str]:
    cases = _lines(directory / "cases.jsonl", map(_case, range(size)))
    talks = (_small(index, eval_id=f"case-{index}") for index in range(_SOME))
    return [*_logs(directory, talks), "--eval_cases", cases]


def _eval_set(directory: Path, size: int) -> list[str]:
    """Writes one eval set of google-adk; every case is used by one conversation."""
    path = directory / "support.evalset.json"
    cases = [
        {"eval_id": f"case-{index}", "conversation": [_invocation(index)], "creation_timestamp": 0.0}
        for index in range(size)
    ]
    path.write_text(json.dumps({"eval_set_id": "support", "eval_cases": cases}))
    talks = (_small(index, eval_id=f"case-{index}") for index in range(size))
    return [*_logs(directory, talks), "--eval_cases", str(path)]


def _invocation(index: int) -> Json:
    return {
        "invocation_id": str(index),
        "user_content": {"role": "user", "parts": [{"text": _text(index, 8)}]},
        "final_response": {"role": "model", "parts": [{"text": _text(index + 1, 12)}]},
    }


def _long(directory: Path, size: int) -> list[str]:
    calls = [_call("get_order", order_id="A1")]
    turns = [
        _turn(_text(i, 8), _text(i + 1, 12), calls, expected={"response": _text(i, 12), "tool_calls": calls})
        for i in range(size)
    ]
    return _logs(directory, [_talk(0, turns)])


def _variables(directory: Path, size: int) -> list[str]:
    """Writes a conversation in which every turn sets a variable and the last of them all is expected."""
    turns = [
        _turn(
            _text(i, 8),
            _text(i, 12),
            variables={f"v{i}": i},
            expected={"expectations": [{"kind": "updated_variables", "variables": {f"v{i}": i}}]},
        )
        for i in range(size)
    ]
    return _logs(directory, [_talk(0, turns)])


def _golden(directory: Path, size: int, is_shuffled: bool = False) -> list[str]:
    """Writes a golden of so many turns and a recording that lacks one of them."""
    wanted = [{"user": _text(i, 8), "response": _text(i, 12)} for i in range(size)]
    cases = _lines(directory / "cases.jsonl", [{"eval_id": "long", "turns": wanted}])
    turns = [_turn(_text(i, 8), _text(i, 12)) for i in range(size) if i != size // 3]
    if is_shuffled:
        random.Random(size).shuffle(turns)
    return [*_logs(directory, [_talk(0, turns, eval_id="long")]), "--eval_cases", cases]


def _same_tool(directory: Path, size: int) -> list[str]:
    """Writes a turn whose calls are all of one tool and match the expected ones in some arguments."""
    rng = random.Random(size)

    def calls() -> list[Json]:
        return [_call("get_order", a=rng.randrange(9), b=rng.randrange(9), c=i % 7) for i in range(size)]

    turn = _turn("All orders", "Done", calls(), expected={"tool_calls": calls()})
    return _logs(directory, [_talk(0, [turn])])


def _calls(directory: Path, size: int) -> list[str]:
    """Writes a turn with so many different calls and responses, in another order than the expected ones."""
    wanted = [_call(f"tool_{i % 50}", item=i) for i in range(size)]
    made = [{**call, "id": f"call-{i}"} for i, call in enumerate(wanted)]
    random.Random(size).shuffle(made)
    answers = [{"name": call["name"], "id": call["id"], "response": "ok"} for call in made]
    turn = _turn("All", "Done", made, tool_responses=answers, expected={"tool_calls": wanted})
    return _logs(directory, [_talk(0, [turn])])


def _unexpected(directory: Path, size: int) -> list[str]:
    """Writes a conversation of turns with calls for which the case states the calls of the whole only."""
    wanted = [_call("cancel_order", item=i) for i in range(size)]
    made = [_call("cancel_order", item=i + (i % 3 == 0)) for i in reversed(range(size))]
    turns = [_turn(_text(i, 8), _text(i, 12), made[i : i + _SOME]) for i in range(0, size, _SOME)]
    talk = _talk(0, turns, expected={"actions": wanted})
    criteria = {"criteria": {"tool_effects_v1": 1.0, "tool_trajectory_avg_score": 1.0}}
    return [*_logs(directory, [talk]), *_config(directory, criteria)]


def _words(criteria: Json) -> Callable[[Path, int], list[str]]:
    def write(directory: Path, size: int) -> list[str]:
        turn = _turn("Tell me", _text(1, size), expected={"response": _text(2, size)})
        return [*_logs(directory, [_talk(0, [turn])]), *_config(directory, {"criteria": criteria})]

    return write


def _array(directory: Path, size: int) -> list[str]:
    path = directory / "logs.json"
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n")
        file.writelines(f"{',' if i else ''}{json.dumps(conversation(i))}\n" for i in range(size))
        file.write("]\n")
    return ["--input", str(path)]


def _files(directory: Path, size: int) -> list[str]:
    for index in range(size):
        place = directory / "logs" / f"{index // 1000:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{index}.json").write_text(json.dumps(_small(index)))
    return ["--input", str(directory / "logs")]


_PLUGIN = """
import turnwise

def _make(number):
    class Length(turnwise.MeasuredCriterion):
        '''Whether there is an answer.'''
        name = f"has_answer_{number}"
        rests_on = ("words",)
        threshold: float | None = 1.0

        def score(self, sample, pair):
            return turnwise.Score(float(bool(pair.actual and pair.actual.agent)))

for number in range(%d):
    _make(number)
"""


def _criteria(directory: Path, size: int) -> list[str]:
    plugin = directory / "growth_plugin.py"
    plugin.write_text(_PLUGIN % size)
    names = {"criteria": {f"has_answer_{number}": 1.0 for number in range(size)}}
    talks = _logs(directory, map(_small, range(1000)))
    return [*talks, "--plugin", str(plugin), *_config(directory, names)]


def _slices(directory: Path, size: int) -> list[str]:
    talks = (_small(index, tags=[f"own-{index}", f"one-{index % 10}"]) for index in range(size))
    return [*_logs(directory, talks), *_config(directory, {"slices": ["tag"]})]


def _tags(directory: Path, size: int) -> list[str]:
    """Writes one conversation with so many tags, which its case has too."""
    tags = [f"tag-{index}" for index in range(size)]
    cases = _lines(directory / "cases.jsonl", [{**_case(0), "tags": tags}])
    talks = _logs(directory, [_small(0, tags=tags, eval_id="case-0")])
    return [*talks, "--eval_cases", cases, *_config(directory, {"slices": ["tag"]})]


def _failures(directory: Path, size: int) -> list[str]:
    path = directory / "logs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(_small(0)) + "\n")
        file.writelines(f'{{"conversation_id": "c-{i}", "turns": [{{"user": 1}}' + "\n" for i in range(size))
    return ["--input", str(path)]


def _rubrics(directory: Path, size: int) -> list[str]:
    rubrics = [{"rubric_id": str(i), "text": f"The agent names {_text(i, 4)}"} for i in range(size)]
    case = {**_case(0), "rubrics": rubrics}
    cases = _lines(directory / "cases.jsonl", [case])
    config: Json = {"criteria": {"scenario_rubrics": {}, "response_match_score": 0.8}}
    talks = _logs(directory, [_small(0, eval_id="case-0")])
    return [*talks, "--eval_cases", cases, "--judge", "local", *_config(directory, config)]


def _deep(directory: Path, size: int) -> list[str]:
    """Writes a hundred conversations with a call whose arguments are nested so deep."""
    value: Any = 1
    for _ in range(size):
        value = {"in": value}
    call = _call("put", value=value)
    turns = [_turn("Put", "Done", [call], expected={"tool_calls": [call]})]
    return _logs(directory, (_talk(index, turns) for index in range(100)))


def _events(directory: Path, size: int) -> list[str]:
    """Writes the turns of one conversation as events, a line each, in another order."""
    turn = _turn("Go on", "Yes", expected={"response": "Yes"})
    events = [{"conversation_id": "c", "turn_index": i, "turn": turn} for i in range(size)]
    random.Random(size).shuffle(events)
    return _logs(directory, events)


def _runs(directory: Path, size: int) -> list[str]:
    """Writes so many runs of one case."""
    cases = _lines(directory / "cases.jsonl", [_case(0)])
    talks = _logs(directory, (_small(index, eval_id="case-0") for index in range(size)))
    return [*talks, "--eval_cases", cases]


def _steps(first: int, count: int = 4, factor: float = 2) -> tuple[int, ...]:
    return tuple(int(first * factor**step) for step in range(count))


_ROUGE: Json = {"response_match_score": 0.8}

SHAPES = {
    "turns": Shape("turn", _steps(125_000), _turns, is_streamed=True),
    "app_versions": Shape("version", _steps(1_250), _app_versions),
    "eval_cases": Shape("case", _steps(12_500), _cases, is_streamed=True),
    "eval_set": Shape("case", _steps(250), _eval_set),
    "runs_of_a_case": Shape("run", _steps(2_500), _runs),
    "long_conversation": Shape("turn", _steps(1_000), _long),
    "variables": Shape("turn", _steps(1_000), _variables),
    "events": Shape("event", _steps(5_000), _events),
    "golden": Shape("turn", _steps(500), _golden),
    "golden_in_another_order": Shape("turn", _steps(500), partial(_golden, is_shuffled=True)),
    "calls_of_one_tool": Shape("call", _steps(50), _same_tool),
    "calls_in_a_turn": Shape("call", _steps(2_500), _calls),
    "calls_of_the_whole": Shape("call", _steps(250), _unexpected),
    "words": Shape("word", _steps(50_000), _words(_ROUGE)),
    "json_array": Shape("conversation", _steps(10_000), _array, is_streamed=True),
    "files": Shape("file", _steps(6_250), _files),
    "criteria": Shape("criterion", _steps(10), _criteria),
    "slices": Shape("conversation", _steps(1_250), _slices),
    "tags": Shape("tag", _steps(1_250), _tags),
    "failures": Shape("record", _steps(5_000), _failures),
    "rubrics": Shape("rubric", _steps(500), _rubrics),
    "deep_json": Shape("level", _steps(18), _deep),
}
