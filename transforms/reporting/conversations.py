"""The conversations of a report: reading order, columns, and what a chunk holds of each."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from turnwise.schemas.report import Conversations, Detail
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.decisions.report.collect import AnyRow, Entry, VersionKey, turns_of
from turnwise.transforms.reporting.calls import call_pairs, expected_calls
from turnwise.transforms.reporting.exact import exact_json
from turnwise.transforms.reporting.slices import outcomes
from turnwise.transforms.review.problems import reading_key, to_read
from turnwise.transforms.scoring.evaluate import STATUS

CHUNK_CHARACTERS = 400_000
SAMPLE = 200
_NONE = -1


def reading_order(entries: Sequence[Entry]) -> list[Entry]:
    """Returns the conversations in the order of reading."""
    return sorted(entries, key=lambda entry: reading_key(entry.row))


def read_first(entries: Sequence[Entry]) -> list[int]:
    """Returns the places of the conversations to read first, among those in the order of reading."""
    places = {id(entry.row): place for place, entry in enumerate(entries)}
    return [places[id(row)] for row in to_read([entry.row for entry in entries])]


def sample_first(entries: Sequence[Entry], seed: str) -> tuple[list[int], set[int]]:
    """Returns places in the order in which a small report keeps them: a random sample, no passes, passes.

    Returns:
        The places, and those of the random sample: the conversations whose hash with the seed is lowest.
    """
    ranked = sorted(range(len(entries)), key=lambda place: _hash(seed, entries[place]))
    sample = set(ranked[:SAMPLE])
    rest = sorted(ranked[SAMPLE:], key=lambda place: (entries[place].row["verdict"] == "PASS", place))
    return [*sorted(sample), *rest], sample


def _hash(seed: str, entry: Entry) -> str:
    return sha256(f"{seed}\0{entry.identity}".encode("utf-8", "surrogatepass")).hexdigest()


def chunks(entries: Sequence[Entry], places: Sequence[int]) -> Iterator[tuple[list[int], str]]:
    """Yields chunks: places of conversations, and JSON of their details by place."""
    held: dict[int, str] = {}
    size = 0
    for place in places:
        text = exact_json(detail(entries[place]))
        if held and size + len(text) > CHUNK_CHARACTERS:
            yield list(held), _chunk_text(held)
            held, size = {}, 0
        held[place] = text
        size += len(text)
    if held:
        yield list(held), _chunk_text(held)


def _chunk_text(held: dict[int, str]) -> str:
    return "{" + ",".join(f'"{place}":{text}' for place, text in held.items()) + "}"


def detail(entry: Entry) -> Detail:
    """Returns transcript and scores of a conversation; expected calls are paired with actual ones."""
    transcript = entry.row["transcript"]
    if transcript is not None:
        transcript = {**transcript, "turns": [_paired(turn) for turn in turns_of(entry.row)]}
    return {
        "eval_set_id": entry.row["eval_set_id"],
        "transcript": transcript,
        "scores": entry.own_scores,
        "is_repeated": entry.is_repeated,
    }


def _paired(turn: AnyRow) -> AnyRow:
    expected = expected_calls(turn)
    if expected is None:
        return turn
    return {**turn, "pairs": call_pairs(expected, turn.get("tool_calls") or [])}


class _Names:
    """Numbers texts in the order in which they first occur."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str | None) -> int:
        return _NONE if text is None else self._places.setdefault(text, len(self._places))

    def places(self, texts: Sequence[str]) -> list[int]:
        return [self._places.setdefault(text, len(self._places)) for text in dict.fromkeys(texts)]

    @property
    def texts(self) -> list[str]:
        return list(self._places)


_PLAIN = {
    "id": "conversation_id",
    "seconds": "latency_seconds",
    "time": "event_time",
    **{
        name: name
        for name in (
            *("eval_id", "verdict", "reason", "ended", "worst_turn", "why", "harm", "harm_term"),
            *("cluster_label", "turns", "tool_calls", "tool_errors", "destructive_calls"),
            *("tokens_in", "tokens_out", "position"),
        )
    },
}
_NAMED = {"language": "language", "worst": "worst_criterion", "cluster": "cluster", "source": "source"}


def columns(
    entries: Sequence[Entry],
    versions: Sequence[VersionKey],
    chunk_of: dict[int, int],
    sample: set[int] | None,
) -> tuple[Conversations, list[str]]:
    """Returns the columns of conversations in reading order, and the texts that they name by place.

    Args:
        entries: The conversations.
        versions: The versions, in display order.
        chunk_of: Place of a conversation -> its chunk.
        sample: Places of the random sample; None: nothing is left out.
    """
    names = _Names()
    rows: list[AnyRow] = [dict(entry.row) for entry in entries]
    by_name: dict[str, list[Any]] = {
        **{name: [row[source] for row in rows] for name, source in _PLAIN.items()},
        **{name: [names.place(row[source]) for row in rows] for name, source in _NAMED.items()},
        **_score_columns(entries, names),
    }
    found = Conversations(
        **by_name,
        version=[versions.index(entry.version) for entry in entries],
        tags=[names.places(row["tags"]) for row in rows],
        tools=[names.places(_tools(entry.row)) for entry in entries],
        chunk=[chunk_of.get(place, _NONE) for place in range(len(entries))],
        is_random=[sample is None or place in sample for place in range(len(entries))],
    )
    return found, names.texts


def _score_columns(entries: Sequence[Entry], names: _Names) -> dict[str, list[Any]]:
    """Returns which criteria passed, failed, gave no value, at which level, and the labels of scores."""
    found: dict[str, list[Any]] = {name: [] for name in (*_COLUMN_OF.values(), *_LEVELS, "labels")}
    for entry in entries:
        own = outcomes(entry)
        for outcome, name in _COLUMN_OF.items():
            found[name].append(names.places(_with(own, outcome)))
        for name, is_turn in _LEVELS.items():
            seen = [score["criterion"] for score in entry.own_scores if ("turn_index" in score) == is_turn]
            found[name].append(names.places(seen))
        found["labels"].append(names.places([s["label"] for s in entry.own_scores if s.get("label")]))
    return found


_LEVELS = {"whole": False, "by_turn": True}
_COLUMN_OF = {"PASS": "passed", "FAIL": "failed", None: "unscored"}


def _with(found: dict[str, str | None], outcome: str | None) -> list[str]:
    return [name for name, own in found.items() if own == outcome and name != STATUS]


def _tools(row: ConversationRow) -> list[str]:
    return [
        call["name"] for turn in turns_of(row) for call in turn.get("tool_calls") or () if call.get("name")
    ]
