"""Pages of items, as OpenAI's API lists them: newest first, unless it is asked for another order."""

from collections.abc import Sequence

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import as_object

_PAGE = ("object", "data")


def page_items(record: JsonObject) -> list[JsonValue] | None:
    """Returns the items of a page, oldest first; None: the record is no page."""
    object_, data = (record.get(key) for key in _PAGE)
    if object_ != "list" or not isinstance(data, list):
        return None
    items = [as_object(item) for item in data]
    return data[::-1] if items and _is_newest_first(items) else data


def _is_newest_first(items: Sequence[JsonObject]) -> bool:
    """Returns whether outputs stand before their calls, or only the last item is the user's."""
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        if str(item.get("type")).endswith("_output"):
            places.setdefault(str(item.get("call_id")), place)
    calls = [
        (str(item.get("call_id")), i) for i, item in enumerate(items) if item.get("type") == "function_call"
    ]
    paired = [i > places[name] for name, i in calls if name in places]
    if paired:
        return all(paired)
    return items[0].get("role") != "user" and items[-1].get("role") == "user"
