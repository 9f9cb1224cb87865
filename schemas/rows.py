"""The rows that a run writes, one class a table; Avro, Arrow and the docs are derived from them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict, get_args, get_type_hints

import msgspec

from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json

if TYPE_CHECKING:
    import pyarrow


MOST_BYTES = 64 * 1024
"""Size of the compact JSON of a transcript at most."""


class Added(msgspec.Struct, frozen=True):
    """Marks a column that rows of earlier runs may lack: they are read as if it held the default."""

    default: JsonValue = None


class TranscriptCall(TypedDict):
    """A call of a tool; a key that is not required is left out where it would say nothing."""

    inside: Annotated[NotRequired[str], "Tool that stands for the agent that called, if another called it."]
    name: Annotated[str | None, "Name of the tool; null: the log states none."]
    args: Annotated[JsonValue, "Arguments; null: the log states none, or there are none."]
    result: Annotated[JsonValue, "Response of the tool; null: not logged."]
    error: Annotated[bool | str | None, "Error message, or true; null: the call did not fail."]
    effect: Annotated[str, "`read`, `write`, `handoff`, `destructive` (cannot be undone) or `unknown`."]
    seconds: Annotated[float | None, "Duration; null: not logged."]


class ExpectedCall(TypedDict):
    """A call that is expected, with its arguments (null: any)."""

    name: str | None
    args: JsonValue
    effect: str


class ExpectedPart(TypedDict, total=False):
    """What is expected of a turn or of the whole conversation; a key without content is left out."""

    user: Annotated[str, "Scripted message of the user."]
    response: Annotated[str, "Expected final response."]
    tool_calls: Annotated[
        list[ExpectedCall],
        "Expected calls; empty: no call may happen. Without the key, nothing is stated of calls.",
    ]
    user_tool_calls: Annotated[list[ExpectedCall], "Calls that the user must make with their own tools."]
    texts: Annotated[list[str], "Texts that must be said."]
    transfers: Annotated[list[str], "Agents that must take over."]
    variables: Annotated[JsonObject, "Expected session variables."]
    rubrics: Annotated[list[str], "Statements for a judge."]
    other: Annotated[list[str], "Other expectations, one line each."]
    task: Annotated[str, "Task of the user."]


class TranscriptTurn(TypedDict):
    """A turn; its index is the `turn_index` of scores. Keys that are not required are left out if empty."""

    messages: Annotated[
        NotRequired[list[str]],
        "All texts of the agent in order, where there are others beside the final response.",
    ]
    user_tool_calls: Annotated[NotRequired[list[TranscriptCall]], "Calls of the user with their own tools."]
    transfers: Annotated[NotRequired[list[str]], "Agents that took over."]
    agents: Annotated[NotRequired[list[str]], "Agents that spoke, called or took over."]
    unknown: Annotated[NotRequired[list[str]], "What the log may miss of this turn, one line each."]
    index: Annotated[int, "0-based."]
    label: Annotated[str | None, "`MISSING_TURN`, `EXTRA_TURN`, or null."]
    user: Annotated[str | None, "Message of the user; null: none."]
    agent: Annotated[str | None, "Final response of the agent; null: none."]
    tool_calls: Annotated[list[TranscriptCall], "Calls of the agent in order."]
    seconds: Annotated[float | None, "Duration of the turn; null: not logged."]
    expected: Annotated[ExpectedPart | None, "What was expected; null: nothing."]


class LeftOut(TypedDict):
    """How much was left out of a transcript."""

    turns: Annotated[int, "Whole turns; their indices are missing in `turns`."]
    entries: Annotated[int, "Calls, messages and other entries of lists."]
    characters: Annotated[int, "Characters of texts and values; each cut text ends with a mark."]


class Transcript(TypedDict):
    """What was said and called in a conversation, and what was expected beside it."""

    turns: Annotated[list[TranscriptTurn], "The turns in order."]
    expected: Annotated[ExpectedPart | None, "What is expected of the whole conversation; null: nothing."]
    cut: Annotated[bool, "Whether anything was left out."]
    left_out: Annotated[LeftOut | None, "How much; null: nothing."]


class ConversationRow(TypedDict):
    """One conversation: its verdict, why it should be read, its figures, and what was said and called.

    >>> call = {"name": "book_slot", "args": {"date": "2026-08-07"}}
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"tool_calls": [call]}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> result = turnwise.evaluate(log, criteria={"tool_effects_v1": 1.0})
    >>> [(row["verdict"], row["severity_reason"], row["why"]) for row in result.conversations]
    [('FAIL', 'missing_writes', 'turn 1: missing book_slot(date: 2026-08-07)')]
    >>> result.conversations[0]["transcript"]["turns"][0]["agent"]
    'Hello'
    """

    run_id: Annotated[str, "Id of the run."]
    conversation_id: Annotated[str, "Id of the conversation."]
    user_id: Annotated[str | None, "Id of the user; null: the log does not state it."]
    eval_id: Annotated[str | None, "Id of the eval case; null: there is none."]
    eval_set_id: Annotated[str | None, "Id of the eval set of the case."]
    case_digest: Annotated[
        str | None,
        "Digest of what its eval case, or the record itself, expects: 16 hexadecimal digits, the same in "
        "every run where the same is expected. Null: nothing is expected.",
    ]
    task: Annotated[
        str | None,
        "What it is a run of, by its log: the eval case, or the task with its domain; null: not stated.",
    ]
    app_version: Annotated[str | None, "Version of the agent; null: the log does not state it."]
    language: Annotated[str | None, "Language of the conversation (BCP 47)."]
    tags: Annotated[list[str], "Tags of the conversation and of its case."]
    verdict: Annotated[str | None, "PASS or FAIL; null: no verdict."]
    reason: Annotated[str | None, "Why there is no verdict, or why it fails whatever its scores."]
    sampled_out: Annotated[
        list[str],
        "Judged criteria that a sample rate left out, and `verdict` if one of them takes part in "
        "the verdict, which is missing then.",
    ]
    ended: Annotated[
        str | None,
        "How it ended: `normally`, `agent_error`, `limit`, `user_left`, `hand_off` or `environment_error`; "
        "null: the log does not say.",
    ]
    worst_criterion: Annotated[str | None, "Criterion of the most severe failed score; null: none failed."]
    worst_turn: Annotated[int | None, "0-based turn of that score; null: the whole conversation."]
    why: Annotated[
        str | None,
        "Why it should be read, in one line of at most 200 characters; turns are counted from 1. Null: it "
        "passed, and nothing failed.",
    ]
    severity: Annotated[
        str | None,
        "How bad what went wrong is: `critical`, `high`, `medium` or `low`; null: nothing failed, and it "
        "passed or was sampled out.",
    ]
    severity_score: Annotated[
        float,
        "Order of reading, first of what failed: the greater, the earlier; 0: nothing failed, and it passed "
        "or was sampled out.",
    ]
    severity_reason: Annotated[
        str | None,
        "What most of the severity comes from: `destructive`, `safety`, `false_claims`, `missing_writes`, "
        "`unsupported`, `expectations`, `text`, `other` or `no_verdict`; null: `severity` is.",
    ]
    problem_type: Annotated[
        str | None,
        "Key of the conversations of the same problem type: criterion, label and tool, separated by "
        "`|`; null: `severity` is.",
    ]
    problem_label: Annotated[str | None, "The same for people, such as `tool_effects_v1: missing book_slot`."]
    turns: Annotated[int, "Number of recorded turns."]
    tool_calls: Annotated[int, "Number of calls of the agent."]
    tool_errors: Annotated[int, "Number of those that failed."]
    destructive_calls: Annotated[int, "Number of successful calls of the agent that cannot be undone."]
    unclear_tools: Annotated[
        list[str],
        "Tools of successful calls of the agent that may have destroyed something without being expected: "
        "destructive calls for which no calls are stated, and writes that were not expected and are told "
        "by the name of their tool alone. At most 100.",
    ]
    guessed_tools: Annotated[
        list[str],
        "Tools that the agent called and whose effect is guessed from the name or unknown. At most 100.",
    ]
    unknown_calls: Annotated[str | None, "Why the log may miss calls of the agent; null: it states all."]
    latency_seconds: Annotated[float | None, "Sum over the turns; null: not logged of every turn."]
    tokens_in: Annotated[int | None, "Tokens read by the agent's models; null: not logged of every turn."]
    tokens_out: Annotated[int | None, "Tokens written by the agent's models; null: not logged of every turn."]
    event_time: Annotated[
        str | None, "Start of the conversation or, without it, time of its first timed turn, in RFC 3339."
    ]
    source: Annotated[str | None, "File or topic of the record."]
    position: Annotated[int | None, "1-based line or index in the source."]
    revision: Annotated[int, "In a stream, the conversation's revision; the row with the highest one counts."]
    transcript: Annotated[
        JsonObject | None,
        "What was said and called, with what was expected beside it, at most 64 KiB: "
        "[transcripts](outputs.md#transcripts). Null: with `--no_transcripts`.",
    ]


class ScoreRow(TypedDict):
    """One score of a turn or of a whole conversation.

    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["turn_index"], round(row["value"], 2), row["outcome"]) for row in result.scores]
    [(0, 0.67, 'PASS'), (None, 0.67, 'PASS')]
    """

    run_id: Annotated[str, "Id of the run."]
    conversation_id: Annotated[str, "Id of the conversation."]
    eval_id: Annotated[str | None, "Id of the eval case; null: there is none."]
    app_version: Annotated[str | None, "Version of the agent; null: the log does not state it."]
    turn_index: Annotated[int | None, "0-based turn; null: the whole conversation."]
    criterion: Annotated[str, "Name of the criterion."]
    value: Annotated[float | None, "The score, on the scale of the criterion; null: no score."]
    outcome: Annotated[str | None, "PASS or FAIL by the threshold; null: no score, or no threshold."]
    threshold: Annotated[float | None, "The applied threshold; null: there is none."]
    label: Annotated[str | None, "A short result (`MISSING_TURN`), or the measured item (a tool, a model)."]
    reason: Annotated[str | None, "Why there is no value or no outcome."]
    explanation: Annotated[str | None, "Why the score fails: what was expected, and what was said or called."]
    details: Annotated[JsonObject | None, "Evidence of the criterion, in a form of its own."]
    judge: Annotated[
        JsonObject | None,
        "Usage of the judge: `model`, `prompt_version`, `samples`, `tokens_in`, `tokens_out`, `cached`, "
        "`voted`, `flipped` (verdicts with two votes or more, and those whose votes differ); null: the "
        "score was measured, or no judge was asked.",
    ]
    event_time: Annotated[str | None, "Time of the turn or else start of the conversation, in RFC 3339."]
    language: Annotated[str | None, "Language of the conversation (BCP 47)."]
    tags: Annotated[list[str], "Tags of the conversation and of its case."]
    revision: Annotated[int, "In a stream, the conversation's revision; the row with the highest one counts."]
    score_id: Annotated[
        str,
        "Key of the score: the same in every run for the same conversation, app version, case, turn and "
        "criterion with the same parameters (and, if judged, the same judge). Rows of a conversation have "
        "different ones; its revisions have the same, and so do several recordings in one run with the "
        "same conversation id, app version and case.",
    ]
    span: Annotated[
        str | None,
        "What is scored, of a log of spans: `TRACE/SPAN` of the turn's agent or, without one, of the model "
        "that answered, `TRACE` of a whole conversation in one trace; null: none, or several traces.",
        Added(),
    ]


class ReadAgain(Iterable[Any]):
    """Rows that are read anew each time, so that memory does not grow with their number."""

    def __init__(self, read: Callable[[], Iterable[Any]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __bool__(self) -> bool:
        return any(True for _ in self)


class ResultRow(TypedDict):
    """One evaluation result of a conversation.

    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["conversation_id"], row["verdict"]) for row in result.results]
    [('c1', 'PASS')]
    """

    name: Annotated[str, "Resource name of the result."]
    conversation_id: Annotated[str, "Id of the conversation."]
    eval_id: Annotated[str | None, "Id of the eval case; null: there is none."]
    eval_set_id: Annotated[str | None, "Id of the eval set of the case."]
    case_etag: Annotated[str | None, "Etag of the case, such as a store states; null: none is stated."]
    case_digest: Annotated[
        str | None, "Digest of what its eval case, or the record itself, expects, as in `conversations-*`."
    ]
    app_version: Annotated[str | None, "Version of the agent; null: the log does not state it."]
    verdict: Annotated[str | None, "The verdict, PASS or FAIL; null: no verdict."]
    result: Annotated[JsonObject, "A CES EvaluationResult in proto3 JSON."]


class MetricRow(TypedDict):
    """Figures of one criterion over turns or whole conversations."""

    run_id: Annotated[str, "Id of the run."]
    app_version: Annotated[str | None, "Version of the agent; null: the logs do not state it."]
    criterion: Annotated[str, "Name of the criterion. `verdict` counts verdicts; its PASS is 1, its FAIL 0."]
    level: Annotated[str, "`turn`, or `conversation`: scores of whole conversations."]
    unit: Annotated[str, "Unit of values: `score`, `seconds`, `count` or `money` (in the prices' currency)."]
    count: Annotated[int, "Number of scores, those without a value included."]
    scored: Annotated[int, "Scores with a value."]
    no_score: Annotated[int, "Scores without a value."]
    errors: Annotated[int, "How often the criterion failed with an error."]
    mean: Annotated[float | None, "Mean of the values."]
    mean_low: Annotated[
        float | None,
        "Mean if everything without a score had the lowest value of the scale; null: it has none.",
    ]
    mean_high: Annotated[
        float | None,
        "Mean if everything without a score had the highest value of the scale; null: it has none.",
    ]
    stddev: Annotated[float | None, "Sample standard deviation; null: fewer than two values."]
    pass_count: Annotated[int, "Scores with the outcome PASS."]
    fail_count: Annotated[int, "Scores with the outcome FAIL."]
    pass_rate: Annotated[float | None, "Share of PASS in all outcomes, 0 to 1; null: there is no outcome."]
    pass_rate_low: Annotated[
        float | None,
        "Lower bound of the 95 % Wilson interval of the pass rate; a case counts once, however often it "
        "was recorded; turns of one conversation count as independent.",
    ]
    pass_rate_high: Annotated[float | None, "Upper bound of that interval."]
    p50: Annotated[float | None, "Median, of latencies only. Quantiles are within 0.1 % of the value."]
    p90: Annotated[float | None, "90th percentile, of latencies only."]
    p99: Annotated[float | None, "99th percentile, of latencies only."]
    voted: Annotated[int, "Verdicts (on a rubric, sentence, aspect, answer) of two votes or more."]
    flipped: Annotated[int | None, "Those of them whose votes differ; null: no verdict has two votes."]
    flip_rate: Annotated[float | None, "Their share, 0 to 1; null: no verdict has two votes."]
    window_start: Annotated[
        str | None, "In a stream, start of the window in RFC 3339; null in a batch, as in the next three."
    ]
    window_end: Annotated[str | None, "End of the window, exclusive."]
    pane: Annotated[str | None, "`EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`."]
    revision: Annotated[
        int | None, "Number of earlier rows of the window; the row with the highest one counts."
    ]


class MetricsByAppVersionRow(MetricRow):
    """One criterion over an app version; the row of the criterion `verdict` counts verdicts.

    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["criterion"], row["level"], row["pass_rate"]) for row in result.metrics_by_app_version[:2]]
    [('verdict', 'conversation', 1.0), ('response_match_score', 'turn', 1.0)]
    """

    conversations: Annotated[int, "Conversations of the version, the same in all of its rows."]
    turns: Annotated[int, "Their recorded turns."]
    sampled_out: Annotated[int, "Conversations that the judge was not asked about because of a sample rate."]
    repeats: Annotated[
        JsonObject | None,
        "pass^k and pass@k over the runs of each case, with 95 % Wilson intervals over the cases, in "
        "`cases`, `runs`, `pass_hat_k`, `pass_at_k`; null for turns, and where no case was decided.",
    ]
    panel: Annotated[
        JsonObject | None,
        "What a panel of judges did: `questions`, `decided`, `agreement`, `alpha`; null: there was none.",
    ]


class MetricsByTurnRow(MetricRow):
    """One criterion over one turn index of an app version.

    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["turn_index"], row["criterion"], row["count"]) for row in result.metrics_by_turn]
    [(0, 'response_match_score', 1)]
    """

    turn_index: Annotated[int, "0-based turn."]


class MetricsBySliceRow(MetricRow):
    """One criterion over one slice of an app version: the turns with a label, and their conversations.

    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["slice"], row["criterion"], row["count"]) for row in result.metrics_by_slice[:1]]
    [('skipped:NONE', 'verdict', 1)]
    """

    slice: Annotated[str, "Name of the slice (`skipped:NO_RELEVANT_CONTENT`, `language:ko`)."]
    conversations: Annotated[int, "Conversations with a turn in the slice, the same in all of its rows."]
    turns: Annotated[int, "Turns in the slice."]
    share_of_turns: Annotated[float, "Their share of the version's turns, 0 to 1."]


class FailureRow(TypedDict):
    """One failure, or one finding.

    >>> result = turnwise.evaluate({"conversation_id": "c1", "turns": []})
    >>> [(row["stage"], row["message"]) for row in result.failures]
    [('parse', 'conversation c1 has no turn')]
    """

    run_id: Annotated[str, "Id of the run."]
    stage: Annotated[
        str,
        "`read`, `parse`, `parse_case`, `assemble`, `match`, `score`, `alert` or `write`; `check`: a "
        "finding.",
    ]
    error_type: Annotated[str, "Class of the error, or kind of the finding."]
    message: Annotated[str, "Description in one line."]
    source: Annotated[str | None, "File or address of the record."]
    position: Annotated[int | None, "1-based line or index in the file; 0: the file as a whole."]
    record: Annotated[str | None, "Text of the record, its first 64 KiB."]
    conversation_id: Annotated[str | None, "Id of the conversation, if known."]
    criterion: Annotated[str | None, "Criterion that failed with an error (stage `score` only)."]
    app_version: Annotated[str | None, "Version of the agent, if known."]
    turn_index: Annotated[int | None, "0-based turn (stages `score`, `check` only); null: all of it."]


TABLES: dict[str, type] = {
    "scores": ScoreRow,
    "results": ResultRow,
    "conversations": ConversationRow,
    "metrics_by_app_version": MetricsByAppVersionRow,
    "metrics_by_turn": MetricsByTurnRow,
    "metrics_by_slice": MetricsBySliceRow,
    "failures": FailureRow,
}
"""Table name (and file prefix) -> its row class."""


ColumnKind = Literal["string", "long", "double", "boolean", "date"]
_KINDS: dict[Any, ColumnKind] = {
    str: "string", int: "long", float: "double", bool: "boolean", JsonObject: "string",
}  # fmt: skip


class Column(msgspec.Struct, frozen=True):
    """One column of a table.

    Attributes:
        kind: Type of a value, or of each item of a list.
        is_list: Whether a value is a list, which may be empty and is never null.
        is_nullable: Whether a value may be null.
        is_json: Whether a value is a JSON object, which is written as its JSON text.
        added: What rows that lack it hold; None: every row has it.
    """

    name: str
    kind: ColumnKind
    is_list: bool = False
    is_nullable: bool = False
    is_json: bool = False
    added: Added | None = None


DATE = Column("date", "date")
"""The day of a run, which rows have in a data warehouse."""
WAREHOUSE_TABLES = tuple(table for table, row in TABLES.items() if "run_id" in get_type_hints(row))
"""The flat tables, in which a run is found by its id."""


@cache
def columns(table: str) -> tuple[Column, ...]:
    """Returns the columns of a table, in order."""
    made = []
    for name, annotated in get_type_hints(TABLES[table], include_extras=True).items():
        hint, _, *added = get_args(annotated)
        kind = next(kind for kind in _KINDS if hint in (kind, kind | None) or get_args(hint) == (kind,))
        is_list, is_nullable = get_args(hint) == (kind,), hint == kind | None
        made.append(Column(name, _KINDS[kind], is_list, is_nullable, kind == JsonObject, *added))
    return tuple(made)


def added_columns(table: str) -> JsonObject:
    """Returns the columns that rows of earlier runs may lack, with their values there."""
    return {column.name: column.added.default for column in columns(table) if column.added}


def json_columns(table: str) -> list[str]:
    """Returns the names of the columns that hold JSON objects."""
    return [column.name for column in columns(table) if column.is_json]


def with_json_texts(row: JsonObject, names: Iterable[str]) -> JsonObject:
    """Returns a row with the JSON texts of its JSON objects in these columns."""
    texts = {name: None if row[name] is None else dump_json(row[name]).decode() for name in names}
    return {**row, **texts}


def avro_schema(table: str) -> JsonObject:
    """Returns the Avro schema of a table; a JSON object is a string that holds its JSON text."""
    row = TABLES[table]
    fields = list[JsonObject]()
    for column in columns(table):
        kind: JsonObject | str = {"type": "array", "items": column.kind} if column.is_list else column.kind
        absent = {"type": ["null", kind], "default": None}
        fields.append({"name": column.name, **(absent if column.is_nullable else {"type": kind})})
    doc = " ".join((row.__doc__ or "").partition(">>>")[0].split())
    return {"type": "record", "name": row.__name__, "namespace": "turnwise", "doc": doc, "fields": fields}


ARROW_TYPES = {"string": "string", "long": "int64", "double": "float64", "boolean": "bool_", "date": "date32"}
"""Kind of a column -> name of the function of pyarrow that returns its type."""


def arrow_schema(columns: Iterable[Column]) -> "pyarrow.Schema":
    """Returns the Arrow schema of columns."""
    import pyarrow

    fields = []
    for column in columns:
        value = getattr(pyarrow, ARROW_TYPES[column.kind])()
        fields.append((column.name, pyarrow.list_(value) if column.is_list else value))
    return pyarrow.schema(fields)


def arrow_rows(
    rows: Sequence[JsonObject], schema: "pyarrow.Schema"
) -> "tuple[pyarrow.Table, list[tuple[JsonObject, str]]]":
    """Returns a table of rows, whose JSON objects are texts, and the rows that Arrow cannot hold, and why."""
    import pyarrow

    try:
        return pyarrow.Table.from_pylist(rows, schema), []
    except (ValueError, TypeError, OverflowError):  # such as of an integer of more than 64 bits
        kept, refused = list[JsonObject](), list[tuple[JsonObject, str]]()
    for row in rows:
        try:
            pyarrow.Table.from_pylist([row], schema)
            kept.append(row)
        except (ValueError, TypeError, OverflowError) as error:
            refused.append((row, " ".join(str(error).split())))
    return pyarrow.Table.from_pylist(kept, schema), refused


class _Made(msgspec.Struct, gc=False):
    """Base of rows that are made and written in less time than a dictionary, and read like one."""

    def __getitem__(self, column: str) -> Any:
        return getattr(self, column)


MadeScoreRow: Any = msgspec.defstruct(
    "MadeScoreRow", list(get_type_hints(ScoreRow).items()), bases=(_Made,), module=__name__, gc=False
)
"""Makes a `ScoreRow` of the values of all its columns, in their order."""


def plain_rows(rows: Sequence[Any]) -> list[Any]:
    """Returns rows of any table as objects."""
    return [msgspec.structs.asdict(row) if isinstance(row, _Made) else row for row in rows]


# Only the general encoder can write a value such as a subclass of str.
_ENCODER = msgspec.json.Encoder(enc_hook=lambda value: msgspec.Raw(dump_json(value)))


def score_lines(rows: Sequence[Any]) -> bytes:
    """Returns score rows, made or read, as JSON Lines."""
    return _ENCODER.encode_lines(rows)
