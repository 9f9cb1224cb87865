"""Conversations and eval cases as arguments of Python functions; the result that they give."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, cast

from msgspec import Struct, convert, field
from msgspec.structs import replace

from turnwise.pipeline.io import files
from turnwise.pipeline.io.records import file_records
from turnwise.schemas import rows as tables
from turnwise.schemas.case import EvalCase
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.conversation import Conversation, Record
from turnwise.schemas.jsonio import JsonObject, counted
from turnwise.schemas.report import CriterionRow
from turnwise.schemas.run import RunDocument
from turnwise.schemas.score import Failure, record_failure
from turnwise.transforms.decisions.report.figures import collect, criterion_rows, run_names, short_names
from turnwise.transforms.decisions.run import Run
from turnwise.transforms.formats import reading
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.matching.sample import CaseIndex

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from matplotlib.figure import Figure


T = TypeVar("T", Conversation, EvalCase)

AnyPath: TypeAlias = str | os.PathLike[str]
ConversationInput: TypeAlias = AnyPath | Mapping[str, Any] | Conversation
CaseInput: TypeAlias = AnyPath | Mapping[str, Any] | EvalCase


class Inputs(Struct, Generic[T], frozen=True):
    """The values of one argument.

    Attributes:
        paths: Files, directories, globs and, of eval cases, addresses of stores.
        items: Records, objects with their positions, and values that are no record.
    """

    name: str
    paths: list[str]
    items: list[Record | tuple[Record, T] | Failure]


def sort_inputs(name: str, values: object, kind: type[T]) -> Inputs[T]:
    """Separates the paths, records and objects of a parameter; raises TypeError for what is none of these."""
    if isinstance(values, str | os.PathLike | Mapping | kind):
        given: list[object] = [values]
    elif hasattr(values, "columns") and not isinstance(values, list):  # a data frame yields names of columns
        raise TypeError(f"{name}: {type(values).__name__}; give a list of dicts, as to_dict('records') does")
    elif isinstance(values, Iterable) and not isinstance(values, bytes):
        given = list(values)
        given = [given] if isinstance(values, list) and reading.is_one_record(given) else given
    else:
        raise TypeError(f"{name}: {type(values).__name__} is no path, dict or {kind.__name__}, nor several")
    inputs: Inputs[T] = Inputs(name, [], [])
    for position, value in enumerate(given, 1):
        start = Record(name, position, b"")
        if isinstance(value, str | os.PathLike):
            inputs.paths.append(os.fsdecode(value))
        elif isinstance(value, kind):
            inputs.items.append((start, value))
        elif isinstance(value, Mapping | list):
            try:
                data = dict(value) if isinstance(value, Mapping) else value
                text = json.dumps(data, ensure_ascii=False, allow_nan=False)
                inputs.items.append(start._replace(data=text.encode()))
            except (TypeError, ValueError, RecursionError) as error:
                inputs.items.append(record_failure("read", error, start))
        else:
            reason = f"{type(value).__name__} is no path, dict or {kind.__name__}"
            raise TypeError(f"{name}[{position - 1}]: {reason}")
    return inputs


def logged_conversations(
    inputs: Inputs[Conversation], reader: reading.LogReader, limit: int, counts: Counter[str]
) -> Iterator[reading.LoggedConversation | Failure]:
    """Yields conversations and failures: of files by name, then of values in order, then joined events.

    A record of more bytes than `limit` in a file is a failure. Raises ConfigError if a path names nothing.
    """
    patterns = files.file_patterns(inputs.name, inputs.paths)
    note, listed = partial(counts.update, [files.UNREAD_FILES]), files.listed_files(patterns)
    opened = (file_records(file, limit, named=patterns, unread=note) for file in listed)
    with files.EventJoin() as joining:
        for record in chain(chain.from_iterable(opened), inputs.items):
            if isinstance(record, Failure):
                counts["unread_records"] += 1
                yield record
            elif not isinstance(record, Record):
                yield reading.parse_conversation(record[1], record[0], counts)
            else:
                for content in reading.parse_record(reader, record, counts):
                    if isinstance(content, ConversationEvent):
                        joining.add(content)
                    else:
                        yield content
        for _, contents in joining.joined(counts):
            yield from contents


def eval_cases(
    inputs: Inputs[EvalCase], config: EvalConfig, limit: int, counts: Counter[str]
) -> tuple[CaseIndex, list[Failure]]:
    """Returns eval cases and failures of reading; raises ConfigError if a path names nothing."""
    records = chain(files.case_records(inputs.name, inputs.paths, limit), inputs.items)
    return files.read_cases(records, reading.CaseReader(config.ces), counts, config.match_cases_by)


Row = TypeVar("Row")
_COLUMNS = 110
_SHARE = "share that passes (%)"
_PANDAS = {"string": "string", "long": "Int64", "double": "Float64", "boolean": "boolean"}


class Table(list[Row]):
    """A list of typed rows (dicts), one table of a run.

    Attributes:
        name: Name of the table, such as `scores`.

    >>> import turnwise
    >>> result = turnwise.evaluate({"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]})
    >>> [row["verdict"] for row in result.results]
    [None]
    >>> result.results.to_arrow().column_names[:2]
    ['name', 'conversation_id']
    """

    def __init__(self, name: str, rows: "list[Row] | tuple[Row, ...]" = ()) -> None:
        super().__init__(rows)
        self.name = name

    @property
    def columns(self) -> list[str]:
        """The names of the columns, also of a table without rows."""
        return list(tables.TABLES[self.name].__annotations__)

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a data frame with the same types of columns for all rows, also for none.

        Types are pandas' nullable `string`, `Int64` and `Float64`; lists and JSON objects are `object`.

        Raises ImportError if pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas: pip install pandas") from None
        series = {}
        for column in tables.columns(self.name):
            dtype = "object" if column.is_json or column.is_list else _PANDAS[column.kind]
            series[column.name] = pandas.Series([cast(Any, row)[column.name] for row in self], dtype=dtype)
        return pandas.DataFrame(series)

    def to_arrow(self) -> "pyarrow.Table":
        """Returns an Arrow table; JSON objects are JSON texts.

        Raises ImportError if pyarrow is not installed.
        """
        try:
            import pyarrow
        except ImportError:
            raise ImportError("to_arrow() needs pyarrow: pip install pyarrow") from None
        rows = [tables.with_json_texts(cast(Any, row), tables.json_columns(self.name)) for row in self]
        return pyarrow.Table.from_pylist(rows, tables.arrow_schema(tables.columns(self.name)))


class ShownText(str):
    """A text that a notebook or a console shows with its lines, also without `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


class RunResult(Struct, frozen=True):
    """Everything that an evaluation gives; `str(result)` is the report of the run.

    Attributes:
        run_id: Id of the run, as in the rows.
        status: PASS: every conversation passed, and nothing was rejected or left without a verdict. FAIL: a
            conversation failed. None: neither; also where nothing was scored.
        problems: Why the status is not PASS, one line each.
        scores: One row a score.
        results: One row a conversation; `result` is a CES EvaluationResult in proto3 JSON.
        conversations: One row a conversation: why it should be read and how early, figures, what was said.
        metrics_by_app_version: Figures by app version and criterion.
        metrics_by_turn: Figures by app version, criterion and turn index.
        metrics_by_slice: Figures by app version, criterion and slice.
        failures: What could not be read, parsed, matched or scored, and what is wrong in a record.
        counts: How many records, conversations and results there were, as `counts` in `run.json`.
        judge: Who judged, and at what cost, as `judge` in `run.json`.
        summary: The table of app versions and what became of every record.
        document: What `run.json` would hold.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello"}}
    >>> log = {"conversation_id": "c1", "turns": [turn]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.8})
    >>> result
    <RunResult PASS: 1 conversation, 0 failures>
    >>> result.passed
    True
    """

    run_id: str
    status: Literal["PASS", "FAIL"] | None
    problems: tuple[str, ...]
    scores: Table[tables.ScoreRow]
    results: Table[tables.ResultRow]
    conversations: Table[tables.ConversationRow]
    metrics_by_app_version: Table[tables.MetricsByAppVersionRow]
    metrics_by_turn: Table[tables.MetricsByTurnRow]
    metrics_by_slice: Table[tables.MetricsBySliceRow]
    failures: Table[tables.FailureRow]
    counts: JsonObject = field(default_factory=dict)
    judge: JsonObject = field(default_factory=dict)
    summary: str = ""
    document: JsonObject = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the status is PASS."""
        return self.status == "PASS"

    def __bool__(self) -> bool:
        """Whether the status is PASS, so that `assert turnwise.evaluate(...)` fails otherwise."""
        return self.passed

    def __repr__(self) -> str:
        conversations = counted(len(self.results), "conversation")
        failures = counted(len(self.failures), "failure")
        return f"<RunResult {self.status or 'no verdict'}: {conversations}, {failures}>"

    def __str__(self) -> str:
        return "\n".join((self.summary, *self.problems))

    def _repr_html_(self) -> str:
        """Returns what a notebook shows: the text of `str(result)`, whose columns stay aligned."""
        return ShownText(self)._repr_html_()

    def report(self, path: AnyPath) -> Path:
        """Writes the report of `turnwise report` as one HTML file, and returns its path.

        Transcripts that one file has no room for are left out, which the report says.

        Args:
            path: The file; an earlier report there is replaced.

        Raises:
            ConfigError: There is another file at the path.
        """
        # Imported late: an evaluation does not wait for the page.
        from turnwise.pipeline.report.html import compare_versions, is_report, report_page
        from turnwise.pipeline.runs.directory import write_whole

        file = Path(path)
        if file.exists() and not is_report(file):
            raise ConfigError(f"{file}: is no report of turnwise, and is not overwritten; name another file")
        runs = [self._run("Python")]
        write_whole(file, report_page(runs, compare_versions(runs)))
        return file

    def plot(self) -> "Figure":
        """Returns the criteria with their 95 % intervals by app version, drawn by matplotlib.

        There are axes for the shares that pass, and for the means of each unit, with the figures of the
        report. A notebook shows the result; `.savefig(path)` writes it.

        Raises ImportError if matplotlib is not installed.
        """
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError("plot() needs matplotlib: pip install matplotlib") from None
        run = self._run("Python")
        collected = collect([run])
        names = [*short_names(collected.versions, run_names([run]))]
        panels: dict[str, list[CriterionRow]] = {}
        for row in criterion_rows(collected):
            values = [figure for figure in row.figures if figure is not None and figure.mean is not None]
            if values:
                is_share = any(figure.share is not None for figure in values)
                panels.setdefault(_SHARE if is_share else f"mean ({row.unit})", []).append(row)
        sizes = [len(rows) for rows in panels.values()] or [1]
        shape = {"figsize": (8, 1 + len(sizes) + 0.4 * sum(sizes)), "height_ratios": sizes}
        drawing, axes = pyplot.subplots(len(sizes), squeeze=False, layout="constrained", **shape)
        for (unit, rows), panel in zip(panels.items(), axes[:, 0], strict=False):
            scale = 100 if unit == _SHARE else 1
            for i, name in enumerate(names):
                shift = 0.4 * (i - (len(names) - 1) / 2) / len(names)
                points = []  # a value, its row, and how far its interval reaches below and above
                for index, figure in enumerate(row.figures[i] for row in rows):
                    value = None
                    if figure is not None:
                        value = figure.share if unit == _SHARE else figure.mean
                    if figure is None or value is None:
                        continue
                    low, high = (value if end is None else end for end in (figure.low, figure.high))
                    reach = scale * max(0.0, value - low), scale * max(0.0, high - value)
                    points.append((scale * value, index + shift, *reach))
                middles, places, below, above = zip(*points, strict=True) if points else ((), (), (), ())
                panel.errorbar(middles, places, xerr=[below, above], fmt="o", capsize=3, label=name)
            panel.set_yticks(range(len(rows)), [row.name for row in rows])
            panel.set_ylim(len(rows) - 0.5, -0.5)
            panel.set_xlim(0, 101 if unit == _SHARE else None)
            panel.set_xlabel(unit)
        title = "Criteria by app version, with 95 % intervals" if panels else "No criterion has a value"
        axes[0, 0].set_title(title)
        if panels:
            handles, labels = axes[0, 0].get_legend_handles_labels()
            drawing.legend(handles, labels, title="app version", loc="outside lower center", ncols=3)
        pyplot.close(drawing)  # a notebook shows what is returned, and shows it once
        return drawing

    def compare(
        self,
        baseline: "RunResult",
        *,
        baseline_version: str | None = None,
        candidate_version: str | None = None,
    ) -> str:
        """Returns what `turnwise compare` says of this result, the candidate, and an earlier one.

        Args:
            baseline: The earlier result.
            baseline_version: App version of it that is compared; None: the only one.
            candidate_version: App version of this result that is compared; None: the only one.

        Raises:
            ConfigError: A result holds no conversation, or several versions of which none is named, or they
                were not measured in the same way.
        """
        # Imported late: an evaluation does not wait for the comparison.
        from turnwise.pipeline.report import comparison as texts
        from turnwise.transforms.decisions.comparison.differences import compare
        from turnwise.transforms.decisions.comparison.estimates import CompareOptions

        if not isinstance(baseline, RunResult):
            raise TypeError(f"baseline: {type(baseline).__name__} is no RunResult")
        runs = [baseline._run("baseline"), self._run("candidate")]
        arguments = "baseline_version", "candidate_version"
        sides = texts.sides_of_runs(runs, (baseline_version, candidate_version), arguments)
        problem = texts.settings_problem(sides.baseline, sides.candidate)
        comparison = compare(sides.baseline, sides.candidate, CompareOptions())
        if problem or texts.nothing_common(comparison):
            raise ConfigError(problem or texts.nothing_common(comparison))
        page = texts.first_page(comparison, runs[-1], sides.candidate_version, sides.how)
        comparison = replace(comparison, page=page)
        return ShownText(texts.comparison_text(comparison, _COLUMNS))

    def _run(self, name: str) -> Run:
        return Run(name, convert(self.document, RunDocument), lambda table: getattr(self, table))
