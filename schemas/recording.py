"""The row of a whole conversation, which a store keeps to score it again."""

from typing import TypedDict


class RecordingRow(TypedDict):
    """One conversation that was held against a case.

    Attributes:
        run_id: Id of the run.
        conversation_id: Id of the conversation.
        eval_id: Id of the eval case.
        eval_set_id: Id of the eval set of the case.
        app_version: Version of the agent; null: the log does not state it.
        recording: The conversation as JSON.
    """

    run_id: str
    conversation_id: str
    eval_id: str
    eval_set_id: str | None
    app_version: str | None
    recording: str
