"""Puts the same question in another form: sections in another order, instructions in other words."""

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec.structs import replace

from turnwise.transforms.judging.ask import Prompt
from turnwise.transforms.judging.prompts import Section, wording, wordings

_COMPARED = frozenset(("reference answer", "agent's answer", "expected answer", "actual answer"))
_NUMBERED = re.compile(
    r"(turn \d+, source|source|passage|rubric|aspect|expectation|expected answer|rule|pair) (\d+)\b"
)
_UNNUMBERED = re.compile(r"what the user knows$|turn \d+, words that the search attributes")
_EXAMPLES = "\n\nExample ("


def sections_of(evidence: str) -> list[Section] | None:
    """Returns the sections of a filled prompt; None: it was not made by `fill`."""
    code = re.match(r"\[([0-9a-f]{8}): ", evidence)
    if code is None or not evidence.endswith(f"\n[{code[1]}: end]"):
        return None
    _, *parts = re.split(rf"^\[{code[1]}: ([^\n]*)\]$", evidence, flags=re.MULTILINE)
    pairs = zip(parts[:-2:2], parts[1:-2:2], strict=True)
    return [Section(name, text[1:-1]) for name, text in pairs]


def reordered(prompt: Prompt) -> Prompt | None:
    """Returns a prompt whose interchangeable sections are in the opposite order, with their own names.

    Interchangeable are: the two answers that are compared; numbered rubrics, aspects, expectations, rules,
    pairs, passages and sources that follow each other. Turns, calls and the sentences of an answer are not:
    their order has a meaning.

    Returns:
        The prompt; None: nothing in it can be reordered.
    """
    sections = sections_of(prompt.evidence)
    if sections is None:
        return None
    moved = [
        section
        for kind, run in groupby(sections, key=_kind)
        for section in (_reversed(list(run)) if kind else run)
    ]
    if moved == sections:
        return None
    code = prompt.evidence[1:9]
    parts = [f"[{code}: {name}]\n{text}\n" for name, text in moved]
    return replace(prompt, evidence=f"{''.join(parts)}[{code}: end]")


def _kind(section: Section) -> str | None:
    """Returns the kind of an interchangeable section; None: its place has a meaning."""
    if section.name in _COMPARED:
        return "answer"
    found = _NUMBERED.match(section.name)
    if found:
        return found[1]
    alike = _UNNUMBERED.match(section.name)
    return alike[0] if alike else None


def _reversed(run: Sequence[Section]) -> list[Section]:
    """Reverses sections; those with the same number stay together, in their order."""
    units = groupby(enumerate(run), key=lambda item: _unit(*item))
    return [section for unit in [list(unit) for _, unit in units][::-1] for _, section in unit]


def _unit(place: int, section: Section) -> int | str:
    found = _NUMBERED.match(section.name)
    return found[2] if found else place


def reworded(prompt: Prompt) -> Prompt | None:
    """Returns a prompt with the same task and rules in other words; the material and examples stay.

    Of a criterion that is not turnwise's own, only the rules for reading the sections are reworded.

    Returns:
        The prompt; None: there is no second wording of it, as of the prompts of the first generation.
    """
    words = prompt.instructions
    for name in wordings("reworded"):
        task = wording(name, "second").partition(_EXAMPLES)[0]
        if words.startswith(f"{task}\n\n"):
            words = wording(name, "reworded") + words[len(task) :]
    rules = wording("rules", "second")
    if words.endswith(rules):
        words = words.removesuffix(rules) + wording("rules", "reworded")
    return None if words == prompt.instructions else replace(prompt, instructions=words)


def same(prompt: Prompt) -> Prompt:
    """Returns the prompt itself."""
    return prompt


PERTURBATIONS: dict[str, Callable[[Prompt], Prompt | None]] = {
    "repeat": same,
    "swap": reordered,
    "paraphrase": reworded,
}
"""Name -> what makes the prompt; `repeat` asks the same again."""
