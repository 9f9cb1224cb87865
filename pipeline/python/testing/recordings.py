"""Reads a directory of recordings, each beside its eval case."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from turnwise.pipeline.io.files import file_patterns, listed_files
from turnwise.pipeline.io.records import file_records
from turnwise.pipeline.python.evaluate import read_any_config
from turnwise.pipeline.python.inputs import Inputs, eval_cases, logged_conversations
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES
from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.formats.registry import AUTO
from turnwise.transforms.matching.sample import match_case

_EMPTY = "the file holds no conversation; record it again, or remove it"


class UnusedCaseWarning(UserWarning):
    """Eval cases have no recording, so that no test checks them.

    >>> from turnwise.testing import UnusedCaseWarning
    >>> str(UnusedCaseWarning("1 eval case has no recording: greeting"))
    '1 eval case has no recording: greeting'
    """


class Recording(Struct, frozen=True):
    """A recorded conversation: a value of the fixture `turnwise_recording`.

    Attributes:
        conversation: The conversation.
        case: The eval case that it names, with what the record itself expects; None: nothing is expected.
        source: File of the record.
        position: 1-based line or index in that file.

    >>> import turnwise
    >>> from turnwise.testing import Recording
    >>> log = turnwise.Conversation(conversation_id="c1", turns=[turnwise.Turn(user="Hi", agent="Hello")])
    >>> Recording(log, None, "logs/a.jsonl", 1).conversation.turns[0].agent
    'Hello'
    """

    conversation: Conversation
    case: EvalCase | None
    source: str
    position: int

    def __repr__(self) -> str:
        return f"<Recording {self.conversation.conversation_id}: {self.source}:{self.position}>"


class UnreadableRecording(NamedTuple):
    """A recording or an eval case that could not be read: its file with line or index, and why."""

    where: str
    message: str


class Recordings(NamedTuple):
    """What a directory of recordings holds.

    Attributes:
        recordings: In the order of their files.
        unreadable: Records and cases that could not be read, files of recordings without a record, and
            recordings whose case is not there.
        unused: Ids of the eval cases without a recording.
    """

    recordings: list[Recording]
    unreadable: list[UnreadableRecording]
    unused: list[str]

    def ids(self) -> list[str]:
        """Returns an id for each recording: that of the conversation, with the place where it is repeated."""
        names = [recording.conversation.conversation_id for recording in self.recordings]
        numbers = Counter(names)
        return [
            name if numbers[name] == 1 else f"{name}@{read.source.rsplit('/', 1)[-1]}:{read.position}"
            for name, read in zip(names, self.recordings, strict=True)
        ]


def read_recordings(recordings: Sequence[str], cases: Sequence[str], config: str | None) -> Recordings:
    """Reads all recordings of files, directories and globs, each beside its case, if `cases` names some.

    Raises ConfigError if a path names nothing, or there is no recording, or no eval case.
    """
    limit, settings = MAX_RECORD_BYTES, read_any_config(config)
    index, failures = eval_cases(Inputs("cases", [*cases], []), settings, limit, Counter())
    unused: dict[CaseKey, None] = {case.key: None for case in index}
    if cases and not unused and not failures:
        raise ConfigError(f"cases {' '.join(cases)}: there is no eval case")
    read = Recordings([], [_unreadable(failure) for failure in failures], [])
    reader = LogReader(AUTO, settings)
    inputs: Inputs[Conversation] = Inputs("recordings", [*recordings], [])
    for path in listed_files(file_patterns(inputs.name, inputs.paths)):
        if not isinstance(path, Failure) and next(file_records(path, limit), None) is None:
            # Such as one that was cut to 0 bytes.
            read.unreadable.append(UnreadableRecording(path.path, _EMPTY))
    for content in logged_conversations(inputs, reader, limit, Counter()):
        given = index if cases else None
        sample = content if isinstance(content, Failure) else match_case(given, *content, Counter())
        if isinstance(sample, Failure):
            read.unreadable.append(_unreadable(sample))
            continue
        if sample.eval_case is not None:
            unused.pop(sample.eval_case.key, None)
        read.recordings.append(Recording(sample.conversation, sample.eval_case, *sample.record[:2]))
    if not read.recordings and all(content.message == _EMPTY for content in read.unreadable):
        raise ConfigError(f"recordings {' '.join(recordings)}: there is no conversation")
    return read._replace(unused=[key.eval_id for key in unused])


def _unreadable(failure: Failure) -> UnreadableRecording:
    where = f"{failure.source}:{failure.position}" if failure.position else str(failure.source)
    return UnreadableRecording(where, failure.message)
