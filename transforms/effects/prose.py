"""Compares texts that people and agents write freely: the same, different, or unclear."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Literal

from turnwise.transforms.effects.statements.mentions import Mention, read_passage
from turnwise.transforms.effects.statements.stated_codes import addresses_in
from turnwise.transforms.effects.statements.written_words import NUMBERS_IN_WORDS, number_in_words
from turnwise.transforms.local_judge.negations import is_denied
from turnwise.transforms.text.function_words import FUNCTION_WORDS, KOREAN_GRAMMAR, NEGATIONS, word_set
from turnwise.transforms.text.languages import guessed_language
from turnwise.transforms.text.values import Amount, plain
from turnwise.transforms.text.weekdays import weekdays_in
from turnwise.transforms.text.words import Word, words

Likeness = Literal["same", "different", "unclear"]

_PROSE_WORDS = 6
_PHRASE_WORDS = 3
_LITTLE_IN_COMMON = 12
"""Content words from which on two texts that share none of them are different."""
_SAME_CONTENT = 0.6
"""Share of common content words from which on one negation makes the difference."""
_COMPARED = 1_000
_OPTIONAL = word_set(
    "a an the this that these those my your his her its our their please kindly just also very really",
    "der die das den dem des ein eine einen einem einer eines mein meine meinen meinem meiner dein deine ihr",
    "ihre ihren ihrem ihrer sein seine seinen seinem seiner unser unsere unseren diese dieser dieses diesen",
    "diesem bitte",
    "le la les l un une des ce cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs",
    "el los las una unos unas este esta estos estas mi mis tu tus su sus nuestro nuestra",
    "il lo gli uno os as um uma seu sua seus suas",
)
"""Determiners and polite words, which change nothing where one text leaves them out."""
_ONES = word_set("one ein eine einen einem einer un une una uno um uma 한 하나 一 一つ 1つ")
_DROPPED = re.compile(r"[.,;:!…。、，！；：・「」『』“”„‟\"'‘’«»()\[\]（）【】–—`*_]+")
_NUMBER_WORD = f"(?:{'|'.join(sorted(NUMBERS_IN_WORDS, key=len, reverse=True))}|hundred|thousand|million)"
_NUMBER_RUN = re.compile(rf"(?<![^\W_]){_NUMBER_WORD}(?:[ -](?:and )?{_NUMBER_WORD})*(?![^\W_])")
_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")
_RUNS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_DIGITS = {char: value for value, char in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
_CHARACTER_NUMBER = re.compile(
    "[一二三四五六七八九两兩]?十[一二三四五六七八九]?"
    "|[一二三四五六七八九两兩](?=[天日个個月年名件次小分元円人枚本錠片粒回杯台週周つ])"
)
_LONG_RUN = re.compile(rf"{_RUNS.pattern[:-1]}{{8}}")
_VERSION = re.compile(
    r"(?i)(\b(?:v|ver|version|release|build|update|chapter|kapitel|chapitre|section|abschnitt|python|java|ios"
    r"|android|macos|ubuntu)\.? ?)(\d+(?:\.\d+)+)"
)
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_NAME = re.compile(r"(?<=[^\W_] )[A-Z][\w-]+")

_EXACT_NAMES = word_set(
    "cmd command commands cron expr expression file filename filepath formula id ids path paths pattern",
    "regex regexp script selector shell sql uri url urls xpath",
)
_STRUCTURED_NAMES = _EXACT_NAMES | word_set("code html json key statement xml yaml")
_STRUCTURE = re.compile(
    r"\w\s*(?:[=!<>]=|=|<>)|\w\s+[<>]\s+\S|</?[a-z]|[{}\\|^~]|\$[a-z_{(]|&&|\w\("
    r"|(?:^|\s)--?[a-z][\w-]*|(?:^|[\s\"'])\.{0,2}/(?:\w|$|\s)|^\s*\w+/\w+"
    r"|^\s*(?:select\s.+\sfrom|insert\s+into|update\s+\S+\s+set|delete\s+from|create\s+table|alter\s+table"
    r"|drop\s+table|truncate\s+table|with\s+\w+\s+as)\b"
    r"|^\s*(?:sudo|git|docker|kubectl|curl|wget|npm|npx|pip|apt|apt-get|systemctl|chmod|chown|rm|rmdir|mkdir|ssh"
    r"|scp|grep|sed|awk|psql|mysql|aws|gcloud|terraform|ansible|helm|def|class|import)\s",
    re.IGNORECASE,
)
_MONEY_OR_TAG = re.compile(r"[$#]\s?\d|\$\d")


def is_prose(value: object) -> bool:
    """Returns whether a text is free prose: six words or more, most of them in lower case.

    In scripts without spaces, four letters count as a word. Words that begin with a capital letter or a
    digit are taken for names, titles and addresses.
    """
    if not isinstance(value, str):
        return False
    found = value.split()
    if not value.isascii():
        found = [
            word[i : i + 4]
            for word in found
            for i in range(0, len(word), 4 if _RUNS.search(word) else len(word))
        ]
    small = sum(word[0].isalpha() and not word[0].isupper() for word in found)
    return len(found) >= _PROSE_WORDS and 2 * small > len(found)


def may_be_reworded(value: object) -> bool:
    """Returns whether other words may mean the same: prose, and phrases of three words.

    One of the words must be a function word, or end as Korean does; in scripts without spaces, eight
    characters are enough. `round trip` and `Main Street 5` are names, which are compared as they are.
    """
    if not isinstance(value, str):
        return False
    if is_prose(value) or (not value.isascii() and _LONG_RUN.search(value)):
        return True
    found = [word.strip(".,;:!?") for word in value.split() if word[0].isalpha()]
    if len(found) < _PHRASE_WORDS:
        return False
    grammar = sum(word.lower() in FUNCTION_WORDS or word.lower() in NEGATIONS for word in found)
    if 2 * sum(not word[0].isupper() for word in found) <= len(found):
        return 3 * grammar >= len(found)  # as in German, which writes nouns with capitals
    if _HANGUL.search(value):
        return 2 * sum(word[-1:] in KOREAN_GRAMMAR for word in found) >= len(found)
    return grammar > 0


def is_exact(text: str, name: str) -> bool:
    """Returns whether a short text is an identifier, a path, an address of the internet or the like."""
    if _last_word(name) in _EXACT_NAMES:
        return True
    return len(text) > 1 and _STRUCTURE.search(_MONEY_OR_TAG.sub("", text)) is not None


def _last_word(name: str) -> str:
    parts = [part for part in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if part]
    return parts[-1].lower() if parts else ""


def is_structured(text: str, name: str = "") -> bool:
    """Returns whether a text is a command, code, a query, a path or the like, where every sign counts.

    Args:
        text: The text.
        name: Name of the parameter; "": unknown.
    """
    if _last_word(name) in _STRUCTURED_NAMES:
        return True
    bare = _MONEY_OR_TAG.sub("", text)
    for address in addresses_in(bare):
        bare = bare.replace(address, "")
    return _STRUCTURE.search(bare) is not None


@lru_cache(maxsize=4096)
def compare_texts(expected: str, actual: str, name: str = "") -> Likeness:
    """Compares two texts, of which one at least is prose.

    Structured texts are the same if they are equal but for white space. Prose is the same if it is equal
    after case, punctuation, spacing and determiners, with numbers, amounts, dates and codes by value. It is
    different if both sides state other values, if one is empty or denies what the other states, or if
    phrases or long texts share nothing. Anything else only a judge can decide.
    """
    if is_structured(expected, name) or is_structured(actual, name):
        return "same" if expected.split() == actual.split() else "different"
    if not expected.strip() or not actual.strip():
        return "same" if expected.strip() == actual.strip() else "different"
    language = guessed_language(expected) or guessed_language(actual)
    texts = [_VERSION.sub(_version, text) for text in (expected, actual)]
    passages = [read_passage(text, language) for text in texts]
    wanted, made = (_tokens(passage.between, passage.mentions) for passage in passages)
    if _are_same(wanted, made):
        return "same"
    if _values_differ(expected, actual, *(passage.mentions for passage in passages)):
        return "different"
    said, meant = words(expected), words(actual)
    shared = _shared(said, meant)
    if _RUNS.search(expected):
        shared = max(shared, SequenceMatcher(None, expected[:_COMPARED], actual[:_COMPARED]).ratio())
    if is_denied(expected) != is_denied(actual):
        return "different" if shared >= _SAME_CONTENT else "unclear"
    content = min(sum(word.is_content for word in side) for side in (said, meant))
    is_short = not is_prose(expected) and not is_prose(actual)
    return "different" if not shared and (is_short or content >= _LITTLE_IN_COMMON) else "unclear"


def _version(found: re.Match[str]) -> str:
    """Returns a version as an identifier: 2.1 and 2.10 are two of them."""
    return f"{found[1]}v{found[2].replace('.', '_')}"


def _tokens(between: Sequence[str], mentions: Sequence[Mention]) -> list[object]:
    """Returns the words and values of a text in order; those of unspaced scripts joined to runs."""
    found: list[object] = []
    for place, text in enumerate(between):
        spaced = _DROPPED.sub(" ", _RUNS.sub(lambda run: f" {' '.join(run[0])} ", text))
        found += [_number(token) for token in _TOKEN.findall(spaced)]
        if place < len(mentions):
            found.append(_value(mentions[place]))
    return found


def _number(token: str) -> object:
    value = NUMBERS_IN_WORDS.get(token)
    return token if value is None or token in _OPTIONAL else (float(value), "", False)


def _value(mention: Mention) -> object:
    if mention.amount is not None:
        return float(mention.amount.value), mention.amount.currency, mention.is_share
    return mention.dates[0].key if mention.dates else mention.code


def _are_same(wanted: Sequence[object], made: Sequence[object]) -> bool:
    if wanted == made:
        return True
    optional = [[token for token in side if token in _OPTIONAL] for side in (wanted, made)]
    if not (set(optional[0]) <= set(optional[1]) or set(optional[1]) <= set(optional[0])):
        return False
    left, right = ([token for token in side if token not in _OPTIONAL] for side in (wanted, made))
    return bool(left) and left == right


def _values_differ(expected: str, actual: str, wanted: Sequence[Mention], made: Sequence[Mention]) -> bool:
    """Returns whether each side states a value, an address or a name that the other lacks."""
    left, right = [*wanted, *_counted(expected)], [*made, *_counted(actual)]
    missing = [one for one in left if not any(one.means(other) for other in right)]
    extra = [one for one in right if not any(one.means(other) for other in left)]
    if (missing or _has_one(expected)) and (extra or _has_one(actual)) and (missing or extra):
        return True
    kinds: tuple[Callable[[str], Collection[object]], ...] = (_addresses, _names, weekdays_in)
    pairs = ((set(values(expected)), set(values(actual))) for values in kinds)
    return any(left - right and right - left for left, right in pairs)


def _addresses(text: str) -> list[str]:
    return addresses_in(plain(text))


def _counted(text: str) -> Iterator[Mention]:
    """Yields the numbers that are written as words or characters: `two hundred`, `zwanzig`, `두`, `三`."""
    for run in _NUMBER_RUN.findall(text.lower()):
        value, rest = number_in_words(run)
        if value is not None and not rest and run not in _ONES:
            yield Mention(0, 0, Amount(value, ""))
    for digits in _CHARACTER_NUMBER.findall(text):
        tens, _, ones = digits.rpartition("十") if "十" in digits else ("", "", digits)
        value = _DIGITS.get(ones, 0) + (10 * _DIGITS.get(tens, 1) if "十" in digits else 0)
        yield Mention(0, 0, Amount(value, ""))
    for word in words(text) if _HANGUL.search(text) else ():
        key = word.keys[0] if word.keys else ""
        is_number = key.startswith("#") and key[1:].isdecimal() and not word.lower.isdecimal()
        if is_number and word.lower not in NUMBERS_IN_WORDS and word.lower not in _ONES:
            yield Mention(0, 0, Amount(int(key[1:]), ""))


def _has_one(text: str) -> bool:
    return any(word.lower in _ONES for word in words(text))


def _names(text: str) -> set[str]:
    """Returns the capitalised words inside sentences, where the language does not write nouns so."""
    return set() if guessed_language(text) == "de" else set(map(str.casefold, _NAME.findall(text)))


def _shared(said: Sequence[Word], meant: Sequence[Word]) -> float:
    """Returns the share of the content words of the shorter text that the other one has too, 0..1."""
    sides = [[word for word in side if word.is_content and not word.is_negation] for side in (said, meant)]
    shorter, longer = sorted(sides, key=len)
    keys = {key for word in longer for key in word.keys}
    return sum(not keys.isdisjoint(word.keys) for word in shorter) / len(shorter) if shorter else 0.0
