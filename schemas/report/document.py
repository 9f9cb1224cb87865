"""A report as a whole: what the page holds, apart from transcripts and scores."""

import msgspec

from turnwise.schemas.comparison import Comparison
from turnwise.schemas.report import CriterionRow, Curve, FailureGroup, Slice, ToolFigure, Unscored
from turnwise.schemas.report.conversations import Conversations
from turnwise.schemas.values import JsonObject


class ReportRun(msgspec.Struct, frozen=True):
    """One run of the report.

    Attributes:
        run_id: Id of the run.
        directory: Where its files are, as given.
        create_time: Start of the run, RFC 3339.
        exit_status: Exit status of the run.
        problems: Why the run failed.
        counts: Numbers of records, conversations and results, as in `run.json`.
        criteria: Criterion -> its fields.
        judge: Backend, model, usage and cost of the judge, as in `run.json`.
        has_conversations: Whether it wrote `conversations-*`.
        has_transcripts: Whether the run wrote what was said.
        sampled_out: Conversations about which the judge was not asked.
        gaps: What was asked for and not measured at all, one sentence each.
    """

    run_id: str
    directory: str
    create_time: str
    exit_status: int
    problems: list[str]
    counts: JsonObject
    criteria: dict[str, JsonObject]
    judge: JsonObject
    has_conversations: bool
    has_transcripts: bool
    sampled_out: int
    gaps: list[str]


class ReportVersion(msgspec.Struct, frozen=True):
    """One app version of one run: a column of the tables.

    Attributes:
        name: A short name, unique in the report.
        app_version: The full name; None: the logs do not state it.
        run: Place of its run.
        conversations: Number of conversations.
        turns: Number of turns.
        passed: Conversations with the verdict PASS.
        failed: Conversations with the verdict FAIL.
        undecided: Conversations without a verdict.
    """

    name: str
    app_version: str | None
    run: int
    conversations: int
    turns: int
    passed: int
    failed: int
    undecided: int


class Sentence(msgspec.Struct, frozen=True):
    """One statement of the first screen.

    Attributes:
        text: The sentence.
        tone: What is said of a difference (`better`, `worse`, `cannot tell`, ...), `neutral`, `note`, or
            `problem`: the result cannot be relied on.
        criterion: The criterion it is about; None: the run.
    """

    text: str
    tone: str
    criterion: str | None = None


class Report(msgspec.Struct, frozen=True):
    """Everything on the page but transcripts and scores, which are in chunks.

    Attributes:
        report_id: Id that the chunks of the report carry, too.
        runs: The runs.
        versions: The columns.
        sentences: The first screen, problems first.
        coverage: One sentence per run that balances records, conversations and scores.
        comparisons: The first version with each other one.
        criteria: Rows of the table of criteria.
        slices: Rows of the grid of slices.
        tools: Figures of tools.
        curves: Distributions.
        unscored: What was not scored, by reason.
        failures: Failures and findings, by kind.
        names: Texts that columns name by place.
        read_first: Places of the conversations to read first, at most three of a cluster.
        conversations: All conversations.
        chunks: Number of chunks.
        inline_chunks: How many of them the page itself holds; the others are files beside it.
        omitted: Conversations whose transcripts were left out.
        sample_seed: Seed of the sample of a report with few transcripts; None: all are there.
    """

    report_id: str
    runs: list[ReportRun]
    versions: list[ReportVersion]
    sentences: list[Sentence]
    coverage: list[Sentence]
    comparisons: list[Comparison]
    criteria: list[CriterionRow]
    slices: list[Slice]
    tools: list[ToolFigure]
    curves: list[Curve]
    unscored: list[Unscored]
    failures: list[FailureGroup]
    names: list[str]
    read_first: list[int]
    conversations: Conversations
    chunks: int
    inline_chunks: int
    omitted: int
    sample_seed: str | None
