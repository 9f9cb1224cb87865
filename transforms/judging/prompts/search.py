"""What a model's own search found, as sections of evidence."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.config import snake_case
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.judging.prompts.sections import Section

MAX_FOUND = 100
"""Maximum number of sources, of attributed texts and of queries, per message."""

_NOT_SHOWN = frozenset(("search_entry_point", "google_maps_widget_context_token"))
_QUERIES = ("web_search_queries", "image_search_queries", "retrieval_queries")
_CHUNKS, _SUPPORTS = "grounding_chunks", "grounding_supports"
_SHOWN_OF_CHUNKS = ("title", "uri", "domain", "text")
_DEEPEST = 3


class FoundBySearch(NamedTuple):
    """What a search found.

    Attributes:
        sections: Queries, sources, and texts with their sources.
        rest: What has another form.
    """

    sections: list[Section]
    rest: list[JsonValue]


def found_by_search(grounding: JsonValue, number: int) -> FoundBySearch:
    """Renders the grounding metadata of a turn.

    Chunks of `google_search` hold an address and a title; what the sources say stands in
    `grounding_supports`, as texts that the search attributes to chunks. A text that it attributes to no chunk
    is left out, as are rendered search suggestions (`search_entry_point`, HTML).

    Args:
        grounding: Metadata, one entry for each message.
        number: Number of the turn.
    """
    found, first = FoundBySearch([], []), 1
    for value in grounding if isinstance(grounding, list) else [grounding]:
        metadata = {snake_case(key): item for key, item in value.items()} if isinstance(value, dict) else {}
        chunks, supports = _taken(metadata, _CHUNKS), _taken(metadata, _SUPPORTS)
        queries = [query for key in _QUERIES for query in _taken(metadata, key)]
        found.sections.extend(_limited(number, "searches", _queries(number, queries)))
        found.sections.extend(_limited(number, "sources", _sources(number, chunks, first)))
        found.sections.extend(
            _limited(number, "attributed texts", _texts(number, supports, len(chunks), first))
        )
        first += len(chunks)
        left = {
            key: item for key, item in metadata.items() if key not in _NOT_SHOWN and item not in (None, [])
        }
        if left or not isinstance(value, dict | None):
            found.rest.append(left or value)
    return found


def _taken(metadata: JsonObject, key: str) -> list[JsonValue]:
    """Removes a list from metadata and returns it; what is no list stays."""
    return metadata.pop(key) if isinstance(metadata.get(key), list) else []


def _queries(number: int, queries: Sequence[JsonValue]) -> Iterator[Section]:
    for query in queries:
        yield Section(f"turn {number}, searched for", str(query))


def _sources(number: int, chunks: Sequence[JsonValue], first: int) -> Iterator[Section]:
    for place, chunk in enumerate(chunks, first):
        yield Section(f"turn {number}, source {place} found by search", "\n".join(_lines(chunk, _DEEPEST)))


def _lines(chunk: JsonValue, depth: int) -> Iterator[str]:
    """Yields title, address and text of a source, wherever they stand in its chunk."""
    if isinstance(chunk, dict) and depth:
        for key in _SHOWN_OF_CHUNKS:
            if isinstance(chunk.get(key), str):
                yield chunk[key]
        for item in chunk.values():
            yield from _lines(item, depth - 1)


def _texts(number: int, supports: Sequence[JsonValue], chunks: int, first: int) -> Iterator[Section]:
    without_source = 0
    for support in supports:
        text, places = _attributed(support)
        known = sorted({place for place in places if place < chunks or not chunks})
        if text and known:
            sources = ", ".join(str(first + place) for place in known)
            yield Section(f"turn {number}, words that the search attributes to sources {sources}", text)
        else:
            without_source += 1
    if without_source:
        yield Section(f"turn {number}, {without_source} texts without a source are not shown", "")


def _attributed(support: JsonValue) -> tuple[str, list[int]]:
    """Returns the text of a support and the indices of its chunks."""
    fields = {snake_case(key): item for key, item in support.items()} if isinstance(support, dict) else {}
    segment, places = fields.get("segment"), fields.get("grounding_chunk_indices")
    text = segment.get("text") if isinstance(segment, dict) else None
    indices = (
        [place for place in places if type(place) is int and place >= 0] if isinstance(places, list) else []
    )
    return text if isinstance(text, str) else "", indices


def _limited(number: int, word: str, sections: Iterator[Section]) -> Iterator[Section]:
    listed = list(sections)
    yield from listed[:MAX_FOUND]
    if len(listed) > MAX_FOUND:
        yield Section(f"turn {number}, {len(listed) - MAX_FOUND} more {word} are not shown", "")
