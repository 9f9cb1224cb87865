"""What a stream has kept, as the counts that a run reports."""

from collections.abc import Mapping

from pipeline.accounts import guesses_by_tool
from schemas.values import JsonObject

_FAILURE, _FINDING, _VERSION, _GUESS = "failure ", "finding ", "version ", "guess "
_PLAIN = ("records", "lost_records", "lost_conversations", "results", "lost_cases", "replaced", "repeated")


def stream_counts(counts: Mapping[str, int]) -> JsonObject:
    """Returns the counts of a store by the names that every run reports.

    `replaced` are results that a later revision took the place of, `repeated` conversations that came again
    as they were.
    """
    found: JsonObject = {name: counts.get(name, 0) for name in _PLAIN}
    found["parsed_records"] = found["records"] - found["lost_records"]
    found["conversations"] = found["results"] + found["lost_conversations"]
    for name, prefix in (("failures", _FAILURE), ("findings", _FINDING)):
        named = _named(counts, prefix)
        found[name] = dict(sorted(named.items(), key=lambda entry: (-entry[1], entry[0])))
    return {**found, "cases": 0, "unused_cases": 0, "failures_by_version": _named(counts, _VERSION)}


def stream_guesses(counts: Mapping[str, int]) -> JsonObject:
    """Returns the tools whose effect was guessed, as every run reports them."""
    return guesses_by_tool(_named(counts, _GUESS))


def _named(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): n for name, n in counts.items() if name.startswith(prefix)}
