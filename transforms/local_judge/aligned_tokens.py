"""Reads texts as the tokens by which a claim is aligned with evidence."""

import re
from collections import Counter
from collections.abc import Sequence, Set
from functools import cache
from typing import NamedTuple

from turnwise.transforms.local_judge.evidence import alike
from turnwise.transforms.local_judge.named_values import mark_named_values
from turnwise.transforms.local_judge.negations import replace_idioms, with_single_negations
from turnwise.transforms.text.features import is_run_of_characters
from turnwise.transforms.text.function_words import KOREAN_GRAMMAR, NEGATING, NUMBER_WORDS, word_set
from turnwise.transforms.text.numbers import Keys
from turnwise.transforms.text.words import Word, words

NOT, BREAK, END, COLON, NUMBER = "zqnot", "zqbreak", "zqend", "zqcolon", "#"
"""Kinds of tokens: negations, punctuation in sentences and after them, colons, numbers and identifiers."""
_IDIOM = "zqidiom"
_NAMED = re.compile(r"(zq(?:month|weekday|unit|half))\d\d")
_BRACKETS = re.compile(r"[(（\[][^()（）\[\]]{0,200}[)）\]]")
_CANNOT = re.compile(r"\bcan(?:['’]t|not)\b", re.IGNORECASE)
_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)
_COLONS = re.compile(r"\\?[\"”]?\s{0,4}(?:(?<!\d)[:：]|[:：](?!\d))")
_ENDS = re.compile(r"\.(?=[\s*_]|$)|[!?。！？\n]")
_PUNCTUATION = re.compile(r",(?=[\s*_]|$)|[;；،、，{}\[\]()|\"“”«»—–]")
PRONOUNS = word_set("it he she they er sie il elle")
"""Kinds of tokens of pronouns."""
_ADVERBS = (
    "unfortunately currently generally strictly absolutely definitely sadly leider derzeit aktuell momentan"
    " grundsätzlich generell malheureusement actuellement lamentablemente desafortunadamente actualmente"
)
_FILLERS = (
    word_set(
        "a an the there do does did any some is are was were be been well oh also ein eine einen einem einer"
        " eines der die das es zu le la les un une des el los las una"
    )
    | {BREAK, END, COLON}
    | frozenset("ますしたでるだはがもをにいうくんれらっ")
    | PRONOUNS
    | KOREAN_GRAMMAR
)


@cache
def fillers() -> Set[str]:
    """Returns the kinds of tokens that may be unaligned."""
    return _FILLERS | {alike(word) for word in words(_ADVERBS)}


class AlignedToken(NamedTuple):
    """A token.

    Attributes:
        kind: What only equal tokens share, apart from their values.
        value: The value of a month, weekday, half of the day, unit or number word; "": it is none.
        keys: Keys that it provides.
        demands: Keys of which a token of the evidence must have one of every tuple.
    """

    kind: str
    value: str = ""
    keys: Keys = ()
    demands: tuple[Keys, ...] = ()

    def aligns(self, other: "AlignedToken") -> bool:
        """Returns whether a token of a claim may stand for one of the evidence."""
        if self.kind != NUMBER or (self.value and other.value):
            return self.kind == other.kind
        demands = self.demands or (self.keys,)
        return other.kind == NUMBER and not any(set(keys).isdisjoint(other.keys) for keys in demands)

    def differs(self, other: "AlignedToken") -> bool:
        """Returns whether both have values, and not the same."""
        return bool(self.value and other.value) and self.value != other.value


class AlignedText:
    """A text as tokens; values have their names in `names`."""

    def __init__(self, text: str) -> None:
        self.names: dict[str, str] = {}
        found = words(_marked(text, self.names))
        self.tokens = [token for word in found for token in _tokens(word)]
        self.names |= {word.keys[0]: word.lower for word in found if word.lower in NUMBER_WORDS}
        self.values = {(token.kind, token.value) for token in self.tokens if token.value}
        self.is_negated = any(token.kind == NOT for token in self.tokens)

    def may_differ(self, other: "AlignedText") -> bool:
        """Returns whether a text has a negation, or both have values of one kind, and not the same."""
        if self.is_negated or other.is_negated:
            return True
        kinds, others = ({kind for kind, _ in text.values} for text in (self, other))
        counts = Counter(kind for kind, _ in self.values | other.values)
        return any(counts[kind] > 1 for kind in kinds & others)


def _marked(text: str, names: dict[str, str]) -> str:
    text = _BRACKETS.sub(" ", replace_idioms(with_single_negations(text), f" {_IDIOM} "))
    text = _CONTRACTED.sub(" not", _CANNOT.sub("can not", text))
    text = mark_named_values(text, names)
    text = text if text.isascii() else NEGATING.sub(f" {NOT} ", text)
    text = _ENDS.sub(f" {END} ", _COLONS.sub(f" {COLON} ", text))
    return _PUNCTUATION.sub(f" {BREAK} ", text)


def _tokens(word: Word) -> Sequence[AlignedToken]:
    if named := _NAMED.fullmatch(word.lower):
        return [AlignedToken(named[1], word.lower)]
    if word.is_negation:
        return [AlignedToken(NOT)]
    if word.demands:
        return [AlignedToken(NUMBER, keys=word.keys, demands=word.demands)]
    if word.lower in NUMBER_WORDS:
        return [AlignedToken(NUMBER, word.keys[0], word.keys)]
    if is_run_of_characters(word.lower):
        return [AlignedToken(char) for char in word.lower]
    return [AlignedToken(NOT if word.lower == NOT else alike(word), keys=word.keys)]
