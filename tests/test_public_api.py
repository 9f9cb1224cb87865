"""What `import turnwise` offers: names, types and documentation, without Beam."""

import doctest
import html
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import turnwise
from tests.documentation import ROOT, SAMPLE, page

EVALUATE = """
import sys, turnwise
assert not [name for name in sys.modules if name.startswith("turnwise.")], "only the package itself"
result = turnwise.evaluate(
    [sys.argv[1] + "/conversations", sys.argv[1] + "/conversations/*.jsonl"],
    cases=sys.argv[1] + "/cases", config=sys.argv[1] + "/config.json", judge="local",
)
assert len(result.results) == 59 and len(result.scores) > 400 and "pass rate" in str(result)
heavy = ("apache_beam", "google.genai", "pyarrow", "pandas", "sqlalchemy", "aiohttp")
print([name for name in heavy if name in sys.modules])
"""


def run_python(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_evaluation_loads_no_beam():
    assert run_python(EVALUATE, str(SAMPLE)) == "[]\n"


def test_the_public_names_and_only_they_are_there():
    found = run_python("import turnwise; print(*(n for n in vars(turnwise) if n[0] != '_'))")
    assert found.split() == ["import_module", "TYPE_CHECKING"]
    assert turnwise.__all__ == sorted(set(turnwise.__all__))
    assert all(getattr(turnwise, name) is not None for name in turnwise.__all__)
    assert dir(turnwise) == turnwise.__all__
    with pytest.raises(AttributeError, match="has no attribute 'evaluat'"):
        turnwise.evaluat  # noqa: B018


PARTS_OF = (
    *("Conversation", "EvalCase", "Score", "Format", "Target"),
    *("SinkKind", "JudgeKind", "Question", "Section"),
)
NOT_MADE = {"Cascade", "Prompt", "JudgeUse", "ChangeWriter", "TableSink", "RowWriter"}
"""Settings of the config, what `fill` and `ask_all` return, and protocols that any class may have."""


def made(kind):
    """Yields the classes of a type; of a function, those of what it returns."""
    arguments = get_args(kind)
    if get_origin(kind) is Callable:
        yield from made(arguments[1])
    elif arguments and get_origin(kind) is not Literal:
        for argument in arguments:
            yield from made(argument)
    elif isinstance(kind, type) and kind.__module__.startswith("turnwise."):
        yield kind


def test_whatever_a_plugin_makes_has_a_public_name():
    """Also in fields of fields, and in what the functions of an object return."""
    seen = set()
    left = [getattr(turnwise, name) for name in PARTS_OF]
    while left:
        thing = left.pop()
        if thing in seen or thing.__name__ == "Cascade":
            continue
        seen.add(thing)
        kinds = [kind for name, kind in get_type_hints(thing).items() if name[0] != "_"]
        if hasattr(thing, "write"):
            kinds.append(get_type_hints(thing.write)["return"])
        left += [part for kind in kinds for part in made(kind)]
    names = {thing.__name__ for thing in seen} - NOT_MADE
    assert {"Rubric", "RefusedRow", "SplitEvent", "UserFact"} < names and names <= {*turnwise.__all__}


def test_the_examples_of_plugins_import_no_module_of_turnwise():
    text = page("extending")
    assert set(re.findall(r"(?m)^(?:import|from) (turnwise\S*)", text)) == {"turnwise"}
    assert set(re.findall(r"turnwise\.(\w+)", text.split("## How an addition")[0])) <= {*turnwise.__all__}


def test_the_package_is_typed():
    assert (ROOT / "turnwise/py.typed").is_file()


def test_a_result_shows_itself_in_a_notebook_and_writes_its_report(tmp_path):
    log = {"conversation_id": "c1", "app_version": "<v1>", "turns": [{"user": "Hi", "agent": "Hello"}]}
    result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    shown = result._repr_html_()
    assert "&lt;v1&gt;" in shown and "<v1>" not in shown and html.unescape(shown) == f"<pre>{result}</pre>"
    path = result.report(tmp_path / "report.html")
    assert result.report(path) == path and "<title>turnwise report: " in path.read_text()
    (tmp_path / "mine.html").write_text("mine")
    with pytest.raises(turnwise.ConfigError, match="is not overwritten"):
        result.report(tmp_path / "mine.html")


def test_a_result_is_drawn_with_units_and_nothing_for_what_has_no_value():
    turns = [{"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}, "latency_ms": 2500}]
    log = [{"conversation_id": f"c{v}", "app_version": v, "turns": turns} for v in ("v1", "v2")]
    log[1] = {**log[1], "turns": [{"user": "Hi", "agent": "Hello"}]}
    result = turnwise.evaluate(log, criteria={"response_match_score": 0.5, "turn_latency": {}})
    if find_spec("matplotlib") is None:
        with pytest.raises(ImportError, match=r"^plot\(\) needs matplotlib: pip install matplotlib$"):
            result.plot()
        pytest.skip("matplotlib is not installed")
    figure = result.plot()
    assert [axes.get_xlabel() for axes in figure.axes] == ["share that passes (%)", "mean (seconds)"]
    assert [len(bars.lines[0].get_xdata()) for bars in figure.axes[0].containers] == [2, 0]


def test_a_result_is_compared_with_an_earlier_one():
    def result(answer, threshold=0.5):
        turns = [{"user": f"Hi {i}", "agent": answer, "expected": {"response": "Hello"}} for i in range(30)]
        log = [{"conversation_id": f"c{i}", "turns": [turn]} for i, turn in enumerate(turns)]
        return turnwise.evaluate(log, criteria={"response_match_score": threshold})

    before = result("Hello")
    text = result("No").compare(before)
    assert repr(text) == text and text._repr_html_().startswith("<pre>candidate is worse")
    assert text.startswith("candidate is worse than baseline") and "regressed 30, fixed 0" in text
    with pytest.raises(turnwise.ConfigError, match="not measured in the same way"):
        result("No", 0.6).compare(before)
    turn = {"user": "Hi", "agent": "No", "expected": {"response": "Hello"}}
    named = [{"conversation_id": f"c{v}", "app_version": v, "turns": [turn]} for v in ("v1", "v2")]
    several = turnwise.evaluate(named, criteria={"response_match_score": 0.5})
    wrong = "candidate: holds 2 app versions; name one by candidate_version"
    with pytest.raises(turnwise.ConfigError, match=wrong):
        several.compare(before)
    with pytest.raises(turnwise.ConfigError, match="baseline_version v9: is no"):
        several.compare(several, baseline_version="v9", candidate_version="v2")
    compared = several.compare(several, baseline_version="v1", candidate_version="v2")
    assert "baseline v1" in compared and "candidate v2" in compared


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", ["", *turnwise.__all__])
def test_every_name_has_an_example_that_works(name):
    thing = getattr(turnwise, name) if name else turnwise
    named = {"turnwise": turnwise}  # who asks for the help of a name has imported it
    example = doctest.DocTestParser().get_doctest(thing.__doc__, named, name or "turnwise", None, None)
    assert example.examples, "no example"
    printed = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(example, out=printed.append).failed == 0, "".join(printed)
