"""Implements `turnwise labels`: what to label next, and the labels of several people. Without Beam."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from turnwise.pipeline.io.terminal import counted, printable, say
from turnwise.pipeline.report.calibration import criterion_rows, read_labels
from turnwise.pipeline.report.conversion import check_new_file
from turnwise.pipeline.runs.directory import open_run
from turnwise.pipeline.settings.options import FORMAT, Subcommand, run_subcommand
from turnwise.schemas.calibration import HumanLabel
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.decisions.calibration.labels import (
    FEWEST_CASES,
    is_disputed,
    label_queue,
    latest_labels,
    merged_labels,
    people_agreement,
    unit_of,
)

if TYPE_CHECKING:
    from turnwise.transforms.decisions.calibration.labels import PeopleAgreement

_MOST_SHOWN = 20


def manage_labels(argv: Sequence[str]) -> int:
    """Runs a subcommand, and returns its exit status; raises ConfigError."""
    return run_subcommand("labels", LABEL_COMMANDS, argv)


def _write(path: str, labels: Sequence[HumanLabel]) -> None:
    with open(path, "wb") as file:
        for label in labels:
            stated = msgspec.to_builtins(label).items()
            kept = {key: v for key, v in stated if v is not None or key in ("label", "turn_index")}
            file.write(msgspec.json.encode(kept) + b"\n")


def _queue(options: Namespace) -> int:
    random = min(FEWEST_CASES, options.size) if options.random is None else options.random
    if not 0 <= random <= options.size or options.size < 1:
        raise ConfigError("--random must be 0 or more, and not more than --size")
    check_new_file(options.output)
    run, criterion = open_run(options.out), options.criterion
    rows = [
        cast(JsonObject, row)
        for row in criterion_rows(run, {criterion})
        if (row["turn_index"] is None) is (options.level == "conversation")
    ]
    if not rows:
        raise ConfigError(f"--criterion {criterion}: the run has no scores of it (--level {options.level})")
    scores = (cast(JsonObject, row) for row in run.scores() if criterion in (STATUS, row["criterion"]))
    disputed = {unit_of(row) for row in scores if is_disputed(row)}
    queue = label_queue(rows, disputed, options.size, random, options.seed)
    _write(options.output, queue.lines)
    picked = sum(queue.picked.values())
    use = "by which turnwise calibrate corrects figures"
    if queue.drawn < FEWEST_CASES:
        use = f"too few to correct figures by ({FEWEST_CASES})"
    drawn = f"{queue.drawn} drawn at random, {use}"
    say(f"{queue.drawn + picked} of {counted(queue.of, 'conversation')} to label: {drawn}, {picked} picked")
    for (version, outcome), count in sorted(queue.picked.items(), key=str):
        say(printable(f"  picked of {version or '(no version)'}, {outcome or 'no score'}: {count}"))
    say(f"  the judge's votes differ about {queue.disputed} of the picked ones\nfile: {options.output}")
    return 0


def _merge(options: Namespace) -> int:
    check_new_file(options.output)
    stems = [Path(path).stem for path in options.files]
    labels = []
    for path, stem in zip(options.files, stems, strict=True):
        rater = stem if stems.count(stem) == 1 else path
        for line in read_labels([path], ""):
            labels.append(msgspec.structs.replace(line.label, rater=line.label.rater or rater))
    labels, replaced = latest_labels(labels)
    merged, agreements = merged_labels(labels), people_agreement(labels)
    _write(options.output, merged)
    if options.format == "json":
        stated = {"agreement": agreements, "replaced": replaced}
        say(msgspec.json.format(msgspec.json.encode(stated), indent=2).decode())
        return 0
    if replaced:
        say(f"{counted(len(replaced), 'label')} replaced by a later one of the same person:")
    for change in replaced[:_MOST_SHOWN]:
        where = f"{change.conversation_id}{_turn_text(change.turn_index)}"
        say(printable(f"  {where}: {change.rater} {change.earlier}, later {change.later}"))
    if (more := len(replaced) - _MOST_SHOWN) > 0:
        say(f"  and {more} more; --format json lists them")
    for agreement in agreements:
        say("\n".join(map(printable, _agreement_lines(agreement))))
    say(f"{counted(len(merged), 'line')} of {counted(len(options.files), 'file')}\nfile: {options.output}")
    return 0


def _agreement_lines(agreement: "PeopleAgreement") -> Iterator[str]:
    level = "turns" if agreement.level == "turn" else "whole conversations"
    kappa, alpha = ("-" if value is None else f"{value:.3f}" for value in (agreement.kappa, agreement.alpha))
    labelled = f"{agreement.labelled} scores are labelled, {agreement.shared} by two people or more"
    yield f"{agreement.criterion}, {level}: {labelled}"
    yield f"  all agree on {agreement.agreed}; Cohen's kappa {kappa}, Krippendorff's alpha {alpha}"
    for disagreement in agreement.disagreements[:_MOST_SHOWN]:
        turn = _turn_text(disagreement.turn_index)
        version = f" ({disagreement.app_version})" if disagreement.app_version else ""
        answers = ", ".join(f"{rater} {label}" for rater, label in disagreement.labels.items())
        yield f"  {disagreement.conversation_id}{turn}{version}: {answers}"
    if (more := len(agreement.disagreements) - _MOST_SHOWN) > 0:
        yield f"  and {more} more; --format json lists them"
    if agreement.disagreements:
        yield "  all labels are kept: calibrate takes the majority, and leaves out what is equally divided"


def _turn_text(turn_index: int | None) -> str:
    return "" if turn_index is None else f" {turn_name(turn_index)}"


_OUTPUT = (
    "--output",
    {"required": True, "metavar": "FILE"},
    "file of labels to write, as JSON Lines (required)",
)
LABEL_COMMANDS = {
    "queue": Subcommand(
        "choose what to label next: a random part, and what tells most by version, verdict and judge votes",
        (
            ("out", {"metavar": "OUT"}, "output directory of a finished run"),
            _OUTPUT,
            ("--criterion", {"default": STATUS, "metavar": "NAME"}, "criterion (default: verdict)"),
            ("--level", {"choices": ("conversation", "turn"), "default": "conversation"},
             "scores of whole conversations or of turns (default: conversation)"),
            ("--size", {"type": int, "default": 50, "metavar": "N"}, "conversations to label (default: 50)"),
            ("--random", {"type": int, "metavar": "N"},
             f"those drawn at random (default: {FEWEST_CASES}, what calibrate corrects by, or --size)"),
            ("--seed", {"default": "1", "metavar": "TEXT"}, "another one draws another sample (default: 1)"),
        ),
        _queue,
    ),
    "merge": Subcommand(
        "make one file of the labels of several people, and say how far they agree",
        (
            ("files", {"nargs": "+", "metavar": "FILE"}, "labels as JSON Lines, a file a person"),
            _OUTPUT,
            ("--format", FORMAT, "output (default: text)"),
        ),
        _merge,
    ),
}  # fmt: skip
"""Subcommands by name."""
