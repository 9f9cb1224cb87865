"""Says why a comparison does not pass: something is worse, or was not measured."""

from collections.abc import Iterator, Sequence
from typing import Literal

from turnwise.pipeline.io.terminal import counted
from turnwise.pipeline.report.comparison import failed_text
from turnwise.schemas.comparison import Comparison, Undecided
from turnwise.schemas.gate import GATE_PROBLEM
from turnwise.transforms.decisions.comparison.words import run_places

FailOn = Literal["worse", "not_noninferior"]
_NAMES_SHOWN = 5


def fail_on_problems(found: Comparison, fail_on: FailOn) -> list[str]:
    """Returns why a comparison does not pass, one line each; what could not be compared never passes."""
    allowed = ("better", "same", "not worse", "differs", *(("cannot tell",) if fail_on == "worse" else ()))
    problems = [
        f"{own.criterion}: {own.sentence}"
        for own in found.criteria
        if own.overall.word not in allowed or own.overall.difference is None or _may_be_worse(own.undecided)
    ]
    problems += [f"{name}: not compared: {why}" for name, why in found.not_compared.items()]
    return [*problems, *_not_measured(found)]


def _may_be_worse(undecided: Undecided | None) -> bool:
    """Returns whether B is worse under a reading of what is undecided."""
    if undecided is None:
        return False
    readings = (undecided.left_out, undecided.worst_for_b, undecided.best_for_b)
    is_unknown = undecided.changes_the_word and undecided.worst_for_b is None
    return is_unknown or any(reading is not None and reading.word == "worse" for reading in readings)


def _not_measured(found: Comparison) -> Iterator[str]:
    """Yields what is in no figure and may have been worse."""
    a, b, pairing = found.a, found.b, found.pairing
    for side, place in zip((a, b), run_places(a, b), strict=False):
        if side.lost:
            yield f"{place}: {side.lost} records or conversations were lost"
        for problem in side.problems:
            if not problem.startswith(GATE_PROBLEM):
                yield f"{place}: {failed_text(side)}{problem}"
    if pairing.only_a:
        names = _listed(pairing.only_a_names, pairing.only_a)
        yield f"{counted(pairing.only_a, 'case')} of {a.name} without a conversation of {b.name}: {names}"
    if pairing.unidentified_a:
        number = counted(pairing.unidentified_a, "conversation")
        yield f"{number} of {a.name} without {pairing.by}: compared with nothing"
    if pairing.changed:
        names = _listed(pairing.changed_names, pairing.changed)
        yield f"{counted(pairing.changed, 'case')} left out, whose expectation differs: {names}"


def _listed(names: Sequence[str], number: int) -> str:
    shown = names[:_NAMES_SHOWN]
    more = f" and {number - len(shown)} more" if number > len(shown) else ""
    return ", ".join(shown) + more
