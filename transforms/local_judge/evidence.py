"""Indexes evidence by features and position, and compares claims with flags of its records."""

import re
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, pairwise, product
from math import fsum
from operator import attrgetter
from typing import NamedTuple

from turnwise.transforms.local_judge import named_values
from turnwise.transforms.local_judge.claims import PLAIN_NUMBER, Claim, read_claim, says_absence
from turnwise.transforms.local_judge.derived import DerivedNumbers, derived_numbers
from turnwise.transforms.local_judge.meanings import meant_words, words
from turnwise.transforms.text.cleaning import CURRENCY_NAMES
from turnwise.transforms.text.sentences import shown_language
from turnwise.transforms.text.words import Keys, Word, dates_in_words, starts_of, tokenize, weigh, word_set

_BLOCK = 24
WINDOW = 2 * _BLOCK
_LEAST_PROSE = 0.1
_MOST_KEYS = 0.2
_LONGEST_CACHED = 16_384
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？؟।\n;{}]")

_OF_TOOLS = re.compile(r"[\w.:/-]*(?: \{|:\n)")  # `find {"id": 5}`, `shop:\n[{"name": "find"}]`

_CURRENCY_KEYS = ("currency", "currency_code", "currencyCode", "Währung", "通貨", "통화")
_ENTRY_START = re.compile(r'[:：=|{}\[\]"\n]')
_ENTRY_END = re.compile(r'[|{}\[\]"\n]')


class EvidenceSpan(NamedTuple):
    """A range of evidence, `context[start:end]`, from the first word shared with the claim to the last.

    The context has 24 words on either side; a line break marks an end of the piece.
    """

    context: str
    start: int
    end: int

    @property
    def quote(self) -> str:
        """The text of the range."""
        return self.context[self.start : self.end]


def alike(word: Word) -> str:
    """Returns what equal words have in common: the stem, or the word where it has none."""
    return word.units[0] if len(word.units) == 1 else word.lower


def keys_of(some: Iterable[Word]) -> set[str]:
    """Returns the keys of words."""
    return set(chain.from_iterable([word.keys for word in some]))


class _Piece:
    """A piece of evidence, cut into blocks of 24 words; two neighbouring blocks make a window.

    Words of a supported claim stand close together, while those of a false one are scattered over a long
    text. A window has the number of its first block; the first window, -1, holds only block 0.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.spelled = named_values.SpelledText(text)
        self.tokens = tokenize(text)
        self.words = meant_words(self.tokens)
        self.keys = keys_of(self.words)
        self.keys.update(*(days for _, days in dates_in_words(self.words)))
        self.keys.update(named_values.numbers_read_apart(text))
        self.flags: dict[str, set[str]] = {}  # values of all keys in its records
        for key, value, line_key, line_value in _VALUE.findall(text) if ":" in text else ():
            bare = "".join((value or line_value).split()).replace("\\", "")
            quoted = bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == '"' else bare.strip("\r")
            meaning = _MEANINGS.get(quoted.lower(), value or line_value)
            self.flags.setdefault(key or line_key, set()).add(meaning)
        # Keys of its words outside flags.
        self.stated = keys_of(words(_FLAG.sub(" ", text))) if self.flags else self.keys
        self.is_negated = any(word.is_negation for word in self.words)
        # Prose has many function words, and few keys of records.
        size, grammar = len(self.words), sum([not word.is_content for word in self.words])
        self.is_prose = grammar >= _LEAST_PROSE * size and len(self.flags) <= _MOST_KEYS * size
        self.windows_of: defaultdict[str, dict[int, None]] = defaultdict(dict)
        self._keys_near: dict[int, set[str]] = {}
        for number, start in enumerate(range(0, len(self.words), _BLOCK)):
            block = self.words[start : start + _BLOCK]
            # No window begins with the last block: all of it is in the window before.
            begun = (number - 1, number) if start + _BLOCK < len(self.words) else (number - 1,)
            for key in chain.from_iterable([word.keys for word in block if word.is_content]):
                self.windows_of[key].update(dict.fromkeys(begun))

    def keys_near(self, window: int) -> set[str]:
        """Returns the keys of the words in a window and in a block on either side."""
        if window not in self._keys_near:
            first, end = max(0, (window - 1) * _BLOCK), (window + 3) * _BLOCK
            self._keys_near[window] = keys_of(self.words[first:end])
        return self._keys_near[window]

    @cached_property
    def numbers(self) -> tuple[dict[tuple[str, str], list[int]], dict[str, list[int]]]:
        """Places of numbers (also in words) and identifiers by both neighbours, and all of them by key.

        A value of a record, a list or a table is not between words: the one after it is of the next entry.
        """
        between: dict[tuple[str, str], list[int]] = {}
        places: dict[str, list[int]] = {}
        text, tokens, starts, read = self.text, self.tokens, self.starts, self.words
        for i, word in enumerate(read[1:-1], 1):
            if word.keys[0][0] == "#" or word.demands:
                is_entry = _ENTRY_START.search(text, starts[i - 1] + len(tokens[i - 1]), starts[i])
                if not (is_entry or _ENTRY_END.search(text, starts[i] + len(tokens[i]), starts[i + 1])):
                    between.setdefault((alike(read[i - 1]), alike(read[i + 1])), []).append(i)
                for key in word.keys:
                    places.setdefault(key, []).append(i)
        return between, places

    @cached_property
    def language(self) -> str | None:
        return shown_language(self.text)

    @cached_property
    def denies_something(self) -> bool:
        """Whether it has a negation or a value such as `false`, or says that something is missing."""
        is_empty = any(not values.isdisjoint(NOTHING_HELD) for values in self.flags.values())
        return self.is_negated or is_empty or says_absence(self.text.replace("_", " "))

    @cached_property
    def measures(self) -> set[int]:
        """Kinds of the measures that it names."""
        return named_values.kinds_of_measures(self.text)

    @cached_property
    def units(self) -> list[tuple[Keys, str]]:
        """Keys of its numbers, and the names of their units; "": none."""
        values = chain.from_iterable(self.flags.get(name, ()) for name in _CURRENCY_KEYS)
        currencies = {value.strip('\\"').lower() for value in values}
        in_keys = chain.from_iterable(map(_WORD_OF_KEY.findall, self.flags))  # as in `fare_usd`
        currencies |= CURRENCY_NAMES.keys() & {word.lower() for word in in_keys}
        return list(named_values.units_of(self.text, currencies))

    @cached_property
    def derived(self) -> DerivedNumbers:
        """What may follow from it."""
        stated = {float(key[1:]) for key in self.keys if PLAIN_NUMBER.fullmatch(key)}
        lengths = [(key[1:], unit) for keys, unit in self.units for key in keys]
        for name, values in self.flags.items():  # as `"nights": 2`
            lengths += [(value, word) for word in _WORD_OF_KEY.findall(name) for value in values]
        days = {int(n) * named_values.DAYS_IN.get(unit.lower(), 0) for n, unit in lengths if n.isdecimal()}
        return derived_numbers(self.text, stated, self.keys, days | {-length for length in days})

    @cached_property
    def starts(self) -> list[int]:
        return starts_of(self.tokens, self.text)


@dataclass(eq=False)
class EvidencePassage:
    """The window of a piece of evidence that covers most of a claim, and the weight that it covers."""

    weight: float
    piece: _Piece
    window: int
    content: Mapping[str, float]

    @cached_property
    def span(self) -> EvidenceSpan:
        """Its sentence that covers most of the claim, with a block on either side."""
        piece = self.piece

        def weight(places: Iterable[int]) -> float:
            keys = dict.fromkeys(chain.from_iterable([piece.words[position].keys for position in places]))
            return fsum([self.content.get(key, 0.0) for key in keys])

        text, tokens, starts = piece.text, piece.tokens, piece.starts
        first = max(0, self.window * _BLOCK)
        nearby, shares_nothing = piece.words[first : first + WINDOW], self.content.keys().isdisjoint
        shared = [position for position, word in enumerate(nearby, first) if not shares_nothing(word.keys)]
        sentences = [shared[:1]]
        for last, position in pairwise(shared):
            if _SENTENCE_END.search(text, starts[last] + len(tokens[last]), starts[position]):
                sentences.append([])
            sentences[-1].append(position)
        best = max(sentences, key=weight)
        begin, after = best[0] - _BLOCK, best[-1] + 1 + _BLOCK
        start, end = starts[best[0]], starts[best[-1]] + len(tokens[best[-1]])
        before = text[starts[begin] : start] if begin > 0 else "\n" + text[:start]
        rest = text[end : starts[after]] if after < len(piece.words) else text[end:] + "\n"
        return EvidenceSpan(before + text[start:end] + rest, len(before), len(before) + end - start)

    def holds(self, key: str) -> bool:
        """Returns whether a key of a content word is in it."""
        return self.window in self.piece.windows_of.get(key, ())


_cached_piece, _text_of = lru_cache(maxsize=64)(_Piece), attrgetter("text")


class Evidence:
    """Pieces of evidence. A conversation's grows from turn to turn, and each piece of it is read once."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self.texts: set[str] = set()
        self.pieces: list[_Piece] = []  # by their texts
        self.keys: set[str] = set()
        self.stated: set[str] = set()  # keys of all words outside flags
        self.is_negated = self.holds_records = False
        self._values: defaultdict[str, set[str]] = defaultdict(set)
        self._holding: defaultdict[str, list[_Piece]] = defaultdict(list)
        self._first: dict[str, tuple[str, int]] = {}  # where a name of `_values` stands first, or a unit
        self._units: defaultdict[str, dict[str, tuple[str, int]]] = defaultdict(dict)
        self._without_units: list[_Piece] = []
        self.add(pieces)

    def add(self, pieces: Iterable[str]) -> None:
        """Adds those pieces that it does not have yet."""
        for text in (new := set(pieces) - self.texts):
            piece = (_cached_piece if len(text) <= _LONGEST_CACHED else _Piece)(text)
            insort(self.pieces, piece, key=_text_of)
            self._without_units.append(piece)
            self.keys |= piece.keys
            self.stated |= piece.stated
            self.is_negated |= piece.is_negated
            # Calls and declarations of tools bring no news.
            self.holds_records |= not (piece.is_prose or _OF_TOOLS.match(text))
            for key in piece.windows_of:
                self._holding[key].append(piece)
            for i, name in enumerate(piece.flags):
                self._values[name].update(piece.flags[name])
                self._first[name] = min(self._first.get(name, (text, i)), (text, i))
        self.texts |= new
        values = {name: self._values[name] for name in sorted(self._values, key=self._first.__getitem__)}
        self.flags, self.statuses = read_flags(values), read_statuses(values)

    def units_of(self, key: str) -> list[str]:
        """Returns the units of its numbers with a key, "" for none."""
        for piece in self._without_units:
            for i, (keys, unit) in enumerate(piece.units):
                for first in (self._units[key] for key in keys):
                    first[unit] = min(first.get(unit, (piece.text, i)), (piece.text, i))
        self._without_units.clear()
        return sorted(first := self._units.get(key, {}), key=first.__getitem__)

    def passages(self, content: Mapping[str, float]) -> list[EvidencePassage]:
        """Returns the best passage of each piece that covers any of a claim, the best first."""
        covered: dict[_Piece, dict[int, float]] = {}  # the weight of the claim that each window covers
        for key, weight in content.items():
            for piece in self._holding.get(key, ()):
                windows = covered.setdefault(piece, {})
                for window in piece.windows_of[key]:
                    windows[window] = windows.get(window, 0.0) + weight
        best = [(piece, max(windows, key=windows.__getitem__)) for piece, windows in covered.items()]
        passages = [EvidencePassage(covered[piece][at], piece, at, content) for piece, at in best]
        passages.sort(key=lambda passage: (-passage.weight, passage.piece.text))
        return [passage for passage in passages if passage.weight > 0]


_LATEST: list[Evidence] = []
_MOST_LATEST = 3  # what an answer stands on, what is mentioned beside it, and both with calls that failed


@contextmanager
def read_evidence(pieces: Iterable[str]) -> Iterator[Evidence]:
    """Gives evidence, to the body alone: that of an earlier turn and what is new, or all of it new."""
    texts = set(pieces)
    earlier = [evidence for evidence in (*_LATEST, Evidence(())) if evidence.texts <= texts]
    known = max(earlier, key=lambda evidence: len(evidence.texts))
    try:
        _LATEST.remove(known)
    except ValueError:  # it is new, or another thread has taken it
        known = Evidence(())
    known.add(texts)
    yield known
    _LATEST.append(known)
    del _LATEST[:-_MOST_LATEST]


_QUOTED_KEY = r'"([^"\\\n]{1,64})\\?"\s{0,4}:\s{0,4}'
_EMPTY = r'\\?"\\?"|\[\s{0,4}\]|\{\s{0,4}\}'
_SAID = r"(?:true|false|null|none|yes|no|0(?:\.0{1,4})?)(?![\w.])"
_LINE = r"(?m:^[ \t]{0,16}(?:- )?([^\W\d][\w -]{0,63}):[ \t]{1,4}"
_FLAG = re.compile(rf'{_QUOTED_KEY}(?:{_EMPTY}|(?i:\\?"{_SAID}\\?"|{_SAID}))|{_LINE}(?i:{_SAID})[ \t]*$)')
_VALUE = re.compile(
    rf"{_QUOTED_KEY}(\\?\"[^\"\\\n]{{1,64}}\\?\"|{_EMPTY}|[^\s,}}\]]{{1,64}})|{_LINE}(\S{{1,64}})[ \t]*$)"
)
_WORD_OF_KEY = re.compile(r"[A-Z]?[a-z]+")
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")  # between the words of `refundPossible`
UNKNOWN = "null"
"""Value of a flag that is unknown."""
NOTHING_HELD = frozenset(("false", UNKNOWN, "0"))
"""Values of flags that deny something, or hold nothing."""
_MEANINGS = {
    **dict.fromkeys(("true", "yes"), "true"),
    **dict.fromkeys(("false", "no"), "false"),
    **dict.fromkeys(("", "null", "none", "~", "[]", "{}"), UNKNOWN),
    **dict.fromkeys(("0", "0.0", "0.00"), "0"),
}
_CLAUSES = re.compile(r"[,;]?\s(?:but|aber|jedoch|sondern)\s|けど、|ですが、|지만\s", re.IGNORECASE)
_LESS = word_set("""false null zero 0 free empty unknown missing off only hardly barely rarely kostenlos
    gratis leer unbekannt lack lacks lacking without non out excluded prohibited forbidden banned unavailable
    fehlt fehlen ohne verboten untersagt ausgeschlossen nur kaum""")
_MODALS = word_set("""will would shall should can could may might must soon if once when whether until unless
    werden wird cannot can't couldn't won't wouldn't shouldn't mustn't kann können könnte muss müssen sollte
    falls wenn sobald ob bis""")
_OPEN = re.compile(r"\b(?:to be|yet to|noch zu|ist zu|sind zu)\b", re.IGNORECASE)
_CERTAIN = re.compile(r"\bthere (?:will|shall) be\b", re.IGNORECASE)
_SAYING_LITTLE = (
    "offers provides includes included available possible gets received successful successfully already"
    " currently now also customer user guest booking order account item product room hotel reservation"
    " flight ticket bietet inklusive verfügbar möglich erhalten bereits derzeit aktuell auch kunde gast"
    " buchung bestellung konto artikel zimmer flug"
)
_MOST = 0.75
_MOST_UNKNOWN = 1.5


# Features of words that say little else than that something is so.
_neutral = cache(lambda: weigh(words(_SAYING_LITTLE)).keys())


class RecordFlag(NamedTuple):
    """A value of a record that says whether something is so, or that nothing is known or held."""

    name: str
    value: str
    content: dict[str, float]


@lru_cache(maxsize=1_024)
def _content_of_name(name: str) -> dict[str, float]:
    return weigh(word for word in words(_CAPITAL.sub(" ", name)) if word.is_content)


def read_flags(values: Mapping[str, Set[str]]) -> list[RecordFlag]:
    """Returns the flags among the values of all keys of the evidence; several values decide nothing."""
    flags = []
    for name, held in values.items():
        if len(held) == 1 and (value := next(iter(held))) in _MEANINGS.values():
            content = _content_of_name(name)
            flags += [RecordFlag(name, value, content)] if content else []
    return flags


def denying_flag(claim: Claim, flags: Sequence[RecordFlag], stated: Set[str]) -> RecordFlag | None:
    """Returns a flag that contradicts a claim, or has no value for what it says; None: there is none.

    A claim whose words stand in the evidence outside flags (keys `stated`) is not about a flag.
    """
    if not flags or claim.content.keys() <= stated:
        return None
    names, denying = {key for flag in flags for key in flag.content}, []
    for part in (part for part in _closed_clauses(claim) if part.content):
        rest = {key: weight for key, weight in part.content.items() if key not in _neutral()}
        negated, is_less = named_values.is_denied(part.text), _says_less(part)
        unknown = [weight for key, weight in rest.items() if key not in stated and key not in names]
        is_known = sum(unknown) < _MOST_UNKNOWN
        for flag in (flag for flag in flags if flag.content.keys() <= part.content.keys()):
            share = fsum(flag.content.values()) / fsum((rest | flag.content).values())
            may_deny = not is_less and (is_known or flag.value == UNKNOWN)
            may_deny = negated if flag.value == "true" else may_deny
            denying += [flag] if may_deny and (share >= _MOST or flag.value == "false") else []
    return min(denying, default=None)


def _closed_clauses(claim: Claim) -> list[Claim]:
    """Returns the parts of a claim, between words such as `but`, that leave nothing open or to the future."""
    parts = map(read_claim, _CLAUSES.split(claim.text)) if _CLAUSES.search(claim.text) else [claim]
    closed = []
    for part in parts:
        is_open = named_values.replace_idioms(part.text) != part.text or _OPEN.search(part.text)
        has_modal = any(word.lower in _MODALS for word in part.words)
        if not is_open and (not has_modal or _CERTAIN.search(part.text)):
            closed.append(part)
    return closed


def _says_less(claim: Claim) -> bool:
    says_little = any(word.lower in _LESS or not word.lower.strip("0.,") for word in claim.words)
    return says_little or named_values.is_denied(claim.text)


_KEY = re.compile(r"(?:^|[^a-z])(?:status|state|statut|estado|état|zustand)$|(?:状態|ステータス|상태)$")
_SHORTEST, _LITTLE = 3, 2.5
_STATUS_WORDS = "status state statut estado état zustand"
_NEUTRAL = (
    "status state statut estado état zustand shipment delivery parcel package subscription line request "
    "Lieferung Sendung Paket commande pedido 状態 ステータス 注文番号 予約番号 は が 상태 주문번호 예약번호"
)


@cache
def _words_of_status() -> tuple[Set[str], Set[str]]:
    """Returns the keys of words for a status, and of those that say little beside one."""
    little = _neutral() | weigh(words(_NEUTRAL)).keys()
    return keys_of(words(_STATUS_WORDS)), little


class RecordStatus(NamedTuple):
    """A status of the evidence, as `"status": "shipped"` or `"orderStatus": "not_paid"`, negated or not.

    It decides only if its key has one value, and the claim says nothing of anything else than the record,
    which `must_be_named` if there are others. Both sets hold keys of words: of the value, and of its name.
    """

    name: str
    value: str
    is_negated: bool
    content: Set[str]
    about: Set[str]
    must_be_named: bool


def read_statuses(values: Mapping[str, Set[str]]) -> list[RecordStatus]:
    """Returns the statuses among the values of all keys of the evidence."""
    named = {name: held for name, held in values.items() if _KEY.search(_CAPITAL.sub(" ", name).lower())}
    must_be_named = len({raw.lower() for held in named.values() for raw in held}) != 1
    statuses = []
    for name, raw in ((name, *held) for name, held in named.items() if len(held) == 1):
        value = re.sub(r"[_-]", " ", raw.strip('\\"'))
        content = {key for word in words(value) if word.is_content for key in word.keys}
        if content and len(value) >= _SHORTEST:
            about = keys_of(words(_CAPITAL.sub(" ", name).replace("_", " ")))
            is_negated = named_values.is_denied(value)
            statuses.append(RecordStatus(name, value, is_negated, content, about, must_be_named))
    return statuses


def denying_status(claim: Claim, statuses: list[RecordStatus], known: Set[str]) -> RecordStatus | None:
    """Returns a status that contradicts a claim; None: there is none. `known` are keys of the evidence."""
    if not statuses:
        return None
    status_words, neutral_words = _words_of_status()
    for part, status in product(_closed_clauses(claim), statuses):
        if not status.content <= part.content.keys():
            continue
        if status.must_be_named and part.content.keys().isdisjoint(status.about - status_words):
            continue
        names = {key for word in part.words if word.demands for key in word.keys} & known
        about = status.content | status.about | neutral_words | names
        rest = (word for word in part.words if not word.is_negation or status.content & {*word.keys})
        weights = weigh(word for word in rest if word.is_content)
        if fsum([weight for key, weight in weights.items() if key not in about]) < _LITTLE:
            if status.is_negated:
                is_denying = not _says_less(part)
            else:
                is_denying = named_values.is_denied(part.text) and named_values.denies(
                    named_values.with_single_negations(part.text), status.content
                )
            if is_denying:
                return status
    return None
