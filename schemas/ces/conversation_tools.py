"""Requests and responses of the tools that show conversations of runs."""

from pydantic import Field

from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Double, Int32, Int64, Repeated, Struct, Text
from turnwise.schemas.values import no_items


class ListConversationsToReadRequest(ToolMessage):
    """List the conversations of a run that should be read first."""

    REQUIRED = ("parent",)
    RANGES = (("page_size", 0, None),)

    parent: Text = ""
    """The app: projects/P/locations/L/apps/A."""
    evaluation_run: Text = ""
    """Name or id of the run; absent: the run that was written last."""
    app_version: Text = ""
    """Name or id of an app version; absent: all versions."""
    page_size: Int32 = 0
    """Number of conversations, at most 50; absent: 10."""


class ConversationBrief(ToolMessage):
    """A conversation of a run, in short."""

    name: Text = ""
    """Name of the conversation in the store."""
    conversation_id: Text = ""
    """Its id in the log."""
    app_version: Text = ""
    """App version."""
    verdict: Text = ""
    """PASS or FAIL; absent: not decided."""
    why: Text = ""
    """Why it should be read, in one line; turns are counted from 0."""
    harm: Double = 0.0
    """Order of reading: the greater, the earlier."""
    harm_term: Text = ""
    """What most of the harm comes from; absent: the harm is 0."""
    worst_criterion: Text = ""
    """Criterion of the worst score."""
    worst_turn: Int32 | None = None
    """Turn of the worst score, from 0."""
    cluster: Text = ""
    """Kind of problem: criterion, label and tool."""
    cluster_size: Int32 = 0
    """Conversations of the run and version with the same kind of problem."""
    tags: Repeated[Text] = Field(default_factory=no_items)
    """Tags."""
    language: Text = ""
    """Language."""
    event_time: Text = ""
    """When it took place."""


class ListConversationsToReadResponse(ToolMessage):
    """The conversations to read first, at most three of one kind of problem."""

    evaluation_run: Text = ""
    """Name of the run."""
    run_state: Text = ""
    """COMPLETED. RUNNING: it has not ended, or was killed; more may come. ERROR, CANCELLED: it broke off."""
    unread_runs: Repeated[Text] = Field(default_factory=no_items)
    """Where no run was named: runs that wrote later, and have not ended or broke off, one line each."""
    conversations: Repeated[ConversationBrief] = Field(default_factory=no_items)
    """The conversations, the worst first."""
    conversation_count: Int32 = 0
    """All conversations of the run and version."""
    fail_count: Int32 = 0
    """Of them, those that failed."""
    undecided_count: Int32 = 0
    """Of them, those without a verdict."""
    lost_record_count: Int32 = 0
    """Records and conversations that could not be read or scored, and replaced results; get_failures lists
    them."""


class GetConversationRequest(ToolMessage):
    """Read a conversation of a run: by its name, or by app, id and run."""

    name: Text = ""
    """Name of the conversation in the store."""
    parent: Text = ""
    """The app, if no name is given: projects/P/locations/L/apps/A."""
    conversation_id: Text = ""
    """Id of the conversation in the log, if no name is given."""
    evaluation_run: Text = ""
    """Name or id of the run; absent: the run that was written last."""


class ConversationScore(ToolMessage):
    """A score of a conversation or of one of its turns."""

    score_id: Text = ""
    """Id of the score."""
    turn_index: Int32 | None = None
    """0-based; absent: the whole conversation."""
    criterion: Text = ""
    """Name of the criterion."""
    value: Double | None = None
    """Absent: unscored."""
    outcome: Text = ""
    """PASS, FAIL or SKIPPED; absent: not decided."""
    threshold: Double | None = None
    """Threshold of the criterion."""
    label: Text = ""
    """Label of the score."""
    reason: Text = ""
    """Why there is no value or no outcome."""
    explanation: Text = ""
    """Why it fails."""


class RecordedConversation(ToolMessage):
    """A conversation of a run: words, calls, what was expected, and scores with their reasons."""

    name: Text = ""
    """Name of the conversation in the store."""
    evaluation_run: Text = ""
    """Name of the run."""
    conversation_id: Text = ""
    """Its id in the log."""
    eval_id: Text = ""
    """Id of the eval case; absent: none."""
    app_version: Text = ""
    """App version."""
    language: Text = ""
    """Language."""
    tags: Repeated[Text] = Field(default_factory=no_items)
    """Tags."""
    verdict: Text = ""
    """PASS or FAIL; absent: not decided."""
    reason: Text = ""
    """Why it is not decided, or why it fails whatever its scores."""
    ended: Text = ""
    """How it ended, such as normally or agent_error; absent: the log does not say."""
    why: Text = ""
    """Why it should be read, in one line."""
    harm: Double = 0.0
    """Order of reading: the greater, the earlier."""
    harm_term: Text = ""
    """What most of the harm comes from; absent: the harm is 0."""
    worst_criterion: Text = ""
    """Criterion of the worst score."""
    worst_turn: Int32 | None = None
    """Turn of the worst score, from 0."""
    cluster: Text = ""
    """Kind of problem: criterion, label and tool."""
    turns: Int32 = 0
    """Number of turns."""
    tool_calls: Int32 = 0
    """Number of calls."""
    tool_errors: Int32 = 0
    """Number of those that failed."""
    destructive_calls: Int32 = 0
    """Number of successful calls that cannot be undone."""
    latency_seconds: Double | None = None
    """Sum over the turns; absent: not logged of every turn."""
    tokens_in: Int64 | None = None
    """Tokens read by the agent's models; absent: not logged of every turn."""
    tokens_out: Int64 | None = None
    """Tokens written by them; absent: not logged of every turn."""
    event_time: Text = ""
    """When it took place."""
    source: Text = ""
    """File that it came from."""
    position: Int64 | None = None
    """Its line or index in the file, from 1."""
    transcript: Struct | None = None
    """What was said and called, at most 64 KiB; absent: the run kept none."""
    scores: Repeated[ConversationScore] = Field(default_factory=no_items)
    """Failed ones first, then unscored ones; at most 200."""
    omitted_score_count: Int32 = 0
    """Scores that are left out here."""
    other_names: Repeated[Text] = Field(default_factory=no_items)
    """Names of the same conversation in the run, with another case or app version; at most 20."""
