"""Reads dates, times, codes, addresses and numbers in prose, and compares those of an agent with a call's."""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import product, starmap
from typing import NamedTuple
from unicodedata import normalize

from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.effects.call_values import CHANGING_WORDS, ValueVerdict, is_plain_word, path_words
from turnwise.transforms.effects.mentions import MONEY_NAMES, Mention, is_denied, read_passage
from turnwise.transforms.text.cleaning import CURRENCY_CODES, Amount, amount, plain, same_amount
from turnwise.transforms.text.dates import (
    WEEKDAY_CHARACTERS,
    WEEKDAY_IN_CHARACTERS,
    WEEKDAYS,
    Likeness,
    likeness_of_dates,
    read_dates,
    weekdays_in,
    with_noon_in_digits,
)
from turnwise.transforms.text.numbers import SCALES, with_ascii_digits
from turnwise.transforms.text.words import MONTHS, NUMBER_WORDS, by_place, word_set

_WEEKDAYS = {
    **WEEKDAYS,
    **WEEKDAY_CHARACTERS,
    **by_place(
        *("mon tue wed thu fri sat sun", "- tues - thur - - -", "- - - thurs - - -"),
        *("mo di mi do fr sa so", "lun - mer jeu ven sam dim", "- - mié jue vie sáb dom"),
    ),
}
_MONTH = "|".join(sorted(map(re.escape, MONTHS), key=len, reverse=True))
_AFTER_NOON = ("p", "午後", "下午", "오후")
_DATES = [
    re.compile(pattern)
    for pattern in (
        r"(?<![\d/.-])(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?:t(?=\d)|(?![\d/-]))",
        r"(?<![\d/.-])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?:\s?(?P<y>\d{4}))?(?!\d)",
        r"(?<![\d/.-])(?P<a>\d{1,2})([/-])(?P<b>\d{1,2})(?:\2(?P<y>\d{4}))?(?![\d/-])",
        r"(?<![\d/.-])(?:(?P<m>\d{1,2})[/.](?P<y>\d{4})|(?P<y2>\d{4})[-/](?P<m2>\d{1,2}))(?![\d/.-])",
        r"(?:(?P<y>\d{4})\s?[年년]\s?)?(?P<m>\d{1,2})\s?[月월](?:\s?(?P<d>\d{1,2})\s?[日일])?",
        r"(?<!\w)(?:(?P<d>\d{1,2})(?:st|nd|rd|th|er|[.ºª])?(?: of| de)?[\s-]+)?"
        rf"(?P<name>{_MONTH})(?![^\W_])\.?"
        r"(?:[\s-]+(?:the )?(?P<d2>\d{1,2})(?:st|nd|rd|th)?(?![\d:.]|\s?(?:[ap]\.?m|uhr|h\b)))?"
        r"(?:,?[\s-]+(?:del? )?(?P<y>\d{4})(?!\d))?",
        r"\bthe (?P<d>\d{1,2})(?:st|nd|rd|th)\b",
    )
]
_TIMES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<half>午前|午後|上午|下午|오전|오후)?\s?(?P<h>\d{1,2})\s?[時时点시](?![間间간])"
        r"(?:\s?(?:(?P<n>\d{1,2})\s?[分분]|(?P<thirty>[半반])))?",
        r"(?P<half>午前|午後|上午|下午|오전|오후)?\s?(?<![\d:.])(?P<h>\d{1,2}):(?P<n>\d\d)(?::00)?(?![:\d])"
        r"(?:\s?(?P<half2>[ap])\.?m\b\.?)?(?:\s?uhr\b)?",
        r"(?<![\d:.])(?P<h>\d{1,2})\s?(?P<half>[ap])\.?m\b\.?",
        r"(?<![\d:.])(?P<h>\d{1,2})(?:\.(?P<n>\d\d))?\s?uhr\b(?:\s?(?P<n2>\d\d)\b)?",
        r"(?<![\d:.])(?P<h>\d{1,2})\s?h(?:\s?(?P<n>\d\d))?\b",
    )
]
_LONGEST_GAP, _LONGEST_CALENDAR = 12, 80
_REST = re.compile(r"[^\W\d_]+|\d+|[^\s\w.,:;!?'\"“”’()·*-]")
_BESIDE = word_set("next this coming nächsten kommenden day date time o'clock today's uhr el le la om in at")


class Moment(NamedTuple):
    """What a text states of a day and a time; several readings where it is ambiguous.

    Attributes:
        years: Year; empty: none.
        days: Readings as (month, day); 0: not stated.
        minutes: Readings of the time in minutes after midnight, as it is written first.
        weekdays: Weekdays, 0..6.
        is_whole: Whether all words of the text are read.
        has_offset: Whether the time has an offset from UTC, so that it is another one elsewhere.
    """

    years: tuple[int, ...]
    days: tuple[tuple[int, int], ...]
    minutes: tuple[int, ...]
    weekdays: frozenset[int]
    is_whole: bool
    has_offset: bool = False


def read_moment(text: str, path: str = "") -> Moment:
    """Reads a text such as `Sat, 14 March 2026 at 3:30 pm`; with dots, the day comes before the month."""
    day, rest = _cut(normalize("NFKC", with_ascii_digits(text)).lower(), _DATES)
    clock, rest = _cut(rest, _TIMES)
    years, days = _day(day)
    minutes = _minutes(clock)
    left, weekdays = _REST.findall(rest), weekdays_in(rest)
    if any(number for _, number in days):
        weekdays |= {_WEEKDAYS[word] for word in left if word in _WEEKDAYS}
    left = [word for word in left if not (word in _BESIDE or is_plain_word(word, path))]
    is_read = all(
        weekdays and (word in _WEEKDAYS or re.fullmatch(WEEKDAY_IN_CHARACTERS, word)) for word in left
    )
    is_valid = bool(days or not day) and bool(minutes or not clock) and len(weekdays) < 2
    return Moment(years, days, minutes, frozenset(weekdays), is_read and is_valid)


def states_moment(text: str, wanted: str) -> bool:
    """Returns whether a text states a day, a time of day or both, in any spelling, and does not deny it."""
    text, moment = with_noon_in_digits(text), read_moment(with_noon_in_digits(wanted))
    is_day = len(moment.days) == 1 and moment.days[0][1] > 0
    if not moment.is_whole or not (is_day or (moment.minutes and not moment.days)):
        return False
    text = normalize("NFKC", with_ascii_digits(text)).lower()
    if not moment.weekdays <= weekdays_in(text):
        return False
    minutes = moment.minutes[:1] if _H_CLOCK.search(wanted) else moment.minutes
    days, clocks = list[re.Match[str]](), list[re.Match[str]]()
    for match in _matches(text, _DATES):
        years, stated = _day(_groups(match))
        if stated == moment.days and set(moment.years) <= set(years):
            days.append(match)
    for match in _matches(text, _TIMES):
        if set(_minutes(_groups(match))[:1]) & set(minutes):
            clocks.append(match)
    if not (is_day and minutes):
        return bool(days or clocks)
    gaps = (max(day.start() - clock.end(), clock.start() - day.end()) for day in days for clock in clocks)
    return any(gap <= _LONGEST_GAP for gap in gaps)


def _matches(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[re.Match[str]]:
    """Yields what the patterns match and nothing denies; what an earlier one has matched is no one else's."""
    taken: set[int] = set()
    for match in (match for pattern in patterns for match in pattern.finditer(text)):
        if taken.isdisjoint(range(*match.span())) and not is_denied(text, *match.span()):
            yield match
        taken.update(range(*match.span()))


def _groups(match: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in match.groupdict().items() if value}


def _cut(text: str, patterns: list[re.Pattern[str]]) -> tuple[dict[str, str], str]:
    """Returns the groups of the first pattern that matches, and the text without it."""
    match = next((match for pattern in patterns if (match := pattern.search(text))), None)
    return (_groups(match), f"{text[: match.start()]} {text[match.end() :]}") if match else ({}, text)


def _day(found: dict[str, str]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Returns the year, and the readings of month and day; none if there are two days or none is valid."""
    if not found:
        return (), ()
    year, days = found.get("y") or found.get("y2"), [found[key] for key in ("d", "d2") if key in found]
    if "a" in found:
        first, second = int(found["a"]), int(found["b"])
        readings = [(first, second), (second, first)]
    else:
        month = MONTHS[found["name"]] if "name" in found else int(found.get("m") or found.get("m2") or 0)
        readings = [(month, int(days[0]) if days else 0)]
    valid = [(month, day) for month, day in readings if month <= 12 and day <= 31 and len(days) < 2]
    return (int(year),) if year else (), tuple(dict.fromkeys(valid))


def _minutes(found: dict[str, str]) -> tuple[int, ...]:
    """Returns the readings of a time, as it is written first; empty: there is none, or none is valid."""
    hour = int(found.get("h", 99))
    minute = 30 if "thirty" in found else int(found.get("n") or found.get("n2") or 0)
    half = found.get("half") or found.get("half2")
    if hour > 24 or minute > 59 or (half and not 0 <= hour <= 12):
        return ()
    if half:
        return ((hour % 12 + 12 * half.startswith(_AFTER_NOON)) * 60 + minute,)
    other = ((hour + 12) % 24 * 60 + minute,) if 1 <= hour <= 12 and not found["h"].startswith("0") else ()
    return (hour * 60 + minute, *other)


def given_moments(argument: str) -> list[Moment]:
    """Returns the readings of an argument that is a date, a time or both; empty: it is neither."""
    moments = [
        _moment_of(day, (clock.hour * 60 + clock.minute,) if clock else (), offset is not None)
        for day, clock, offset in read_dates(plain(argument))
    ]
    if moments:
        return moments
    moment = read_moment(argument)
    return [moment] if moment.is_whole and (moment.days or moment.minutes) else []


def _moment_of(day: date | None, minutes: tuple[int, ...], has_offset: bool) -> Moment:
    if day is None:
        return Moment((), (), minutes, frozenset(), True, has_offset)
    weekdays = frozenset((day.weekday(),))
    return Moment((day.year,), ((day.month, day.day),), minutes, weekdays, True, has_offset)


_ALL_DAYS = {f"{name}s" for name in WEEKDAYS}
_CALENDAR = {
    **{name: ("weekday", day) for name, day in _WEEKDAYS.items() if name not in _ALL_DAYS},
    **{name: ("month", month) for name, month in MONTHS.items()},
    **dict.fromkeys(("to", "bis", "through", "till", "until", "–", "-"), ("-", 0)),
}
_CALENDAR_WORD = re.compile(r"[^\W\d_]+|[^\s.,]")


def likeness_of_calendar_names(expected: str, actual: str) -> Likeness | None:
    """Compares texts of weekdays and months (`Mon, Wed` and `Monday, Wednesday`); None: one is none.

    It is unclear where two letters stand for a weekday, which may be something else.
    """
    if max(len(expected), len(actual)) > _LONGEST_CALENDAR:
        return None
    words = [_CALENDAR_WORD.findall(text.lower()) for text in (expected, actual)]
    sides = [[_CALENDAR.get(word) for word in side] for side in words]
    if words[0] == words[1] or any(not side or None in side for side in sides):
        return None
    is_sure = all(len(word) > 2 for side in words for word in side if _CALENDAR[word][1])
    return "different" if sides[0] != sides[1] else "same" if is_sure else "unclear"


@lru_cache(maxsize=4096)
def likeness_of_moments(expected: str, actual: str) -> Likeness | None:
    """Compares texts that spell a date or time, as `5. Mai`, `05.05.` and `May 5` do; None: one spells none.

    It is unclear where one states a part that the other leaves out (`2026-05-05` and `May 5`), and where only
    the order of day and month in one of them decides.
    """
    ends = [_RANGE_OF_MOMENTS.fullmatch(text.strip()) for text in (expected, actual)]
    if ends[0] and ends[1]:
        of_ends = {likeness_of_moments(ends[0][end], ends[1][end]) for end in (1, 2)}
        return next((likeness for likeness in (None, "different", "unclear") if likeness in of_ends), "same")
    dates = [read_dates(plain(text)) for text in (expected, actual)]
    if all(dates):
        return likeness_of_dates(*dates)
    left, right = _moments(expected), _moments(actual)
    same = set(map(_same, left, right) if len(left) == len(right) else starmap(_same, product(left, right)))
    if not same:
        return None
    return "same" if same == {True} else "different" if same == {False} else "unclear"


@lru_cache(maxsize=4096)
def _moments(text: str) -> Sequence[Moment]:
    """Returns the moments that a text may spell, one for every reading of day and month."""
    text = _POINT_IN_CLOCK.sub(":", _HOUR_WORD.sub(lambda word: "h" if word[1] else " uhr", text))
    moments = given_moments(text)
    if _H_CLOCK.search(text):
        moments = [moment._replace(minutes=moment.minutes[:1]) for moment in moments]
    return [moment._replace(days=(day,)) for moment in moments for day in moment.days] or moments


_RANGE_OF_MOMENTS = re.compile(
    r"(.*(?::\d\d|[ap]m|h|uhr))\s*(?:-|(?:to|bis|until|till|à|a)\s)\s*(\d.*)", re.IGNORECASE
)
_HOUR_WORD = re.compile(r"(?<=\d)\s?(?:(heures?|horas?)|o['’]?clock)\b", re.IGNORECASE)
_POINT_IN_CLOCK = re.compile(r"(?<=\d)\.(?=\d\d\s?[ap]\.?m)", re.IGNORECASE)
_H_CLOCK = re.compile(r"\d\s?h", re.IGNORECASE)


def _same(one: Moment, other: Moment) -> bool | None:
    parts = ((one.years, other.years), (one.days, other.days), (one.minutes, other.minutes))
    weekdays = (one.weekdays, other.weekdays)
    if any(left and right and not set(left) & set(right) for left, right in (*parts, weekdays)):
        return False
    same_clock = one.minutes[:1] == other.minutes[:1] and (
        one.has_offset == other.has_offset or not (one.minutes and other.minutes)
    )
    return True if same_clock and all(bool(left) == bool(right) for left, right in parts) else None


def compare_moments(text: str, given: list[Moment], path: str) -> ValueVerdict:
    """Compares a stated moment with the readings of an argument, part by part."""
    stated = read_moment(text, path)
    if not stated.is_whole:
        return "not_compared"
    verdicts = {verdict for moment in given for verdict in _verdicts(stated, moment)}
    if verdicts == {"other"}:
        # Another zone may have the day before or after.
        days = [
            date(moment.years[0], *moment.days[0]) for moment in given if moment.has_offset and moment.days
        ]
        near = [_moment_of(day + timedelta(shift), (), False) for day in days for shift in (-1, 0, 1)]
        stated = stated._replace(minutes=())
        verdicts |= {verdict for moment in near for verdict in _verdicts(stated, moment)}
    return verdicts.pop() if len(verdicts) == 1 else "not_compared"


def _verdicts(stated: Moment, given: Moment) -> Iterator[ValueVerdict]:
    """Yields the verdict of every reading of both; what is stated, but not given, is open."""
    is_other, is_open = False, False
    if stated.minutes and not given.minutes:
        is_open = True
    elif stated.minutes and stated.minutes[0] != given.minutes[0]:
        # `7:00` may be 19:00, but is not shown to be.
        is_open = not set(stated.minutes).isdisjoint(given.minutes)
        is_other = not is_open
    weekday, year = next(iter(given.weekdays), None), next(iter(given.years), None)
    for ours, theirs in product(stated.days or [(0, 0)], given.days or [(0, 0)]):
        days = [(part, other or None) for part, other in zip(ours, theirs, strict=True) if part]
        pairs = [*((one, year) for one in stated.years), *days, *((one, weekday) for one in stated.weekdays)]
        if is_other or any(other is not None and part != other for part, other in pairs):
            yield "other"
        elif is_open or any(other is None for _, other in pairs) or not (pairs or stated.minutes):
            yield "not_compared"
        else:
            yield "same"


# Compares addresses of the internet and codes of letters and digits, which are equal as a whole only.

_ADDRESS = re.compile(
    r"[^\s@,;<>()\[\]{}\"'“”„|]+@[^\s@,;<>()\[\]{}\"'“”„|]+|(?:https?://|www\.)[^\s<>\"“”|]+"
    r"|(?<![\w.])(?:[a-z0-9][\w-]*\.)+[a-z]{2,}(?![\w.]*\w)(?:/[^\s<>\"“”|]*)?"
)
_CODE = re.compile(r"(?<![^\W_])[^\W_]+(?:-[^\W_]+)*", re.ASCII)
_AROUND = "#$€£¥₩.,:;()[]\"'“”"
_LAST_DIGITS = 4
_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9_/.-]*")
_AFTER_ADDRESS = ".,:;!?)]'\"/"
_WORD = re.compile(r"[^\W\d_]+")


def addresses_in(text: str) -> list[str]:
    """Returns the e-mail and web addresses of a text, in lower case, without `https://www.`."""
    addresses = (address.rstrip(_AFTER_ADDRESS) for address in _ADDRESS.findall(plain(text)))
    return [re.sub(r"^(?:mailto:)?(?:https?://)?(?:www\.)?", "", address) for address in addresses]


def codes_in(text: str) -> list[str]:
    """Returns the codes of a text, of ASCII letters and digits, in lower case and without hyphens."""
    codes = (code.replace("-", "") for code in _CODE.findall(_ADDRESS.sub(" ", plain(text))))
    return [code for code in codes if not code.isdecimal() and any(map(str.isdecimal, code))]


def without_codes(text: str) -> str:
    """Returns a text without its codes."""
    return _CODE.sub(lambda code: " " if codes_in(code[0]) else code[0], text)


def compare_addresses(text: str, argument: str, path: str) -> ValueVerdict | None:
    """Compares addresses as a whole; None: neither side has one."""
    stated, given = addresses_in(text), addresses_in(argument)
    if not stated or not given:
        return "not_compared" if stated or given else None
    if set(stated) <= set(given):
        rest = _WORD.findall(_ADDRESS.sub(" ", plain(text)))
        return "same" if all(is_plain_word(word, path) for word in rest) else "not_compared"
    first = stated[0]
    is_part = "@" not in first and any(first.startswith(one) or one.startswith(first) for one in given)
    if len(stated) > 1 or is_part:
        return "not_compared"
    return (
        "other" if all("@" in address or "/" in address for address in (*stated, *given)) else "not_compared"
    )


def compare_codes(text: str, argument: str) -> ValueVerdict | None:
    """Compares codes; None: all that are stated are held, and other words remain to be compared."""
    stated, given = set(codes_in(text)), set(codes_in(argument))
    if stated <= given:
        return None
    unstated = given - stated
    is_part = any(one in code or code in one for one in stated - given for code in unstated)
    return "other" if unstated and not is_part else "not_compared"


def is_named(identifier: str, text: str) -> bool:
    """Returns whether a text holds a whole identifier with a digit, or the end of a long number.

    `A1` is not in `A12`, but in `A-1`. Of words beside codes (`order A-77`), the codes are looked for.
    """
    wanted = plain(identifier).strip(_AROUND)
    is_end = wanted.isdigit() and len(wanted) >= _LAST_DIGITS
    before = "" if is_end else r"(?<![a-z0-9])"
    if not any(map(str.isdecimal, wanted)):
        return any(wanted == value.strip(_AROUND) for value in text.split(" | "))
    if re.search(rf"{before}{re.escape(wanted)}(?![a-z0-9])", text):
        return True
    stated = set(map(compact, _IDENTIFIER.findall(text)))
    codes = codes_in(wanted) if " " in wanted else []
    return compact(wanted) in stated or (bool(codes) and stated.issuperset(codes))


def compact(text: str) -> str:
    """Returns the letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text.casefold()))


# Compares the numbers and amounts of money that an agent states with those of a call.

_NO_WORD = re.compile(r"[^\s.,:;!?'\"“”„’#*|…]")
_ENTRY = re.compile(r",\s+|;|&|\b(?:and|und|et|y)\b")
_LETTER = re.compile(r"\b[A-Z] \d")
_INNER = re.compile(r"(?<=\w)-(?=\w)|\w")
_SHARE_NAMES = frozenset(("percent", "percentage", "pct", "rate", "share"))
_MONEY_NAMES = word_set("""amount price fee cost total subtotal sum refund payment balance charge budget
    deposit value tip fare bill donation credit debit money paid salary wage rent tax premium limit discount
    due income revenue""")
_COUNT_NAMES = frozenset(("count", "quantity", "qty"))
_SMALL_UNITS = frozenset(("cent", "minor", "pence", "penny"))
_SUMS = word_set("refund amount total sum price fee cost payment charge value")
_THREE_AFTER_POINT = re.compile(r"(?<![\d.,])\d{1,3}\.\d{3}(?!\d)")
_DOLLARS = frozenset(("aud", "cad", "hkd", "nzd", "sgd", "twd"))
_OTHERS_OF_THE_NAME = {"usd": _DOLLARS, "jpy": {"cny"}, "cny": {"jpy", "twd", "hkd"}, "gbp": {"egp"}}
_US = re.compile(r"\bU\.?S\b|US\$|\bUSD", re.IGNORECASE)
_LONG_NUMBER, _ENDING_DIGITS = 7, 4
_DECIMALS, _NO_PART = re.compile(r"[.,]\d{1,2}$"), re.compile(r"[^\d\s().,+#*…•·–-]")
_LONG_DIGITS = re.compile(r"\+?[\d\s().-]{7,}")
_ENDINGS = word_set("""ending ends endet endend endung auf in last digits card phone number termina terminant
    par en""")


class Given(NamedTuple):
    """Numbers of an argument.

    Attributes:
        amounts: The numbers, with the currency that the call names for them.
        is_share: Whether they are percentages.
        is_currency_unclear: Whether the call names a currency that cannot be read.
        path: Path of the argument.
        is_money: Whether they may be amounts of money, by the argument's name or their own currency.
        is_us: Whether dollars are stated as those of the United States.
    """

    amounts: tuple[Amount, ...]
    is_share: bool
    is_currency_unclear: bool
    path: str
    is_money: bool
    is_us: bool = False


def read_given(arguments: Sequence[JsonValue], path: str, currency: str | None) -> Given | None:
    """Reads the numbers of an argument, of all entries if it is a list; None: one is no number."""
    read = list(map(_read, arguments))
    amounts = [mention.amount for mention in read if mention is not None and mention.amount is not None]
    if not amounts or len(amounts) < len(arguments):
        return None
    is_share = any(mention is not None and mention.is_share for mention in read)
    return Given(
        tuple(number if number.currency else Amount(number.value, currency or "") for number in amounts),
        is_share or bool(_SHARE_NAMES.intersection(path_words(path))),
        currency is None,
        path,
        _is_money_name(path) or any(number.currency for number in amounts),
    )


def _read(argument: JsonValue) -> Mention | None:
    """Reads an argument that is a number only; three digits behind a point are not read."""
    number = amount(argument)
    if isinstance(argument, str) and _THREE_AFTER_POINT.search(argument):
        return None
    if number is not None or not isinstance(argument, str):
        return Mention(0, 0, number)
    mentions, rest = _parts(argument, None)
    return mentions[0] if len(mentions) == 1 and not rest.strip(" |") else None


def _parts(text: str, language: str | None) -> tuple[list[Mention], str]:
    passage = read_passage(text, language)
    return passage.mentions, " | ".join(passage.between)


def compare_amounts(text: str, given: Given) -> ValueVerdict:
    """Compares a stated number with those of an argument.

    All words beside the numbers must be read: a scale, a unit or a currency that is not read leaves the value
    open. A number with three digits behind its only separator is open, too, but of money and behind a comma.
    """
    if _LETTER.search(text):
        return "not_compared"
    if len(given.amounts) > 1 and len(parts := _ENTRY.split(text)) > 1:
        return _together([compare_amounts(part, given) for part in parts if part.strip()], given)
    verdicts = {_compare_in(language, text, given) for language in (None, "de", "fr")}
    if "same" in verdicts and "other" in verdicts:
        # Three digits behind the only separator are thousands, if they are shown to be.
        mentions, _ = _parts(text, None)
        is_money = any(mention.amount and mention.amount.currency for mention in mentions)
        has_point = _THREE_AFTER_POINT.search(text) is not None
        verdict = _compare_in("de" if has_point else None, text, given)
        return verdict if verdict == "same" and (is_money or not has_point) else "not_compared"
    return "same" if "same" in verdicts else "other" if "other" in verdicts else "not_compared"


def _compare_in(language: str | None, text: str, given: Given) -> ValueVerdict:
    mentions, rest = _parts(text, language)
    if not mentions:
        value, rest = number_in_words(text)
        money = {MONEY_NAMES[word] for word in _WORD.findall(rest) if word in MONEY_NAMES}
        rest = " ".join(word for word in rest.split() if word not in MONEY_NAMES)
        are_whole = all(float(number.value).is_integer() for number in given.amounts)
        if value is None or not are_whole or len(money) > 1 or _NO_WORD.search(_INNER.sub("", text)):
            return "not_compared"
        if not _is_read(rest, given.path, True):
            return "not_compared"
        return _together([_compare_one(Amount(value, next(iter(money), "")), False, given)], given)
    if any(mention.amount is None or mention.is_denied for mention in mentions):
        return "not_compared"
    if not _is_read(rest, given.path, bool(re.search(r"\|.*\w", rest))):
        return "not_compared"
    given = given._replace(is_us=_US.search(text) is not None)
    return _together([_compare_one(m.amount, m.is_share, given) for m in mentions if m.amount], given)


def _together(verdicts: Sequence[ValueVerdict], given: Given) -> ValueVerdict:
    if not verdicts or len(verdicts) > len(given.amounts) or "not_compared" in verdicts:
        return "not_compared"
    return "other" if "other" in verdicts else "same"


def _is_read(rest: str, path: str, may_count: bool) -> bool:
    """Returns whether the words beside a number change nothing: of a count, any thing may be counted."""
    if _NO_WORD.search(_WORD.sub("", rest)):
        return False
    names = path_words(path)
    counts = may_count and (bool(_COUNT_NAMES.intersection(names[-1:])) or names[:1] == ["num"])
    left = {word for word in _WORD.findall(plain(rest)) if not is_plain_word(word, path)} - _SUMS
    return not left or (
        counts and not any(word in _NO_COUNTS or _NUMERALS.intersection(word) for word in left)
    )


def _compare_one(stated: Amount, is_share: bool, given: Given) -> ValueVerdict:
    """Compares one number; money must be compared with money, and a share with a share."""
    is_money = stated.currency != ""
    is_another_kind = is_money and (given.is_share or not given.is_money)
    if stated.currency == "cent" or is_another_kind or (is_share and not given.is_share):
        return "not_compared"
    for passed in given.amounts:
        if passed.currency in _OTHERS_OF_THE_NAME.get(stated.currency, ()) and not given.is_us:
            is_usual = stated.currency == "usd" and same_amount(passed, stated._replace(currency=""))
            return "same" if is_usual else "not_compared"
        if same_amount(passed, stated) and not (is_share and abs(passed.value) <= 1):
            return "not_compared" if is_money and given.is_currency_unclear else "same"
    values = [passed.value for passed in given.amounts]
    is_sum = len(values) > 1 and stated.value in (len(values), sum(values))
    is_unsigned = any(value < 0 < stated.value for value in values)
    has_small_unit = _SMALL_UNITS.intersection(path_words(given.path))
    is_part = given.is_share and all(abs(value) <= 1 for value in values)
    may_be_cents = given.is_money and round(100 * stated.value) in values
    is_open = is_sum or is_unsigned or has_small_unit or is_part or may_be_cents
    return "not_compared" if is_open else "other"


def _is_money_name(path: str) -> bool:
    last = path_words(path)[-1:]
    return bool(_MONEY_NAMES.intersection(last)) or any(map(CURRENCY_CODES.fullmatch, last))


def compare_digits(text: str, argument: str, path: str) -> ValueVerdict | None:
    """Compares phone and card numbers, whose last digits may stand for all; None: the argument is none."""
    if not _LONG_DIGITS.fullmatch(plain(argument)) or _DECIMALS.search(argument) or _is_money_name(path):
        return None
    stated, given = ("".join(filter(str.isdecimal, plain(side))).lstrip("0") for side in (text, argument))
    left = {word for word in _WORD.findall(plain(text)) if not is_plain_word(word, path)}
    is_short = len(given) < _LONG_NUMBER or len(stated) < _ENDING_DIGITS
    if is_short or left - _ENDINGS or _NO_PART.search(_WORD.sub("", text)):
        return "not_compared"
    if given.endswith(stated):
        return "same"
    is_other = stated[-_LONG_NUMBER:] != given[-_LONG_NUMBER:] and (len(stated) >= _LONG_NUMBER or left)
    return "other" if is_other else "not_compared"


# Reads whole numbers that are written as words.


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
_TWENTIES = """veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho
    veintinueve"""
_ORDINALS = word_set("first second third fourth fifth")
_GERMAN_UNITS = by_place("- ein zwei drei vier fünf sechs sieben acht neun")
NUMBERS_IN_WORDS = {
    **{word: int(value) for word, value in NUMBER_WORDS.items() if word not in _ORDINALS},
    **{word: value for words in _TEENS for value, word in enumerate(words.split(), 13)},
    **{word: 10 * value for words in _TENS for value, word in enumerate(words.split(), 2)},
    **{
        f"{unit}und{ten}": 10 * tens + ones
        for tens, ten in enumerate(_TENS[1].split(), 2)
        for unit, ones in _GERMAN_UNITS.items()
    },
    **{f"{unit}hundert": 100 * value for unit, value in _GERMAN_UNITS.items()},
    **{word: value for value, word in enumerate(_TWENTIES.split(), 21)},
    "veintiún": 21,
    "one": 1,
    "hundert": 100,
}
"""Number word in lower case -> its value."""

_LARGE = {
    **{word: 10**power for word, power in SCALES.items() if len(word) > 1},
    **{"hundred": 100, "lakh": 10**5, "crore": 10**7},
}
# Words that are not counted things, but change the number, belong to it or are its unit.
_NO_COUNTS = (
    NUMBERS_IN_WORDS.keys()
    | _LARGE.keys()
    | CHANGING_WORDS
    | word_set("""hundreds thousands millions billions lakhs crores hundert cent cien dozen dozens dutzend
        douzaine docena pair pairs paar half halves quarter twice double triple minus negative percent prozent
        per each second seconds minute minutes hour hours day days week weeks month months year years night
        nights""")
)
_ANY = "|".join(sorted(NUMBERS_IN_WORDS.keys() | _LARGE.keys(), key=len, reverse=True))
_FIRST = "|".join(sorted(NUMBERS_IN_WORDS, key=len, reverse=True))
_RUN = re.compile(
    rf"(?<![^\W_])(?<!\d )(?:{_FIRST})(?:(?:-| |[ -](?:and|et|y)[ -])(?:{_ANY}))*"
    r"(?P<one>[ -](?:et|y)[ -]une?o?)?(?![^\W_])",
    re.IGNORECASE,
)
_JOIN = re.compile(r"[ -](?:et|y)[ -]", re.IGNORECASE)
_BETWEEN = re.compile(r"( (?:and|et|y) )", re.IGNORECASE)

_VALUES = {
    **by_place("〇 一 二 三 四 五 六 七 八 九", "零 - 两", "- - 兩", "영 일 이 삼 사 오 육 칠 팔 구"),
    **{"十": 10, "百": 100, "千": 1_000, "십": 10, "백": 100, "천": 1_000},
    **{"万": 10**4, "萬": 10**4, "만": 10**4, "億": 10**8, "亿": 10**8, "억": 10**8},
}
_NATIVE_TENS = by_place("- 열 스물 서른 마흔 쉰 예순 일흔 여든 아흔", "- - 스무")
_NATIVE = by_place("- 한 두 세 네 다섯 여섯 일곱 여덟 아홉", "- 하나 둘 셋 넷")
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


def with_digits(text: str) -> str:
    """Writes the whole numbers of a text in digits: `twenty-one`, `zweihundert`, `三十`, `이십 정`.

    Korean numbers are read before what they count. A number that is not read stays as it is.
    """
    text = _RUN.sub(_digits_of_run, text)
    return text if text.isascii() else _IN_CHARACTERS.sub(_digits_of_characters, text)


def _digits_of_run(run: re.Match[str]) -> str:
    text = run[0][: run.start("one") - run.start()] + " one" if run["one"] else run[0]
    value, rest = number_in_words(_JOIN.sub(" ", text))
    if value is not None and not rest:
        return str(value)
    parts = _BETWEEN.split(run[0])
    return "".join(map(with_digits, parts)) if len(parts) > 1 else run[0]


def _digits_of_characters(run: re.Match[str]) -> str:
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


def number_in_words(text: str) -> tuple[int | None, str]:
    """Reads the number of a text, and the words beside it, in lower case.

    `twenty-one` and `two hundred and fifty` are read in English, single words in German, French and Spanish.

    Returns:
        None as number if there is none, several, or one that is not read.
    """
    read = _WORD.findall(text.lower())
    numbers = [i for i, word in enumerate(read) if word in NUMBERS_IN_WORDS or word in _LARGE]
    if not numbers:
        return None, " ".join(read)
    inside = [word for word in read[numbers[0] : numbers[-1] + 1] if word != "and"]
    rest = " ".join([*read[: numbers[0]], *read[numbers[-1] + 1 :]])
    if not _VALID.fullmatch("".join(map(_kind, inside))):
        return None, rest
    total = current = 0
    for word in inside:
        large = _LARGE.get(word, 0)
        if large == 100:
            current = max(1, current) * large
        elif large:
            total, current = total + max(1, current) * large, 0
        else:
            current += NUMBERS_IN_WORDS[word]
    return total + current, rest


def _kind(word: str) -> str:
    value = NUMBERS_IN_WORDS.get(word, 0)
    if word in _LARGE or value >= 100:
        return "h" if word == "hundred" else "m"
    if word not in NUMBERS_IN_WORDS:
        return "?"
    return "u" if value < 10 else "T" if value % 10 == 0 and value > 10 else "t"


# Writes texts that may be spelled in several ways in one of them.

STREETS = {
    **{"st": "street", "ave": "avenue", "rd": "road", "blvd": "boulevard", "ln": "lane", "dr": "drive"},
    **{"apt": "apartment", "ct": "court", "pl": "place", "sq": "square", "hwy": "highway", "ste": "suite"},
    "str": "strasse",
}
"""Abbreviation of a part of an address -> the word."""
_OUR = (
    "arm|behavi|cand|clam|col|demean|endeav|fav|flav|harb|hon|hum|lab|neighb|od|parl|rig|rum|sav|splend|tum"
    "|val|vap|vig"
)
_SPELLINGS = [
    (re.compile(pattern, re.IGNORECASE), written)
    for pattern, written in (
        (r"\bcan(?:['’]t|not)\b", "can not"),
        (r"\bwon['’]t\b", "will not"),
        (r"n['’]t\b", " not"),
        (r"(?<=\w{4})is(?=(?:e[sdr]?|ers?|ing|ations?|ational)\b)", "iz"),
        (r"(?<=\w{3})ys(?=(?:e[sdr]?|ing)\b)", "yz"),
        (
            rf"\b((?:dis|mis)?(?:{_OUR}))our(?=(?:s|ed|ing|able|ably|ful|ite|ites|less|hood|hoods|ly)?\b)",
            r"\1or",
        ),
        (r"\b(cent|theat|lit|fib|calib|somb|spect|(?:kilo|centi|milli)?met)re(?=s?\b)", r"\1er"),
        (r"(?<=\w[aeiou][b-df-hj-np-tv-z])([aeiou])ll(?=(?:ed|ing|er|ers|ations?)\b)", r"\1l"),
        (r"(?<=\w[aeiou][b-df-hj-np-tv-z]{2})([aeiou])ll(?=(?:ed|ing|er|ers|ations?)\b)", r"\1l"),
        (r"\b(enro|fulfi|insta)ll(?=s?\b|ment)", r"\1l"),
        (r"\b(catal|dial|anal|monol)ogue(?=s?\b)", r"\1og"),
        (r"\b(licen|defen|offen|preten|practi)[cs]e(?=[sd]?\b)", r"\1se"),
        (r"\bgrey(?=s?\b)", "gray"),
        (r"\b(ag|judg|acknowledg)e(?=ing\b|ment)", r"\1"),
        (r"\bprogramme(?=s?\b)", "program"),
        (r"\b(?-i:D)r\.?(?= ?(?-i:[A-Z])\w)", "doctor"),
        (r"\b(?-i:P)rof\.?(?= ?(?-i:[A-Z])\w)", "professor"),
        (r"(?<=\w)(?:straße|strasse|str\.)", "strasse"),
        # 1.5 hours, ranges
        (r"\b(?:anderthalb|eineinhalb)\b", "1.5"),
        (r"(?<!\S)(?:an?|une?|una|1) (\w+) (?:and a half|et demie?|y medi[ao])\b", r"1.5 \1"),
        (r"(?<![\d.,])(\d{1,3})(?: and a half| ?½)(?!\w)", r"\1.5"),
        (r"(?<!\S)half an? (\w+)", r"0.5 \1"),
        (r"(?<![\d.,])(\d{1,3})( ?(?:時間|시간|か月|ヶ月|개월|小时)) ?[半반]", r"\1.5\2"),
        (r"(?<![\w#])#(?=[\w-]*\d)", ""),
        (
            rf"(?<![\w-])(?!(?:UTC|GMT|{CURRENCY_CODES.pattern})-)((?-i:[A-Z]){{1,4}})-(?=\d{{2,}}(?![\w-]))",
            r"\1",
        ),
        (r"(?<![\w-])(\d{1,4})-(?=(?-i:[a-z]{3}))", r"\1 "),
        (
            r"(?<![\d.,])(\d{1,9}),(?=\d\d? ?(?:[€%]|(?:eur|euros?|chf|prozent|kg|km|[gml]|liter|litres?"
            r"|litros?|meter|h|hours?|stunden|heures?|horas?|tage|jours|d[ií]as)\b))",
            r"\1.",
        ),
        (r"(?<=\d:\d\d) ?Uhr\b", ""),
        (r"(?<![\w.,])(\d{1,2}) ?h ?([0-5]\d)\b(?! ?min)", r"\1:\2"),
        (r"(?<![T\d:.-])(?<!-\d\d )(\d{1,2}:\d\d) ?- ?(?=\d{1,2}:\d\d(?![:\d]))", r"\1 to "),
    )
]
_STREET = re.compile(
    rf"(?<=[\w,] )({'|'.join(STREETS)})\b\.?(?=\s*(?:$|[,;\d])|\s+(?-i:[A-Z]))", re.IGNORECASE
)
_RANGE = re.compile(
    r"(?a)(?<![\w.,/:-])(\d{1,3})(?:[-–~〜]| [-–~〜a] | ?(?:to|bis|à|から|에서|到) ?)"
    r"(?=(\d{1,3})(?![\w/:-]|[.,]\d))"
)
_PHONE = re.compile(r"(?a)(?<![\w.,/-])(?:\+|00)?\(?\d(?:[ ()./-]{0,2}\d){7,15}(?![\w/:-]|[.,]\d)")
_DECIMALS_OR_DATE = re.compile(r"\d+\.\d+$|\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d\d)\b")
_US_PHONE = re.compile(r"\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4}|(?:\d{4}[ -]){3}\d{4}")


@lru_cache(maxsize=512)
def spell_alike(text: str) -> str:
    """Writes a text in one of several spellings that mean the same.

    Numbers in digits, English as in the United States, titles and streets in full, ranges as `5 to 10`, phone
    and card numbers without spaces, codes without signs (`#W-123`).
    """
    text = with_digits(re.sub(r"(?<=\w)einhalb\b", " and a half", normalize("NFKC", text)))
    text = with_noon_in_digits(_PHONE.sub(_without_gaps, text))
    for pattern in (_TIMES[0], _TIMES[3]):
        text = pattern.sub(_clock, text)
    for spelling, written in _SPELLINGS:
        text = spelling.sub(written, text)
    text = _STREET.sub(lambda street: STREETS[street[1].lower()], text)
    return _RANGE.sub(lambda ends: f"{ends[1]} to " if int(ends[1]) < int(ends[2]) else ends[0], text)


def _clock(time: re.Match[str]) -> str:
    """Writes a time after noon, or of which half of the day it is in, as `14:00`; `2 Uhr` may be another."""
    groups = _groups(time)
    minutes = _minutes(groups)
    is_sure = minutes and ("half" in groups or minutes[0] >= 720)
    return f" {minutes[0] // 60}:{minutes[0] % 60:02} " if is_sure else time[0]


def _without_gaps(phone: re.Match[str]) -> str:
    number = phone[0]
    is_phone = number.startswith(("+", "0", "(0")) or _US_PHONE.fullmatch(number)
    if not is_phone or _DECIMALS_OR_DATE.match(number):
        return number
    return re.sub(r"^00(?=[1-9])", "+", re.sub(r"[ ()./-]", "", number))
