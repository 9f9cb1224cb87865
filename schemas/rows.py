"""The rows that a run writes, one class a table; their Avro schemas are derived from these classes."""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args, get_origin, get_type_hints

import msgspec

from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json

if TYPE_CHECKING:
    import pyarrow


MOST_BYTES = 64 * 1024
"""Size of the compact JSON of a transcript at most."""


class TranscriptCall(TypedDict):
    """A call of a tool.

    Attributes:
        name: Name of the tool; null: the log states none.
        args: Arguments; null: the log states none, or there are none.
        result: Response of the tool; null: not logged.
        error: Error message, or true; null: the call did not fail.
        effect: `read`, `write`, `handoff`, `destructive` (a write that cannot be undone) or `unknown`.
        seconds: Duration; null: not logged.
    """

    name: str | None
    args: JsonValue
    result: JsonValue
    error: bool | str | None
    effect: str
    seconds: float | None


class ExpectedCall(TypedDict):
    """A call that is expected, with its arguments (null: any)."""

    name: str | None
    args: JsonValue
    effect: str


class ExpectedPart(TypedDict, total=False):
    """What is expected of a turn or of the whole conversation; a key without content is left out.

    Attributes:
        user: Scripted message of the user.
        response: Expected final response.
        tool_calls: Expected calls; empty: no call may happen. Without the key, nothing is stated of calls.
        user_tool_calls: Calls that the user must make with their own tools.
        texts: Texts that must be said.
        transfers: Agents that must take over.
        variables: Expected session variables.
        rubrics: Statements for a judge.
        other: Other expectations, one line each.
        task: Task of the user.
    """

    user: str
    response: str
    tool_calls: list[ExpectedCall]
    user_tool_calls: list[ExpectedCall]
    texts: list[str]
    transfers: list[str]
    variables: JsonObject
    rubrics: list[str]
    other: list[str]
    task: str


class _MoreOfTurn(TypedDict, total=False):
    """Keys that a turn has only where there is something to say."""

    messages: list[str]
    user_tool_calls: list[TranscriptCall]
    transfers: list[str]
    unknown: list[str]


class TranscriptTurn(_MoreOfTurn):
    """A turn; its index is the `turn_index` of scores.

    Attributes:
        index: 0-based.
        label: `MISSING_TURN`, `EXTRA_TURN`, or null.
        user: Message of the user; null: none.
        agent: Final response of the agent; null: none.
        messages: All texts of the agent in order, where there are others beside the final response.
        tool_calls: Calls of the agent in order.
        user_tool_calls: Calls that the user made with their own tools.
        transfers: Agents that took over.
        unknown: What the log may miss of this turn, one line each.
        seconds: Duration of the turn; null: not logged.
        expected: What was expected; null: nothing.
    """

    index: int
    label: str | None
    user: str | None
    agent: str | None
    tool_calls: list[TranscriptCall]
    seconds: float | None
    expected: ExpectedPart | None


class LeftOut(TypedDict):
    """How much was left out of a transcript.

    Attributes:
        turns: Whole turns; their indices are missing in `turns`.
        entries: Calls, messages and other entries of lists.
        characters: Characters of texts and values; each cut text ends with a mark.
    """

    turns: int
    entries: int
    characters: int


class Transcript(TypedDict):
    """What was said and called in a conversation, and what was expected beside it.

    Attributes:
        turns: The turns in order.
        expected: What is expected of the conversation as a whole; null: nothing.
        cut: Whether anything was left out.
        left_out: How much; null: nothing.
    """

    turns: list[TranscriptTurn]
    expected: ExpectedPart | None
    cut: bool
    left_out: LeftOut | None


class ConversationRow(TypedDict):
    """One conversation: its verdict, why it should be read, its figures, and what was said and called.

    Attributes:
        run_id: Id of the run.
        conversation_id: Id of the conversation.
        user_id: Id of the user; null: the log does not state it.
        eval_id: Id of the eval case; null: there is none.
        eval_set_id: Id of the eval set of the case.
        case_digest: Digest of what its eval case, or the record itself, expects: 16 hexadecimal digits, the
            same in every run where the same is expected. Null: nothing is expected.
        task: What it is a run of, by its log: the eval case, or the task with its domain; null: not stated.
        app_version: Version of the agent; null: the log does not state it.
        language: Language of the conversation (BCP 47).
        tags: Tags of the conversation and of its case.
        verdict: PASS or FAIL; null: not decided.
        reason: Why it is not decided, or why it fails whatever its scores.
        sampled_out: Judged criteria that a sample rate left out, and `evaluation_status` if one of them takes
            part in the verdict, which is not decided then.
        ended: How it ended: `normally`, `agent_error`, `limit`, `user_left`, `hand_off` or
            `environment_error`; null: the log does not say.
        worst_criterion: Criterion of the failed score with the greatest harm; null: none failed.
        worst_turn: 0-based turn of that score; null: the whole conversation.
        why: Why it should be read, in one line of at most 200 characters; turns are counted from 0. Null:
            it passed, and nothing failed.
        harm: Order of reading: the greater, the earlier; 0: nothing failed, and it passed or was
            sampled out.
        harm_term: What most of the harm comes from: `destructive`, `safety`, `false_claims`,
            `missing_writes`, `unsupported`, `expectations`, `text`, `other` or `undecided`; null: the harm
            is 0.
        cluster: Key of the conversations with the same kind of problem: criterion, label and tool, separated
            by `|`; null: the harm is 0.
        cluster_label: The same for people, such as `tool_effects_v1: missing book_slot`.
        turns: Number of recorded turns.
        tool_calls: Number of calls of the agent.
        tool_errors: Number of those that failed.
        destructive_calls: Number of successful calls of the agent that cannot be undone.
        unclear_tools: Tools of successful calls of the agent that may have destroyed something without being
            expected: destructive calls for which no calls are stated, and writes that were not expected and
            are told by the name of their tool alone. At most 100.
        guessed_tools: Tools that the agent called and whose effect is guessed from the name or unknown. At
            most 100.
        unknown_calls: Why calls of the agent may be missing in the log; null: it states all.
        latency_seconds: Sum over the turns; null: not logged of every turn.
        tokens_in: Tokens read by the agent's models; null: not logged of every turn.
        tokens_out: Tokens written by the agent's models; null: not logged of every turn.
        event_time: Start of the conversation or, without it, time of its first timed turn, in RFC 3339.
        source: File or topic of the record.
        position: 1-based line or index in the source.
        revision: In a stream, the revision of the conversation; the row with the highest one counts.
        transcript: What was said and called, with what was expected beside it, at most 64 KiB:
            [transcripts](outputs.md#transcripts). Null: with `--no_transcripts`.

    >>> import turnwise
    >>> call = {"name": "book_slot", "args": {"date": "2026-08-07"}}
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"tool_calls": [call]}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> result = turnwise.evaluate(log, criteria={"tool_effects_v1": 1.0})
    >>> [(row["verdict"], row["harm_term"], row["why"]) for row in result.conversations]
    [('FAIL', 'missing_writes', 'turn 0: missing book_slot(date: 2026-08-07)')]
    >>> result.conversations[0]["transcript"]["turns"][0]["agent"]
    'Hello'
    """

    run_id: str
    conversation_id: str
    user_id: str | None
    eval_id: str | None
    eval_set_id: str | None
    case_digest: str | None
    task: str | None
    app_version: str | None
    language: str | None
    tags: list[str]
    verdict: str | None
    reason: str | None
    sampled_out: list[str]
    ended: str | None
    worst_criterion: str | None
    worst_turn: int | None
    why: str | None
    harm: float
    harm_term: str | None
    cluster: str | None
    cluster_label: str | None
    turns: int
    tool_calls: int
    tool_errors: int
    destructive_calls: int
    unclear_tools: list[str]
    guessed_tools: list[str]
    unknown_calls: str | None
    latency_seconds: float | None
    tokens_in: int | None
    tokens_out: int | None
    event_time: str | None
    source: str | None
    position: int | None
    revision: int
    transcript: JsonObject | None


class ScoreRow(TypedDict):
    """One score of a turn or of a whole conversation.

    Attributes:
        run_id: Id of the run.
        conversation_id: Id of the conversation.
        eval_id: Id of the eval case; null: there is none.
        app_version: Version of the agent; null: the log does not state it.
        turn_index: 0-based turn; null: the whole conversation.
        criterion: Name of the criterion.
        value: The score, on the scale of the criterion; null: unscored.
        outcome: PASS or FAIL by the threshold; null: unscored, or no threshold.
        threshold: The applied threshold; null: there is none.
        label: A short result (`MISSING_TURN`), or the measured item (a tool, a model).
        reason: Why there is no value or no outcome.
        explanation: Why the score fails: what was expected, and what was said or called instead.
        details: Evidence of the criterion, in a form of its own.
        judge: Usage of the judge: `model`, `prompt_version`, `samples`, `tokens_in`, `tokens_out`, `cached`,
            `voted`, `flipped` (verdicts with two votes or more, and those whose votes differ); null: the
            score was measured, or no judge was asked.
        event_time: Time of the turn or, without it, start of the conversation, in RFC 3339.
        language: Language of the conversation (BCP 47).
        tags: Tags of the conversation and of its case.
        revision: In a stream, the revision of the conversation; the row with the highest one counts.
        score_id: Key of the score: the same in every run for the same conversation, app version, case, turn
            and criterion with the same parameters (and, if judged, the same judge). Rows of a conversation
            have different ones; its revisions have the same, and so do several recordings in one run with the
            same conversation id, app version and case.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["turn_index"], round(row["value"], 2), row["outcome"]) for row in result.scores]
    [(0, 0.67, 'PASS'), (None, 0.67, 'PASS')]
    """

    run_id: str
    conversation_id: str
    eval_id: str | None
    app_version: str | None
    turn_index: int | None
    criterion: str
    value: float | None
    outcome: str | None
    threshold: float | None
    label: str | None
    reason: str | None
    explanation: str | None
    details: JsonObject | None
    judge: JsonObject | None
    event_time: str | None
    language: str | None
    tags: list[str]
    revision: int
    score_id: str


class _Made(msgspec.Struct, gc=False):
    """Base of rows that are made and written in less time than a dictionary, and read like one."""

    def __getitem__(self, column: str) -> Any:
        return getattr(self, column)


MadeScoreRow: Any = msgspec.defstruct(
    "MadeScoreRow", get_type_hints(ScoreRow).items(), bases=(_Made,), module=__name__, gc=False
)
"""Makes a `ScoreRow` of the values of its columns in their order."""


def plain_rows(rows: Sequence[Any]) -> list[Any]:
    """Returns rows of any table as objects."""
    return [msgspec.structs.asdict(row) if isinstance(row, _Made) else row for row in rows]


def _other(value: object) -> msgspec.Raw:
    """Returns the JSON of what only the general encoder can write, such as a subclass of str."""
    return msgspec.Raw(dump_json(value))


_ENCODER = msgspec.json.Encoder(enc_hook=_other)


def score_lines(rows: Sequence[Any]) -> bytes:
    """Returns score rows, made or read, as JSON Lines."""
    return _ENCODER.encode_lines(rows)


class ResultRow(TypedDict):
    """One evaluation result of a conversation.

    Attributes:
        name: Resource name of the result.
        conversation_id: Id of the conversation.
        eval_id: Id of the eval case; null: there is none.
        eval_set_id: Id of the eval set of the case.
        case_etag: Etag of the case, such as a store states; null: none is stated.
        case_digest: Digest of what its eval case, or the record itself, expects, as in `conversations-*`.
        app_version: Version of the agent; null: the log does not state it.
        evaluation_status: The verdict, PASS or FAIL; null: not decided.
        result: A CES EvaluationResult in proto3 JSON.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["conversation_id"], row["evaluation_status"]) for row in result.results]
    [('c1', 'PASS')]
    """

    name: str
    conversation_id: str
    eval_id: str | None
    eval_set_id: str | None
    case_etag: str | None
    case_digest: str | None
    app_version: str | None
    evaluation_status: str | None
    result: JsonObject


class MetricRow(TypedDict):
    """Figures of one criterion over turns or whole conversations.

    Attributes:
        run_id: Id of the run.
        app_version: Version of the agent; null: the logs do not state it.
        criterion: Name of the criterion. `evaluation_status` counts the verdicts; its PASS is 1, its FAIL 0.
        level: `turn`, or `conversation`: scores of whole conversations.
        unit: Unit of the values: `score`, `seconds` or `count`.
        count: Number of scores, those without a value included.
        scored: Scores with a value.
        unscored: Scores without a value.
        errors: How often the criterion failed with an error.
        mean: Mean of the values.
        mean_low: Mean if everything unscored had the lowest value of the scale; null: it has none.
        mean_high: Mean if everything unscored had the highest value of the scale; null: it has none.
        stddev: Sample standard deviation; null: fewer than two values.
        pass_count: Scores with the outcome PASS.
        fail_count: Scores with the outcome FAIL.
        pass_rate: Share of PASS in all outcomes, 0 to 1; null: there is no outcome.
        pass_rate_low: Lower bound of the 95 % Wilson interval of the pass rate; a case counts once,
            however often it was recorded.
        pass_rate_high: Upper bound of that interval.
        p50: Median, of latencies only. Quantiles are within 0.1 % of the value.
        p90: 90th percentile, of latencies only.
        p99: 99th percentile, of latencies only.
        voted: Verdicts of a judge with two votes or more: of a rubric, a sentence, an aspect or an answer.
        flipped: Those of them whose votes are not all the same; null: no verdict has two votes.
        flip_rate: Their share, 0 to 1; null: no verdict has two votes.
        window_start: In a stream, start of the window in RFC 3339; null in a batch, as in the next three.
        window_end: End of the window, exclusive.
        pane: `EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`.
        revision: How many rows the window had before, from 0; the row with the highest one counts.
    """

    run_id: str
    app_version: str | None
    criterion: str
    level: str
    unit: str
    count: int
    scored: int
    unscored: int
    errors: int
    mean: float | None
    mean_low: float | None
    mean_high: float | None
    stddev: float | None
    pass_count: int
    fail_count: int
    pass_rate: float | None
    pass_rate_low: float | None
    pass_rate_high: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    voted: int
    flipped: int | None
    flip_rate: float | None
    window_start: str | None
    window_end: str | None
    pane: str | None
    revision: int | None


class MetricsByAppVersionRow(MetricRow):
    """One criterion over an app version; the row of the criterion `evaluation_status` counts verdicts.

    Attributes:
        conversations: Conversations of the version, the same in all of its rows.
        turns: Their recorded turns.
        sampled_out: Conversations that the judge was not asked about because of a sample rate.
        repeats: pass^k and pass@k over the runs of each case, with 95 % Wilson intervals over the cases, in
            `cases`, `runs`, `pass_hat_k`, `pass_at_k`; null for turns, and where no case was decided.
        panel: What a panel of judges did: `questions`, `decided`, `agreement`, `alpha`; null: there was none.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["criterion"], row["level"], row["pass_rate"]) for row in result.metrics_by_app_version[:2]]
    [('evaluation_status', 'conversation', 1.0), ('response_match_score', 'turn', 1.0)]
    """

    conversations: int
    turns: int
    sampled_out: int
    repeats: JsonObject | None
    panel: JsonObject | None


class MetricsByTurnRow(MetricRow):
    """One criterion over one turn index of an app version.

    Attributes:
        turn_index: 0-based turn.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["turn_index"], row["criterion"], row["count"]) for row in result.metrics_by_turn]
    [(0, 'response_match_score', 1)]
    """

    turn_index: int


class MetricsBySliceRow(MetricRow):
    """One criterion over one slice of an app version: the turns with a label, and their conversations.

    Attributes:
        slice: Name of the slice (`skipped:NO_RELEVANT_CONTENT`, `language:ko`).
        conversations: Conversations with a turn in the slice, the same in all of its rows.
        turns: Turns in the slice.
        share_of_turns: Their share of the version's turns, 0 to 1.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["slice"], row["criterion"], row["count"]) for row in result.metrics_by_slice[:1]]
    [('skipped:NONE', 'evaluation_status', 1)]
    """

    slice: str
    conversations: int
    turns: int
    share_of_turns: float


class FailureRow(TypedDict):
    """One failure, or one finding.

    Attributes:
        run_id: Id of the run.
        stage: `read`, `parse`, `parse_case`, `assemble`, `match`, `score`, `alert` or `write`; `check`: a
            finding.
        error_type: Class of the error, or kind of the finding.
        message: Description in one line.
        source: File or address of the record.
        position: 1-based line or index in the file; 0: the file as a whole.
        record: Text of the record, its first 64 KiB.
        conversation_id: Id of the conversation, if known.
        criterion: Criterion that failed with an error (stage `score` only).
        app_version: Version of the agent, if known.
        turn_index: 0-based turn (stages `score` and `check` only); null: the whole conversation.

    >>> import turnwise
    >>> result = turnwise.evaluate({"conversation_id": "c1", "turns": []})
    >>> [(row["stage"], row["message"]) for row in result.failures]
    [('parse', 'conversation c1 has no turn')]
    """

    run_id: str
    stage: str
    error_type: str
    message: str
    source: str | None
    position: int | None
    record: str | None
    conversation_id: str | None
    criterion: str | None
    app_version: str | None
    turn_index: int | None


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
    str: "string",
    int: "long",
    float: "double",
    bool: "boolean",
    JsonObject: "string",
}


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        name: Its name.
        kind: Type of a value, or of each item of a list.
        is_list: Whether a value is a list, which may be empty and is never null.
        is_nullable: Whether a value may be null.
        is_json: Whether a value is a JSON object, which is written as its JSON text.
    """

    name: str
    kind: ColumnKind
    is_list: bool = False
    is_nullable: bool = False
    is_json: bool = False


DATE = Column("date", "date")
"""The day of a run, which rows have in a data warehouse."""
WAREHOUSE_TABLES = tuple(table for table, row in TABLES.items() if "run_id" in get_type_hints(row))
"""The flat tables, in which a run is found by its id."""


@cache
def columns(table: str) -> tuple[Column, ...]:
    """Returns the columns of a table, in order."""
    return tuple(_column(name, hint) for name, hint in get_type_hints(TABLES[table]).items())


def _column(name: str, hint: Any) -> Column:
    is_nullable = isinstance(hint, UnionType)
    kind = next(part for part in get_args(hint) if part is not NoneType) if is_nullable else hint
    is_json = kind == JsonObject
    is_list = not is_json and get_origin(kind) is list
    return Column(name, _KINDS[get_args(kind)[0] if is_list else kind], is_list, is_nullable, is_json)


def json_columns(table: str) -> list[str]:
    """Returns the names of the columns that hold JSON objects."""
    return [column.name for column in columns(table) if column.is_json]


def with_json_texts(row: JsonObject, names: Iterable[str]) -> JsonObject:
    """Returns a row with the JSON texts of its JSON objects in these columns."""
    texts = {name: None if row[name] is None else dump_json(row[name]).decode() for name in names}
    return {**row, **texts}


FOLDER = Path(__file__).parent / "avro"


def avro_schema(table: str) -> JsonObject:
    """Returns the Avro schema of a table; a JSON object is a string that holds its JSON text."""
    row = TABLES[table]
    fields = [_field(column) for column in columns(table)]
    doc = " ".join(re.split("Attributes:|>>>", row.__doc__ or "")[0].split())
    return {"type": "record", "name": row.__name__, "namespace": "turnwise", "doc": doc, "fields": fields}


def _field(column: Column) -> JsonObject:
    kind: JsonObject | str = {"type": "array", "items": column.kind} if column.is_list else column.kind
    if column.is_nullable:
        return {"name": column.name, "type": ["null", kind], "default": None}
    return {"name": column.name, "type": kind}


def write_schemas(folder: Path = FOLDER) -> None:
    """Writes one `.avsc` file a table."""
    folder.mkdir(exist_ok=True)
    for table in TABLES:
        text = json.dumps(avro_schema(table), indent=2, ensure_ascii=False)
        (folder / f"{table}.avsc").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas()


ARROW_TYPES = {"string": "string", "long": "int64", "double": "float64", "boolean": "bool_", "date": "date32"}
"""Kind of a column -> name of the function of pyarrow that returns its type."""


def arrow_schema(columns: Iterable[Column]) -> "pyarrow.Schema":
    """Returns the Arrow schema of columns."""
    import pyarrow

    def kind(column: Column) -> "pyarrow.DataType":
        value = getattr(pyarrow, ARROW_TYPES[column.kind])()
        return pyarrow.list_(value) if column.is_list else value

    return pyarrow.schema([(column.name, kind(column)) for column in columns])


def arrow_rows(
    rows: Sequence[JsonObject], schema: "pyarrow.Schema"
) -> "tuple[pyarrow.Table, list[tuple[JsonObject, str]]]":
    """Converts rows, whose JSON objects are texts, to a table.

    Returns:
        The table, and the rows that Arrow cannot hold (an integer of more than 64 bits) with their reasons.
    """
    import pyarrow

    try:
        return pyarrow.Table.from_pylist(rows, schema), []
    except (ValueError, TypeError, OverflowError):
        faults = [_fault(row, schema) for row in rows]
    kept = [row for row, fault in zip(rows, faults, strict=True) if fault is None]
    lost = [(row, fault) for row, fault in zip(rows, faults, strict=True) if fault is not None]
    return pyarrow.Table.from_pylist(kept, schema), lost


def _fault(row: JsonObject, schema: "pyarrow.Schema") -> str | None:
    import pyarrow

    try:
        pyarrow.Table.from_pylist([row], schema)
    except (ValueError, TypeError, OverflowError) as error:
        return " ".join(str(error).split())
    return None
