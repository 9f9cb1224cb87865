"""Discovery Engine's sessions of questions and Answers (v1beta)."""

from pydantic import Field

from turnwise.schemas.discovery_engine import AnswerMessage
from turnwise.schemas.discovery_engine.answer import Answer
from turnwise.schemas.proto.fields import Bool, Implicit, Map, OpenEnum, Repeated, Struct, Text, Timestamp
from turnwise.schemas.values import no_items


class Query(AnswerMessage):
    """A question of a user."""

    ONEOFS = (("text",),)

    text: Text | None = None
    query_id: Text = ""


class SessionTurn(AnswerMessage):
    """A question and its answer."""

    PROTO = "Session.Turn"

    query: Query | None = None
    answer: Text = ""
    """Name of the Answer."""
    detailed_answer: Answer | None = None
    """The Answer itself; only where the session was read with its answers."""
    detailed_assist_answer: Struct | None = None
    """An AssistAnswer, kept as an object."""
    query_config: Map[Text] = Field(default_factory=dict)
    live: Bool = False


class SessionState(OpenEnum):
    """State of a session."""

    STATE_UNSPECIFIED = 0
    IN_PROGRESS = 1


class AnswerSession(AnswerMessage):
    """Questions and answers of one conversation."""

    PROTO = "Session"

    name: Text = ""
    display_name: Text = ""
    state: Implicit[SessionState] = SessionState(0)
    user_pseudo_id: Text = ""
    turns: Repeated[SessionTurn] = Field(default_factory=no_items)
    labels: Repeated[Text] = Field(default_factory=no_items)
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    is_pinned: Bool = False
    pending_async_assist_operation_id: Text = ""


class AnswerQueryResponse(AnswerMessage):
    """Reply of the service to a question."""

    answer: Answer | None = None
    session: AnswerSession | None = None
    answer_query_token: Text = ""
