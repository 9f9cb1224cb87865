"""Collects the rows, sums and counts of an evaluation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from turnwise.pipeline.api.result import RunResult
from turnwise.pipeline.api.table import Table
from turnwise.pipeline.python.inputs import Inputs, eval_cases, logged_conversations
from turnwise.pipeline.report.counts import failure_counters, guesses_by_tool, run_counts
from turnwise.pipeline.report.gate import rows_problems
from turnwise.pipeline.report.gates import gate_problems
from turnwise.pipeline.report.joint import joint_document
from turnwise.pipeline.report.judge import UsageByModel, judge_document
from turnwise.pipeline.report.summary import Figures, summary_text
from turnwise.pipeline.report.terminal import versions_of
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.case import CaseKey, EvalCase
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.rows import ConversationRow, FailureRow, ResultRow, ScoreRow, plain_rows
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.decisions.comparison.collect import compared_versions
from turnwise.transforms.formats.reading import CaseReader, LogReader
from turnwise.transforms.matching.sample import USED_CASE, CaseIndex, Sample, match_case
from turnwise.transforms.metrics.rows import failure_rows, slice_rows, turn_rows, version_rows
from turnwise.transforms.metrics.state import MetricsState, add_conversation
from turnwise.transforms.review.problems import to_read
from turnwise.transforms.scoring.config import judged_counts
from turnwise.transforms.scoring.conversation import decide
from turnwise.transforms.scoring.evaluate import GuessCounts, ScoredConversation

_NOT_COMPARED = "\nnot compared: Python writes no files; turnwise compare reads those of turnwise run"


class Collected:
    """The rows, sums and counts of one evaluation."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._counts: Counter[str] = Counter()
        self._guesses = GuessCounts()
        self._sums: dict[str, MetricsState] = {}
        self._scores: list[ScoreRow] = []
        self._results: list[ResultRow] = []
        self._conversations: list[ConversationRow] = []
        self._failures: list[FailureRow] = []
        self._unused: list[str] = []

    def samples(self, logs: Inputs[Conversation], given: Inputs[EvalCase] | None) -> Iterator[Sample]:
        """Yields the conversations beside their cases; failures are collected.

        Raises:
            ConfigError: A path names nothing.
        """
        config, limit = self._settings.config, self._settings.max_record_bytes
        cases = eval_cases(given, CaseReader(config.ces), limit, self._counts) if given else None
        self.fail(cases.failures if cases else [])
        index = CaseIndex(cases.cases if cases else None)
        keys: set[CaseKey] = {case.key for case in cases.cases} if cases else set()
        used: set[CaseKey] = set()
        reader = LogReader(self._settings.input_format, config)
        for logged in logged_conversations(logs, reader, limit, self._counts):
            found = logged if isinstance(logged, Failure) else match_case(index, *logged, self._counts)
            if isinstance(found, Failure):
                self.fail([found])
                continue
            if found.eval_case is not None:
                used.add(found.eval_case.key)
            yield found
        self._unused = sorted(key.eval_id for key in keys - used)
        self._counts.update(f"{USED_CASE}{key.text}" for key in keys & used)

    def count(self, counts: Mapping[str, int], unused: Iterable[str] = ()) -> None:
        """Adds counts of samples that were not made by `samples`, and the eval ids of cases without one."""
        self._counts.update(counts)
        self._unused = sorted({*self._unused, *unused})

    def add(self, scored: ScoredConversation) -> None:
        """Computes the verdict of a scored conversation and adds its rows."""
        try:
            evaluated = decide(scored, self._settings.run)
        except RAISED as error:
            self.lose(scored.sample, error)
            return
        self._counts["results"] += 1
        self._guesses.add(scored)
        self.fail(scored.failures)
        self._counts.update(judged_counts(scored, evaluated.verdict.status))
        self._scores += cast("list[ScoreRow]", plain_rows(evaluated.scores))
        self._results += evaluated.results
        self._conversations += evaluated.conversations
        add_conversation(self._sums, scored, evaluated.verdict, evaluated.parts)

    def lose(self, sample: Sample, error: BaseException) -> None:
        """Adds the failure of a conversation that could not be scored."""
        self._counts["lost_conversations"] += 1
        self.fail([record_failure("score", error, sample.record, sample.conversation.conversation_id)])

    def result(self, usage: UsageByModel) -> RunResult:
        """Returns everything; `usage` is the judge's usage."""
        run_id = self._settings.run.run_id
        sums = sorted(self._sums.items())
        versions = [row for entry in sums for row in version_rows(entry, run_id)]
        turns = [row for entry in sums for row in turn_rows(entry, run_id)]
        slices = [row for entry in sums for row in slice_rows(entry, run_id)]
        counts = run_counts(self._counts)
        problems = gate_problems(self._settings, counts, versions)
        tables = (self._scores, self._conversations, self._failures)
        problems += rows_problems(self._settings, *tables, dict(counts), self._unused)
        joint = joint_document(self._settings, self._counts)
        figures = Figures(
            counts,
            usage,
            guesses_by_tool(dict(self._guesses.items())),
            to_read=to_read(self._conversations),
            difference=_NOT_COMPARED if compared_versions(versions_of(versions)) else "",
            joint=joint,
        )
        has_failed = any(row["evaluation_status"] == "FAIL" for row in self._results)
        return RunResult(
            run_id=run_id,
            status="FAIL" if has_failed else None if problems else "PASS",
            problems=tuple(problems),
            scores=Table("scores", self._scores),
            results=Table("results", self._results),
            conversations=Table("conversations", self._conversations),
            metrics_by_app_version=Table("metrics_by_app_version", versions),
            metrics_by_turn=Table("metrics_by_turn", turns),
            metrics_by_slice=Table("metrics_by_slice", slices),
            failures=Table("failures", self._failures),
            counts=dict(counts),
            judge=judge_document(self._settings, usage, versions, joint),
            summary=summary_text(self._settings, figures, versions),
        )

    def fail(self, failures: list[Failure]) -> None:
        """Adds failures."""
        for failure in failures:
            for row in failure_rows(failure, self._settings.run.run_id):
                self._failures.append(row)
                self._counts.update(failure_counters(row))
