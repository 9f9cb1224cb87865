"""Months, weekdays, halves of the day, units and codes as values of which one may replace another."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import chain, takewhile
from math import fsum
from typing import NamedTuple

from turnwise.transforms.local_judge.claims import Claim, is_half_known, missing_numbers, read_claim
from turnwise.transforms.local_judge.meanings import words as words_meanings
from turnwise.transforms.text.cleaning import CURRENCIES, CURRENCY_NAMES, same_currency
from turnwise.transforms.text.dates import HALVES, MONTHS, WEEKDAY_CHARACTERS, WEEKDAY_IN_CHARACTERS, WEEKDAYS
from turnwise.transforms.text.values import SHARES, SPACED_GROUPS, with_joined_groups
from turnwise.transforms.text.words import NEGATING, SCALES, Keys, Word, read_numeral, weigh, word_set, words

_WEIGHTS = ["pound", "pounds", "lb", "lbs", "pfund", "ポンド", "파운드"]
_FURTHER_NAMES = {"gbp": f" libra libras {' '.join(_WEIGHTS)}", "jpy": " 엔"}
_SIGNS_OF = {code: sign for sign, code in CURRENCIES.items()}
_CURRENCIES = {
    code: f"{names} {code} {_SIGNS_OF.get(code, '')}{_FURTHER_NAMES.get(code, '')}"
    for code, names in {**CURRENCY_NAMES, "chf": "franc francs franken"}.items()
}
_CODES = {f"zqunit{number:02}": code for number, code in enumerate(_CURRENCIES)}
# One kind of measure a paragraph, its units between bars, and at its end words for what is measured.
_UNITS = f"""{" ".join(SHARES)} % ％

    s sec second seconds sekunde sekunden seconde secondes segundo segundos 秒 초
    | min mins minute minutes minuten minuto minutos 分間 분간
    | h hr hrs hour hours std stunde stunden heure heures hora horas 時間 시간
    | day days tag tage tagen jour jours día días 日間 일간
    | week weeks woche wochen semaine semaines semana semanas 週間 주간
    | month months monat monate monaten mois mes meses か月 ヶ月 개월
    | year years jahr jahre jahren ans année années año años 年間 년간
    | duration dauer durée duración 期間 기간

    night nights nacht nächte nächten nuit nuits noche noches 泊 박

    kg kilo kilos kilogram kilograms kilogramm キロ 킬로 | g gram grams gramm グラム 그램
    | mg milligram milligrams milligramm | ton tons tonne tonnes tonnen トン 톤
    | µg μg mcg microgram micrograms mikrogramm | oz ounce ounces | weight gewicht poids

    kb kilobyte kilobytes | mb megabyte megabytes | gb gigabyte gigabytes | tb terabyte terabytes

    km kilometer kilometers kilometre kilometres kilometern | mile miles meile meilen マイル 마일
    | m meter meters metre metres metern メートル 미터
    | cm centimeter centimeters centimetre centimetres zentimeter
    | mm millimeter millimeters millimetre millimetres | ft foot feet | inch inches zoll インチ 인치
    | distance

    km/h kmh kph | mph | m/s

    liter liters litre litres litern リットル 리터 | ml milliliter milliliters millilitre millilitres

    celsius °c ℃ | fahrenheit °f ℉ | temperature temperatur température temperatura"""
_KIND_OF = {name: kind for kind, row in enumerate(_UNITS.split("\n\n")) for name in row.split()}
_SHARE, TIME, NIGHTS = (_KIND_OF[name] for name in ("%", "h", "night"))
"""Kinds of measures of time."""
_HALVES = ("am a.m 午前 上午 오전", "pm p.m 午後 下午 오후")


class NamedValue(NamedTuple):
    """A month, weekday, half of the day or unit: its kind, and its number among those of the kind."""

    kind: str
    number: int


_WORDS = {
    **{name: NamedValue("month", number) for name, number in MONTHS.items()},
    **{name: NamedValue("weekday", day) for name, day in WEEKDAYS.items()},
}
_DAYS = {char: NamedValue("weekday", day) for char, day in WEEKDAY_CHARACTERS.items()}
_OF_NUMBERS = {
    name: NamedValue(kind, number)
    for kind, rows in (("unit", (*_CURRENCIES.values(), *re.split(r"\||\n\n", _UNITS))), ("half", _HALVES))
    for number, row in enumerate(rows)
    for name in row.split()
}
_MONEY = rf"[€$£¥₩₹]|(?<!\d )\b(?:{'|'.join(_CURRENCIES).upper()})\b"
_DAYS_OF = {_OF_NUMBERS[unit]: days for unit, days in (("day", 1), ("night", 1), ("week", 7))}
DAYS_IN = {name: _DAYS_OF[value] for name, value in _OF_NUMBERS.items() if value in _DAYS_OF}
_SIGNS = re.compile(rf"({_MONEY})\s?(\d(?:[\d.,]{{0,20}}\d)?)")
_LONGEST_FIRST = [re.escape(name) for name in sorted(_OF_NUMBERS, key=len, reverse=True)]
_SPACED = "|".join(name for name in _LONGEST_FIRST if name[-1].isascii())
_UNSPACED = "|".join(name for name in _LONGEST_FIRST if not name[-1].isascii())
_UNIT = rf"(?:{_SPACED})(?![A-Za-zÀ-ÿ\d²³])|{_UNSPACED}"
_SCALE = "|".join(sorted(SCALES.keys() - {"k"}, key=len, reverse=True))
_NUMBER = rf"\d(?:(?:k|\s?(?:{_SCALE}))(?![a-zà-ÿ]))?"
_FOUND = re.compile(
    rf"(?i)(?P<half>{HALVES})(?=\s?\d)|(?P<number>{_NUMBER})[\s-]?(?P<unit>{_UNIT})|{WEEKDAY_IN_CHARACTERS}"
    rf"|\b(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})\b"
)
_NO_NAMES = ("may", "march", "mar", "sept", "dec", "jan", "G", "M", "S")


def mark_named_values(text: str, names: dict[str, str]) -> str:
    """Replaces named values by one token each, the same for all names; `names` receives token -> name."""

    def mark(match: re.Match[str]) -> str:
        name = match["half"] or match["unit"] or match["word"] or match[0]
        if name in _NO_NAMES:
            return match[0]
        value = _DAYS.get(match[4] or match[5] or "") or _WORDS.get(name.lower()) or _OF_NUMBERS[name.lower()]
        token = f"zq{value.kind}{value.number:02}"
        names.setdefault(token, name.lower())
        return f"{match['number'] or ''} {token} "

    return _FOUND.sub(mark, _SIGNS.sub(r"\2 \1", text))


def measured(text: str) -> tuple[bool, bool]:
    """Returns whether a text has a unit of which other systems have another, and whether it has a share."""
    names = dict[str, str]()
    mark_named_values(text, names)
    kinds = {_KIND_OF.get(name, name) for name in names.values() if name in (*_KIND_OF, *_WEIGHTS)}
    return bool(kinds - {_SHARE, TIME, NIGHTS}), _SHARE in kinds


_LONG_UNIT = "|".join(name for name in _LONGEST_FIRST if len(name) > 3 and name.isalpha())
_MEASURE = re.compile(
    rf"(?i)(?<![A-Za-z\d_.,:/-])(?:(\d[\d.,]{{0,9}})\s?(?:[–~〜-]|(?:to|bis|à|a)\b)\s?)?(\d[\d.,]{{0,9}})[\s-]?"
    rf"(?:({_UNIT})|(営業日|영업일)|[^\W\d_]{{2,14}}[\s-]?({_LONG_UNIT})(?![A-Za-zÀ-ÿ]))"
)
_STANDARD, _STANDARDS = re.compile(r"(?<![\w.,:-])(\d)[A-Z](?![\w-])"), -1
_NAME_OF_UNIT = re.compile(
    r"(?i)(?<![A-Za-zÀ-ÿ])(?:(?<=[\d_])|(?<=\d[\s-])|(?=[^\W\d_]{3}|期間|기간)|(?=\W)"
    rf"|(?<=[: ]\")(?=[a-z]{{2}}))({_UNIT})"
)
_ISO_LENGTH, _DAY = re.compile(r"\bP(?:T?\d{1,4}[DHMSWY])+\b"), re.compile(r"\b\d{4}-\d\d-\d\d")


def measures_of(text: str) -> dict[str, int]:
    """Returns the numbers of a text that have a unit, with its kind: both of `5 to 7 business days`.

    Amounts of money and shares, which may be of anything, are none. Standards such as `5G` are a kind of
    their own, of which no unit tells whether a text has it.
    """
    kinds = dict.fromkeys(_STANDARD.findall(text), _STANDARDS)
    for first, last, unit, days, other_unit in _MEASURE.findall(text):
        kind = TIME if days else _KIND_OF.get((unit or other_unit).lower(), _SHARE)
        kinds = {number: kind for number in (first, last) if number and kind != _SHARE} | kinds
    return kinds


def kinds_of_measures(text: str) -> set[int]:
    """Returns the kinds of measures that a text names, in its words or in keys such as `duration_minutes`."""
    names = _NAME_OF_UNIT.findall(re.sub("(?<=[a-z])(?=[A-Z])", " ", text))
    kinds = {_KIND_OF.get(name.lower(), _SHARE) for name in names}
    kinds |= {TIME} if _ISO_LENGTH.search(text) else set()
    return kinds | ({NIGHTS} if TIME in kinds or len({*_DAY.findall(text)}) > 1 else set())


def are_other(value: str, other: str) -> bool:
    """Returns whether two tokens stand for different values."""
    return value != other and not same_currency(_CODES.get(value, value), _CODES.get(other, other))


_PERHAPS_WITH_UNIT = re.compile(r"(\d[\d.,]*)(?: +(zqunit\d\d))?")


def units_of(text: str, currencies: Set[str] = frozenset()) -> Iterator[tuple[Keys, str]]:
    """Yields the keys of each number of a text, and its unit, or the only one of some currencies, or ""."""
    names, (currency, *others) = dict[str, str](), (*currencies, "")
    currency = currency if len(others) == 1 and currency in _OF_NUMBERS else ""
    for number, token in _PERHAPS_WITH_UNIT.findall(mark_named_values(text, names)):
        yield read_numeral(number.rstrip(".,")).keys, names.get(token, currency)


def other_unit(text: str, held: Callable[[str], Iterable[str]]) -> tuple[str, str] | None:
    """Returns the unit of a number in a text, and that `held` by evidence, if they are two of one kind.

    Not of time: evidence of `2 years` says nothing against `2 hours`, which may be of anything else.
    """

    def are_two(name: str, other: str) -> bool:
        tokens = (f"zqunit{_OF_NUMBERS[unit].number:02}" for unit in (name, other))
        is_kind = bool(other) and TIME != _KIND_OF.get(name) == _KIND_OF.get(other)
        return is_kind and are_other(*tokens) and not {name, other} & {*_WEIGHTS}

    for keys, name in units_of(text):
        others = [other for key in keys for other in held(key)] if name else []
        if others and all(are_two(name, other) for other in others):
            return name, others[0]
    return None


# Negations in idioms that deny nothing, such as `not only` and `no later than`, do not count.
_IDIOMS = re.compile(
    r"(?i)\b(?:not|no|n['’]t)\s+(?:only|just|merely|simply|solely|more|less|fewer|later|earlier|sooner|doubt"
    r"|wonder|matter|problem|worries|until|before|unless|(?:un|im|in|ir)[a-z]{4,}(?:ble|ly|ual))\b|\bnothing "
    r"(?:but|less|more)\b|\b(?:cannot|can['’]t) (?:but|wait)\b|\bif not\b|\bunless\b|\bdo(?:n['’]t| not) "
    r"(?:forget|hesitate|worry|miss)\b|\bnicht\s+(?:nur|bloß|allein|zuletzt|später|früher|mehr als|weniger"
    r"|selten|vergessen|un[a-zäöüß]+)\b|\bkeine?\s+(?:zweifel|problem|sorge)\b|\bvergessen sie nicht\b|\bes "
    r"sei denn\b|\bohne weiteres\b|\bn(?:e\s+|['’])(?:[^\W\d_]+\s+){1,4}?qu(?:e\b|['’])|\bpas\s+(?:seulement"
    r"|uniquement|plus|moins)\b|\bsans (?:doute|souci|problème)\b|\bhésitez pas\b|\bno\s+(?:s[oó]lo|obstante"
    r"|más|menos|dude|olvide)\b|\bsin (?:duda|problemas?)\b|だけで(?:は)?なく|だけじゃなく|のみならず"
    r"|に過ぎない|なければなら?な?りません|なければならない|かもしれ(?:ない|ません)|ない限り|なければ|ないと"
    r"|問題(?:は)?(?:ない|ありません)|뿐(?:만)?\s?아니라|뿐만이?\s?아니|지\s?않으면|않는\s?한|문제\s?없"
    r"|틀림없|빠짐없|상관없"
)

_IN_BETWEEN = r"(?:[^\W\d_]+(?:\s+|['’])){0,4}?"
_PAIRS = (
    (
        rf"\bn(?:e\s+|['’])({_IN_BETWEEN})(?:pas|plus(?!\s+qu)|jamais|aucune?|rien|point|guère|personne)\b",
        r"\1pas",
    ),
    (r"\b((?:aucune?|rien|jamais)\b[^.,;:!?]{0,60}?)\bn(?:e\s+|['’])", r"\1"),
    (rf"\bno\s+({_IN_BETWEEN})(?:nada|nunca|jamás|ning[uú]n|ninguno|ninguna|nadie|tampoco)\b", r"no \1"),
    (r"\bnon-(?!stop|profit|fiction)(?=[^\W\d_]{4})|\bnon(?=[a-z]{3,}[ai]ble\b)", "not "),
    (r"\bout[ -]of[ -](?=(?:stock|service|order|print)\b)", "not in "),
)
_MAY_BE_TWO = re.compile(r"\b(?:n(?:e\s|['’]|on?[\s-]|on[a-z])|out[ -]of|aucun|rien|jamais)", re.IGNORECASE)
_ONE_NEGATION = [(re.compile(pattern, re.IGNORECASE), text) for pattern, text in _PAIRS]
_JOINS = word_set("and but or und aber oder et mais ou y pero o")
_FORWARD = re.compile("不|没有|沒有|未")
_LAST_RUN = re.compile(r"[^\s\u3040-\u309f]+(?=[\s\u3040-\u309f]*$)")
_MOST_DENIED = 0.75
_NEAR = 200


def with_single_negations(text: str) -> str:
    """Writes each negation of two words, and words such as `non-refundable`, with one negation."""
    for pair, single in _ONE_NEGATION if _MAY_BE_TWO.search(text) else ():
        text = pair.sub(single, text)
    return text


def replace_idioms(text: str, replacement: str = " ") -> str:
    """Replaces idioms with a negation that denies nothing by itself."""
    return _IDIOMS.sub(replacement, text)


def is_denied(text: str) -> bool:
    """Returns whether a text has a negation that denies something."""
    return any(word.is_negation for word in words_meanings(replace_idioms(with_single_negations(text))))


def denies(text: str, known: Set[str]) -> bool:
    """Returns whether what a clause with one negation denies is known."""
    read = words_meanings(text)
    position = next((i for i, word in enumerate(read) if word.is_negation), len(read))
    inside = NEGATING.search(text) if position < len(read) and not read[position].lower.isascii() else None
    denied: list[Word] = []  # the nearest one first
    if inside and read[position].is_content and not _FORWARD.match(inside[0]):
        # Negated endings of Japanese and Korean deny the word before them, in Japanese without its Hiragana.
        before = text[: inside.start()][-_NEAR:]
        while not denied and (run := _LAST_RUN.search(before)):
            denied = [word for word in words_meanings(run[0]) if word.is_content][-1:]
            before = before[: run.start()]
    else:
        # The words after it up to `and`, or the last one before it.
        clause = takewhile(lambda word: word.lower not in _JOINS, read[position + 1 :])
        denied = [word for word in clause if word.is_content]
        denied = denied or [word for word in read[:position] if word.is_content][-1:]
    if denied and not is_half_known(denied[0], known):
        return False
    shared = weigh(word for word in denied if is_half_known(word, known))
    return fsum(shared.values()) >= _MOST_DENIED * fsum(weigh(denied).values())


# Writes the codes of a sentence as the evidence spells them.
#
# A phone, card, account or flight number is the same with and without spaces, hyphens and brackets. `card
# ending in 4242` names a number that ends so.

_RUN = re.compile(r"[A-Za-z0-9]{1,64}")
_GAP = re.compile(r"[ \u00a0‐‑()-]{1,2}")
_MOST_RUNS, _LONGEST = 9, 2_000
_FEWEST_DIGITS, _SHORTEST, _SHORTEST_PHONE, _LONGEST_LETTERS = 6, 3, 9, 5
_ENDING = re.compile(
    r"(?i)(?:\bending\s+(?:in|with)|\b(?:card|account|number|phone|certificate|iban)\s+ends\s+(?:in|with)"
    r"|\blast\s+(?:four|4)\s+digits(?:\s+of\s+(?:the|your)\s+\w{1,20})?(?:\s+(?:are|is))?|\bend(?:et|end)\s+auf|\bEndziffern"
    r"|\btermin(?:ée?|ada|ado|a|e)\s+(?:par|en)|末尾が?|下4桁[がは]?|끝자리[가는]?|[*•]{2,20}|\b[xX]{3,20})"
    r"[\s:*#•-]{0,20}(\d{4})(?!\d)"
)
_MAY_BE_CODE = re.compile(r"\d[\d \u00a0‐‑()-]{4,}\d|[A-Z][ -]?\d|\d[ -]?[A-Z]|[a-z]\d|\d[a-z]")
_YEAR = re.compile(r"(?:19|20)\d\d")


class SpelledText:
    """A text in which codes are found whatever spaces, hyphens and brackets they are spelled with."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def parts(self) -> str:
        """Its runs of digits and of letters in lower case, each between two spaces."""
        return _parts_of(self._text)

    @cached_property
    def _compact(self) -> str:
        return "".join(_RUN.findall(self._text))

    def find(self, code: str) -> str | None:
        """Returns how the text spells a code of ASCII letters and digits; None: it has no such code.

        A long number may be that of a phone, which the text has with the code of its country.
        """
        is_phone = code.isdigit() and len(code) >= _SHORTEST_PHONE
        code = code.removeprefix("0") if is_phone and code not in self._compact else code
        if code not in self._compact:  # as nearly always: no pattern is compiled
            return None
        spelled = f"(?:{_GAP.pattern})?".join(code)
        country = rf"(?:\+\d{{1,3}}(?:{_GAP.pattern})?)?" if is_phone else ""
        match = re.search(f"(?<![A-Za-z0-9]){country}{spelled}(?![A-Za-z0-9])", self._text)
        return match[0] if match else None

    def ending_in(self, digits: str) -> str | None:
        """Returns a number of the text that ends in some digits; None: it has none."""
        if digits not in self._text:
            return None
        number = re.search(rf"[A-Za-z\d]{{0,30}}{digits}(?!\d|[ -]\d{{4}}(?!\d))", self._text)
        return number[0] if number else None


def as_spelled(claim: Claim, texts: Sequence[SpelledText], *known: Set[str]) -> tuple[Claim, list[str]]:
    """Returns a claim with its codes as texts spell them, and its numbers and codes that are missing.

    For the last digits of a number stands the whole one. Numbers are missing if none of some sets of keys
    holds them, and last digits and codes if no text does.
    """

    def missing_of(claim: Claim) -> list[str]:
        if missing := missing_numbers(claim, *known):
            return missing
        codes = [match[0] for match in _CODE.finditer(claim.text) if not _is_number(match[0])]
        return [code for code in codes if not any(_parts_of(code) in text.parts for text in texts)]

    def whole(ending: re.Match[str]) -> str:
        number = next(filter(None, (text.ending_in(ending[1]) for text in texts)), "")
        return number if len(number) >= _FEWEST_DIGITS else ending[0]

    missing, respelled = missing_of(claim), claim.text
    names_ending = re.search(r"\d{4}", respelled) and _ENDING.search(respelled)
    may_be_other = bool(names_ending or (missing and _MAY_BE_CODE.search(respelled)))
    if may_be_other and texts and len(respelled) <= _LONGEST:
        respelled = "".join(_respelled(_ENDING.sub(whole, respelled), texts))
    if missing and not missing_of(read_claim(joined := with_joined_groups(claim.text))):
        respelled = joined
    if respelled != claim.text:
        claim = read_claim(respelled)
        missing = missing_of(claim)
    ends = [ending[1] for ending in _ENDING.finditer(claim.text) if not _YEAR.match(ending[1])]
    held_in = texts if may_be_other else ()
    return claim, missing or [end for end in ends if not any(text.ending_in(end) for text in held_in)]


def _respelled(sentence: str, texts: Sequence[SpelledText]) -> Iterator[str]:
    runs, done, first = list(_RUN.finditer(sentence)), 0, 0
    while first < len(runs):
        end = first
        while end < min(len(runs), first + _MOST_RUNS):
            run = runs[end][0]
            if not (any(map(str.isdigit, run)) or (run.isupper() and len(run) <= _LONGEST_LETTERS)):
                break
            if end > first and not _GAP.fullmatch(sentence, runs[end - 1].end(), runs[end].start()):
                break
            end += 1
        for last in reversed(range(first, end)):
            code = "".join(run[0] for run in runs[first : last + 1])
            least = _FEWEST_DIGITS if code.isdigit() else _SHORTEST
            is_code = len(code) >= least and any(map(str.isdigit, code))
            if is_code and (held := next(filter(None, (text.find(code) for text in texts)), None)):
                yield sentence[done : runs[first].start()] + held
                done, first = runs[last].end(), last
                break
        first += 1
    yield sentence[done:]


# A card or booking number, a phone number with hyphens, an address of e-mail or the internet, a version, and
# what is no date or time (`2024-75-24`, `96:00`): known only if the evidence has all parts one after another.
_CODE = re.compile(
    r"(?<![\w.,/:-])(?:\d{1,4}(?:-\d{1,4}){2,5}|\d{1,5}(?:\.\d{1,5}){2,5}|\d{4}(?:[ -]\d{4}){2,4}"
    r"|(?:2[5-9]|[3-9]\d):\d\d|\d{1,2}:[6-9]\d|\d{1,8}[A-Z][A-Z\d]{3,15}|\d{1,3}[A-Fab])(?![\w/-]|[.,:]\d)"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"
)
_LIST = re.compile(r"\[\s{0,4}(-?\d[\d.\s-]{0,40}(?:,[\d.\s-]{1,40}){1,999})\]")
_PARTS = re.compile(r"\d+|[^\W\d_]+")


def _parts_of(text: str) -> str:
    return f" {' '.join(_PARTS.findall(text.lower()))} "


def numbers_read_apart(text: str) -> Iterator[str]:
    """Yields the keys of the numbers in lists such as `[109,338]`, which read like one, and of `2 000`."""
    groups = (group[0].replace(" ", "") for group in SPACED_GROUPS.finditer(text))
    for number in (*groups, *chain.from_iterable(numbers.split(",") for numbers in _LIST.findall(text))):
        yield from chain.from_iterable(word.keys for word in words(number))


def _is_number(code: str) -> bool:
    """Returns whether a code is one date or number, such as `24.12.2024` or `1.234.567`."""
    if not code.replace(".", "").replace("-", "").isdecimal() or " " in code:
        return False
    return any(
        key.startswith("#m") or len(key) > len(code) - code.count(".") for key in read_numeral(code).keys
    )
