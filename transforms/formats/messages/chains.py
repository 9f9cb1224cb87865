"""Requests that continue each other because the server keeps the history: which record follows which."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.messages.halves import halves
from turnwise.transforms.formats.messages.messages_base import KEPT_BY
from turnwise.transforms.formats.messages.values import as_object
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.text.dates import time_seconds


class _Link(NamedTuple):
    value: JsonObject
    time: float
    name: str | None
    previous: str | None
    is_kept: bool


def chains(values: Sequence[JsonObject]) -> list[list[JsonObject]]:
    """Returns the records of one conversation in chains, each in order, by the time of its last reply.

    A record follows the one whose reply it names as the previous one. Where two follow the same reply, each
    ends a chain of its own. Records whose conversation the server keeps are one chain, by time. Any other
    record is a chain by itself.
    """
    links = sorted(map(_link, values), key=lambda link: link.time)
    kept = [place for place, link in enumerate(links) if link.is_kept]
    places = {link.name: place for place, link in enumerate(links) if link.name}
    followed = {places.get(link.previous) for link in links if link.previous}
    ends = set(range(len(links))) - followed - set(kept[:-1]) or {len(links) - 1}
    found = [kept if place in kept else _chain(place, links, places) for place in sorted(ends)]
    return [[links[place].value for place in chain] for chain in found]


def _link(value: JsonObject) -> _Link:
    request, reply, events = halves(value)
    last = events[-1].get("response") if events and not isinstance(reply, dict) else None
    held = as_object(reply if isinstance(reply, dict) else last)
    time = time_seconds(held.get("created_at")) or time_seconds(held.get("created")) or 0.0
    previous = as_text(request.get(KEPT_BY[0]))
    is_kept = previous is None and any(request.get(key) is not None for key in KEPT_BY[1:])
    return _Link(value, time, as_text(held.get("id")), previous, is_kept)


def _chain(place: int, links: Sequence[_Link], places: dict[str, int]) -> list[int]:
    """Returns the places of a record and of those before it."""
    chain: list[int] = []
    at: int | None = place
    while at is not None and at not in chain:
        chain.append(at)
        previous = links[at].previous
        at = places.get(previous) if previous else None
    return chain[::-1]
