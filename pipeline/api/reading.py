"""Reads logs and eval cases as canonical objects."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

from turnwise.pipeline.api.settings import Config, read_any_config
from turnwise.pipeline.python.inputs import (
    CaseInput,
    ConversationInput,
    eval_cases,
    logged_conversations,
    sort_inputs,
)
from turnwise.pipeline.settings.run import MAX_RECORD_BYTES
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.rows import FailureRow
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.reading import CaseReader, LogReader
from turnwise.transforms.formats.registry import check_log_format
from turnwise.transforms.metrics.rows import failure_rows

OnFailure: TypeAlias = Callable[[FailureRow], object]


class ReadError(ValueError):
    """Something could not be read.

    Attributes:
        failures: What, and why.

    >>> import turnwise
    >>> try:
    ...     turnwise.read_conversations({"conversation_id": "c1", "turns": []})
    ... except turnwise.ReadError as error:
    ...     print(error, len(error.failures))
    conversations:1: conversation c1 has no turn 1
    """

    def __init__(self, failures: list[FailureRow]) -> None:
        first = failures[0]
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        place = f"{first['source']}:{first['position']}" if first["position"] else first["source"]
        super().__init__(f"{place}: {first['message']}{more}")
        self.failures = failures


def read_conversations(
    conversations: ConversationInput | Iterable[ConversationInput],
    *,
    input_format: str = "auto",
    config: Config | None = None,
    on_failure: OnFailure | None = None,
) -> list[Conversation]:
    """Reads conversation logs of every format that `turnwise run` reads.

    Args:
        conversations: Paths (files, directories, globs; gzipped or not), or dicts.
        input_format: Format of every record; `auto`: recognised by its keys.
        config: Its section `discovery_engine` says how the answers of a search engine are read,
            `traces` how spans are, and `mapping` how records of any form are.
        on_failure: Called with every failure, a dict as in the table `failures`, such as a list's `append`.
            None: the first failure raises ReadError, when all is read.

    Returns:
        The conversations: of files by name, then of dicts in order, then those that were joined of events.

    Raises:
        ConfigError: A path names nothing, or the format is unknown.
        ReadError: Something could not be read, and there is no `on_failure`.

    >>> import turnwise
    >>> failures = []
    >>> logs = [{"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]}, {"no": "log"}]
    >>> [one.turns[0].agent for one in turnwise.read_conversations(logs, on_failure=failures.append)]
    ['Hello']
    >>> [row["position"] for row in failures]
    [2]
    """
    check_log_format(input_format)
    settings = read_any_config(config)
    reader = LogReader(input_format, settings)
    inputs = sort_inputs("conversations", conversations, Conversation)
    read: list[Conversation] = []
    failures: list[Failure] = []
    for one in logged_conversations(inputs, reader, MAX_RECORD_BYTES, Counter()):
        if isinstance(one, Failure):
            failures.append(one)
        else:
            read.append(one.conversation)
    _report(failures, on_failure)
    return read


def read_cases(
    cases: CaseInput | Iterable[CaseInput],
    *,
    config: Config | None = None,
    on_failure: OnFailure | None = None,
) -> list[EvalCase]:
    """Reads eval cases of every format that `turnwise run` reads.

    Args:
        cases: Paths (files, directories, globs), addresses of stores, or dicts.
        config: Its section `ces` says how CES cases are judged where they do not say.
        on_failure: As for `read_conversations`. Of equal cases with one name the first is returned, of
            different ones none; each of the others is a failure.

    Returns:
        The eval cases.

    Raises:
        ConfigError: A path names nothing, or a store cannot be opened.
        ReadError: Something could not be read, and there is no `on_failure`.

    >>> import turnwise
    >>> case = {"eval_id": "greeting", "turns": [{"user": "Hi", "response": "Hello"}]}
    >>> [case.eval_id for case in turnwise.read_cases([case])]
    ['greeting']
    """
    inputs = sort_inputs("cases", cases, EvalCase)
    reader = CaseReader(read_any_config(config).ces)
    found = eval_cases(inputs, reader, MAX_RECORD_BYTES, Counter())
    _report(found.failures, on_failure)
    return found.cases


def _report(failures: list[Failure], on_failure: OnFailure | None) -> None:
    rows = [row for failure in failures for row in failure_rows(failure, "")]
    if on_failure is None:
        if rows:
            raise ReadError(rows)
        return
    for row in rows:
        on_failure(row)
