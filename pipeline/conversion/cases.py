"""Writes eval cases made of conversations."""

from collections import Counter
from collections.abc import Callable, Iterable

from turnwise.pipeline.conversion.convert import add_lost
from turnwise.pipeline.conversion.output import RecordFile, record_file
from turnwise.schemas.inspection import Conversion
from turnwise.schemas.score import Failure
from turnwise.transforms.decisions.cases import (
    TO_APPROVE,
    Candidate,
    CandidateSample,
    distinct_names,
    made_case,
)
from turnwise.transforms.tools.conversion import Converted, Target, converted

_CUT = "cut transcripts, which are refused: name the logs of the run instead"
_NO_TURN = "without a turn"
_REPEATED = "asked and done as in another conversation"
_NOT_DRAWN = "not in the sample"


def write_cases(
    given: Iterable[Candidate | Failure],
    is_wanted: Callable[[Candidate], bool],
    sample: CandidateSample,
    target: Target,
    output: str,
) -> Conversion:
    """Writes the cases of the conversations that are wanted.

    Args:
        given: All conversations, and what could not be read.
        is_wanted: Returns whether a conversation is selected.
        sample: Where the selected ones are collected.
        target: The format of the cases.
        output: Path of the file.

    Raises:
        ConfigError: The file is there, or cannot be written.
    """
    done = Conversion(to=target.name)
    skipped: Counter[str] = Counter()
    with record_file(output, target) as file:
        for one in given:
            if isinstance(one, Failure):
                add_lost(done, one.source or "", one.position or 0, one.message)
                continue
            done.conversations += 1
            if is_wanted(one):
                _collect(one, sample, skipped)
            else:
                skipped["not selected"] += 1
        skipped[_REPEATED] = sample.repeated
        for name, candidate in distinct_names(sample.chosen()):
            _write(candidate, name, target, file, done)
        skipped[_NOT_DRAWN] = sample.left_out
        done.written, done.output = file.count, output if file.count else None
    done.skipped = {reason: count for reason, count in skipped.items() if count}
    return done


def _collect(candidate: Candidate, sample: CandidateSample, skipped: Counter[str]) -> None:
    if candidate.cut:
        skipped[_CUT] += 1
    elif not candidate.conversation.turns:
        skipped[_NO_TURN] += 1
    else:
        sample.add(candidate)


def _write(candidate: Candidate, name: str, target: Target, file: RecordFile, done: Conversion) -> None:
    try:
        made = made_case(candidate, name, file.stem)
        written = converted(made.case, target)
        if "tags" in written.not_held:
            written = _marked(made.case.eval_id, candidate, target, file)
        file.add(written.record)
    except ValueError as error:
        add_lost(done, candidate.source, candidate.position, " ".join(str(error).split()))
        return
    done.notes = dict(Counter(done.notes) + made.notes)
    # The set of the case is the file itself.
    not_held = Counter({path: n for path, n in written.not_held.items() if path != "eval_set_id"})
    done.not_held = dict(Counter(done.not_held) + not_held)
    done.added = dict(Counter(done.added) + written.added)


def _marked(name: str, candidate: Candidate, target: Target, file: RecordFile) -> Converted:
    """Returns the case with its mark in its name, for a target without tags."""
    case = made_case(candidate, f"{TO_APPROVE}-{name}", file.stem).case
    case.tags = []
    return converted(case, target)
