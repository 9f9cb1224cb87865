"""Requests and responses of the tools that show conversations of runs."""

from pydantic import Field

from turnwise.schemas.ces.tools import ToolMessage
from turnwise.schemas.proto.fields import Double, Int32, Int64, Repeated, Struct, Text


class ListConversationsToReadRequest(ToolMessage):
    """List the conversations of a run that should be read first."""

    parent: Text = ""
    """The app."""
    evaluation_run: Text = ""
    """Name or id of the run; absent: the run that was written last."""
    app_version: Text = ""
    """Name or id of an app version; absent: all versions."""
    page_size: Int32 = 0
    """Number of conversations, at most 50; absent: 10."""


class ConversationBrief(ToolMessage):
    """A conversation of a run, in short."""

    name: Text = ""
    conversation_id: Text = ""
    app_version: Text = ""
    verdict: Text = ""
    """PASS or FAIL; absent: not decided."""
    why: Text = ""
    """Why it should be read, in one line; turns are counted from 0."""
    harm: Double = 0.0
    """Order of reading: the greater, the earlier."""
    harm_term: Text = ""
    worst_criterion: Text = ""
    worst_turn: Int32 | None = None
    cluster: Text = ""
    """Kind of problem: criterion, label and tool."""
    cluster_size: Int32 = 0
    """Conversations of the run and version with the same kind of problem."""
    tags: Repeated[Text] = Field(default_factory=list)
    language: Text = ""
    event_time: Text = ""


class ListConversationsToReadResponse(ToolMessage):
    """The conversations to read first, at most three of one kind of problem."""

    evaluation_run: Text = ""
    run_state: Text = ""
    """COMPLETED. RUNNING: it has not ended, or was killed; more may come. ERROR, CANCELLED: it broke off.
    UNKNOWN: an earlier version of turnwise wrote it."""
    conversations: Repeated[ConversationBrief] = Field(default_factory=list)
    conversation_count: Int32 = 0
    """All conversations of the run and version."""
    fail_count: Int32 = 0
    undecided_count: Int32 = 0
    lost_record_count: Int32 = 0
    """Records of the run, and conversations, that could not be read or scored; get_failures lists them."""


class GetConversationRequest(ToolMessage):
    """Read a conversation of a run: by its name, or by app, id and run."""

    name: Text = ""
    parent: Text = ""
    """The app."""
    conversation_id: Text = ""
    evaluation_run: Text = ""
    """Name or id of the run; absent: the run that was written last."""


class ConversationScore(ToolMessage):
    """A score of a conversation or of one of its turns."""

    score_id: Text = ""
    turn_index: Int32 | None = None
    """0-based; absent: the whole conversation."""
    criterion: Text = ""
    value: Double | None = None
    """Absent: unscored."""
    outcome: Text = ""
    threshold: Double | None = None
    label: Text = ""
    reason: Text = ""
    """Why there is no value or no outcome."""
    explanation: Text = ""
    """Why it fails."""


class RecordedConversation(ToolMessage):
    """A conversation of a run: words, calls, what was expected, and scores with their reasons."""

    name: Text = ""
    evaluation_run: Text = ""
    conversation_id: Text = ""
    eval_id: Text = ""
    app_version: Text = ""
    language: Text = ""
    tags: Repeated[Text] = Field(default_factory=list)
    verdict: Text = ""
    reason: Text = ""
    """Why it is not decided, or why it fails whatever its scores."""
    ended: Text = ""
    why: Text = ""
    harm: Double = 0.0
    harm_term: Text = ""
    worst_criterion: Text = ""
    worst_turn: Int32 | None = None
    cluster: Text = ""
    turns: Int32 = 0
    tool_calls: Int32 = 0
    tool_errors: Int32 = 0
    destructive_calls: Int32 = 0
    latency_seconds: Double | None = None
    tokens_in: Int64 | None = None
    tokens_out: Int64 | None = None
    event_time: Text = ""
    source: Text = ""
    position: Int64 | None = None
    transcript: Struct | None = None
    """What was said and called, at most 64 KiB; absent: the run kept none."""
    scores: Repeated[ConversationScore] = Field(default_factory=list)
    """Failed ones first, then unscored ones; at most 200."""
    omitted_score_count: Int32 = 0
    other_names: Repeated[Text] = Field(default_factory=list)
    """Names of the same conversation in the run, with another case or app version; at most 20."""
