"""Reads whole numbers that are written as words."""

import re

from turnwise.transforms.effects.call_values import CHANGING_WORDS
from turnwise.transforms.text.function_words import NUMBER_WORDS, word_set
from turnwise.transforms.text.numbers import SCALES


def _by_word(words: str, factor: int) -> dict[str, int]:
    """Maps words to their places times a factor; `-` skips a place."""
    return {word: factor * place for place, word in enumerate(words.split()) if word != "-"}


_TEENS = (
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "treize quatorze quinze seize",
    "trece catorce quince dieciséis diecisiete dieciocho diecinueve",
)
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "vingt trente quarante cinquante soixante",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
)
_TWENTIES = (
    "veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
)
_ORDINALS = word_set("first second third fourth fifth")
_GERMAN_UNITS = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
NUMBERS_IN_WORDS = {
    **{word: int(value) for word, value in NUMBER_WORDS.items() if word not in _ORDINALS},
    **{word: value for words in _TEENS for value, word in enumerate(words.split(), 13)},
    **{word: 10 * value for words in _TENS for value, word in enumerate(words.split(), 2)},
    **{
        f"{unit}und{ten}": 10 * tens + ones
        for tens, ten in enumerate(_TENS[1].split(), 2)
        for ones, unit in enumerate(_GERMAN_UNITS, 1)
    },
    **{f"{unit}hundert": 100 * value for value, unit in enumerate(_GERMAN_UNITS, 1)},
    **{word: value for value, word in enumerate(_TWENTIES.split(), 21)},
    "one": 1,
    "hundert": 100,
}
"""Number word in lower case -> its value."""

_LARGE = {
    **{word: 10**power for word, power in SCALES.items() if len(word) > 1},
    "hundred": 100,
    "lakh": 10**5,
    "crore": 10**7,
}
_NO_COUNTS = (
    NUMBERS_IN_WORDS.keys()
    | _LARGE.keys()
    | word_set(
        "hundreds thousands millions billions lakhs crores hundert cent cien",
        "dozen dozens dutzend douzaine docena",
        "pair pairs paar half halves quarter twice double triple minus negative percent prozent per each",
        "second seconds minute minutes hour hours day days week weeks month months year years night nights",
    )
)
"""Words that are not counted things, but belong to the number or are its unit."""

_WORD = re.compile(r"[^\W\d_]+")
_ANY = "|".join(sorted(NUMBERS_IN_WORDS.keys() | _LARGE.keys(), key=len, reverse=True))
_FIRST = "|".join(sorted(NUMBERS_IN_WORDS, key=len, reverse=True))
_RUN = re.compile(
    rf"(?<![^\W_])(?<!\d )(?:{_FIRST})(?:(?:-| |[ -](?:and|et|y)[ -])(?:{_ANY}))*"
    r"(?P<one>[ -](?:et|y)[ -]une?o?)?(?![^\W_])",
    re.IGNORECASE,
)
_JOIN = re.compile(r"[ -](?:et|y)[ -]", re.IGNORECASE)
_BETWEEN = re.compile(r"( (?:and|et|y) )", re.IGNORECASE)

_HAN = {char: value for value, char in enumerate("〇一二三四五六七八九")} | {"零": 0, "两": 2, "兩": 2}
_HAN_TENS = {"十": 10, "百": 100, "千": 1_000}
_HAN_LARGE = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_HANGUL = {char: value for value, char in enumerate("영일이삼사오육칠팔구")}
_HANGUL_TENS = {"십": 10, "백": 100, "천": 1_000}
_HANGUL_LARGE = {"만": 10**4, "억": 10**8}
_VALUES = _HAN | _HAN_TENS | _HAN_LARGE | _HANGUL | _HANGUL_TENS | _HANGUL_LARGE
_NATIVE_TENS = _by_word("- 열 스물 서른 마흔 쉰 예순 일흔 여든 아흔", 10) | {"스무": 20}
_NATIVE = _by_word("- 한 두 세 네 다섯 여섯 일곱 여덟 아홉", 1) | {"하나": 1, "둘": 2, "셋": 3, "넷": 4}
_COUNTED = (
    "개월|시간|주일|사람|가지|마리|차례|캡슐|방울|유로|달러|퍼센트|프로|그램|미터|정|알|개|명|번|시|살|병|잔|장|대|권|달|분|건"
    "|포|곳|일|회|주|월|년|초|원|층|호|인|매|박|석|통|줄|끼|조각"
)
_IN_CHARACTERS = re.compile(
    r"(?<![\d.,])[〇零一二三四五六七八九十百千万萬億亿两兩]{1,24}"
    rf"|(?<![가-힣\d])(?P<tens>{'|'.join(_NATIVE_TENS)})?(?P<ones>{'|'.join(_NATIVE)})?(?=\s?(?:{_COUNTED}))"
    rf"|(?<![가-힣\d])[일이삼사오육칠팔구십백천만억]{{1,24}}(?=\s?(?:{_COUNTED}))"
)
_NUMERALS = frozenset("十百千万萬億亿兆十백천만억조십半반")
# Kinds of words: u below ten, t from ten, T whole tens, h hundred, m larger ones.
_GROUP = "(?:u?h)?(?:Tu|[Ttu])?"
_VALID = re.compile(rf"(?:{_GROUP}m)?{_GROUP}")


def may_be_counted(word: str) -> bool:
    """Returns whether a word beside a number may be the thing that is counted."""
    return word not in _NO_COUNTS and word not in CHANGING_WORDS and not _NUMERALS.intersection(word)


def with_digits(text: str) -> str:
    """Writes the whole numbers of a text in digits: `twenty-one`, `zweihundert`, `三十`, `이십 정`.

    Korean numbers are read before what they count. A number that is not read stays as it is.
    """
    text = _RUN.sub(_digits_of_run, text)
    return text if text.isascii() else _IN_CHARACTERS.sub(_digits_of_characters, text)


def _digits_of_run(run: re.Match[str]) -> str:
    said = run[0][: run.start("one") - run.start()] + " one" if run["one"] else run[0]
    value, rest = number_in_words(_JOIN.sub(" ", said))
    if value is not None and not rest:
        return str(value)
    parts = _BETWEEN.split(run[0])
    return "".join(map(with_digits, parts)) if len(parts) > 1 else run[0]


def _digits_of_characters(found: re.Match[str]) -> str:
    if found["tens"] or found["ones"]:
        return str(_NATIVE_TENS.get(found["tens"] or "", 0) + _NATIVE.get(found["ones"] or "", 0))
    total = group = digit = 0
    for char in found[0]:
        value = _VALUES[char]
        if value >= 10_000:
            total, group, digit = total + max(1, group + digit) * value, 0, 0
        elif value >= 10:
            group, digit = group + max(1, digit) * value, 0
        else:
            digit = 10 * digit + value
    return str(total + group + digit) if found[0] else ""


def number_in_words(text: str) -> tuple[int | None, str]:
    """Reads the number of a text, and the words beside it, in lower case.

    `twenty-one` and `two hundred and fifty` are read in English, single words in German, French and Spanish.

    Returns:
        None as number if there is none, several, or one that is not read.
    """
    found = _WORD.findall(text.lower())
    places = [place for place, word in enumerate(found) if word in NUMBERS_IN_WORDS or word in _LARGE]
    if not places:
        return None, " ".join(found)
    inside = [word for word in found[places[0] : places[-1] + 1] if word != "and"]
    rest = " ".join([*found[: places[0]], *found[places[-1] + 1 :]])
    kinds = "".join(map(_kind, inside))
    return (_value(inside) if kinds and _VALID.fullmatch(kinds) else None), rest


def _kind(word: str) -> str:
    value = NUMBERS_IN_WORDS.get(word, 0)
    if word in _LARGE or value >= 100:
        return "h" if word == "hundred" else "m"
    if word not in NUMBERS_IN_WORDS:
        return "?"
    return "u" if value < 10 else "T" if value % 10 == 0 and value > 10 else "t"


def _value(words: list[str]) -> int:
    total = current = 0
    for word in words:
        large = _LARGE.get(word, 0)
        if large == 100:
            current = max(1, current) * large
        elif large:
            total, current = total + max(1, current) * large, 0
        else:
            current += NUMBERS_IN_WORDS[word]
    return total + current
