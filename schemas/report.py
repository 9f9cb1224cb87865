"""The data of a report: conversations, figures, and what is missing.

None means: not known, not logged or not measured; never 0.
`run` and `version` are places of runs and versions.
"""

from typing import Literal

import msgspec

from turnwise.schemas.comparison import Comparison, FirstPage
from turnwise.schemas.jsonio import JsonObject, JsonValue


class CriterionFigure(msgspec.Struct, frozen=True):
    """One criterion in one app version.

    Attributes:
        count: Number of scores, those without a value included.
        share: Share of PASS in PASS and FAIL, 0..1; None: there is no outcome.
        low: Lower bound of the 95 % interval of the shown figure (`share`, or else `mean`).
        by_turn: Per 0-based turn index: the shown figure and its number of scores.
    """

    count: int
    scored: int
    no_score: int
    errors: int
    passed: int
    failed: int
    mean: float | None
    share: float | None
    low: float | None
    high: float | None
    by_turn: list[tuple[float | None, int]]


class CriterionRow(msgspec.Struct, frozen=True):
    """A row of the table of criteria.

    Attributes:
        name: Name of the criterion; `verdict` counts verdicts.
        level: `conversation` or `turn`: what the figures count.
        low: Lowest possible value of the shown figure; None: open.
        figures: One per version; None: n/a.
        about: What it measures, in one sentence; "": not known here (a plugin's).
        is_share: Whether the figures are shares: outcomes, or scores of 0 and 1 alone.
    """

    name: str
    unit: str
    level: str
    low: float | None
    high: float | None
    figures: list[CriterionFigure | None]
    about: str = ""
    is_share: bool = False


class SliceFigure(msgspec.Struct, frozen=True):
    """Outcomes of one criterion in one slice of one version.

    Attributes:
        difference: Pass share minus that of the version's others, -1..1; None: one of the two has no outcome.
        shrunk: The difference, drawn towards the mean of its criterion by its uncertainty.
        stands_out: Whether it is found at a false discovery rate of 10 % over all slices of the version.
        detectable: Smallest difference that Fisher's exact test of so many conversations sees with a power of
            80 %; None: none can be seen, or there is no difference.
    """

    passed: int
    failed: int
    no_score: int
    difference: float | None = None
    shrunk: float | None = None
    stands_out: bool = False
    detectable: float | None = None


class Slice(msgspec.Struct, frozen=True):
    """Conversations of a `language`, `tag`, `tool` or number of `turns`; figures per version, None: n/a."""

    kind: str
    value: str
    conversations: int
    figures: dict[str, list[SliceFigure | None]]


class ToolFigure(msgspec.Struct, frozen=True):
    """One tool in one version.

    Attributes:
        p50: Median of the logged seconds; None: none is logged.
        effects: Effect -> number of calls.
        wrong: Argument -> how often it was missing, extra or different, most frequent first.
    """

    tool: str
    version: int
    calls: int
    errors: int
    p50: float | None
    p95: float | None
    effects: dict[str, int]
    wrong: list[tuple[str, int]]


class Curve(msgspec.Struct, frozen=True):
    """Distribution of one quantity in one version.

    Attributes:
        quantity: `turn_latency`, `tokens_in`, ...
        unit: `seconds`, `tokens` or `count`.
        missing: Number of turns or conversations without one.
        quantiles: Values at evenly spaced shares from 0 to 1.
    """

    quantity: str
    unit: str
    version: int
    count: int
    missing: int
    quantiles: list[float]


class WithoutScore(msgspec.Struct, frozen=True):
    """Scores without a value, or verdicts not reached, for one reason, with places of a few conversations."""

    criterion: str
    version: int
    reason: str
    count: int
    examples: list[int]


class FailureGroup(msgspec.Struct, frozen=True):
    """Failures of a kind, or findings (stage `check`): how often, and the next step; the first `rows`."""

    stage: str
    error_type: str
    count: int
    sentence: str
    rows: list[JsonObject]


Detail = dict[str, JsonValue]
"""Transcript and scores of one conversation, as one entry of a chunk."""


class Conversations(msgspec.Struct, frozen=True):
    """All conversations in reading order, by column; texts of `int` columns are places in `names`, or -1.

    Attributes:
        worst: Place of the worst criterion's name; -1: none failed.
        worst_turn: Its 0-based turn; None: the whole conversation.
        severity: `critical`, `high`, `medium` or `low`; None: nothing went wrong.
        severity_score: What decides the order, at least 0.
        whole: Places of the names of the criteria with a score of the whole conversation.
        by_turn: Places of the names of the criteria with scores of turns.
        scores: Criterion -> value of each conversation: its own, or else the mean of its turns; None: none.
        chunk: Place of the chunk with transcript and scores; -1: left out of the report.
        is_random: Whether it is of the random sample of a report with few transcripts; true if all are there.
    """

    id: list[str]
    version: list[int]
    eval_id: list[str | None]
    language: list[int]
    tags: list[list[int]]
    verdict: list[str | None]
    reason: list[str | None]
    ended: list[str | None]
    worst: list[int]
    worst_turn: list[int | None]
    why: list[str | None]
    severity: list[str | None]
    severity_score: list[float]
    severity_reason: list[str | None]
    problem_label: list[str | None]
    problem_type: list[int]
    turns: list[int | None]
    tool_calls: list[int | None]
    tool_errors: list[int | None]
    destructive_calls: list[int | None]
    seconds: list[float | None]
    tokens_in: list[int | None]
    tokens_out: list[int | None]
    time: list[str | None]
    source: list[int]
    position: list[int | None]
    passed: list[list[int]]
    failed: list[list[int]]
    no_score: list[list[int]]
    whole: list[list[int]]
    by_turn: list[list[int]]
    labels: list[list[int]]
    tools: list[list[int]]
    agents: list[list[int]]
    scores: dict[str, list[float | None]]
    chunk: list[int]
    is_random: list[bool]


class ReportRun(msgspec.Struct, frozen=True):
    """One run of the report.

    Attributes:
        name: How texts call it: its id, or `This run` if there is no other; of joined runs, whose they are.
        date: Its date (`--date`), as ISO text.
        settings: Digest of what decides its scores: runs with another one were not measured in the same way.
        counts: Numbers of records, conversations and results, as in `run.json`.
        judge: Backend, model, usage and cost of the judge, as in `run.json`.
        redacted: What left as markers, as a clause; "": nothing.
        sampled_out: Conversations about which the judge was not asked.
        gaps: What was asked for and not measured at all, one sentence each.
    """

    run_id: str
    name: str
    directory: str
    date: str | None
    settings: str
    create_time: str
    exit_status: int
    problems: list[str]
    counts: JsonObject
    criteria: dict[str, JsonObject]
    judge: JsonObject
    has_transcripts: bool
    redacted: str
    sampled_out: int
    gaps: list[str]


class ReportVersion(msgspec.Struct, frozen=True):
    """One app version (None: not stated) of a run: a column of tables, under a name unique in the report."""

    name: str
    app_version: str | None
    run: int
    conversations: int
    turns: int
    passed: int
    failed: int
    no_verdict: int


class Sentence(msgspec.Struct, frozen=True):
    """One statement of the first screen; `run`: what it is about, None: a version, or the comparison."""

    text: str
    run: int | None = None


class Report(msgspec.Struct, frozen=True):
    """Everything on the page but transcripts and scores, which are in chunks.

    Attributes:
        report_id: Id that the chunks of the report carry, too.
        first_pages: The answer of each comparison, or of the only version; the first one is shown first.
        reasons: Lines on why verdicts are missing, of each first page; empty: none is known.
        sentences: Why the result cannot be relied on.
        coverage: One sentence per run that balances records, conversations and scores.
        tables: The table of criteria of each comparison as cells, the head first.
        names: Texts that columns name by place.
        read_first: Places of the conversations to read first, of each first page; without one, of all.
        inline_chunks: How many of them the page itself holds; the others are files beside it.
        omitted: Conversations whose transcripts were left out.
        sample_seed: Seed of the sample of a report with few transcripts; None: all are there.
    """

    report_id: str
    runs: list[ReportRun]
    versions: list[ReportVersion]
    first_pages: list[FirstPage]
    reasons: list[list[str]]
    sentences: list[Sentence]
    coverage: list[Sentence]
    comparisons: list[Comparison]
    tables: list[list[list[str]]]
    criteria: list[CriterionRow]
    slices: list[Slice]
    tools: list[ToolFigure]
    curves: list[Curve]
    no_score: list[WithoutScore]
    failures: list[FailureGroup]
    names: list[str]
    read_first: list[list[int]]
    conversations: Conversations
    chunks: int
    inline_chunks: int
    omitted: int
    sample_seed: str | None


# What files hold: the document of `turnwise inspect --json`.

Applies = Literal["scored", "judge", "cases", "no"]
"""`scored`: as the logs are. `judge`: as they are, by a judge. `cases`: if eval cases state what is expected.
`no`: not at all.
"""


class Noted(msgspec.Struct):
    """What was not read: kind and first message; `position`: 1-based line or index, 0: the whole file."""

    what: str
    message: str
    count: int
    source: str
    position: int


class CriterionUse(msgspec.Struct):
    """Whether a criterion would score conversations.

    Attributes:
        applies: What it needs beside the logs.
        conversations: Number of the tried conversations to which this applies.
        why: Why it has no score; null: it is, or its judge would be asked.
    """

    criterion: str
    applies: Applies
    conversations: int
    why: str | None = None


class FileInspection(msgspec.Struct):
    """What a file holds.

    Attributes:
        formats: Format -> number of records; "": not recognised.
        conversations: Number of conversations; one joined of events counts in the file of its first event.
        results: Number of the tools' responses.
        joined: Number of events (records, or parts of them: spans) that were joined into conversations.
        names_case: Conversations that name an eval case and do not bring it along.
        without_version: Conversations that state no app version, by their source.
        not_read: What could not be read, by message; those beyond the first 20 kinds are counted together.
        findings: What was left out of conversations, or not understood in them, by kind.
        tried: Number of conversations on which the criteria were tried, the first ones.
        criteria: The criteria of the registry, of the conversations.
        case_criteria: Those that score a conversation because of the eval cases of the file.
        example: The first conversation, or case, shortened; null: there is none.
    """

    path: str
    formats: dict[str, int] = {}
    records: int = 0
    conversations: int = 0
    turns: int = 0
    calls: int = 0
    results: int = 0
    cases: int = 0
    joined: int = 0
    names_case: int = 0
    without_version: dict[str, int] = {}
    not_read: list[Noted] = []
    findings: list[Noted] = []
    tried: int = 0
    criteria: list[CriterionUse] = []
    case_criteria: list[CriterionUse] = []
    example: JsonObject | None = None

    @property
    def is_read(self) -> bool:
        """Whether it holds something, and everything in it could be read."""
        return not self.not_read and bool(self.conversations or self.cases or self.joined)


class Inspection(msgspec.Struct):
    """What several files hold.

    Attributes:
        other_files: Files in the directories whose names say that they hold no records.
        no_version: Where an app version was looked for; null: a conversation states one, or there is none.
    """

    files: list[FileInspection]
    other_files: list[str]
    no_version: str | None = None

    @property
    def is_read(self) -> bool:
        """Whether every file holds something, and everything in it could be read."""
        return bool(self.files) and all(file.is_read for file in self.files)


class NotConverted(msgspec.Struct):
    """Something that was not converted; `position`: 1-based line or index, 0: the file as a whole."""

    source: str
    position: int
    reason: str


class Conversion(msgspec.Struct):
    """What was converted, and what the target could not hold.

    Attributes:
        output: The file; null: nothing was written.
        not_held: Field -> how often the target does not hold it, or holds something else in its place.
        added: Field -> how often the target states it and the original does not.
        lost_count: Number of records, conversations and cases that were not converted.
        rejected: The first 20 of them.
        skipped: Why something was left out on purpose -> how often.
        notes: What a person should look at in what was written -> how often.
    """

    to: str
    output: str | None = None
    conversations: int = 0
    cases: int = 0
    written: int = 0
    not_held: dict[str, int] = {}
    added: dict[str, int] = {}
    lost_count: int = 0
    rejected: list[NotConverted] = []
    skipped: dict[str, int] = {}
    notes: dict[str, int] = {}
