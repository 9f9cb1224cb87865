"""Infers the effect of a tool from its name and description, in the languages of the verb lists."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple
from unicodedata import combining, normalize

from turnwise.schemas.conversation import GUESS, UNKNOWN, InferredEffect, ToolEffect
from turnwise.transforms.effects import foreign_verbs as foreign
from turnwise.transforms.effects import verbs

_UNSPACED = "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"[{_UNSPACED}]+|[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z{_UNSPACED}]+")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_PART = re.compile(r"__+|[^\w-]+")
_VERSION = re.compile(r"v\d*")
_RUNNING_ON = re.compile(r"(?:get|fetch|find|lookup|search)[a-z]{3,}")
_INFLECTION = re.compile(
    r".{0,2}|[ail]{0,2}(?:tions?|ments?|ings?|an[ct]e?|ences?|ions?|v?ity|able|ness|ed|ers?|ors?)"
    r"|cion(?:es)?|cao|coes|m?i?entos?|zion[ei]|[a-z]?d[ao]s?|ndo"
)
_VERB_SHAPE = re.compile(r"[a-z]{4,}(?:ate|ify|i[sz]e)")
_FOREIGN_VERB_SHAPE = re.compile(r"[a-z]{3,}(?:[aei]re?|oir|eren)")
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "œ": "oe", "ł": "l", "Ł": "L", "ı": "i"})
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
_SHORTEST_RUN_ON = 5
_LONGEST_UNSPACED = 8
_LONGEST_DESCRIPTION = 80


def _plain(text: str) -> str:
    """Returns a text without accents on Latin letters, each character in its usual width."""
    if text.isascii():
        return text
    plain: list[str] = []
    for letter in normalize("NFKC", text):
        is_latin = "\xc0" <= letter < "\u0250" or "\u1e00" <= letter < "\u1f00"
        plain += [c for c in normalize("NFD", letter) if not combining(c)] if is_latin else letter
    return "".join(plain).translate(_LETTERS)


def _spellings(word: str) -> set[str]:
    """Returns a word without accents, and with umlauts written out (`loschen` and `loeschen`)."""
    return {word} if word.isascii() else {_plain(word), _plain(word.translate(_WRITTEN_OUT))}


def _all(*sets: Iterable[str]) -> frozenset[str]:
    return frozenset(spelling for words in sets for word in words for spelling in _spellings(word))


_WEAK_LAST = _all(foreign.WEAK)
_WEAK = verbs.WEAK | _WEAK_LAST
_JOINING = verbs.JOINING | _all(foreign.JOINING)
_SEPARABLE = _all(foreign.SEPARABLE)
_PASSING = verbs.PASSING | _all(foreign.PASSING)
_REACHING = verbs.REACHING | _all(foreign.REACHING)
_PERSONS = verbs.PERSONS | _all(foreign.PERSONS)
_HANDING = verbs.HANDING | _all(foreign.HANDING)
_MONEY = verbs.MONEY | _all(foreign.MONEY)
_CONVERSATION = verbs.CONVERSATION | _all(foreign.CONVERSATION)
_RESETTING = verbs.RESETTING | _all(foreign.RESETTING)
_STORES = verbs.STORES | _all(foreign.STORES)
_ENDING_LAST = _all(foreign.ENDING)
_ENDING = verbs.ENDING | _ENDING_LAST


class Lexicon(NamedTuple):
    """Words of tool names in all languages, in lower case and without accents.

    Attributes:
        nouns: Verbs that are also nouns (see `verbs.NOUNS_TOO`).
        asked: Nouns for look-ups.
        facts: Nouns of other languages for facts; one may stand first.
        last: Verbs that may stand at the end of a name.
        unspaced: All words of scripts without spaces.
    """

    reading: frozenset[str]
    idempotent: frozenset[str]
    writing: frozenset[str]
    destructive: frozenset[str]
    nouns: frozenset[str]
    asked: frozenset[str]
    facts: frozenset[str]
    last: frozenset[str]
    unspaced: frozenset[str]


@cache
def lexicon() -> Lexicon:
    """Returns the words of all languages; a word that is English has its English effect alone."""
    found: dict[str, set[str]] = {}
    last: set[str] = set()
    for language in foreign.LANGUAGES.values():
        for effect in ("reading", "idempotent", "destructive", "repeatable"):
            words = getattr(language, effect).split()
            forms = _all(*map(language.forms, words)) - foreign.NO_VERBS
            found.setdefault(effect, set()).update(forms)
            last |= forms if language.is_verb_last else set()
    english = verbs.READING | verbs.QUESTIONS | verbs.IDEMPOTENT | verbs.REPEATABLE | verbs.NUMBERS
    read, idempotent, destroying, repeatable = (found[effect] - english for effect in found)
    writing = idempotent | destroying | repeatable
    nouns = _all(*(language.nouns.split() for language in foreign.LANGUAGES.values())) - english
    facts = _all(*(language.facts.split() for language in foreign.LANGUAGES.values())) - english
    known = frozenset().union(read, writing, facts, foreign.GRAMMAR, _WEAK_LAST, _JOINING, _HANDING, _PASSING,
                              _PERSONS, _MONEY, _CONVERSATION, _REACHING, _ENDING)  # fmt: skip
    return Lexicon(
        verbs.READING | verbs.QUESTIONS | (read - writing),
        verbs.IDEMPOTENT | verbs.ACTIONS | ((idempotent | destroying) - repeatable) | destroying,
        verbs.IDEMPOTENT | verbs.REPEATABLE | verbs.ACTIONS | writing,
        verbs.DESTRUCTIVE | verbs.DESTRUCTIVE_ACTIONS | destroying,
        verbs.NOUNS_TOO | verbs.QUESTIONS | verbs.ACTIONS | nouns,
        verbs.ASKED | (nouns & read),
        facts,
        frozenset(last - english),
        frozenset(word for word in known if _UNSPACED_RUN.fullmatch(word)),
    )


@lru_cache(maxsize=4096)
def infer_effect(name: str, description: str | None = None) -> ToolEffect:
    """Infers the effect of a tool from the verb of its name.

    A prefix (`server__`, `service.`) counts only if the rest holds no known verb. A name without a known verb
    is a read if it names information (`order_status`) or is a conversion (`litre_to_gallon`). Else the first
    verb of the description decides; without it the effect is unknown. Loading tools (`load_tools`) is a read.

    Args:
        name: Name in camelCase, snake_case, kebab-case or a script without spaces, with or without accents.
        description: Description of the tool; None: unknown.
    """
    effect, verb = _named(name) or _described(description) or (UNKNOWN, "")
    words = lexicon()
    is_idempotent = effect in ("read", "handoff") or verb in words.idempotent
    destroys = verb in words.destructive or (verb in _RESETTING and _names_store(verb, name))
    return ToolEffect(effect, is_idempotent, effect == "write" and destroys, GUESS)


def _names_store(verb: str, name: str) -> bool:
    """Returns whether a name that resets something says that it is a store of data."""
    tool = _PART.split(_plain(name))[-1]
    words = set(words_of(tool))
    if verb == "restore":
        return "factory" in words
    return not words.isdisjoint(_STORES) or any(store in tool for store in _STORES if not store.isascii())


@lru_cache(maxsize=4096)
def is_toggle(name: str) -> bool:
    """Returns whether a tool toggles a state, by the verb of its name."""
    found = _named(name)
    return found is not None and found.verb in verbs.TOGGLING


class InferredVerb(NamedTuple):
    """An effect and the verb that it was inferred from.

    Attributes:
        verb: The deciding verb; "": none is known.
    """

    effect: InferredEffect
    verb: str


def _named(name: str) -> InferredVerb | None:
    texts = _PART.split(_plain(name))
    parts = [words for text in texts if (words := _segmented(_without_initials(words_of(text))))]
    found = _read(parts[-1]) if parts else None
    if found is None and len(parts) > 1:
        found = _read([word for words in parts for word in words])
        found = found if found and found.verb == parts[0][0] else None
    return found


def _without_initials(words: list[str]) -> list[str]:
    """Removes single letters from the start (`k8s_check`)."""
    start = next((i for i, word in enumerate(words) if len(word) > 1 or not word.isascii()), 0)
    return words[start:]


def words_of(name: str) -> list[str]:
    """Splits a name into lower-case words without accents, without versions and numbers."""
    plain = _plain(name)
    if not plain.isascii():
        camel = (f"_{c}" if c.isupper() and before.islower() else c for before, c in pairwise(f"_{plain}"))
        plain = "".join(camel)
    words = [word.lower() for word in _WORD.findall(plain)]
    words = [word for word in words if not _VERSION.fullmatch(word)]
    joined: list[str] = []
    for word in words:
        phrase = verbs.PHRASES.get((joined[-1], word)) if joined else None
        joined[-1:] = [phrase] if phrase else [*joined[-1:], word]
    return joined


def _segmented(words: Sequence[str]) -> Sequence[str]:
    """Splits words of scripts without spaces into known words and what is between them.

    At each place the longest known word counts; one of a single character only at the edges. Particles and
    endings are left out.
    """
    if all(map(str.isascii, words)):
        return words
    found = []
    for word in words:
        parts = _parts_of(word) if _UNSPACED_RUN.fullmatch(word) else [word]
        found += [part for part in parts if part not in foreign.GRAMMAR] or parts
    return found


def _parts_of(run: str) -> list[str]:
    known, parts, start, place = lexicon().unspaced, list[str](), 0, 0
    while place < len(run):
        sizes = range(min(_LONGEST_UNSPACED, len(run) - place), 0, -1)
        is_edge = place in (0, len(run) - 1)
        size = next((n for n in sizes if run[place : place + n] in known and (n > 1 or is_edge)), 0)
        if size:
            parts += [run[start:place], run[place : place + size]]
            start = place + size
        place += size or 1
    return [part for part in (*parts, run[start:]) if part and not (parts and _HIRAGANA.fullmatch(part))]


def _read(words: Sequence[str]) -> InferredVerb | None:
    """Returns the effect of the words of a name; None: they hold no known verb."""
    head, last, known = words[0], words[-1], lexicon()
    if _hands_over(words):
        return InferredVerb("handoff", head)
    if head in verbs.PREPARING and last in verbs.TOOLS:
        return InferredVerb("read", "")
    if len(words) > 1 and (head in _WEAK or last in _WEAK_LAST):
        rest = words[1:] if head in _WEAK else words[:-1]
        if len(rest) == 1 and rest[0] in verbs.NOUNS_TOO - verbs.DEEDS - known.reading:
            return None  # it is not known what is done to an order or a file
        found = _read(rest)
        return None if found == ("read", "") and last in verbs.STORED else found
    verb = None if _names_thing(words) else _verb(words)
    if verb is None:
        return InferredVerb("read", "") if _names_information(words) else None
    if verb in known.reading:
        clear = known.writing - known.nouns
        joined = (b if a in _JOINING else a for a, b in pairwise(words) if _is_joined(a, b, clear))
        verb = next(joined, verb)
    return InferredVerb("write" if verb in known.writing else "read", verb)


def _names_thing(words: Sequence[str]) -> bool:
    """Returns whether the first word of a name, a verb that is also a noun or adjective, may be no verb."""
    if len(words) < 2:
        return False
    head, last = words[0], words[-1]
    if (
        head in verbs.ADJECTIVES
        and len(words) == 2
        and last.endswith("s")
        and not last.endswith(("ss", "us"))
    ):
        return True
    if (head == "open" and last in verbs.OPENED) or (head == "return" and last in verbs.RETURNED):
        return True
    is_part = last in verbs.ATTRIBUTES and not (last == "items" and head in verbs.DEEDS)
    return len(words) == 2 and is_part and head in verbs.NOUNS_TOO - lexicon().reading


def _is_joined(first: str, second: str, clear: frozenset[str]) -> bool:
    """Returns whether one of two words joins the other, a writing verb, to the name."""
    if first in verbs.JOINING:
        return second in lexicon().writing
    return (first in _JOINING and second in clear) or (second in _JOINING and first in clear)


def _verb(words: Sequence[str]) -> str | None:
    """Returns the deciding verb: the first word, else the last, else any.

    The last word goes first in languages whose verbs stand at the end, and after a noun for a look-up.
    """
    head, last, known = words[0], words[-1], lexicon()
    if len(words) == 1:
        return head if head in known.reading or head in known.writing else _run_on(head)
    separated = last + head
    if last in _SEPARABLE and (separated in known.reading or separated in known.writing):
        return separated
    clear = [w for w in words if (w in known.reading or w in known.writing) and w not in known.nouns]
    if last in clear and (last in known.last or (head in known.asked and last in known.writing)):
        return last
    if last in foreign.RECORDS or (last in verbs.NUMBERS and head in known.writing):
        return None
    if head in known.reading or head in clear:
        return head
    if _is_unclear(head):  # what is read is a noun then: `export_list`
        clear = [word for word in clear if word in known.writing]
    if clear:
        return last if last in clear else clear[0]
    if last in known.last:
        return last
    names_fact = last in verbs.FACTS or last in known.reading or last in known.facts
    if head in known.writing and not names_fact:
        return head
    return last if last in verbs.ACTIONS else None if names_fact else _run_on(head) or _run_on(last)


def _run_on(word: str) -> str | None:
    """Returns the verb that a word begins or ends with (`deleteaccount`, `kundensuche`)."""
    known = lexicon()
    if word in known.writing or word in known.reading:
        return None
    for size in range(len(word) - 3, _SHORTEST_RUN_ON - 1, -1):
        start, end = word[:size], word[-size:]
        is_verb = (start in known.writing or start in known.reading) and start not in known.nouns
        is_stem = start in known.last and not start.endswith("e")  # of a compound, such as `Lieferzeit`
        if is_verb and not is_stem and not _INFLECTION.fullmatch(word[size:]):
            return start
        if end in known.last:
            return end
    return None


def _names_information(words: Sequence[str]) -> bool:
    """Returns whether a name without a verb names information; a word that looks like a verb names none."""
    head, last, known = words[0], words[-1], lexicon()
    if len(words) > 1 and _is_unclear(head):
        return False
    if last in verbs.INFORMATION or last in known.reading or last in foreign.RECORDS or "to" in words[1:-1]:
        return True
    if last in verbs.NUMBERS or _RUNNING_ON.fullmatch(head):
        return True
    if last in known.facts:
        return len(words) == 1 or not _FOREIGN_VERB_SHAPE.fullmatch(head)
    return head in known.facts


def _is_unclear(head: str) -> bool:
    """Returns whether the first word of a name looks like a verb that may change something."""
    return head in verbs.UNCLEAR or (_VERB_SHAPE.fullmatch(head) is not None and head not in verbs.NO_VERBS)


def _hands_over(words: Sequence[str]) -> bool:
    head, rest, last = words[0], set(words[1:]), words[-1]
    if head in verbs.ASKING and rest & verbs.HUMANS:
        return True
    if head in verbs.READING or head in verbs.QUESTIONS:
        return False
    if head in _PASSING and rest and words[1] not in _MONEY and last not in _MONEY:
        return bool(rest & _PERSONS or rest & _CONVERSATION) or words[:2] == ["transfer", "to"]
    if head in _REACHING or last in _PASSING:
        return not _PERSONS.isdisjoint(words)
    if (head in _ENDING and rest & _CONVERSATION) or (last in _ENDING_LAST and head in _CONVERSATION):
        return True
    return not _HANDING.isdisjoint(words)


def _described(description: str | None) -> InferredVerb | None:
    """Returns the effect of a description's first verb (`Returns ...` reads, `Sends ...` writes)."""
    text = (description or "").strip()[:_LONGEST_DESCRIPTION]
    if _UNSPACED_RUN.match(text):
        return _read(_segmented(words_of(re.split("[.。\n]", text)[0])) or [""])
    known = lexicon()
    first = next((word for word in words_of(text) if word not in verbs.FILLERS), None)
    if first is None or first in verbs.QUESTIONS:
        return None
    if first in ("return", "returns", "given"):
        return InferredVerb("read", "")
    bare = first.removesuffix("ing")
    for stem in (first, *(first.removesuffix(end) for end in ("s", "es", "d")), bare, f"{bare}e", bare[:-1]):
        if stem in known.writing or stem in known.reading:
            return InferredVerb("write" if stem in known.writing else "read", stem)
    return None
