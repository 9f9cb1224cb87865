"""What `turnwise.evaluate` takes, what it refuses, and what its result says."""

import asyncio
import gzip
import json
import subprocess
import sys
from typing import ClassVar

import pyarrow
import pytest

import turnwise as api

TURN = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
LOG = {"conversation_id": "c1", "app_version": "v1", "turns": [TURN]}
ROUGE = {"response_match_score": 0.8}
MATCH = {"final_response_match_v2": 0.5}


class Scripted:
    """A backend that answers valid, and notes how many calls were in flight at the same time."""

    words: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("reference_quote", "answer_quote", "reason"), ""),
        "verdict": "valid",
    }

    def __init__(self, together=1):
        """The first answers wait until so many calls are in flight."""
        self.together, self.are_together = together, asyncio.Event()
        self.in_flight = self.most = 0
        self.is_closed = False

    async def generate(self, request, count):
        from turnwise.transforms.judging.backends.base import RawReply

        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        if self.in_flight >= self.together:
            self.are_together.set()
        await asyncio.wait_for(self.are_together.wait(), 60)
        await asyncio.sleep(0.01)
        self.in_flight -= 1
        return [RawReply(json.dumps(self.words))] * count

    async def aclose(self):
        self.is_closed = True


def logs(number):
    return [
        {**LOG, "conversation_id": f"c{i}", "turns": [{**TURN, "agent": f"Hello {i}"}]} for i in range(number)
    ]


def scores(result):
    return [(row["conversation_id"], row["turn_index"], row["value"]) for row in result.scores]


def test_paths_dicts_and_objects_say_the_same(tmp_path):
    plain, packed = tmp_path / "logs.json", tmp_path / "z.jsonl.gz"
    plain.write_text(json.dumps([LOG]))
    packed.write_bytes(gzip.compress(json.dumps(LOG).encode()))
    (read,) = api.read_conversations(plain)
    given = [plain, str(plain), packed, [plain], str(tmp_path / "*.gz"), LOG, [LOG], read, iter([read])]
    found = [scores(api.evaluate(one, criteria=ROUGE)) for one in given]
    assert found == [[("c1", 0, 1.0), ("c1", None, 1.0)]] * len(given)


def test_objects_are_left_as_they_are():
    conversation = api.Conversation(conversation_id="", turns=[api.Turn(user="Hi", agent="Hello")])
    first, second = (api.evaluate(conversation).results[0]["conversation_id"] for _ in range(2))
    assert (first, second, conversation.conversation_id) == ("conversations:1", "conversations:1", "")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"session_state": {"a": object()}}, "Encoding objects of type object is unsupported"),
        (
            {"session_state": {1: "a"}},
            "not an eval case: Expected `str`, got `int` - at `key` in `$.session_state`",
        ),
        ({"eval_id": 5}, "not an eval case: eval_id: Expected `str`, got `int`"),
        ({"turns": [{"user": 5}]}, "not an eval case: turns.0.user: Expected `str | null`, got `int`"),
    ],
)
def test_a_case_that_is_no_json_is_a_failure_and_the_others_count(fields, why):
    good = {"eval_id": "e", "turns": [{"user": "Hi", "response": "Hello"}]}
    cases = [api.EvalCase(**{"eval_id": "bad", **fields}), good]
    result = api.evaluate({**LOG, "eval_id": "e"}, cases=cases, criteria=ROUGE)
    (failure,) = result.failures
    assert (failure["stage"], failure["position"], failure["message"]) == ("parse_case", 1, why)
    assert scores(result) == [("c1", 0, 1.0), ("c1", None, 1.0)]


def test_nothing_scored_is_never_green():
    unjudged = api.evaluate(LOG, criteria=MATCH, judge="none")
    rejected = api.evaluate({"no": "log"})
    step = "1 record is in no known format: try `turnwise inspect --suggest FILE`"
    assert unjudged.problems[0].endswith("; see result.scores")
    assert rejected.problems[0] == f"no conversation was scored: {step}"
    no_case = api.evaluate(LOG, cases={"no": "case"}, criteria=ROUGE)
    assert "no eval case was read: 1 rejected; see result.failures" in no_case.problems
    needs_case = api.evaluate({**LOG, "turns": [{"user": "Hi", "agent": "a"}]}, criteria=ROUGE)
    assert "add cases or criteria that apply" in needs_case.problems[0]
    for result in (api.evaluate([]), unjudged, rejected, no_case, needs_case):
        assert (result.status, result.passed, bool(result)) == (None, False, False)
        assert result.problems and result.problems[0] in str(result)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"criteria": {"response_match": 0.8}}, "did you mean response_match_score"),
        ({"criteria": ROUGE, "config": {"criteria": ROUGE}}, "criteria: given twice"),
        ({"config": "no/such/config.json"}, "No such file"),
        ({"judge_concurrency": 0}, "must be 1 or more"),
        ({"sample_rate": 2.0}, "between 0 and 1"),
        ({"cases": "no/such/file"}, "cases no/such/file: no such file"),
        ({"criteria": {"turn_latency": Scripted()}}, "is a Scripted; needed is a number, text, list or dict"),
    ],
)
def test_a_mistake_is_one_clear_line(keywords, message):
    with pytest.raises(api.ConfigError, match=message) as raised:
        api.evaluate(LOG, **keywords)
    assert "\n" not in str(raised.value) and "--" not in str(raised.value)


def test_wrong_types_and_unknown_keywords_are_type_errors():
    with pytest.raises(TypeError, match="critera"):
        api.evaluate(LOG, critera=ROUGE)
    with pytest.raises(TypeError, match=r"conversations\[1\]: int is no path, dict or Conversation"):
        api.evaluate([LOG, 3])
    with pytest.raises(TypeError, match="give a list of dicts, as to_dict"):
        api.evaluate(pyarrow.Table.from_pylist([LOG]))
    with pytest.raises(TypeError, match="baseline: str is no RunResult"):
        api.evaluate(LOG).compare("out/first")


class Plain:
    def generate(self, request, count):
        return []

    async def aclose(self):
        pass


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"judge": object()}, "judge: neither a name nor a Backend: object has no method generate"),
        ({"judge": Scripted}, "judge: neither a name nor a Backend: Scripted is a class"),
        ({"judge": Plain()}, "judge: neither a name nor a Backend: generate of Plain is no `async def`"),
        ({"config": 5}, "config: int is no EvalConfig, dict or path"),
        ({"sample_rate": "x"}, "sample_rate: str is no number"),
        ({"judge_concurrency": 1.5}, "judge_concurrency: float is no int"),
    ],
)
def test_a_wrong_type_is_one_clear_line(keywords, message):
    with pytest.raises(TypeError) as raised:
        api.evaluate(LOG, **keywords)
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)


@pytest.mark.parametrize("error", [SystemExit(0), GeneratorExit(), asyncio.CancelledError()])
def test_an_object_cannot_end_the_process(error):
    class Leaves(Scripted):
        async def generate(self, request, count):
            raise error

    def given():
        yield LOG
        raise error

    async def notebook():
        return api.evaluate(LOG, criteria=MATCH, judge=Leaves())

    judge = Leaves()
    for result in (api.evaluate(LOG, criteria=MATCH, judge=judge), asyncio.run(notebook())):
        assert result.status is None and type(error).__name__ in str(result.scores[0]["reason"])
    assert judge.is_closed
    for conversations, cases in ((given(), None), (LOG, given())):
        with pytest.raises(RuntimeError, match=f"handed in raised {type(error).__name__}"):
            api.evaluate(conversations, cases=cases, criteria=ROUGE)


def test_no_eval_case_is_a_problem(tmp_path):
    (tmp_path / "e.jsonl").touch()
    for cases in (tmp_path / "e.jsonl", [], iter(())):
        result = api.evaluate(LOG, cases=cases, criteria=ROUGE)
        assert result.status is None and "no eval case was read: cases holds none" in result.problems
    assert api.evaluate(LOG, cases=None, criteria=ROUGE).passed


def test_a_case_whose_record_was_lost_is_named_once(tmp_path):
    log = tmp_path / "l.jsonl"
    log.write_text(json.dumps({**LOG, "eval_id": "c1"}) + '\n{"eval_id": "e2"')
    cases = [{"eval_id": name, "turns": [{"user": "Hi", "response": "Hello"}]} for name in ("c1", "e2", "e3")]
    problems = api.evaluate(str(log), cases=cases, criteria=ROUGE).problems
    assert any(line.endswith("; missing: l.jsonl:2, eval case e3") for line in problems), problems


def test_unused_cases_and_raised_errors_are_named():
    cases = [{"eval_id": name, "turns": [{"user": "Hi", "response": "Hello"}]} for name in ("c1", "e2")]
    (problem,) = api.evaluate({**LOG, "eval_id": "c1"}, cases=cases, criteria=ROUGE).problems
    told = "inconclusive: 0 failed, 1 without an outcome (1 eval case without a recording)"
    assert problem == f"gate: verdict: every conversation passes: {told}; missing: eval case e2"

    class Broken(Scripted):
        async def generate(self, request, count):
            await asyncio.sleep(self.pause)
            raise ValueError

    broken, timeout = Broken(), {"criteria": MATCH, "judge": {"timeout_s": 0.1}}
    for broken.pause, reason in (
        (0, "Broken: generate: ValueError: (test_evalu"),
        (9, "no answer within 0.1 s"),
    ):
        result = api.evaluate(LOG, config=timeout, judge=broken)
        assert result.problems[0].endswith("; see result.scores")
        assert reason in result.scores[0]["reason"], result.scores[0]["reason"]


def test_cases_that_one_version_lacks_are_named():
    cases = [{"eval_id": name, "turns": [{"user": "Hi", "response": "Hello"}]} for name in ("e1", "e2")]
    recorded = [("v1", "e1"), ("v1", "e2"), ("v2", "e1"), ("v2", "e2")]
    given = [{**LOG, "conversation_id": v + e, "app_version": v, "eval_id": e} for v, e in recorded]
    assert api.evaluate(given, cases=cases, criteria=ROUGE).passed
    result = api.evaluate(given[:3], cases=cases, criteria=ROUGE)
    told = "inconclusive: 0 failed, 1 without an outcome (1 eval case without a recording in v2)"
    problem = f"gate: verdict: every conversation passes: {told}; missing: eval case e2 (v2)"
    assert (result.status, result.problems) == (None, (problem,))


def test_calls_of_a_backend_are_concurrent():
    backend = Scripted(together=8)
    options = {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": {"num_samples": 1}}}
    result = api.evaluate(logs(20), criteria=options, judge=backend, judge_concurrency=8)
    assert (result.status, len(result.results), backend.most, backend.is_closed) == ("PASS", 20, 8, True)
    assert [row["conversation_id"] for row in result.results] == [f"c{i}" for i in range(20)]
    assert result.judge["backend"].endswith("Scripted")


def test_it_works_in_a_running_event_loop():
    async def notebook():
        waited = api.evaluate(LOG, criteria=MATCH, judge=Scripted())
        return waited, await api.evaluate_async(LOG, criteria=MATCH, judge=Scripted())

    waited, awaited = asyncio.run(notebook())
    assert waited.passed and awaited.passed and scores(waited) == scores(awaited)


def test_readers_raise_or_tell():
    broken = [LOG, {"no": "log"}]
    with pytest.raises(api.ReadError, match="conversations:2: ") as raised:
        api.read_conversations(broken)
    told: list[api.FailureRow] = []
    assert [one.conversation_id for one in api.read_conversations(broken, on_failure=told.append)] == ["c1"]
    assert told == raised.value.failures and len(told) == 1


TABLES = ("scores", "results", "metrics_by_app_version", "metrics_by_turn", "metrics_by_slice", "failures")
PANDAS_TYPES = {"string": "string", "int64": "Int64", "double": "Float64"}
NESTED = {"details", "judge", "result", "panel", "repeats", "tags"}


def test_arrow_tables_have_all_columns_and_values():
    result = api.evaluate([LOG, {"no": "log"}], criteria=ROUGE)
    for name in TABLES:
        table = getattr(result, name)
        assert table.to_arrow().num_rows == len(table) and table.to_arrow().column_names == table.columns
    scores = result.scores.to_arrow()
    types = [str(scores.field(n).type) for n in ("turn_index", "value", "reason", "tags", "details")]
    assert types == ["int64", "double", "string", "list<item: string>", "string"]
    values = scores.select(["turn_index", "value"]).to_pydict()
    assert values == {"turn_index": [0, None], "value": [1.0, 1.0]}
    assert json.loads(result.results.to_arrow().column("result")[0].as_py()) == result.results[0]["result"]


@pytest.mark.usefixtures("packages_beside")
@pytest.mark.parametrize(
    "logs", [[{**LOG, "tags": ["skipped:NONE"]}, {"no": "log"}], []], ids=["rows", "none"]
)
def test_pandas_frames_have_all_columns(logs):
    """Types depend on the table alone, not on the values that a run happens to give."""
    result = api.evaluate(logs, criteria=ROUGE)
    for name in TABLES:
        table = getattr(result, name)
        frame, schema = table.to_pandas(), table.to_arrow().schema
        expected = {f.name: "object" if f.name in NESTED else PANDAS_TYPES[str(f.type)] for f in schema}
        assert {column: str(kind) for column, kind in frame.dtypes.items()} == expected
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        assert rows == table and bool(rows) == bool(logs)


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
def test_a_missing_package_is_named(method, package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\nimport turnwise\n"
        f"try: turnwise.Table('scores').{method}()\nexcept ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"{method}() needs {package}: pip install {package}\n"


SAID = ["The hotel has a pool.", "Thanks! How can I help?", "The hotel has a sauna and a bar.", "Hello!"]


def test_verdicts_that_say_not_applicable_are_a_figure_of_the_run():
    call, known = {"name": "find", "args": {}}, {"name": "find", "response": "The hotel has a pool."}
    turns = [{"user": "Hi", "agent": said, "tool_calls": [call], "tool_responses": [known]} for said in SAID]
    log = {"conversation_id": "c1", "turns": turns}
    criteria = {"hallucinations_v1": 0.5, "hallucination": 0.5}
    result = api.evaluate(log, criteria=criteria, judge="local")
    assert result.judge["not_applicable"] == {
        "hallucination": {"verdicts": 4, "not_applicable": 2, "share": 0.5},
        "hallucinations_v1": {"verdicts": 5, "not_applicable": 3, "share": 0.6},
    }
    line = "judge: not applicable: hallucination 2 of 4 answers (50.0%), hallucinations_v1 3 of 5 answers"
    assert line in result.summary


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("of_whole", [False, True])
def test_a_criterion_that_raises_is_a_failure_and_gives_no_verdict_and_the_rest_counts(of_whole):
    class Faulty(api.MeasuredCriterion):
        name: ClassVar[str] = "faulty"
        threshold: float | None = 0.0

        def score(self, sample, pair):
            if pair.index % 2 and not of_whole:
                raise ZeroDivisionError("a fault\nof its own")
            return api.Score(1.0)

        def score_conversation(self, sample):
            if of_whole:
                raise ZeroDivisionError("a fault\nof its own")

    rules = [{"rule": "all_pass", "criterion": "faulty"}]
    config = {"criteria": {"faulty": {}, **ROUGE}, "gate": {"rules": rules}}
    result = api.evaluate({**LOG, "turns": [TURN, TURN]}, config=config)
    wholes = {row["criterion"]: row["outcome"] for row in result.scores if row["turn_index"] is None}
    assert wholes["response_match_score"] == "PASS" and wholes.get("faulty") is None
    (rejected,) = result.failures
    found = [rejected[key] for key in ("stage", "error_type", "message", "criterion", "turn_index")]
    raising = Faulty.score_conversation if of_whole else Faulty.score
    message = f"a fault of its own (test_evaluate_inputs.py:{raising.__code__.co_firstlineno + 2})"
    assert found == ["score", "ZeroDivisionError", message, "faulty", None if of_whole else 1]
    said = "gate: faulty: every conversation passes: inconclusive: 0 failed, 1 without an outcome: c1"
    assert result.problems[0] == said and result.status is None
