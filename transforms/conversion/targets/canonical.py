"""turnwise's own JSON as a target."""

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.transforms.conversion.plain import plain
from turnwise.transforms.formats.canonical import read_case, read_conversation
from turnwise.transforms.tools.conversion import Codec, Target, register_target


def _write(conversation: Conversation) -> JsonObject:
    """Returns a conversation with `turns`, by which its record is recognised."""
    return {"turns": [], **plain(conversation)}


register_target(
    Target(
        name="turnwise",
        help="turnwise's own canonical JSON",
        conversation=Codec(write=_write, read=lambda value: read_conversation(dump_json(value))),
        case=Codec(write=plain, read=lambda value: read_case(dump_json(value))),
    )
)
