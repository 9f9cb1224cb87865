"""Writes logs, eval cases and finished runs in another format, and eval cases made of conversations."""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from turnwise.pipeline.io.containers import join_path, path_exists
from turnwise.pipeline.io.files import ADK_HISTORY, OWN_RESULTS, read_files, whole_items
from turnwise.pipeline.io.terminal import printable, wrapped
from turnwise.pipeline.runs.directory import open_run, write_whole
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import counted, dump_json, is_local, is_store_url
from turnwise.schemas.report import Conversion, NotConverted
from turnwise.schemas.rows import ScoreRow
from turnwise.schemas.run import RUN_FILE
from turnwise.schemas.score import Failure
from turnwise.transforms.decisions import cases
from turnwise.transforms.decisions.comparison.collect import ScoredId
from turnwise.transforms.decisions.conversion import Converted, RunOfConversation, Target, converted, scored
from turnwise.transforms.decisions.run import scored_id
from turnwise.transforms.formats.reading import AnyReader, FoundCase, LoggedConversation

_SHOWN, _KEPT, _LONGEST = 5, 20, 2_000
_SETS = "results of several eval sets; adk web shows them in the first one"


def convert_run(directory: str, target: Target, output: str) -> Conversion:
    """Writes the conversations of a run with their scores.

    Raises ConfigError if there is no finished run, the target holds no scores, or the file cannot be written.
    """
    if target.scored is None:
        problem = f"is the output directory of a run; {target.name} holds no scores, so name the logs instead"
        raise ConfigError(f"{directory}: {problem}")
    run = open_run(directory)
    scores: defaultdict[ScoredId, list[ScoreRow]] = defaultdict(list)
    for score in run.scores():
        scores[scored_id(score)].append(score)
    notes, sets = Counter[str](), set[str | None]()
    parts = Path(output).absolute().parts  # AGENT/.adk/eval_history/FILE
    agent = parts[-4] if parts[-3:-1] == ADK_HISTORY and len(parts) > 4 else "turnwise"
    with _record_file(output, target) as file:
        for row in run.conversations():
            file.done.conversations += 1
            if row["transcript"] is None:
                file.reject(row["source"], row["position"], "the run kept no transcript")
                continue
            notes["cut transcripts"] += row["transcript"]["cut"]
            sets |= {row["eval_set_id"]} - {None}
            # Turns are numbered as they happened.
            places: dict[int | None, int | None] = {None: None}
            places |= {turn["index"]: number for number, turn in enumerate(cases.recorded_turns(row))}
            given = (score for score in scores.get(scored_id(row), ()) if score["turn_index"] in places)
            score_rows: list[ScoreRow] = [{**s, "turn_index": places[s["turn_index"]]} for s in given]
            conversation = cases.transcript_conversation(row)
            run_of = RunOfConversation(conversation, row["verdict"], score_rows, agent)
            file.add(scored(run_of, target))
    notes[_SETS] = len(sets) if len(sets) > 1 else 0
    file.done.notes = {problem: count for problem, count in notes.items() if count}
    return file.done


def conversion_text(done: Conversion, width: int) -> str:
    """Returns what was written, what the target does not hold, and what was not converted."""
    given = [counted(done.conversations, "conversation")] if done.conversations or not done.cases else []
    given += [counted(done.cases, "eval case")] if done.cases else []
    where = f" in {printable(done.output)}" if done.output else ""
    lines = [f"{' and '.join(given)} read, {counted(done.written, 'record')} written as {done.to}{where}"]
    heads = "left out", f"not held by {done.to}", f"stated by {done.to} only", "to be looked at"
    kinds = done.skipped, done.not_held, done.added, done.notes
    for head, counts in zip(heads, kinds, strict=True):
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        shown = ", ".join(f"{printable(name, _LONGEST)} {count}" for name, count in ordered)
        lines += wrapped(f"{head}: {shown}", width) if shown else []
    if done.lost_count:
        lines.append(f"not converted: {done.lost_count}")
        for rejection in done.rejected[:_SHOWN]:
            position = f"{rejection.source}:{rejection.position}" if rejection.position else rejection.source
            lines += wrapped(printable(f"  {position}: {rejection.reason}", _LONGEST), width, " " * 4)
        if done.lost_count > _SHOWN:
            lines.append(f"  ... and {done.lost_count - _SHOWN} more")
    return "\n".join(lines)


class RecordFile:
    """Writes the records of one file, and counts what becomes of what is given.

    `stem`: name of the file without its suffixes; `done`: the counts; `tail`: what follows the records.
    """

    def __init__(self, file: BinaryIO, target: Target, name: str) -> None:
        self.done, self.stem = Conversion(to=target.name), name.split(".")[0]
        self._file, self._target, self._name, self.tail = file, target, name, ""
        self._digests: dict[str, bytes] = {}

    def add(self, made: Converted) -> bool:
        """Writes a record, and counts what the target does not hold, and what it alone states.

        Returns False if the record is there already. Raises ValueError if the file has another one with its
        key.
        """
        data, key_name = dump_json(made.record), self._target.key
        if key_name is not None:
            key, digest = made.record[key_name], blake2b(data, digest_size=16).digest()
            if self._digests.setdefault(key, digest) != digest:
                raise ValueError(f"a file has each {key_name} once, and another {key!r} is there already")
            if self._digests[key] is not digest:
                return False
        if self._target.document is None:
            self._file.write(data + b"\n")
        elif self.done.written:
            self._file.write(b",\n" + data)
        else:
            head, self.tail = self._target.document(self._name, made.record)
            self._file.write(head.encode() + data)
        self.done.written += 1
        self.done.not_held = dict(Counter(self.done.not_held) + made.not_held)
        self.done.added = dict(Counter(self.done.added) + made.added)
        return True

    def reject(self, source: str | None, position: int | None, reason: str) -> None:
        """Counts what was not converted."""
        self.done.lost_count += 1
        if len(self.done.rejected) < _KEPT:
            self.done.rejected.append(NotConverted(source or "", position or 0, reason))


@contextmanager
def _record_file(path: str, target: Target) -> Iterator[RecordFile]:
    """Opens a file for records; it gets its name at the end, if it holds any."""
    target_path = check_new_file(path, target)
    partial = target_path.with_name(f"{target_path.name}.partial")
    try:
        with open(partial, "wb") as file:
            writer = RecordFile(file, target, target_path.name)
            yield writer
            file.write(writer.tail.encode())
        if writer.done.written:
            os.replace(partial, target_path)
            writer.done.output = path
    except OSError as error:  # a full disk names no file
        error.filename = error.filename or path
        raise
    finally:
        partial.unlink(missing_ok=True)


def check_new_file(path: str, target: Target | None = None) -> Path:
    """Returns the path of a file that is to be written.

    Raises ConfigError if it is there already, has no directory, or cannot have that name.
    """
    new_path = Path(path)
    if not is_local(path):
        raise ConfigError(f"{path}: only files of this machine are written")
    if not path:
        raise ConfigError("the name of the file to write is empty: name a file")
    if new_path.exists():
        raise ConfigError(f"{path}: is there already; remove it, or name another file")
    if not new_path.parent.is_dir():
        raise ConfigError(f"{path}: there is no directory {new_path.parent}; make it first")
    if new_path.absolute().parts[-3:-1] == ADK_HISTORY and not new_path.name.startswith(OWN_RESULTS):
        step = f"begin the name with {OWN_RESULTS}: a run over the agent's folder takes others for recordings"
        raise ConfigError(f"{path}: {step}")
    try:
        if target is not None and target.document is not None:
            target.document(new_path.name, {})
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    return new_path


def write_output(directory: str, texts: Mapping[str, str]) -> None:
    """Writes texts under their names into the directory of `--output`, which is made; raises ConfigError."""
    try:
        for name, text in texts.items():
            write_whole(Path(directory) / name, text)
    except OSError as error:
        raise ConfigError(f"--output {directory}: {error.strerror or error}") from None


def write_cases(
    given: Iterable[cases.Candidate | Failure],
    is_wanted: Callable[[cases.Candidate], bool],
    sample: cases.CandidateSample,
    target: Target,
    output: str,
) -> Conversion:
    """Writes the cases of the conversations that are wanted; `given` are all, and what could not be read.

    Raises ConfigError if the file is there, or cannot be written.
    """
    skipped: Counter[str] = Counter()
    with _record_file(output, target) as file:
        for item in given:
            if isinstance(item, Failure):
                file.reject(item.source, item.position, item.message)
                continue
            file.done.conversations += 1
            if not is_wanted(item):
                skipped["not selected"] += 1
            elif item.cut:
                skipped["cut transcripts, which are refused: name the logs of the run instead"] += 1
            elif not item.conversation.turns:
                skipped["without a turn"] += 1
            else:
                sample.add(item)
        skipped["asked and done as in another conversation"] = sample.repeated
        for name, candidate in cases.distinct_names(sample.chosen()):
            try:
                case, notes = cases.made_case(candidate, name, file.stem)
                made = converted(case, target)
                if "tags" in made.not_held:
                    case = cases.made_case(candidate, f"{cases.TO_APPROVE}-{case.eval_id}", file.stem)[0]
                    case.tags = []
                    made = converted(case, target)
                del made.not_held["eval_set_id"]  # that is the file itself
                file.add(made)
            except ValueError as error:
                file.reject(candidate.source, candidate.position, " ".join(str(error).split()))
                continue
            file.done.notes = dict(Counter(file.done.notes) + notes)
        skipped["not in the sample"] = sample.left_out
    file.done.skipped = {reason: count for reason, count in skipped.items() if count}
    return file.done


def convert_items(
    items: Iterable[LoggedConversation | FoundCase | Failure], target: Target, output: str
) -> Conversion:
    """Writes conversations and eval cases as records of a target; raises ConfigError as `check_new_file`."""
    repeated = 0
    with _record_file(output, target) as file:
        for item in items:
            if isinstance(item, Failure):
                file.reject(item.source, item.position, item.message)
                continue
            content = item.case if isinstance(item, FoundCase) else item.conversation
            file.done.cases += isinstance(item, FoundCase)
            file.done.conversations += isinstance(item, LoggedConversation)
            try:
                repeated += not file.add(converted(content, target))
            except ValueError as error:
                file.reject(item.record.source, item.record.position, " ".join(str(error).split()))
    file.done.skipped = {"equal to an earlier record": repeated} if repeated else {}
    return file.done


def is_run(path: str) -> bool:
    """Returns whether a path is the output directory of a run, on any filesystem that Beam supports."""
    if is_store_url(path) or any(char in path for char in "*?["):
        return is_local(path) and (Path(path) / RUN_FILE).is_file()
    return path_exists(join_path(path, RUN_FILE))


def log_candidates(paths: Sequence[str], reader: AnyReader) -> Iterator[cases.Candidate | Failure]:
    """Yields the conversations of logs, and what could not be read; raises ConfigError as `read_files`."""
    for item in whole_items(read_files("--from", paths, reader, MAX_RECORD_BYTES)):
        if isinstance(item, Failure):
            yield item
        elif isinstance(item, FoundCase):
            message = f"{item.case.eval_id} is an eval case already"
            yield Failure("parse", "ValueError", message, item.record.source, item.record.position)
        else:
            yield cases.logged_candidate(item.conversation, item.record.source, item.record.position)


def run_candidates(directory: str) -> Iterator[cases.Candidate | Failure]:
    """Yields the conversations of a run; raises ConfigError as `open_run`."""
    run = open_run(directory)
    failed: defaultdict[ScoredId, set[int]] = defaultdict(set)
    for score in run.scores():
        if score["outcome"] == "FAIL" and score["turn_index"] is not None:
            failed[scored_id(score)].add(score["turn_index"])
    for row in run.conversations():
        try:
            yield cases.row_candidate(row, frozenset(failed.get(scored_id(row), ())))
        except ValueError as error:
            yield Failure("parse", "ValueError", str(error), row["source"], row["position"])
