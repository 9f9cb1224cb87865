"""A criterion, format, judge or sink is named in its own file only, and a class name stands for one thing."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from turnwise.pipeline.io.sinks import SINKS
from turnwise.schemas.config import DEFAULT_CRITERIA
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.conversion import TARGETS
from turnwise.transforms.formats.registry import FORMATS
from turnwise.transforms.judging.judges import JUDGES

ROOT = Path(__file__).parents[1]
FOLDERS = [
    (CRITERIA, "transforms/criteria/"),
    (FORMATS, "transforms/formats/"),
    (JUDGES, "transforms/judging/"),
    (SINKS, "pipeline/io/sinks.py"),
]
ALLOWED = {
    **{name: {"schemas/config.py"} for name in DEFAULT_CRITERIA},
    # Words of the wire formats, and of CES's own results.
    "evaluation_expectations": {"transforms/formats/exports.py"},
    "gemini": {"transforms/formats/exports.py"},
    "hallucination": {"transforms/ces/"},
    "semantic_similarity": {"transforms/formats/ces_cases.py"},
    "tool_invocation_score": {"schemas/config.py"},
    "grounding_score": {"transforms/formats/answers.py"},
    "safety_ratings": {"transforms/formats/adk_sessions.py", "transforms/formats/answers.py"},
    "turn_latency": {"schemas/config.py", "transforms/ces/"},
    # Where the conversations of a format say that they come from.
    "openai_chat": {"transforms/formats/exports.py", "transforms/decisions/targets.py"},
    # The messages that exports hold.
    "openai_responses": {"transforms/formats/exports.py"},
    "azure_messages": {"transforms/formats/exports.py"},
    # The format of a target.
    "adk_eval_result": {"transforms/decisions/targets.py"},
    "adk_eval_set": {"transforms/decisions/targets.py"},
    "ces_evaluation": {"transforms/decisions/targets.py"},
    "discovery_engine": {"transforms/formats/answers.py", "schemas/config.py"},
    # Files, keys and the command of that name, and the default of --output_format.
    "store": {
        *("pipeline/settings/run.py", "pipeline/report/ending.py"),
        *("pipeline/cli/main.py", "pipeline/cli/store.py"),
    },
    "jsonl": {"pipeline/settings/options.py"},
    # Where the declaration of a tool comes from.
    "openai": {"transforms/decisions/targets.py", "transforms/formats/endings.py"},
    # The key of the config.
    "mapping": {"pipeline/cli/tools.py", "pipeline/report/inspection.py", "transforms/formats/exports.py"},
}
ORDINARY_WORDS = {"turnwise", "none"}


@cache
def trees():
    """Returns every module of the code by its path."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for layer in ("schemas", "transforms", "pipeline")
        for path in (ROOT / layer).rglob("*.py")
    }


@cache
def places():
    """Returns every text of the code with the files that it stands in."""
    found = {}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.setdefault(node.value, set()).add(path)
    return found


TARGET_NAMES = sorted(set(TARGETS) - ORDINARY_WORDS)
BUILT_IN = [(name, folder) for registry, folder in FOLDERS for name in registry if name not in ORDINARY_WORDS]


@pytest.mark.parametrize(("name", "folder"), BUILT_IN)
def test_no_other_file_names_it(name, folder):
    allowed = tuple(ALLOWED.get(name, ()))
    others = {path for path in places().get(name, ()) if not (allowed and path.startswith(allowed))}
    assert len(others) <= 1 and all(path.startswith(folder) for path in others)


def test_a_target_is_named_in_its_own_file_and_by_its_format():
    for name in TARGET_NAMES:
        (file,) = [path for path in places()[name] if path.startswith("transforms/decisions/")]
        assert file == "transforms/decisions/targets.py"


def test_the_exceptions_are_needed():
    names = {name for name, _ in BUILT_IN}
    assert set(ALLOWED) <= names
    entries = [(name, path) for name, paths in ALLOWED.items() for path in paths]
    unneeded = [(name, path) for name, path in entries if not _any_below(places().get(name, set()), path)]
    assert unneeded == []


def _any_below(paths, start):
    return any(path.startswith(start) for path in paths)


def _defined(tree):
    """Yields the names of all classes of a module, nested ones too, and of its type aliases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", target.id):
            yield target.id


def test_a_class_name_stands_for_one_thing():
    files = {}
    for path, tree in trees().items():
        for name in _defined(tree):
            files.setdefault(name, []).append(path)
    assert {name: found for name, found in files.items() if len(found) > 1} == {}


VAGUE = {"found", "own", "place", "each", "one", "said", "told"}
PUBLIC = {("schemas/comparison.py", "place")}  # a key of documents that users read


def _bound(tree):
    """Yields the names that a module gives to values, parameters, functions and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def test_names_say_what_a_thing_is():
    vague = {
        (path, name) for path, tree in trees().items() for name in _bound(tree) if name.strip("_") in VAGUE
    }
    assert vague == PUBLIC
