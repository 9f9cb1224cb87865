"""Splits texts in any script into words with features, and reads numerals and dates in them."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from turnwise.transforms.text.cleaning import Remembered
from turnwise.transforms.text.dates import (
    HALVES,
    MONTHS,
    by_place,
    read_clock,
    read_day,
    times_in_words,
    with_noon_in_digits,
)
from turnwise.transforms.text.patterns import compiled, encodable
from turnwise.transforms.text.rouge import rouge_tokens

# Reads numbers, dates and times as comparable keys, in any format and script.
#
# Keys: `#1200` is a number, `#m3` a month, `#m3d5` a day of it, `#t900` a time in minutes after midnight.
# An ambiguous text (`1.200`, `03/05/2024`) has one key per reading.

Keys = tuple[str, ...]

_SEPARATORS = ".,٬٫．，'’"
SCALES = {
    "k": 3,
    **dict.fromkeys(("thousand", "tausend", "mille", "mil", "千", "천"), 3),
    **dict.fromkeys(("万", "萬", "만"), 4),
    "lakh": 5,
    **dict.fromkeys(("million", "millionen", "millions", "millones", "millón", "mn", "mio"), 6),
    "crore": 7,
    **dict.fromkeys(("億", "亿", "억"), 8),
    **dict.fromkeys(("billion", "milliarden", "milliarde", "milliards", "milliard", "mrd", "bn"), 9),
    **dict.fromkeys(("兆", "조"), 12),
}
"""Scale word -> power of ten."""
_CLOCK = r"[時时点시](?![間间간])(?:\s?(?:\d{1,2}\s?[分분]|[半반](?!드시)))?"
TIME_OF_A_HALF = rf"(?:{HALVES})\s?\d{{1,2}}(?::\d\d|\s?{_CLOCK})"
"""Regular expression of times such as `午後3時`, which `read_numeral` reads as well."""
_SCALE_WORDS = "|".join(name for name in SCALES if len(name) > 1)
_NO_LETTER = r"(?![\dA-Za-zÀ-ÿ_])"  # `5 millionです` has no boundary of words

NUMERAL = (
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:T(?=\d)|(?![\d-]))"
    r"|\d{1,2}\.\d{1,2}\.(?!\d)"
    r"|\d{1,2}:\d\d(?::\d\d)?(?:\s?[AaPp]\.?[Mm]\b)?"
    r"|\d{1,2}(?:\.\d\d)?\s?(?:[AaPp]\.?[Mm]\b|Uhr\b(?:\s?\d\d\b)?)"
    rf"|\d{{1,2}}\s?(?:{_CLOCK}|h\s?\d\d\b)"
    r"|\d{1,4}\s?[万萬만]\s?\d{1,4}(?:\s?[千천])?(?![\d,.])"
    r"|(?:\d{4}\s?[年년]\s?)?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]"
    rf"|\d{{1,64}}(?:[{_SEPARATORS}]\d{{1,64}}|[\u00a0\u2009\u202f]\d{{3}}(?!\d)){{0,7}}(?:\s?(?:[万萬만億亿억兆조千천]|(?i:{_SCALE_WORDS}){_NO_LETTER})|[kK]{_NO_LETTER})?"
)
"""Regular expression of the numerals that `read_numeral` reads."""

_DIGITS = re.compile(r"\d+")
_NO_DIGITS = re.compile(r"\D+")
_SECONDS = re.compile(r"(?<=:\d\d):\d\d")
_TEN_THOUSANDS = re.compile(r"(\d{1,4})\s?[万萬만]\s?(\d{1,4})(\s?[千천])?")
_SCALED = re.compile(r"(.*?)\s?([^\W\d]+)")


class Numeral(NamedTuple):
    """Keys of a numeral: demanded of evidence (one of each tuple), provided as such, and compared."""

    demands: tuple[Keys, ...]
    keys: Keys
    parts: Keys


def read_numeral(token: str) -> Numeral:
    """Reads a text that `NUMERAL` or `TIME_OF_A_HALF` matches."""
    text = with_ascii_digits(token).lower()
    if ten_thousands := _TEN_THOUSANDS.fullmatch(text):
        rest = int(ten_thousands[2]) * (1000 if ten_thousands[3] else 1)
        return _read_number(str(int(ten_thousands[1]) * 10_000 + rest))
    if minutes := read_clock(_SECONDS.sub("", text)):
        # `12:00` is not `0:00`.
        exact, *late = (f"#t{reading}" for reading in minutes if reading >= minutes[0])
        hours = () if minutes[0] % 60 else (f"#{minutes[0] // 60}", f"#{int(_DIGITS.findall(text)[0])}")
        return Numeral(((exact, *late, *hours[:1]),), (exact, *dict.fromkeys(hours)), (exact,))
    number, (years, days) = _read_number(text.removesuffix(".")), read_day(text.removesuffix("t"))
    if not (days and all(days[0])):
        return number
    of_years = tuple(f"#{year}" for year in years)
    of_days = tuple(day_key(*day) for day in days)
    parts = [key for month, day in days for key in (month_key(month), f"#{day}")]
    demanded = (of_days, *((key,) for key in of_years))
    date = Numeral(demanded, (*of_days, *parts, *of_years), (*parts[:2], *of_years))
    if not (text.endswith(".") or text.isdecimal()):
        return date
    # `05.03.` may also be a number at the end of a sentence, and `20260314` a number.
    demands = tuple((*keys, *number.keys) for keys in date.demands)
    if text.isdecimal():
        return Numeral(demands, number.keys + date.keys, number.parts)
    return Numeral(demands, date.keys + number.keys, date.parts)


def with_ascii_digits(token: str) -> str:
    """Writes the decimal digits of any script as 0 to 9."""
    if token.isascii():
        return token
    return "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in token)


def month_key(month: int) -> str:
    """Returns the key of a month, 1..12."""
    return f"#m{month}"


def day_key(month: int, day: int) -> str:
    """Returns the key of a day of a month."""
    return f"{month_key(month)}d{day}"


def _read_number(text: str) -> Numeral:
    scale, scaled = 0, _SCALED.fullmatch(text)
    if scaled and scaled[2] in SCALES:
        text, scale = scaled[1], SCALES[scaled[2]]

    def key(whole: str, fraction: str) -> str:
        fraction = fraction.ljust(scale, "0")
        whole, fraction = (whole + fraction[:scale]).lstrip("0"), fraction[scale:].rstrip("0")
        return f"#{whole or 0}.{fraction}" if fraction else f"#{whole or 0}"

    runs, marks = _DIGITS.findall(text), _NO_DIGITS.findall(text)
    is_grouped = len(runs[0]) <= 3 and runs[0] != "0" and all(len(run) == 3 for run in runs[1:-1])
    grouped, one_mark = ("".join(runs), ""), len(set(marks)) == 1
    # For every number its readings as (whole, fraction).
    if one_mark and marks[-1] == "," and re.fullmatch(r"\d\d?(,\d\d)+,\d{3}", ",".join(runs)):  # lakhs
        numbers = [[grouped]]
    elif is_grouped and len(marks) > 1 and marks[-1] not in marks[:-1]:
        numbers = [[("".join(runs[:-1]), runs[-1])]]
    elif is_grouped and one_mark and len(runs[-1]) == 3:
        numbers = [[grouped, (runs[0], runs[1])]] if len(runs) == 2 else [[grouped]]
    else:
        numbers = [[(runs[0], runs[1])]] if len(runs) == 2 else [[(run, "")] for run in runs]
    demands = tuple(tuple(key(*reading) for reading in readings) for readings in numbers)
    keys = tuple(key for readings in demands for key in readings)
    return Numeral(demands, keys, tuple(readings[0] for readings in demands))


class Word(NamedTuple):
    """A word or a number, in lower case with straight apostrophes, and weighted features to compare it by."""

    lower: str
    features: tuple[tuple[str, float], ...]
    keys: Keys  # that it provides as evidence: its features, and all readings of a number
    demands: tuple[Keys, ...] = ()  # of a number or identifier: the evidence must hold one key of each tuple
    is_content: bool = True
    is_negation: bool = False
    month: int = 0  # 1..12 for the name of a month
    # What stands in an order in a text: the characters of a run of Han, Kana or Hangul, the features of other
    # words without capitals, else the stem or the number.
    units: Keys = ()


@cache
def _token() -> re.Pattern[str]:
    """Returns the pattern for texts that are not ASCII, which takes 12 ms to make."""
    letters = f"(?!\\d)[^\\W_{CHARACTER_SCRIPTS}{UNSPACED_SCRIPTS}]{{1,32}}"
    # There are no combining marks among Han and Hangul.
    chars = map(chr, (*range(0x300, 0x3400), *range(0xA000, 0xAC00), *range(0xFB00, 0xFE30)))
    marks = "".join([char for char in chars if unicodedata.category(char) in ("Mn", "Mc")])
    part = f"{letters}(?:[{marks}]{{1,8}}(?:{letters})?){{0,15}}"
    return re.compile(
        f"{part}(?:['’]{part}){{0,2}}|(?=\\d)(?:{NUMERAL})"
        f"|{TIME_OF_A_HALF}|(?:(?!{TIME_OF_A_HALF})[{CHARACTER_SCRIPTS}]){{1,32}}|[{UNSPACED_SCRIPTS}]{{1,32}}"
    )


_ASCII_LETTERS = "[A-Za-z][A-Za-z0-9]{0,31}"
_ASCII_TOKEN = re.compile(f"{_ASCII_LETTERS}(?:'{_ASCII_LETTERS}){{0,2}}|(?=\\d)(?:{NUMERAL})")


def _read(token: str) -> Word:
    for _, _, clock in times_in_words(token):
        numeral = read_numeral(clock)
        features = tuple((key, WORD_WEIGHT) for key in numeral.parts)
        # Without a half of the day it may be a time of both.
        keys = tuple(dict.fromkeys((*numeral.keys, *numeral.demands[0])))
        return Word(token.lower(), features, keys, numeral.demands, units=keys[:1])
    if _NUMERIC.match(token) or (is_run_of_characters(token) and any(map(str.isdecimal, token))):
        numeral = read_numeral(token.removeprefix("x"))
        features = tuple((key, WORD_WEIGHT) for key in numeral.parts)
        return Word(token.lower(), features, numeral.keys, numeral.demands, units=numeral.keys[:1])
    lower = unicodedata.normalize("NFKC", token).lower().replace("’", "'")
    if (number := spoken_number(lower)) is not None:
        is_content, shares = True, [(f"#{number}", WORD_WEIGHT)]
    else:
        is_content, shares = (_of_characters if is_run_of_characters(lower) else _of_letters)(lower)
    weights: dict[str, float] = {}
    for key, weight in shares:
        weights[key] = weights.get(key, 0.0) + weight
    keys = tuple(weights)
    if (clock := with_noon_in_digits(lower)) != lower:  # evidence of `12:00`, which a text need not mean
        keys = (*keys, *read_numeral(clock).keys)
    demands = (keys,) if len(keys) == 1 and any(map(str.isdecimal, lower)) else ()
    is_negation = lower in NEGATIONS or lower.endswith("n't") or lower.startswith("n'")
    is_negation = is_negation or (not lower.isascii() and NEGATING.search(lower) is not None)
    units = keys[:1] if lower[0].upper() != lower[0] else keys
    units = tuple(lower) if is_run_of_characters(lower) else units
    month = MONTHS.get(lower, 0)
    return Word(lower, tuple(weights.items()), keys, demands, is_content, is_negation, month, units)


_NUMERIC = re.compile(r"\d|x\d{1,3}$")  # `x2`
_WORDS = Remembered(_read, 20_000)


def tokenize(text: str) -> list[str]:
    """Splits a text into words and numbers (`twenty-one` is one), in order; runs are cut after 32 letters."""
    find = (_ASCII_TOKEN if text.isascii() else _token()).findall
    tokens, done = list[str](), 0
    times = {(start, end) for start, end, _ in times_in_words(text)}
    for start, end in sorted([*times, *numbers_in_words(text)]):
        run = text[start:end]
        is_one = (" " in run or "-" in run) and not _OPEN.fullmatch(run.lower())
        if start >= done and (is_one or (start, end) in times):
            tokens += [*find(text[done:start]), run]
            done = end
    return [*tokens, *find(text[done:])]


def starts_of(tokens: Iterable[str], text: str) -> list[int]:
    """Returns the offsets of the tokens of a text, and its length as the last element."""
    starts, find, start = [], text.index, 0
    for token in tokens:
        start = find(token, start)
        starts.append(start)
        start += len(token)
    return [*starts, len(text)]


def read_words(tokens: Iterable[str]) -> list[Word]:
    """Returns the words of tokens."""
    return list(map(_WORDS.__getitem__, tokens))


def words(text: str) -> list[Word]:
    """Returns the words and numbers of a text, in order."""
    return read_words(tokenize(text))


def weigh(some: Iterable[Word], more: Mapping[str, float] | None = None) -> dict[str, float]:
    """Sums the feature weights of words, added to `more`."""
    weights = dict(more) if more else {}
    for word in some:
        for key, weight in word.features:
            weights[key] = weights.get(key, 0.0) + weight
    return weights


def dates_in_words(read: Sequence[Word]) -> Iterator[tuple[Word, Keys]]:
    """Yields months by name, as in `May 5`, `5. Mai` and `5 de mayo`, with keys of the days beside them."""
    for position in [position for position, word in enumerate(read) if word.month]:
        name, near = read[position], read[max(0, position - 3) : position + 2]
        numbers = [word.keys[0][1:] for word in near if word.demands and word.keys[0][0] == "#"]
        days = [int(number) for number in numbers if len(number) <= 2 and number.isdecimal()]
        if keys := tuple(day_key(name.month, day) for day in days if 1 <= day <= 31):
            yield name, keys


# Computes weighted features of single words, for comparing texts in any script.
#
# - Alphabets with capitals: the stem (Porter's for ASCII, as ROUGE has it) and its beginning, so that `Umzug`
#   and `Umzugstermin` share a feature. Accents are ignored.
# - Other alphabets: all runs of three letters, because their words carry prefixes as well.
# - Han, Kana and Hangul: every character and every pair of them. Hiragana and the syllables of Korean
#   particles and endings weigh little.
# - Thai, Lao, Khmer and Burmese, which have no spaces: all runs of three letters.

WORD_WEIGHT = 4.0
"""Weight of a content word of an alphabet, and of a number."""
_GRAMMAR_WEIGHT = 0.5
_CHARACTER_WEIGHT = 1.5
_GRAMMAR_CHARACTER_WEIGHT = 0.15
_PAIR_SHARE = 0.5
_BEGINNING = 4
_BEGINNING_SHARE = 0.4
_LAST_ACCENT = "\u08ff"

CHARACTER_SCRIPTS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u1100-\u11ff\uac00-\ud7ff"
)
"""Han, Kana and Hangul, as ranges of a character class."""
UNSPACED_SCRIPTS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
)
"""Thai, Lao, Burmese and Khmer without their digits, as ranges of a character class."""
_BEGINNINGS, _LASTS = CHARACTER_SCRIPTS[::3], CHARACTER_SCRIPTS[2::3]
_BOUNDS = sorted((*_BEGINNINGS, *(chr(ord(last) + 1) for last in _LASTS)))
HAN_DIGITS = by_place("〇 一 二 三 四 五 六 七 八 九 十", "零 - 两", "- - 兩")


def is_run_of_characters(word: str) -> bool:
    """Returns whether a word is written in Han, Kana or Hangul."""
    return bisect_right(_BOUNDS, word) % 2 == 1


def _of_characters(run: str) -> tuple[bool, list[tuple[str, float]]]:
    """Returns whether a run of Han, Kana or Hangul is a content word, and its features."""
    are_grammar = ("\u3040" <= char <= "\u309f" or char == "ー" or char in KOREAN_GRAMMAR for char in run)
    weights = [_GRAMMAR_CHARACTER_WEIGHT if is_one else _CHARACTER_WEIGHT for is_one in are_grammar]
    keys = [f"#{HAN_DIGITS[char]}" if char in HAN_DIGITS else char for char in run]
    shares = [_PAIR_SHARE * sum(both) / 2 for both in pairwise(weights)]
    features = [*zip(keys, weights, strict=True), *zip(map("".join, pairwise(run)), shares, strict=True)]
    return max(weights) == _CHARACTER_WEIGHT, features


def _of_letters(spelled: str) -> tuple[bool, list[tuple[str, float]]]:
    word = without_clitic(spelled)
    is_short = len(word) < 2 or (len(word) == 2 and not word.isascii())
    if is_short or word in FUNCTION_WORDS or word in NEGATIONS or word.endswith("n't"):
        return False, [(word, _GRAMMAR_WEIGHT)]
    if word in MONTHS or any(map(str.isdecimal, word)):
        return True, [(month_key(MONTHS[word]) if word in MONTHS else word, WORD_WEIGHT)]
    if word[0].upper() != word[0]:
        stem = "".join(rouge_tokens(word)) if word.isascii() else without_accents(word)
        beginning = stem[:_BEGINNING], WORD_WEIGHT * _BEGINNING_SHARE
        return True, [(stem, WORD_WEIGHT * (1 - _BEGINNING_SHARE)), beginning]
    plain = without_accents(word)
    grams = [plain[start : start + 3] for start in range(max(1, len(plain) - 2))]
    return True, [(gram, WORD_WEIGHT / len(grams)) for gram in grams]


def without_clitic(word: str) -> str:
    """Removes `l'`, `d'`, `qu'` from the beginning of a word and `'s`, `'ll` from its end."""
    before, _, after = word.partition("'")
    if word.endswith("n't") or not after:
        return word.strip("'")
    return after if len(after) > len(before) else before


def without_accents(word: str) -> str:
    """Removes diacritics of alphabets in which they do not distinguish words."""
    letters = unicodedata.normalize("NFKD", word)
    return "".join(char for char in letters if char > _LAST_ACCENT or not unicodedata.combining(char)) or word


_DENIED = re.compile(r"(?<=[가-힣])지(?:는|도|를|가)?\s?(?:않|못)[가-힣]{0,12}")
_PAST = re.compile(r"(?:되었|됐|하였|했|[았었])(?=습니다|어요|다(?![가-힣]))")
_POLITE = re.compile(r"(?<=[가-힣])(?:습니다|어요)(?![가-힣])")
_FORMAL = re.compile(r"([가-힣])니다(?![가-힣])")
_STEMS = {"되었": "되", "됐": "되", "하였": "하", "했": "하", "았": "", "었": ""}
_FIRST_SYLLABLE, _FINALS, _FINAL_B = 0xAC00, 28, 17


def without_korean_endings(text: str) -> str:
    """Reduces `허용되지 않습니다`, `허용되었습니다` and `허용됩니다` to `허용되`."""

    def without_b(formal: re.Match[str]) -> str:
        code = ord(formal[1])
        return chr(code - _FINAL_B) if (code - _FIRST_SYLLABLE) % _FINALS == _FINAL_B else formal[1]

    stems = _PAST.sub(lambda match: _STEMS[match[0]], _DENIED.sub("", text))
    return _FORMAL.sub(without_b, _POLITE.sub("", stems))


# Function words, negations, number words and months.
#
# Covers English, German, French, Spanish, Japanese and Korean, and negations of a few more languages. In
# other languages all words have the weights of content words.


def word_set(*texts: str) -> frozenset[str]:
    """Returns the words of texts, split at white space."""
    return frozenset(word for text in texts for word in text.split())


def words_by_name(text: str) -> dict[str, frozenset[str]]:
    """Returns the lists of words of a text, each of which stands behind its name and a colon."""
    _, *parts = re.split(r"(\w+):", text)
    return {name: word_set(words) for name, words in zip(parts[::2], parts[1::2], strict=True)}


# English, German, French, Spanish.
FUNCTION_WORDS = word_set("""a an the this that these those there here it its he him his she her hers they
    them their theirs who whom whose which what when where why how i me my mine we us our ours you your yours
    myself yourself himself herself itself themselves ourselves one ones some any each every all both either
    such same other others another am is are was were be been being do does did done doing have has had having
    will would shall should can could may might must of in on at by to from for with about as into onto upon
    over under between through during before after against since until than then so if or and but because
    while although though whether up down out off again also too very just only even more most much many still
    yet now ever quite rather really well yes yeah oh ok okay please hello hi hey let lets im ive ll ve re der
    die das den dem des ein eine einen einem einer eines ich mich mir mein meine du dich dir dein deine er ihn
    ihm sein seine sie ihr ihre ihrer ihren ihrem es wir uns unser unsere ihnen wer wen wem was welche welcher
    welches dieser diese dieses diesen diesem jene wo wann warum wie bin bist ist sind seid war waren wurde
    wurden worden gewesen habe hast hat haben hatte hatten werde wird werden kann können konnte könnte muss
    müssen soll sollen sollte wollen darf dürfen mag möchte von vom zu zum zur mit bei beim nach aus auf an am
    im ins für über unter vor zwischen durch gegen um bis seit während wegen als wenn weil dass daß ob und
    oder aber denn doch sondern auch nur noch schon sehr mehr so da dort hier ja bitte man sich le la les un
    une des du de au aux ce cet cette ces je me moi mon ma mes tu te toi ton ta tes il elle lui on nous notre
    nos vous votre vos ils elles leur leurs se son sa ses qui que quoi dont où quand comment pourquoi quel
    quelle quels quelles suis es est sommes êtes sont était étaient été être ai as avons avez ont avait avoir
    sera seront dans sur sous avec par pour vers chez entre depuis pendant comme si et ou mais donc aussi très
    plus y en oui cela ça el los las lo una unos unas del al este esta estos estas ese esa eso aquel yo mí mi
    mis tú ti él ella nosotros nuestro nuestra usted ustedes ellos ellas su sus les quién cuál cuándo dónde
    cómo por qué soy eres somos son era eran fue fueron sido ser estoy está están estaba estar he ha hemos han
    había haber con para sobre desde hasta hacia según cuando donde porque pero o u e también muy más ya
    sí""")
KOREAN_GRAMMAR = frozenset(
    "은는이가을를에서로의도만와과하고니다요세습했었였입있합수것들지면아어여해게으시네겠던든셨씀님"
)
"""Syllables of particles and endings."""

NEGATIONS = word_set("""no not never none nothing nobody nowhere neither nor cannot cant wont dont doesnt
    didnt isnt arent non não niet geen wasnt werent without unable nicht kein keine keinen keinem keiner
    keines nie niemals nichts niemand ohne weder ne pas jamais rien aucun aucune sans nunca jamás nada nadie
    ningún ninguno ninguna sin tampoco 안 못 не нет ни нельзя без لا لم لن ليس ليست لست غير بدون לא אין
    בלי""")
NEGATING = re.compile(
    "ません|ない|なかった|なく|なし|無し|不|没有|沒有|未|않|못[하했합한해]|없|아니|아닙|안돼|안됩|안했|말고|마세|불(?=가능)"
)
"""Negations inside words."""


def _rows(text: str) -> list[list[str]]:
    return [row.split() for row in text.split("|")]


# English, German, French, Spanish.
_FROM_2 = _rows("""two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen | zwei drei vier fünf sechs sieben acht neun zehn elf zwölf
    dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn | deux trois quatre cinq six sept huit
    neuf dix onze douze treize quatorze quinze seize | dos tres cuatro cinco seis siete ocho nueve diez -
    doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós
    veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve""")
_TENS = _rows("""twenty thirty forty fifty sixty seventy eighty ninety | zwanzig dreißig vierzig fünfzig
    sechzig siebzig achtzig neunzig | vingt trente quarante cinquante soixante septante huitante nonante |
    veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa""")
_HUNDREDS = _rows("""cien doscientos trescientos cuatrocientos quinientos seiscientos setecientos
    ochocientos novecientos | ciento doscientas trescientas cuatrocientas quinientas seiscientas
    setecientas ochocientas novecientas""")
_GERMAN_UNITS = dict(enumerate(["ein", *_FROM_2[1][:8]], 1))
ORDINALS = by_place("- first second third fourth fifth", "- - twice thrice")
NUMBER_WORDS = {
    **by_place("zero eins", "zéro", "cero", "- 하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열", "- 한 두 세 네"),
    **ORDINALS,
    **{word: value for row in _FROM_2 for value, word in enumerate(row, 2) if word != "-"},
    **{word: 10 * value for row in _TENS for value, word in enumerate(row, 2)},
    **{word: 100 * value for row in _HUNDREDS for value, word in enumerate(row, 1)},
    **{
        f"{unit}und{ten}": 10 * tens + ones
        for tens, ten in enumerate(_TENS[1], 2)
        for ones, unit in _GERMAN_UNITS.items()
    },
    **{"veintiún": 21, "hundred": 100, "hundert": 100, "thousand": 1000, "tausend": 1000},
}
"""Number in words and the first ordinals -> value; not `one`, which counts nothing in most texts."""
NUMBERS_IN_WORDS = {word: value for word, value in NUMBER_WORDS.items() if word not in ORDINALS} | {"one": 1}
LARGE_NUMBERS = {word: 10**power for word, power in SCALES.items() if len(word) > 1} | {"hundred": 100}


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


@cache
def _numbers_in_words() -> Any:
    """Returns the pattern of numbers in words, up to thousands of millions, language by language."""
    large = _any(LARGE_NUMBERS.keys() - {"hundred", "thousand", "mil", "mille"})
    ones, teens = [_any(row[:8]) for row in _FROM_2], [_any({*row[8:]} - {"-"}) for row in _FROM_2]
    tens, unit = list(map(_any, _TENS)), _any(_GERMAN_UNITS.values())

    def language(to_99: str, hundreds: str, thousand: str, joint: str, last: str, a: str) -> str:
        to_999 = rf"(?:{hundreds}(?:{joint}(?:{to_99}|{last}))?|{to_99})"
        rest = rf"{joint}(?:{to_999}|{last})"
        thousands = rf"(?:(?:{to_999}|{a})[ -])?{thousand}(?:{rest})?"
        rest = rf"[ -](?:and a half|et demie?|y medi[oa])|{joint}{thousands}|{rest}"
        return rf"(?:{thousands}|{to_999}|{a})[ -]{large}(?:{rest})?|{thousands}|{to_999}"

    english = rf"(?:{tens[0]}(?:[ -](?:{ones[0]}|one))?|{teens[0]}|{ones[0]}|one)"
    teen = rf"(?:dix[ -](?:sept|huit|neuf)|{teens[2]})"
    french = (
        rf"(?:soixante[ -](?:et[ -]onze|{teen})|quatre[ -]vingts?(?:[ -](?:{teen}|{ones[2]}|une?))?"
        rf"|{tens[2]}(?:[ -](?:et[ -]une?|{ones[2]}))?|{teen}|{ones[2]})"
    )
    spanish = rf"(?:{tens[3]}(?: y (?:{ones[3]}|un[oa]?))?|{teens[3]}|veintiún|{ones[3]})"
    german = rf"(?:{unit}und{tens[1]}|{tens[1]}|{teens[1]}|{ones[1]}|eins)"
    german = rf"(?:(?:{unit}|{teens[1]})?hundert(?:und)?{german}?|{german})"
    thousands = rf"(?:(?:{german}|ein)[ -]?)?tausend(?:und)?(?:[ -]?{german})?|{german}"
    languages = (
        language(english, f"(?:(?:{english}|a)[ -])?hundred", "thousand", "[ -](?:and[ -])?", "one", "an?"),
        language(french, rf"(?:(?:{teen}|{ones[2]})[ -])?cents?", "mille", "[ -]", "une?", "une?"),
        language(spanish, _any(_HUNDREDS[0] + _HUNDREDS[1]), "mil", " ", "un[oa]?|once", "un"),
        rf"(?:{german}|eine) {large}(?: (?:{thousands}))?|{thousands}",
        rf"(?:{english}[ -]and[ -]a[ -]half|(?:{german}|ein)einhalb|anderthalb)(?:[ -]{large})?",
        rf"(?:eine halbe|medio|half an?)[ -]{large}|zero|zéro|cero",
    )
    # With less memory, RE2 takes a hundred times as long.
    return compiled(rf"(?i)\b(?:{'|'.join(languages)})\b", 32 << 20, True)


_LARGER = f"{_any(LARGE_NUMBERS)}\\b"
_OF_NEXT = re.compile(rf"(?i) (?!{_LARGER})\w+-[^\W\d_]|[ -]\w+[ -]{_LARGER}")
"""The last word of a run that belongs to what follows: `twenty two-bedroom`, `hundred and two hundred`."""
_OPEN = re.compile(r"(?:six[ -])?cents?|mil(?:le)?|ciento")
"""Numbers that are also other words: in English, and in `por ciento`."""
_SIX = re.compile(r"(?i)six(?=[ -]cents\s*(?:$|[^\w\s]|(?:per|an?|each|more|less|off|for)\b))")
"""`six` before what seems to be the English `cents`."""
_COMPOUND = re.compile(r"(hundert|tausend|einhalb)(?:und)?")
_HALVES = {"anderthalb": 1.5} | dict.fromkeys(("half", "einhalb", "halbe", "medio", "demi", "demie"), 0.5)
_JOINTS = word_set("and et y a an eine")


def numbers_in_words(text: str) -> Iterator[tuple[int, int]]:
    """Yields the ranges of numbers in words: `two hundred and five`, `quatre-vingt-dix`, `dreitausend`."""
    left, left_end = 0, -2
    for run in _numbers_in_words().finditer(encodable(text)):
        start, end = run.span()
        start = left if start == left_end + 1 else start
        last = max(text.rfind(mark, start, end) for mark in " -")
        goes_on = text[end : end + 1].isalpha()  # to RE2, `é` is no letter: `dos milésimas`
        if text[start - 1 : start].isalpha() or (goes_on and last < 0):
            continue
        if goes_on or (last > 0 and _OF_NEXT.match(text, last)):
            left, left_end = last + 1, end
            shorter = _numbers_in_words().match(text[start:last])
            if shorter is None:  # `a million million`
                continue
            end = start + shorter.end()
        six = _SIX.match(text, start)
        yield start, six.end() if six else end


def spoken_number(text: str) -> float | None:
    """Returns the value of a lower-case number word or run of them; None: it is none, or `one`."""
    return NUMBER_WORDS.get(text) if text.isalpha() and not _COMPOUND.search(text) else number_in_words(text)


def number_in_words(text: str, may_be_open: bool = False) -> float | None:
    """Returns the value of lower-case words such as `two hundred and five`; None: they are no number.

    `cent` and `mil`, which are also other words, are numbers only if they `may_be_open`.
    """
    if _OPEN.fullmatch(text) and not may_be_open:
        return None
    if text in NUMBERS_IN_WORDS or not _numbers_in_words().fullmatch(text):
        return NUMBERS_IN_WORDS.get(text)
    total = current = scale = 0.0
    for word in re.findall(r"[^\W\d_]+", _COMPOUND.sub(r" \1 ", text)):
        if word in ("hundred", "hundert", "cent", "cents"):
            current = (current or 1) * 100
        elif word in LARGE_NUMBERS:
            scale = LARGE_NUMBERS[word]
            if total < scale:  # `dos mil millones`
                total, current = 0.0, total + current
            total, current = total + (current or 1) * scale, 0
        elif word in ("vingt", "vingts") and current % 100 == 4:
            current += 76  # 80
        elif (half := _HALVES.get(word)) and total and not current:
            total += half * scale
        elif word not in _JOINTS:
            current += _HALVES.get(word) or NUMBERS_IN_WORDS.get(word, 1)  # `vingt et une`
    return int(total + current) if (total + current).is_integer() else total + current
