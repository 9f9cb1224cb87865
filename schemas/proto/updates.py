"""Applies updates to resources: messages with a name and fields that only the service sets."""

from turnwise.schemas.proto.masks import parse_mask, update_fields
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import JsonObject


def written_fields(resource: Message) -> JsonObject:
    """Returns the writable fields of a resource, in canonical proto3 JSON."""
    return {name: item for name, item in resource.to_value().items() if name not in resource.OUTPUT_ONLY}


def updated_content(old: JsonObject, resource: Message, update_mask: str | None) -> JsonObject:
    """Returns the content of a resource after an update; the name is kept, output-only fields are omitted.

    Args:
        old: The content before, in canonical proto3 JSON.
        resource: The new values.
        update_mask: The fields to change; None, "" or "*": all of them.

    Raises:
        MaskError: The mask names an unknown field, or leads through a list.
    """
    kind, new = type(resource), written_fields(resource)
    paths = parse_mask(kind, update_mask or "")
    if paths is None:
        return {**new, "name": old["name"]}
    kept = [path for path in paths if path[0] != "name" and path[0] not in kind.OUTPUT_ONLY]
    return update_fields(kind, old, new, kept)
