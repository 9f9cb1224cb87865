"""Reads dates, times and weekdays, in prose and in tool arguments, and the times of log records."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache
from itertools import product, starmap
from typing import Literal, NamedTuple

from pydantic.alias_generators import to_camel

from turnwise.schemas.jsonio import JsonValue
from turnwise.schemas.proto.scalars import nanos_timestamp, timestamp_nanos
from turnwise.transforms.text.patterns import compiled, encodable


def by_place(*lists: str) -> dict[str, int]:
    """Maps the words of each list to their index; `-` skips an index."""
    return {word: i for words in lists for i, word in enumerate(words.split()) if word != "-"}


MONTHS = by_place(
    "- january february march april may june july august september october november december",
    "- jan feb mar apr - jun jul aug sep oct nov dec",
    "- januar februar märz - mai juni juli - - oktober - dezember",
    "- jänner - mrz - - - - - sept okt - dez",
    "- janvier février mars avril - juin juillet août septembre octobre novembre décembre",
    "- enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "- gennaio febbraio - aprile maggio giugno luglio - settembre ottobre - dicembre",
    "- janeiro fevereiro março - maio junho julho - setembro outubro novembro dezembro",
    "- januari februari maart - mei - - augustus - - - -",
)
"""Name in lower case -> 1..12."""

_MONTH = "|".join(sorted(map(re.escape, MONTHS), key=len, reverse=True))
DATES = [
    re.compile(pattern)
    for pattern in (
        r"(?<![\d/.-])(?P<y>\d{4})([-/.])(?P<m>\d{1,2})\2(?P<d>\d{1,2})(?:t(?=\d)|(?![\d/-]))",
        r"(?<![\d/.-])(?P<b>\d{1,2})(?P<dot>\.)\s?(?P<a>\d{1,2})\.(?:\s?(?P<y>\d{4}))?(?!\d)",
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
"""Patterns of days in texts in lower case, of which some state only a part; `day_of` reads their groups."""

HALVES = "午前|午後|上午|下午|오전|오후"
"""Halves of a day in Chinese, Japanese and Korean, as a pattern."""

TIMES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<half>{HALVES})?"
        r"\s?(?P<h>\d{1,2})\s?[時时点시](?![間间간])"
        r"(?:\s?(?:(?P<n>\d{1,2})\s?[分분]|(?P<thirty>[半반])))?",
        rf"(?P<half>{HALVES})?"
        r"\s?(?<![\d:.])(?P<h>\d{1,2}):(?P<n>\d\d)(?::00)?(?![:\d])"
        r"(?:\s?(?P<half2>[ap])\.?m\b\.?)?(?:\s?uhr\b)?",
        r"(?<![\d:.])(?P<h>\d{1,2})(?:\.(?P<n>\d\d))?\s?(?P<half>[ap])\.?m\b\.?",
        r"(?<![\d:.])(?P<h>\d{1,2})(?:\.(?P<n>\d\d))?\s?uhr\b(?:\s?(?P<n2>\d\d)\b)?",
        r"(?<![\d:.])(?P<h>\d{1,2})\s?h(?:\s?(?P<n>\d\d))?\b",
    )
]
"""Patterns of times of day, whose groups `minutes_of` reads."""

_IN_EIGHT_DIGITS = re.compile(r"(?P<y>(?:1[89]|2\d)\d\d)(?P<m>\d\d)(?P<d>\d\d)")
_SHORT_YEAR = re.compile(r"^(\d{1,2}([/.])\d{1,2}\2)([2-4]\d)$")
_WITH_HYPHENS = re.compile(r"^(\d{1,2})-(\d{1,2})-(\d\d)$")  # an argument's day; in prose it may be a code


def groups_of(match: re.Match[str]) -> dict[str, str]:
    """Returns the groups that took part in a match, by name."""
    return {name: value for name, value in match.groupdict().items() if value}


def day_of(groups: Mapping[str, str]) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Returns the year, and the readings of month and day (0: not stated) of a match of `DATES`.

    There are no readings if it states two days or none is valid, and two if day and month may be either way
    round. With dots, the day comes first, if it may.
    """
    if not groups:
        return (), ()
    year, days = groups.get("y") or groups.get("y2"), [groups[key] for key in ("d", "d2") if key in groups]
    if "a" in groups:
        first, second = int(groups["a"]), int(groups["b"])
        readings = [(first, second), (second, first)][: 1 if "dot" in groups and not year else 2]
    else:
        month = MONTHS[groups["name"]] if "name" in groups else int(groups.get("m") or groups.get("m2") or 0)
        readings = [(month, int(days[0]) if days else 0)]
    valid = [(month, day) for month, day in readings if month <= 12 and day <= 31 and len(days) < 2]
    return (int(year),) if year else (), tuple(dict.fromkeys(valid[:1] if "dot" in groups else valid))


def minutes_of(groups: Mapping[str, str]) -> tuple[int, ...]:
    """Returns the readings of a match of `TIMES` in minutes, as it is written first; empty: none is valid."""
    hour = int(groups.get("h", 99))
    minute = 30 if "thirty" in groups else int(groups.get("n") or groups.get("n2") or 0)
    half = groups.get("half") or groups.get("half2")
    is_late = half is not None and half.startswith(("p", "午後", "下午", "오후"))
    if hour > 24 or minute > 59 or (half and hour > 12 and not is_late):
        return ()
    if half:
        return ((hour % 12 + 12 * is_late) * 60 + minute,)
    other = ((hour + 12) % 24 * 60 + minute,) if 1 <= hour <= 12 and not groups["h"].startswith("0") else ()
    return (hour * 60 + minute, *other)


def read_day(text: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """Reads a text in lower case that is only a day, as `day_of` does, also a short year or 8 digits."""
    return day_of(_whole(_SHORT_YEAR.sub(r"\g<1>20\3", text), [*DATES, _IN_EIGHT_DIGITS]))


def read_clock(text: str) -> tuple[int, ...]:
    """Reads a text that is only a time of day, as `minutes_of` does."""
    return minutes_of(_whole(text, TIMES))


def _whole(text: str, patterns: Iterable[re.Pattern[str]]) -> dict[str, str]:
    match = next((match for pattern in patterns if (match := pattern.fullmatch(text))), None)
    return groups_of(match) if match else {}


# Reads whole texts, as tool arguments are.

_FIRST_SECONDS, _DATES_FIRST_MILLISECONDS = 1e9, 1e10
_TIME = re.compile(
    r"(?:^|[t\s,])(?:at )?(\d{1,2})(?::(\d\d)(?::(\d\d)(?:[.,]\d+)?)?)?\s?(?:([ap])\.?m\.?)?"
    r"\s?(z|utc|gmt|[+-]\d\d:?\d\d)?$"
)

Likeness = Literal["same", "different", "unclear"]


class DateReading(NamedTuple):
    """A day, a time of day, or both; the offset in minutes is positive to the east, None: local time."""

    day: date | None
    clock: time | None
    offset: int | None

    @property
    def key(self) -> tuple[str, str]:
        """Key that only equal readings share."""
        instant = self.instant
        if instant is not None:
            return "moment", str(instant.timestamp())
        shown = (self.day, self.clock or (time() if self.day else None))
        return "moment", str(shown if self.day or self.offset is None else (*shown, self.offset))

    @property
    def instant(self) -> datetime | None:
        """The point in time; None: the day, the time or the offset is not stated."""
        if self.day is None or self.clock is None or self.offset is None:
            return None
        return datetime.combine(self.day, self.clock, timezone(timedelta(minutes=self.offset)))


def read_dates(text: str) -> tuple[DateReading, ...]:
    """Reads a text that holds only a date, a time of day or both; empty: it is none.

    ISO 8601, `2024/05/20`, `20.05.2024`, `05/20/2024`, `May 20, 2024`, `20 May 2024`, `2024년 5월 20일`; with
    `T10:00`, `10:00:30`, `10 am`, `noon`, `Z`, `+02:00`. Fractions of a second are left out. There are two
    readings if day and month may be either way round, of which dots have the day first.
    """
    is_short = len(text) <= 48 and (any(map(str.isdigit, text)) or _CLOCK_WORD.search(text))
    return _read(text) if is_short else ()


_CLOCK_WORD = re.compile(
    r"(?i)\b(?:12 )?(?:(noon|midday|mittags?|midi|mediod[ií]a)|midnight|mitternachts?|minuit|medianoche)\b"
)


_HOURS = by_place(
    "- one two three four five six seven eight nine ten eleven twelve",
    "- eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "- une deux trois quatre cinq six sept huit neuf dix onze",
    "- una dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "- - due tre quattro cinque sei sette otto nove dieci undici dodici",
    "- uma duas três quatro cinco seis sete oito nove dez onze doze",
)
_FIVES = {
    word: 5 * fives
    for word, fives in by_place(
        "- five ten fifteen twenty twenty-five",
        "- fünf zehn fünfzehn zwanzig fünfundzwanzig",
        "- cinq dix quinze vingt vingt-cinq trente trente-cinq quarante quarante-cinq cinquante",
        "- cinco diez quince veinte veinticinco",
        "- cinque dieci quindici venti venticinque",
        "- cinco dez quinze vinte",
    ).items()
}
_MINUTES = _HOURS | _FIVES
_FIVE, _MINUTE = (
    f"(?:{'|'.join(sorted(names, key=len, reverse=True)).replace('-', '[ -]')})"
    for names in (_FIVES, _MINUTES)
)
_PART = (
    r"in the (?:early |late )?(?:morning|afternoon|evening)|at night|in der (?:früh|nacht)"
    r"|(?:morgen|vormittag|nachmittag|abend|nacht)s|am (?:vormittag|nachmittag|abend)"
    r"|du (?:matin|soir)|de (?:l['’]après-midi|la nuit)"
    r"|(?:de|por) la (?:mañana|madrugada|tarde|noche)|d(?:i|el|ella) (?:mattin[ao]|pomeriggio|sera|notte)"
    r"|da (?:manhã|madrugada|tarde|noite)"
)
_PART_OF_TODAY = (
    r"tonight|this (?:morning|afternoon|evening)|heute (?:früh|vormittag|nachmittag|abend|nacht)"
    r"|ce (?:matin|soir)|cet après-midi|esta (?:mañana|tarde|noche|manhã|noite)|stamattina|stasera|stanotte"
    r"|hoje à (?:tarde|noite)"
)
_SPOKEN_TIME = re.compile(
    rf"(?i)(?<![\w.,:/-])(?P<lead>(?:(?P<before>{_PART}|{_PART_OF_TODAY}|morning|afternoon|evening|night"
    r"|vormittag|nachmittag|abend|matin|soir),? )?"
    r"(?:at|by|from|until|till|before|after|um|ab|bis|gegen|vor|nach|à|vers|dès"
    r"|avant|après|jusqu['’]à|las?|dalle|alle|le|às) )?(?P<time>"
    rf"(?:(?P<past>half|quarter|viertel|{_FIVE})[ -](?:past|after|nach) |(?P<to>(?:quarter|{_FIVE}) to"
    rf"|(?:viertel|{_FIVE}) vor|(?:drei ?)?viertel|(?:um quarto|(?<!para )(?<!de ){_FIVE}) para as) )?"
    r"(?P<halb>halb )?"
    rf"(?P<hour>\d\d?|{'|'.join(_HOURS)})(?:[:.h](?P<n>[0-5]\d))?(?!(?!h\b)[\w%]|[.,:/-]\d|\s?[ap]\.?m\b"
    r"| (?:day|week|month|year|hour|minute|tag|woche|monat|jahr|stunde))"
    r"(?P<mark>\s?(?:h|o['’]?clock|uhr|heures?|horas?|ore)\b)?"
    r"(?:(?P<more> (?:et|y|e) (?:(?P<half>demie?|media|mezz[ao]|meia)|quart|cuarto|un quarto"
    rf"|(?P<add>{_FIVE})))\b"
    rf"|(?<=\bheures)(?P<more2> (?P<add2>{_MINUTE}|[0-5]\d))\b(?! min)"
    r"|(?P<less> (?:moins le quart|menos cuarto|meno un quarto"
    rf"|(?:moins|menos|meno) (?P<take>{_FIVE})))\b)?"
    rf"(?:,? (?P<part>{_PART})(?!\w))?)(?P<today>,? (?:{_PART_OF_TODAY})(?!\w))?"
)
_SIGNS_OF_TIMES = by_place(
    "half quart halb viertel clock para demi media cuarto mezz meia morn noon evening night mittag abend",
    "nacht früh matin mattin soir après nuit mañana madrugada tarde noche pomeriggio sera notte manhã noite",
)
_COUNTED_MINUTES = (
    rf"\b(?:{_FIVE}[ -](?:past|after|to|nach|vor) |(?:y|e|menos|moins|meno) {_FIVE}\b"
    rf"|heures (?:[0-5]\d|{_MINUTE})\b)"
)
_NIGHT = re.compile(r"(?i)night|nacht|nuit|noche|nott|noite")
_MORNING = re.compile(r"(?i)morn|morgens|vormittag|früh|mat+in|mañana|madrugada|manhã")


def with_noon_in_digits(text: str) -> str:
    """Writes noon and midnight as `12:00` and `0:00`."""
    return _CLOCK_WORD.sub(lambda word: "12:00" if word[1] else "0:00", text)


def with_times_in_digits(text: str) -> str:
    """Writes `9 de la noche`, `halb acht` and `noon` as `9:00 pm`, `7:30` and `12:00`."""
    parts, done = list[str](), 0
    for match, clock in _spoken(text):
        parts += [text[done : match.start("time")], clock, match["today"] or ""]
        done = match.end()
    return with_noon_in_digits("".join(parts) + text[done:])


def times_in_words(text: str) -> Iterator[tuple[int, int, str]]:
    """Yields the ranges of times that `with_times_in_digits` writes, and what it writes for them.

    With a part of the day before it, as in `tonight at 9`, the range begins there.
    """
    for match, clock in _spoken(text):
        yield match.start("lead" if match["before"] else "time"), match.end(), clock


def _spoken(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yields times in words, in digits; what may be a number of things is none: `take 2 in the morning`."""
    lower = text.lower()
    may_hold = any(sign in lower for sign in _SIGNS_OF_TIMES)  # as rarely: the pattern is slow
    may_hold = may_hold or compiled(_COUNTED_MINUTES).search(encodable(lower))
    for match in _SPOKEN_TIME.finditer(text) if may_hold else ():
        part_of, before, lead = (match[name] or "" for name in ("past", "to", "lead"))
        hour = _HOURS.get(match["hour"].lower()) or int(match["hour"] if match["hour"].isascii() else 99)
        minutes = hour * 60 + int(match["n"] or 0) - 30 * bool(match["halb"])
        more, less = (match["more"] or match["more2"]), match["less"]
        counted = match["add"] or match["add2"] or match["take"] or part_of or before.rpartition(" ")[0]
        counted = counted.lower().removesuffix(" para").replace(" ", "-")
        if part_of or more:
            is_half = match["half"] or counted == "half"
            minutes += 30 if is_half else int(counted) if counted.isdecimal() else _MINUTES.get(counted, 15)
        elif before or less:
            minutes -= 45 if before.lower() == "viertel" else _FIVES.get(counted, 15)
        is_part = bool(match["part"] or match["today"] or match["before"])
        is_range = not is_part and text[match.end() + 1 : match.end() + 2].isalpha()
        is_range = is_range or not lead.lower().endswith("at ")
        if is_range and counted in _FIVES and before.lower().endswith(" to"):
            continue  # `five to seven days`, `from five to seven in the evening`
        is_led = bool(match["lead"]) or not match.start("time")
        is_time = part_of or before or match["halb"] or (is_led and (more or less or is_part))
        if hour > 24 or not (is_time or (match["mark"] and (is_part or "clock" in match["mark"].lower()))):
            continue
        minutes = minutes % 1440 if hour > 12 else (minutes - 60) % 720 + 60
        hour, half = minutes // 60, ""  # without a half, it may be in both
        if is_part and hour <= 12:
            is_night = _NIGHT.search(match[0]) is not None
            if hour == 12:
                half = " am" if is_night else ""
            elif not (hour == 5 and is_night):
                half = " am" if _MORNING.search(match[0]) or (hour < 5 and is_night) else " pm"
        yield match, f"{hour}:{minutes % 60:02}{half}"


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[DateReading, ...]:
    lower = with_noon_in_digits(" ".join(text.lower().split()))
    if days := _days(lower):
        return tuple(DateReading(day, None, None) for day in days)
    match = _TIME.search(lower)
    if match is None or not (match[2] or match[4]):
        return ()
    hour, minute, second, half, offset = match.groups()
    hours = int(hour)
    if half:
        hours = hours % 12 + 12 * (half == "p") if 1 <= hours <= 12 else 24
    try:
        clock = time(hours, int(minute or 0), int(second or 0))
    except ValueError:
        return ()
    rest = lower[: match.start()].rstrip(" ,")
    if not rest and offset and offset.startswith("-"):
        return ()  # a range
    east = None if offset is None else 0
    if offset and offset[0] in "+-":
        minutes = int(offset[1:3]) * 60 + int(offset[-2:])
        east = minutes if offset[0] == "+" else -minutes
        if minutes >= 24 * 60:
            east = None
    readings: tuple[date | None, ...] = _days(rest) if rest else (None,)
    return tuple(DateReading(day, clock, east) for day in readings)


def epoch_date(number: float) -> tuple[DateReading, ...]:
    """Reads a number as seconds or milliseconds since 1970, from 2001 to 2286; empty: out of range."""
    seconds = number / 1000 if number >= _DATES_FIRST_MILLISECONDS else number
    if not _FIRST_SECONDS <= seconds < _DATES_FIRST_MILLISECONDS:
        return ()
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return (DateReading(moment.date(), moment.time(), 0),)


def same_date(left: tuple[DateReading, ...], right: tuple[DateReading, ...]) -> bool:
    """Returns whether two texts have the same readings: the same instant, or the same local day and time.

    A day without a time is read as midnight. If only one side has an offset, local times are compared.
    """
    return len(left) == len(right) > 0 and all(same is not False for same in map(_same, left, right))


def likeness_of_dates(left: tuple[DateReading, ...], right: tuple[DateReading, ...]) -> Likeness:
    """Compares the readings of two texts; unclear: they differ or not by the order of day and month in one.

    Where it is open in both, they are written alike, so that `5/6` is not `6/5`. It is unclear, too, where
    only one states the offset of its time.
    """
    pairs = zip(left, right, strict=True) if len(left) == len(right) else product(left, right)
    same = set(starmap(_same, pairs))
    if same <= {False}:
        return "different"
    return "same" if same == {True} and len(left) == len(right) else "unclear"


def _same(left: DateReading, right: DateReading) -> bool | None:
    """Returns whether two readings are the same; None: the local times are, but only one has an offset."""
    first, second = left.instant, right.instant
    if first is not None and second is not None:
        return first == second
    if not (left.day or right.day) and left.offset is not None and right.offset is not None:
        # Minutes after midnight in UTC of times without a day.
        sides = ((side.clock or time(), side.offset or 0) for side in (left, right))
        minutes = [(c.hour * 60 + c.minute + c.second / 60 - offset) % (24 * 60) for c, offset in sides]
        return minutes[0] == minutes[1]
    midnight = time() if left.day or right.day else None
    is_same = left.day == right.day and (left.clock or midnight) == (right.clock or midnight)
    is_open = left.clock and right.clock and (left.offset is None) != (right.offset is None)
    return None if is_same and is_open else is_same


def _days(text: str) -> tuple[date, ...]:
    """Returns the days that a text may be, in lower case; two if day and month may be either way round."""
    spelt = _WITH_HYPHENS.sub(r"\1/\2/\3", text)
    years, readings = read_day(spelt)
    if not readings and (bare := _BEFORE_DAY.sub("", text)) != spelt:
        years, readings = read_day(bare)
    days: list[date] = []
    for year, (month, day) in product(years, readings):
        with suppress(ValueError):
            days.append(date(year, month, day))
    return tuple(days)


_SIGNS = """>= from since ab seit depuis desde|> after nach après|<= by until till bis hasta
    |< before vor avant antes|~ about around gegen vers hacia|! except not außer nicht|? no"""
_BOUNDS = {word: sign for line in _SIGNS.split("|") for sign, *words in [line.split()] for word in words}
_BOUND = re.compile(
    rf"(?i)((?:(?:{'|'.join(_BOUNDS)}) (?:the |dem |den |zum |le |el |las )?)+)((?:[^\W\d_]+\.? )?\d.*)"
)


def split_bound(text: str) -> tuple[str, str]:
    """Returns the signs of the words before a text's day or time (`not before`: `!<`), and what follows."""
    match = _BOUND.fullmatch(text.strip())
    signs = (_BOUNDS.get(word, "") for word in match[1].lower().split()) if match else ()
    return "".join(signs), match[2] if match else text


def likeness_of_bounds(left: str, right: str) -> Likeness:
    """Compares the signs of one day or time; unclear: `from` and `after`, or a bound and the day itself."""
    signs, are_denied = [side.lstrip("!") for side in (left, right)], (left[:1] == "!", right[:1] == "!")
    if signs[0] == signs[1] or "!" in (left, right):
        return "same" if left == right else "different"
    are_opposite = len({*are_denied}) == 1 and all(signs) and signs[0][0] != signs[1][0]
    return "different" if are_opposite else "unclear"


_BEFORE_DAY = re.compile(rf"^(?!(?:{'|'.join(_BOUNDS)})\b)[^\W\d_]+,? (?=.*[^\W\d_].*\d{{4}}$)")


# Reads the names of weekdays.

_NAMES = by_place(
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
)
WEEKDAYS = {f"{name}{ending}": day for name, day in _NAMES.items() for ending in ("", "s")}
"""Name in lower case -> 0..6, Monday first; with names of repeated days, as `sundays` and `sonntags`."""

WEEKDAY_CHARACTERS = by_place("月 火 水 木 金 土 日", "월 화 수 목 금 토 일")
"""Character of a Japanese or Korean weekday -> 0..6."""

ALL_WEEKDAYS = {
    **WEEKDAYS,
    **WEEKDAY_CHARACTERS,
    **by_place(
        *("mon tue wed thu fri sat sun", "- tues - thur - - -", "- - - thurs - - -"),
        *("mo di mi do fr sa so", "lun - mer jeu ven sam dim", "- - mié jue vie sáb dom"),
    ),
}
"""Name, short name or character of a weekday -> 0..6."""

WEEKDAY_IN_CHARACTERS = r"([月火水木金土日])曜日?|([월화수목금토일])요일"
"""Pattern of a Japanese or Korean weekday; one of its two groups is the character."""

_WEEKDAY = re.compile(rf"{WEEKDAY_IN_CHARACTERS}|\b(?:{'|'.join(WEEKDAYS)})\b")


def weekdays_in(text: str) -> set[int]:
    """Returns the weekdays, 0..6, that a text names in one of six languages."""
    names = ((match[1] or match[2], match[0]) for match in _WEEKDAY.finditer(text.lower()))
    return {WEEKDAY_CHARACTERS[char] if char else WEEKDAYS[name] for char, name in names}


# Reads times of log records: RFC 3339 texts, seconds or milliseconds since the epoch.

# As seconds, the year 5138; as milliseconds, March 1973.
_FIRST_MILLISECONDS = 1e11
_OF_EVENTS = ("event_time", "eventTime", "timestamp")


def _spellings(names: str) -> frozenset[str]:
    return frozenset(name for text in names.split() for name in (text, to_camel(text)))


_WHOLE = _spellings("turns messages traj events eval_case_results eval_metric_result_per_invocation")
_TIMES = _spellings("""event_time timestamp start_time end_time last_update_time creation_timestamp created_at
    created create_time""")
_HOLDERS = _WHOLE | _spellings("""turn event json_payload diagnostic_info root_span child_spans spans
    actual_invocation""")


def epoch_seconds(number: float) -> float | None:
    """Converts seconds or milliseconds since the epoch to seconds; None: out of range."""
    seconds = number / 1000 if abs(number) >= _FIRST_MILLISECONDS else number
    return seconds if abs(seconds) < _FIRST_MILLISECONDS else None


def rfc3339(timestamp: str | float) -> str | None:
    """Returns a text unchanged and (milli)seconds since the epoch as RFC 3339; None: out of range."""
    if isinstance(timestamp, str):
        return timestamp
    seconds = epoch_seconds(timestamp)
    try:
        # A number of today has no more than microseconds; further digits are those of its binary form.
        return None if seconds is None else nanos_timestamp(round(seconds * 1e6) * 1000)
    except ValueError:
        return None


def time_seconds(value: JsonValue) -> float | None:
    """Returns a time in any spelling as seconds since the epoch; None: it is no time after 1970.

    A text without an offset, or with BigQuery's " UTC", is read as UTC, a numeric text as a number.
    """
    try:
        if isinstance(value, str):
            nanos = text_nanos(value)
            seconds = epoch_seconds(float(value)) if nanos is None else nanos / 1_000_000_000
        elif isinstance(value, int | float) and not isinstance(value, bool):
            seconds = epoch_seconds(float(value))
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return seconds if seconds is not None and seconds > 0 else None


def text_nanos(text: str) -> int | None:
    """Returns a time in RFC 3339 or as BigQuery writes it, by default of UTC, as nanoseconds; None: none."""
    spelling = text.strip().removesuffix(" UTC").replace(" ", "T", 1)
    for candidate in (spelling, f"{spelling}Z"):
        with suppress(ValueError):
            return timestamp_nanos(candidate)
    return None


def value_time(value: JsonValue) -> float | None:
    """Returns the event time of a parsed record, in seconds since the epoch; None: it states none.

    For an event it is the event's own time, for a whole conversation its last time. Only fields of the log
    are read, not arguments, responses or other content of the conversation.
    """
    if isinstance(value, dict) and not value.keys() & _WHOLE:
        holders = [h for h in (value.get("event"), value, value.get("turn")) if isinstance(h, dict)]
        for time_value in (holder[key] for holder in holders for key in _OF_EVENTS if key in holder):
            if (seconds := time_seconds(time_value)) is not None:
                return seconds
    return max(_inner_times(value), default=None)


def _inner_times(value: JsonValue) -> Iterator[float]:
    if isinstance(value, list):
        for item in value:
            yield from _inner_times(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in _TIMES:
                if (seconds := time_seconds(item)) is not None:
                    yield seconds
            elif key in _HOLDERS:
                yield from _inner_times(item)
