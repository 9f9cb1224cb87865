"""Applies updates to evaluations."""

from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.proto.masks import parse_mask, update_fields
from turnwise.schemas.values import JsonObject


def written_fields(evaluation: Evaluation) -> JsonObject:
    """Returns the writable fields of an evaluation, in canonical proto3 JSON."""
    value = evaluation.to_value()
    return {name: item for name, item in value.items() if name not in Evaluation.OUTPUT_ONLY}


def updated_content(old: JsonObject, evaluation: Evaluation, update_mask: str | None) -> JsonObject:
    """Returns the content of an evaluation after an update; the name is kept, output-only fields are omitted.

    Args:
        old: The content before, in canonical proto3 JSON.
        evaluation: The new values.
        update_mask: The fields to change; None, "" or "*": all of them.

    Raises:
        MaskError: The mask names an unknown field, or leads through a list.
    """
    new = written_fields(evaluation)
    paths = parse_mask(Evaluation, update_mask or "")
    if paths is None:
        return {**new, "name": old["name"]}
    kept = [path for path in paths if path[0] != "name" and path[0] not in Evaluation.OUTPUT_ONLY]
    return update_fields(Evaluation, old, new, kept)
