"""Searches an agent's messages for expected texts, by words and by values."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property

from turnwise.transforms.effects.mentions import Mention, Passage, read_passage
from turnwise.transforms.text.sentences import sentences

_LONGEST_SHOWN = 160
_LONGEST_SEARCHED = 20_000
_DIGIT = re.compile(r"\d")
_LIST_NUMBER = re.compile(r"^[ \t>*-]*(?:\*\*)?(\d{1,3})[.)](?:\*\*)?[ \t]+(?=\S)", re.MULTILINE)
_WORD = re.compile(r"\w+")


class SpokenText:
    """The messages of an agent."""

    def __init__(self, texts: Sequence[str], language: str | None) -> None:
        self._texts, self._language = texts, language

    @cached_property
    def _all(self) -> str:
        return _words("\n".join(self._texts))

    @cached_property
    def _values(self) -> list[Passage]:
        return [read_passage(_without_list_numbers(text), self._language) for text in self._texts]

    @cached_property
    def _passages(self) -> list[Passage]:
        return [read_passage(text, self._language) for text in self._texts]

    @cached_property
    def _passages_in_digits(self) -> list[Passage]:
        return [read_passage(text, self._language, False) for text in self._texts]

    def contains(self, wanted: str) -> bool:
        """Returns whether a text was said.

        Words are compared without regard to letter case, bold type, kind of apostrophe and encoding of
        accents, and may be part of longer words. Numbers, amounts, dates and times of day are compared by
        value, identifiers as a whole (`1` is not in `21`). Negated numbers (`not 5`) and numbers of list
        entries do not count.
        """
        passage = read_passage(wanted, self._language) if _DIGIT.search(wanted) else None
        if passage is None or not passage.mentions:
            return _words(wanted) in self._all
        if not any(map(str.isalpha, "".join(passage.between))):
            return any(_contains(said, passage) for said in self._values)
        in_digits = read_passage(wanted, self._language, False)
        return any(_contains(said, passage) for said in self._passages) or any(
            _contains(said, in_digits) for said in self._passages_in_digits
        )

    def nearest_sentence(self, wanted: str) -> str:
        """Returns the sentence most similar to a text, or the last sentence; "": there are no messages."""
        text = "\n\n".join(text for text in self._texts if text.strip())[-_LONGEST_SEARCHED:]
        if not text:
            return ""
        parts = [text[a:b] for a, b in sentences(text, self._language)] or [text]
        likeness = [_likeness(wanted, part) for part in parts]
        best = max(likeness)
        last = len(parts) - 1 - likeness[::-1].index(best)
        return _shortened(parts[last] if best else parts[-1])


def _words(text: str) -> str:
    """Normalises case, bold type, apostrophes and accents."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    return (text.replace("**", "") or text).casefold()


def _without_list_numbers(text: str) -> str:
    """Removes the numbers of list entries (`1.`, `2.`, ...)."""
    numbers = [int(found[1]) for found in _LIST_NUMBER.finditer(text)]
    is_list = len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)]
    return _LIST_NUMBER.sub("", text) if is_list else text


def _contains(said: Passage, wanted: Passage) -> bool:
    size = len(wanted.mentions)
    return any(
        all(map(Mention.means, wanted.mentions, said.mentions[i : i + size]))
        and said.between[i].endswith(wanted.between[0])
        and said.between[i + 1 : i + size] == wanted.between[1:-1]
        and said.between[i + size].startswith(wanted.between[-1])
        for i in range(len(said.mentions) - size + 1)
    )


def _likeness(wanted: str, part: str) -> float:
    """Returns the share of the wanted words in a sentence; two numbers count as half a shared word."""
    words = set(_WORD.findall(wanted.casefold()))
    shared = len(words & set(_WORD.findall(part.casefold())))
    both_count = _DIGIT.search(wanted) is not None and _DIGIT.search(part) is not None
    return (shared + both_count / 2) / max(1, len(words))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else f"…{line[1 - _LONGEST_SHOWN :]}"
