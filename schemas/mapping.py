"""The config's mapping from records of any form to conversations."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, model_validator

_SHOWN = 200


def _checked(expression: str) -> str:
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        jmespath.compile(expression)
    except JMESPathError as error:
        said = " ".join(str(error).split())[:_SHOWN]
        raise ValueError(f"{expression!r} is no JMESPath expression: {said}") from None
    return expression


Path = Annotated[str, AfterValidator(_checked)]
"""A JMESPath expression, such as `meta.id` or `lines[*].{user: asked, agent: said}`."""


class MappingConfig(BaseModel):
    """Where the fields of conversations stand in records of any form, as JMESPath expressions.

    Exactly one of `turns`, `messages`, `turn` and `message` is set. With one of the last two, a record is a
    part of a conversation, and records with one `conversation_id` are joined.

    Attributes:
        when: Only records for which this is true; None: those that no format recognises.
        conversation_id: Id of the conversation.
        turns: List of turns with the fields of canonical ones.
        messages: List of messages in any format that is read.
        turn: The turn that the record is.
        message: The message that the record is.
        order: Number or text by which the records of a conversation are ordered; None: by time, then place.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    when: Path | None = None
    conversation_id: Path | None = None
    turns: Path | None = None
    messages: Path | None = None
    turn: Path | None = None
    message: Path | None = None
    order: Path | None = None
    app_version: Path | None = None
    language: Path | None = None
    eval_id: Path | None = None
    eval_set_id: Path | None = None
    start_time: Path | None = None
    tags: Path | None = None
    ended: Path | None = None
    ended_detail: Path | None = None
    labels: Path | None = None
    state: Path | None = None
    tools: Path | None = None

    @property
    def is_part(self) -> bool:
        """Whether a record is a part of a conversation."""
        return bool(self.turn or self.message)

    @model_validator(mode="after")
    def _one_content(self) -> "MappingConfig":
        given = [name for name in ("turns", "messages", "turn", "message") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("exactly one of turns, messages, turn and message is needed")
        if self.is_part and not self.conversation_id:
            raise ValueError(f"{given[0]} needs conversation_id, by which records are joined")
        return self
