"""Reads the conversations of which eval cases may be made: of runs and of logs."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from turnwise.pipeline.io.files import read_files, whole_items
from turnwise.pipeline.io.listing import join_path, path_exists
from turnwise.pipeline.io.run_reader import RunDirectory, open_run
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES
from turnwise.schemas.jsonio import is_local, is_store_url
from turnwise.schemas.rows import ConversationRow
from turnwise.schemas.run import RUN_FILE
from turnwise.schemas.score import Failure
from turnwise.transforms.decisions.cases import Candidate, logged_candidate, row_candidate
from turnwise.transforms.formats.reading import AnyReader, FoundCase

RowKey: TypeAlias = "tuple[str, str | None]"


def is_run(path: str) -> bool:
    """Returns whether a path is the output directory of a run, on any filesystem that Beam supports."""
    if is_store_url(path) or any(char in path for char in "*?["):
        return is_local(path) and (Path(path) / RUN_FILE).is_file()
    return path_exists(join_path(path, RUN_FILE))


def log_candidates(paths: Sequence[str], reader: AnyReader) -> Iterator[Candidate | Failure]:
    """Yields the conversations of logs, and what could not be read; raises ConfigError as `read_files`."""
    for item in whole_items(read_files("--from", paths, reader, MAX_RECORD_BYTES)):
        if isinstance(item, Failure):
            yield item
        elif isinstance(item, FoundCase):
            place = item.record
            said = f"{item.case.eval_id} is an eval case already"
            yield Failure("parse", "ValueError", said, place.source, place.position)
        else:
            yield logged_candidate(item.conversation, item.record.source, item.record.position)


def run_candidates(directory: str) -> Iterator[Candidate | Failure]:
    """Yields the conversations of a run, each in its last revision; raises ConfigError as `open_run`."""
    run = open_run(directory)
    failed = _failed_turns(run)
    for key, row in last_rows(run):
        try:
            yield row_candidate(row, frozenset(failed.get((*key, row["revision"]), ())))
        except ValueError as error:
            yield Failure("parse", "ValueError", str(error), row["source"], row["position"])


def _key(row: ConversationRow) -> RowKey:
    return row["conversation_id"], row["app_version"]


def last_rows(run: RunDirectory) -> Iterator[tuple[RowKey, ConversationRow]]:
    """Yields the conversations of a run in their last revision, with id and app version."""
    revisions: dict[RowKey, int] = {}
    for row in run.conversations():
        revisions[_key(row)] = max(row["revision"], revisions.get(_key(row), 0))
    for row in run.conversations():
        if row["revision"] == revisions[_key(row)]:
            yield _key(row), row


def _failed_turns(run: RunDirectory) -> dict[tuple[str, str | None, int], set[int]]:
    """Returns the turns of which a score fails, by conversation, app version and revision."""
    failed: defaultdict[tuple[str, str | None, int], set[int]] = defaultdict(set)
    for score in run.scores():
        if score["outcome"] == "FAIL" and score["turn_index"] is not None:
            key = (score["conversation_id"], score["app_version"], score["revision"])
            failed[key].add(score["turn_index"])
    return failed
