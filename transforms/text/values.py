"""Extracts numbers, also in words, amounts, dates, times of day and identifiers from prose, by value."""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import NamedTuple, TypeVar

from turnwise.transforms.text import cleaning, words
from turnwise.transforms.text.dates import MONTHS, DateReading, by_place, read_dates, same_date
from turnwise.transforms.text.words import word_set

_SIGNS = {
    **cleaning.CURRENCIES,
    **{"us$": "usd", "au$": "aud", "ca$": "cad", "nz$": "nzd", "hk$": "hkd", "a$": "aud", "c$": "cad"},
}
MONEY_NAMES = {
    **_SIGNS,
    **{name: code for code, names in cleaning.CURRENCY_NAMES.items() for name in names.split()},
    **dict.fromkeys(("us dollar", "us dollars", "bucks"), "usd"),
    **dict.fromkeys(("cent", "cents"), "cent"),
}
SHARES = ("percent", "prozent", "pourcent", "procent", "процентов", "प्रतिशत", "パーセント", "퍼센트")


def _any_of(some: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(some, key=len, reverse=True))


SPACED_LETTER = f"[^\\W_{words.CHARACTER_SCRIPTS}{words.UNSPACED_SCRIPTS}]"
"""Pattern of a letter or digit of a script with spaces between words."""
_RUN = f"{SPACED_LETTER}{{1,64}}"
_MONTH, _CODE = _any_of(MONTHS), f"(?-i:{cleaning.CURRENCY_CODES.pattern.upper()})"
_DAY = (
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
    r"|\d{4}\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]"
)
_DAY_IN_WORDS = (
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)?[- ](?:of |de )?(?:{_MONTH}),?[- ](?:del? )?\d{{4}}"
    rf"|(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?,?[- ]\d{{4}}"
)
_HALF = r"\s?[ap](?:m\b|\.m\.)"
_CLOCK = (
    rf"\d{{1,2}}:\d\d(?::\d\d(?:\.\d{{1,9}})?)?(?:{_HALF})?(?:\s?(?:z|utc|gmt)\b|[+-]\d\d:?\d\d)?"
    rf"|\d{{1,2}}{_HALF}"
)
_CLOCK_ALONE = _CLOCK.replace("[+-]", "[+]")
"""Without a day before it, `10:00-11:00` is a range."""
_NUMBER = (
    rf"(?:(?<![\w)%])(?P<sign>-|minus ))?(?P<before>(?:{_any_of(_SIGNS)}) ?|{_CODE}(?: |(?=\d)))?"
    rf"(?P<inner>-)?(?P<core>(?:{_RUN}[-_]){{0,8}}{SPACED_LETTER}{{0,64}}\d{SPACED_LETTER}{{0,64}}"
    rf"(?:[.,:'’/](?=\d){_RUN}|[-_]{_RUN}){{0,15}}|\.\d{{1,64}})"
)


@cache
def _finder(with_words: bool) -> re.Pattern[str]:
    """Returns the pattern of values, dates in words among them or not; it takes long to compile."""
    day = f"{_DAY}|{_DAY_IN_WORDS}" if with_words else _DAY
    return re.compile(
        rf"(?i)(?<!\w)(?:(?P<day>{day})(?=t\d|(?!\w|[-/.]\d))|(?P<clock>{_CLOCK_ALONE})(?!\w|[:.]\d))"
        rf"|(?<=\dt)(?P<time>{_CLOCK})(?!\w|[:.]\d)|(?<!{SPACED_LETTER})(?:{_NUMBER})"
    )


_DIGITS = re.compile(r"(\.?\d(?:[\d.,'’]*\d)?)(.*)")
_SCALE = _any_of(word for word in words.SCALES if len(word) > 1 or not word.isascii())


@cache
def _after() -> re.Pattern[str]:
    """Returns the pattern of what may follow a number; it takes long to compile, as the next one does."""
    return re.compile(
        rf"(?i)(?:(?P<scale>k|\s?(?:{_SCALE}))(?!{SPACED_LETTER}))?"
        rf"(?P<share>\s?(?:%|(?:{'|'.join(SHARES)}|p(?:er|our|or) ci?ento?)(?!{SPACED_LETTER})))?"
        rf"(?P<money>\s?(?:{_any_of(MONEY_NAMES)}|{_CODE})(?!{SPACED_LETTER}))?"
    )


_unit = cache(lambda: re.compile(rf"-?{SPACED_LETTER}{{2,}}(?:[-_]{SPACED_LETTER}+)*"))
_NOT = re.compile(
    rf"(?i)(?:^|\W)(?:{_any_of(words.NEGATIONS - {'no'})}|\w+n['’]t)"
    r"(?: (?:an?|the|at|for|on|de|cost|exactly|actually|really|equal to))? $|(?:不是|[并並]非) ?$"
    r"|(?:^|\W)(?:no|non|n[ãa]o) (?:es|son|era|fue|cuestan?|è|sono|costan?|é|são|foi|custam?) (?:de |di )?$"
    r"|(?:^|\W)(?:no longer|rather than|instead of|anstatt|statt) (?:the )?$"
)
_NOT_AFTER = re.compile(
    r"(?i) ?(?:[이가은는はが]? ?(?:ありません|ない|아니|아닌|아닙)|不[对對]"
    r"|(?!だけ|のみ)[^\W\d_]{0,4}?(?:では|じゃ|で|[이가] ?)(?:ありません|ない|なく|아니|아닌|아닙))"
    r"| (?:is|was) (?:wrong|incorrect)\b| (?:is|was)(?: not|n['’]t) (?:the|it|right|correct|what)\b"
    r"| (?:ist|sind|war|waren) (?:falsch|es nicht|nicht (?:der|die|das|richtig|korrekt))\b| stimmt nicht\b"
    r"|[^.!?。！？\n]{0,20}[?？]\W{0,3}(?:no|nope|nein|non|n[ãa]o|nee|nie|нет|いいえ|아니요?|不是)\s?(?:[,.;:!，。、！–—-]|$)"
)
_MARKUP = re.compile(r"\*\*|__|`")
_PRINTED = str.maketrans("\u2010\u2011\u2012\u2212\ufe63\uff0d’ʼ×⁄", "------''x/", "\u00ad")
_JOINING_DASH = re.compile(r"(?<=\w)–(?=\w)|(?<!\w)–(?=\d)|(?<=\d:\d\d) ?[–—] ?(?=\d)")
_DASHES = str.maketrans({"–": "-", "٫": ".", "٬": ","})
_GROUPS = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
SPACED_GROUPS = re.compile(r"(?<![\d,.])[1-9]\d{0,2}(?: \d{3})+(?!\d)(?:[.,]\d\d(?!\d))?")
"""Pattern of one number in groups (`2 000,50`), or of several."""
_PERHAPS_GROUPS = re.compile(r"(?<![\w,.:/])(?<!\d-)(?<!\d )[1-9]\d{0,2}(?: \d{3}){2,15}(?![\w:/-])")
_BETWEEN_DAY_AND_TIME = frozenset(("t", ",", "at", ", at", "um", "à"))
_Reading = TypeVar("_Reading")


class Mention(NamedTuple):
    """A value in a text: a number, the readings of a moment, or a lower-case code."""

    start: int
    end: int  # offsets are half-open, of code points
    amount: cleaning.Amount | None = None
    is_share: bool = False  # a percentage
    dates: tuple[DateReading, ...] = ()
    code: str = ""
    is_denied: bool = False  # by the words beside it (`not 5`)

    def means(self, other: "Mention") -> bool:
        """Returns whether both have the same value."""
        if self.is_denied != other.is_denied or self.code != other.code:
            return False
        if self.amount and other.amount:
            return self.is_share == other.is_share and cleaning.same_amount(self.amount, other.amount)
        return bool(self.code) or same_date(self.dates, other.dates)


class Passage(NamedTuple):
    """The mentions of a text, and the texts between them (one more than mentions)."""

    between: list[str]
    mentions: list[Mention]


@lru_cache(maxsize=1024)
def read_passage(text: str, language: str | None, with_words: bool = True) -> Passage:
    """Splits a text into values and the texts between them.

    The language (BCP 47) says how to read `2,5` and `1.234`; None: as in tool arguments. A date in words
    (`May 20, 2024`) is read as a word and two numbers without `with_words`.
    """
    text, mentions, between, end = normalized(text, language), list[Mention](), list[str](), 0
    finder = _finder(with_words)
    while (match := finder.search(text, end)) is not None:
        if match["core"]:
            mention = _number(text, match, language)
        else:  # a day or a time, with both readings where the language leaves day and month open
            shown = cleaning.plain(match[0])
            readings = ordered_days(read_dates(shown), language)
            mention = Mention(*match.span(), dates=readings, code="" if readings else shown)
        mention = mention._replace(is_denied=is_denied(text, match.start(), mention.end))
        gap = cleaning.plain(text[end : mention.start])
        is_one_moment = gap in _BETWEEN_DAY_AND_TIME and mention.dates and mentions and mentions[-1].dates
        between.append("" if is_one_moment else gap)
        mentions.append(mention)
        end = mention.end
    return Passage([*between, cleaning.plain(text[end:])], mentions)


def with_plain_signs(text: str) -> str:
    """Writes hyphens, joining dashes and apostrophes of print as those of a keyboard."""
    return text if text.isascii() else _JOINING_DASH.sub("-", text.translate(_PRINTED))


def normalized(text: str, language: str | None) -> str:
    """Returns the text that the offsets of mentions are in: without markup, with plain digits and spaces."""
    text = _GROUPS.sub("", with_plain_signs(words.with_ascii_digits(text)).translate(_DASHES))
    if language_root(language) not in GROUPED_BY_SPACE:
        text = _PERHAPS_GROUPS.sub(lambda match: match[0].replace(" ", "_"), text)
    text = " ".join(unicodedata.normalize("NFKC", _MARKUP.sub("", text)).split())
    return with_joined_groups(text) if language_root(language) in GROUPED_BY_SPACE else text


def with_joined_groups(text: str) -> str:
    """Writes `2 000` as `2000`."""
    return SPACED_GROUPS.sub(lambda match: match[0].replace(" ", ""), text)


def is_denied(text: str, start: int, end: int) -> bool:
    """Returns whether the words beside a value negate it."""
    before = text[max(0, start - 32) : start]
    return _NOT.search(before) is not None or _NOT_AFTER.match(text, end) is not None


def ordered_days(readings: tuple[_Reading, ...], language: str | None) -> tuple[_Reading, ...]:
    """Returns the readings of a day, month first, that a language (BCP 47) allows; None: all."""
    code = (language or "").lower().replace("_", "-")
    root, _, region = code.partition("-")
    if len(readings) > 1 and code in _ENGLISH_MONTH_FIRST:
        return readings[:1]
    is_day_first = region in _ENGLISH_DAY_FIRST if root == "en" else root in _DAY_FIRST
    return readings[1:] if len(readings) > 1 and is_day_first else readings


def _number(text: str, match: re.Match[str], language: str | None) -> Mention:
    """Reads a number with its sign, scale and currency, or else an identifier."""
    identifier = Mention(*match.span(), code=cleaning.plain(match[0]))
    core = _DIGITS.fullmatch(match["core"])
    value = read_number(core[1], language) if core else None
    if core is None or value is None or (match["sign"] and match["inner"]):
        return identifier
    letters = core[2]  # a separate word (`10kg`, `10-day`), or a part of an identifier
    is_part = any(map(str.isdecimal, letters)) or letters.lower() in ("st", "nd", "rd", "th")
    is_part = is_part or (letters.startswith(("-", "_")) and letters[1:2].isupper())
    if is_part or (len(letters) > 1 and _unit().fullmatch(letters) is None):
        return identifier
    after = _after().match(text, match.start("core") + core.end(1))
    if after is None or (len(letters) == 1 and not after["scale"]):
        return identifier
    value *= 10 ** words.SCALES[cleaning.plain(after["scale"])] if after["scale"] else 1
    named = [cleaning.plain(mark) for mark in (match["before"], after["money"]) if mark]
    marks = [name if name in cleaning.CURRENCIES else MONEY_NAMES.get(name, name) for name in named]
    if (currency := cleaning.currency_named(marks)) is None:
        return identifier
    if not language and currency in _WITH_POINTS and _GROUPED.fullmatch(core[1]):
        value = value if _A_UNIT.match(text, after.end()) else read_number(core[1], "es") or value
    amount = cleaning.Amount(-value if match["sign"] or match["inner"] else value, currency)
    return Mention(match.start(), after.end(), amount, is_share=after["share"] is not None)


# Reads numbers by the conventions of a language: `1.234,5` in German is `1,234.5` in English.

GROUPED_BY_SPACE = word_set("be bg cs et fi fr hu hy ka kk lt lv nb nn no pl pt ru sk sv uk uz")
"""Languages that put a space between groups of three digits."""

_WITH_COMMA = GROUPED_BY_SPACE | word_set("""af az bs ca da de el es eu fo gl hr id is it lb mk nl ro sl sq sr
    tr vi""")
_WITH_POINT_THERE = re.compile(r"(?:de|fr|it)-(?:ch|li)|es-(?:mx|us|pr|gt|hn|ni|pa|pe|do|sv|419)")
_POINT = re.compile(r"(?:[1-9]\d{0,2}(?:[,'’]\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}|[1-9]\d*|0)(?:\.\d+)?|\.\d+")
_COMMA = re.compile(r"(?:[1-9]\d{0,2}(?:[.'’]\d{3})+|[1-9]\d*|0)(?:,\d+)?")
_GROUPED = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_WITH_POINTS = word_set("ars brl clp cop dkk eur idr isk try vnd")
"""Currencies of which an amount has no three decimals, and whose countries write `1.200` for `1,200`."""
_A_UNIT = re.compile(r"(?i)\s?(?:/|per|pro|par|por) ?(?:l|lit\w+|gal\w+|kwh?|kg|m[3³])\b")
_CLEARLY_COMMA = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}|[1-9]\d{3,},\d\d")
_DAY_FIRST = (_WITH_COMMA | word_set("ar bn gu he hi mr ms ta te th")) - word_set("af eu hu lt sv")
_ENGLISH_DAY_FIRST = word_set("001 150 au gb hk ie in nz sg za")
_ENGLISH_MONTH_FIRST = word_set("en en-ph en-us")
"""`en` is read as in the United States."""


def language_root(language: str | None) -> str:
    """Returns the primary language of a BCP 47 code, in lower case; "": unknown."""
    return re.split("[-_]", (language or "").lower())[0]


def read_number(text: str, language: str | None) -> int | float | None:
    """Reads a number written in ASCII digits; None: it is none, as one with a leading zero, an identifier.

    Separators are those of the language (BCP 47), or of English if it is unknown. A number that is valid only
    with the other separators is read with them (`2.5` in German, `1.234,50` in English).
    """
    if len(text) > 40:
        return None
    code = (language or "").lower().replace("_", "-")
    has_comma = language_root(code) in _WITH_COMMA and not _WITH_POINT_THERE.match(code)
    if (has_comma or _CLEARLY_COMMA.fullmatch(text)) and _COMMA.fullmatch(text):
        digits = re.sub("[.'’]", "", text).replace(",", ".")
    elif _POINT.fullmatch(text):
        digits = re.sub("[,'’]", "", text)
    else:
        return None
    return float(digits) if "." in digits else int(digits)


# Reads whole numbers that are written as words.

_MONEY_WORD = _any_of([*(name for name in MONEY_NAMES if len(name) > 2), "pesos", "francs"])
_OF_MONEY = re.compile(rf"(?i)[ -](?:d['’]|de )?(?:{_MONEY_WORD})(?![^\W_])")
_PORTUGUESE = re.compile(
    r"(?i)\b(?:uma?|dois|duas|tr[eê]s|quatro|sete|oito|nove|d[eo]z\w*|onze|treze|[cq]u?atorze|quinze|vinte|trinta"
    r"|\w+enta|cem|\w+ent[oa]s) $"
)
"""A number before `mil` that is not read."""

_TEN_THOUSANDS = re.compile(r"(?<![\d.,])(\d{1,4}) ?[万萬만] ?(\d{1,4})(?![\d.,千천])")
_VALUES = {
    **words.HAN_DIGITS,
    **by_place("영 일 이 삼 사 오 육 칠 팔 구"),
    **{"百": 100, "千": 1_000, "십": 10, "백": 100, "천": 1_000},
    **{"万": 10**4, "萬": 10**4, "만": 10**4, "億": 10**8, "亿": 10**8, "억": 10**8},
}
_NATIVE_TENS = by_place("- 열 스물 서른 마흔 쉰 예순 일흔 여든 아흔", "- - 스무")
_NATIVE = by_place("- 한 두 세 네 다섯 여섯 일곱 여덟 아홉", "- 하나 둘 셋 넷")
_ALONE = _any_of(_NATIVE.keys() - {"한", "네"})
_COUNTED = (
    "개월|시간|주일|사람|가지|마리|차례|캡슐|방울|유로|달러|퍼센트|프로|그램|미터|정|알|개|명|번|시|살|병|잔|장|대|권|달|분|건"
    "|포|곳|일|회|주|월|년|초|원|층|호|인|매|박|석|통|줄|끼|조각"
)
_IN_CHARACTERS = re.compile(
    r"(?<![\d.,])[〇零一二三四五六七八九十百千万萬億亿两兩]{1,24}"
    rf"|(?<![가-힣\d])(?P<tens>{'|'.join(_NATIVE_TENS)})?(?P<ones>{'|'.join(_NATIVE)})?(?=\s?(?:{_COUNTED}))"
    rf"|(?<![^\W_])(?P<alone>{_ALONE})(?![^\W_])"
    rf"|(?<![가-힣\d])[일이삼사오육칠팔구십백천만억]{{1,24}}(?=\s?(?:{_COUNTED}))"
)


def with_digits(text: str) -> str:
    """Writes the whole numbers of a text in digits: `twenty-one`, `zweihundert`, `三十`, `이십 정`.

    Korean numbers are read before what they count, or where they are words of their own. A number that is
    not read stays as it is, and so do numbers beside numbers (`nineteen ninety-nine`), which may be one.
    """
    text = text if text.isascii() else _TEN_THOUSANDS.sub(lambda n: str(int(n[1]) * 10_000 + int(n[2])), text)
    parts, done, runs = list[str](), 0, [*words.numbers_in_words(text)]
    gaps = [(end, start) for (_, end), (start, _) in pairwise(runs) if text[end:start] in (" ", "-")]
    beside = set(chain.from_iterable(gaps))
    for start, end in runs:
        is_beside_digits = text[start - 1 : start] == " " and text[start - 2 : start - 1].isdecimal()
        is_money = _OF_MONEY.match(text, end) and not _PORTUGUESE.search(text[max(0, start - 20) : start])
        number = words.number_in_words(text[start:end].lower(), bool(is_money))
        if number is not None and not is_beside_digits and beside.isdisjoint((start, end)):
            parts += [text[done:start], str(number)]
            done = end
    text = "".join(parts) + text[done:]
    return text if text.isascii() else _IN_CHARACTERS.sub(_digits_of_characters, text)


def _digits_of_characters(run: re.Match[str]) -> str:
    if run["alone"]:
        return str(_NATIVE[run["alone"]])
    if run["tens"] or run["ones"]:
        return str(10 * _NATIVE_TENS.get(run["tens"] or "", 0) + _NATIVE.get(run["ones"] or "", 0))
    total = group = digit = 0
    for char in run[0]:
        value = _VALUES[char]
        if value >= 10_000:
            total, group, digit = total + max(1, group + digit) * value, 0, 0
        elif value >= 10:
            group, digit = group + max(1, digit) * value, 0
        else:
            digit = 10 * digit + value
    return str(total + group + digit) if run[0] else ""
