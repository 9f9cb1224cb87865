"""Compares texts that people and agents write freely: the same, different, or unclear."""

import math
import re
from collections.abc import Sequence
from functools import cached_property, lru_cache, partial
from string import ascii_lowercase
from typing import Literal
from unicodedata import combining, normalize

from turnwise.transforms.effects import call_values
from turnwise.transforms.effects.prose_values import STREETS, spell_alike
from turnwise.transforms.local_judge import named_values
from turnwise.transforms.text.cleaning import amount, plain
from turnwise.transforms.text.dates import Likeness, likeness_of_dates
from turnwise.transforms.text.sentences import guessed_language
from turnwise.transforms.text.values import Mention, normalized, read_passage, with_digits, with_plain_signs
from turnwise.transforms.text.words import (
    CHARACTER_SCRIPTS,
    FUNCTION_WORDS,
    KOREAN_GRAMMAR,
    NEGATING,
    NEGATIONS,
    NUMBERS_IN_WORDS,
    UNSPACED_SCRIPTS,
    weigh,
    without_accents,
    word_set,
    words,
    words_by_name,
)

_PROSE_WORDS = 6
_SENTENCE_WORDS = 4
_PHRASE_WORDS = 3
_LONGEST = 20_000
_MOST_READ = 256
"""Texts that are kept as they were read: each is compared with those of all other calls of the tool."""
_NOTHING_IN_COMMON = 8
"""Content words from which on two texts that share none are different: shorter ones may be reworded."""
_SAME_CONTENT = 0.8
"""Share of common content from which on two texts say the same, so that a negation makes them different."""

_RUNS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_LONG_RUN = re.compile(rf"{_RUNS.pattern[:-1]}{{8}}")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")


def is_prose(value: object) -> bool:
    """Returns whether a text is free prose: six words or more, most of them in lower case.

    In scripts without spaces, four letters count as a word. Words that begin with a capital letter or a
    digit are taken for names, titles and addresses.
    """
    if not isinstance(value, str):
        return False
    parts = value.split()
    if not value.isascii():
        steps = [(word, 4 if _RUNS.search(word) else len(word)) for word in parts]
        parts = [word[i : i + step] for word, step in steps for i in range(0, len(word), step)]
    return len(parts) >= _PROSE_WORDS and _are_small(parts)


def _are_small(parts: Sequence[str]) -> bool:
    return 2 * sum(word[0].isalpha() and not word[0].isupper() for word in parts) > len(parts)


def may_be_reworded(value: object) -> bool:
    """Returns whether other words may mean the same: prose, and phrases of four words in lower case.

    Three words are enough if one is a function word or a number, or if they end as Korean does; in scripts
    without spaces, eight characters. `round trip` and `Main Street 5` are names, which are compared as they
    are.
    """
    if not isinstance(value, str) or (value.isascii() and len(value.split()) < _PHRASE_WORDS):
        return False
    if is_prose(value) or (not value.isascii() and _LONG_RUN.search(value)):
        return True
    names = [name for word in value.split() if word[0].isalpha() and (name := word.strip(".,;:!?"))]
    is_long = len(names) >= _SENTENCE_WORDS
    if len(names) < _PHRASE_WORDS:
        return False
    if not _are_small(names):
        # In a German sentence nouns are in capitals.
        some_are_small = is_long and 4 * sum(not word[0].isupper() for word in names) >= len(names)
        if not some_are_small or guessed_language(value) != "de":
            return False
    if _HANGUL.search(value):
        return 2 * sum(word[-1:] in KOREAN_GRAMMAR for word in names) >= len(names)
    return is_long or not _PHRASE.isdisjoint(map(str.lower, names))


_PHRASE = FUNCTION_WORDS | NUMBERS_IN_WORDS.keys() | {"no", "not", "nicht", "kein", "keine"}

_EXACT_NAMES = word_set("""bucket cmd column command cron expr expression field file filename filepath formula
    handle hash id identifier key login namespace passphrase passwd password path pattern regex regexp repo
    repository script secret selector shell slug sql token uri url username variable xpath""")
_CODE_NAMES = word_set("code snippet source")
_IN_ORDER = word_set("""arg argv argument cmd command direction instruction procedure queue ranking route
    sequence stage step waypoint""")
# Singulars of what often has an order: it is open.
_MAY_BE_IN_ORDER = word_set("""action axe column coordinate dimension event key leg level move operand phase
    priority range segment stop task value vertice""")
_SETS = word_set("""basket bcc cart cast cc children collection crew criteria data equipment exclude family
    group include indices list media people selection set staff team to""") | {""}
"""Names without a plural `s` that are sets as well."""
_IN_ANY_ORDER = word_set("""account category code day floor hour id index indices item line member month
    number option order page port product quantity room row seat size slot table tag user weekday year""")
_SQL = re.compile(
    r"(?i)\s*(?:select\s+(?:distinct\s+)?(?:\*|[\w.]+(?:\s*\([^()]*\))?(?:\s+as\s+\w+)?"
    r"(?:\s*,\s*[\w.*]+(?:\s*\([^()]*\))?)*)"
    r"\s+from\s+[\w.\"`\[]+\s*"
    r"(?:$|;|where|join|left|inner|order|group|limit|as|,|\w+\s+(?:join|where))"
    r"|insert\s+into\s+\S+\s*[(vs]|update\s+\S+\s+set\s+\S+\s*=|delete\s+from\s+\S+\s*(?:$|;|where)"
    r"|(?:create|drop|alter|truncate)\s+(?:table|view|index|database|schema)\s+\S+\s*"
    r"(?:$|[(;]|add|drop|as|cascade)"
    r"|with\s+\w+\s+as\s*\()"
)
_COMMANDS = word_set("""apt apt-get awk aws bash chmod chown cp curl docker gcloud git grep kubectl ls mkdir
    mv mysql npm npx pip psql python python3 rm rmdir rsync scp ssh sudo systemctl terraform wget""")
_MAY_BE_COMMANDS = _COMMANDS | word_set("""ansible cat cd class def echo export find for from helm import kill
    let ln make node sed service sh tar touch var while yarn""")
_PROSE_SIGN = re.compile(
    r"(?i)^--?[a-z][\w-]*(?:=.*)?$|^(?:\*|[=<>+*|&/]{2,})$|[!=<>]=|[-=]>|&&|\|\||[{}\\^|]|^~/|\w=\w|=$|^="
    r"|\$[{(]|\w\((?!e?s\)|e?n\)|in)|^[\[(\"']*[./~]{0,2}/[\w./-]*|^\.{1,2}$|[^:/]/[^/\s]*/|\*\.|\w\[\w*\]"
    r"|\w\.[a-z]\w{0,4}[,;:\"')]*$"
)
_SOFT_SIGN = re.compile(r"(?<!\S)[+&/=<>|](?!\S)|[\w)+-];(?!\S)|\$[a-z_]", re.IGNORECASE)
"""Signs of code that prose has, too: they count only beside others."""
_NOT_A_SIGN = re.compile(r"[$#]\s?\d\S*|</?[a-z][^<>]{0,200}>|[\"“”]")
_PATH = re.compile(
    r"(?i)(?:[a-z][\w+.-]*://|\.{0,2}/|~/|[a-z]:\\)\S*|[\w.-]+(?:/[\w.-]+){2,}|\S*/\S*\.[a-z]\w{0,4}"
    r"|--?[a-z][\w-]*(?:=\S*)?"
)
_LIST_ENTRY = re.compile(r"[\w.-]+")
_PLACE_IN_PATH = re.compile(r"(?<=[\w.])/(?:\.?/)+")
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)
_MATTERING_SPACE = re.compile(r"\n[ \t]|[\"'`]")
_QUOTED = re.compile(r"('[^']*'|\"[^\"]*\")")
_NO_ADDRESS = re.compile(r"\S{300,}")
_LONGEST_PATH = 1_000
_MOST_VALUES, _MOST_COMPARED = 100, 1_000
_SIGNS_IN_CODE = 0.25


def order_of(name: str, values: Sequence[object]) -> Literal["fixed", "open", "free"]:
    """Returns whether the order of a list counts, as it does for the words of a command and for steps.

    It is free for sets, which have a name in the plural (`ids`, `seats`). It is open for a name in the
    singular (`itinerary`, `sort_by`), for what often has an order (`stops`), and, unless the name is a usual
    one of sets, for numbers, prose and lists, which may be coordinates, instructions and rows.
    """
    last = _last_word(name)
    word = last.removesuffix("s")
    if word in _IN_ORDER:
        return "fixed"
    if word in _MAY_BE_IN_ORDER or (word == last and (word not in _SETS or "from" in name.lower())):
        return "open"
    are_ordered = any(
        isinstance(value, float | list)
        or type(value) is int
        or (isinstance(value, str) and (amount(value) is not None or may_be_reworded(value)))
        for value in values
    )
    return "open" if word not in _IN_ANY_ORDER and are_ordered else "free"


def is_version(name: str) -> bool:
    """Returns whether a parameter is a version: 3.10 is none of 3.1."""
    return _last_word(name) in ("version", "release", "tag")


def is_secret_or_pattern(name: str) -> bool:
    """Returns whether every sign of a parameter counts, also how a hyphen is printed."""
    return _last_word(name) in ("password", "passwd", "passphrase", "secret", "token", "regex", "pattern")


@lru_cache(maxsize=1024)
def is_structured(text: str, name: str = "") -> bool:
    """Returns whether a text is a command, code, a query or a path, where every sign counts.

    Prose with a sign, an option or a path in it is prose. A parameter `command` may also be given in prose.
    """
    text = text[:_LONGEST]
    if _SQL.match(text) or (len(text) <= _LONGEST_PATH and _PATH.fullmatch(text.strip())):
        return True
    bare = _NOT_A_SIGN.sub(" ", text)
    for address in _addresses(bare) if "@" in bare or "." in bare else ():
        bare = bare.replace(address, " ")
    tokens = bare.split()
    signs = sum(_PROSE_SIGN.search(token) is not None for token in tokens)
    soft = len(_SOFT_SIGN.findall(bare))
    first = tokens[0] if len(tokens) > 1 else ""
    is_shell = signs or "$" in bare or all(map(str.isdecimal, tokens[1:]))
    if first in _COMMANDS or (first in _MAY_BE_COMMANDS and is_shell):
        return True
    word = _last_word(name).removesuffix("s")
    if word in _EXACT_NAMES or (word in _CODE_NAMES and soft):
        return signs > 0 or not may_be_reworded(text)
    return len(tokens) > 1 and signs > 0 and signs + soft >= _SIGNS_IN_CODE * len(tokens)


def _addresses(text: str) -> list[str]:
    """Returns the addresses of a text; nothing of 300 characters is one, which would take long to see."""
    return call_values.addresses_in(_NO_ADDRESS.sub(" ", text))


def _last_word(name: str) -> str:
    """Returns the last word of a name, and the one before in `field_name`."""
    parts = [part.lower() for part in re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name) if part]
    if parts[-1:] == ["name"] and parts[-2:-1] and parts[-2] in _EXACT_NAMES:
        parts.pop()
    return parts[-1] if parts else ""


def compare_structured(expected: str, actual: str) -> Likeness:
    """Compares two texts of which one is structured: exactly, but for white space around and between words.

    Other case in SQL, and other indentation or white space in quotes, leave it open.
    """
    if expected.strip() == actual.strip():
        return "same"
    if expected.split() == actual.split():
        lines = [[line.rstrip() for line in text.strip().splitlines()] for text in (expected, actual)]
        is_open = any(_MATTERING_SPACE.search(text.strip()) for text in (expected, actual))
        return "unclear" if is_open and lines[0] != lines[1] and not _SQL.match(expected) else "same"
    if _SQL.match(expected):
        queries = [_QUOTED.split(text.strip().rstrip(";")) for text in (expected, actual)]
        bare = [[p if i % 2 else "".join(p.casefold().split()) for i, p in enumerate(q)] for q in queries]
        if "".join(bare[0]) == "".join(bare[1]):  # but for white space and case outside of quotes
            return "unclear"
    lists = [re.split(r"\s*,\s*", text.strip()) for text in (expected, actual)]
    if lists[0] == lists[1] and all(map(_LIST_ENTRY.fullmatch, lists[0])):
        return "same"
    places = [_PLACE_IN_PATH.sub("/", text.strip()).removeprefix("./") for text in (expected, actual)]
    if places[0] == places[1] and " " not in places[0]:
        return "same"
    addresses = [_SCHEME.sub("", text.strip()).rstrip("/") for text in (expected, actual)]
    if addresses[0] == addresses[1] and "." in addresses[0]:
        return "unclear"
    signs = [with_plain_signs(text).split() for text in (expected, actual)]
    ends = [text.strip().rstrip("/") for text in (expected, actual)]
    return "unclear" if signs[0] == signs[1] or (ends[0] == ends[1] and " " not in ends[0]) else "different"


@lru_cache(maxsize=256)
def compare_texts(expected: str, actual: str, name: str = "") -> Likeness:
    """Compares two texts, of which one at least may be reworded.

    Structured texts are compared exactly. Prose is the same if it is equal after case, punctuation, spacing
    and determiners, with numbers, amounts, dates and codes by value. It is different if both sides state
    other values of a kind, or the same ones in other places, if one is empty, if nearly the same is stated by
    one and denied by the other, or if long texts of a language share nothing, or phrases of three words,
    which may be choices of a list. Anything else only a judge can decide.
    """
    if is_structured(expected, name) or is_structured(actual, name):
        return compare_structured(expected, actual)
    is_empty = [not any(map(str.isalnum, text)) for text in (expected, actual)]
    if any(is_empty):
        return "same" if all(is_empty) and expected.split() == actual.split() else "different"
    if plain(expected) == plain(actual):
        return "same"
    if max(len(expected), len(actual)) > _LONGEST:
        return "unclear"
    languages = _language(expected), _language(actual)
    is_one_language = languages[0] == languages[1] is not None
    language = languages[0] if is_one_language else guessed_language(f"{expected} {actual}")
    wanted, made = _read_text(expected, language), _read_text(actual, language)
    (left, gaps), (right, others) = wanted.apart, made.apart
    # A determiner in the place of another one (`my` for `your`) is a difference; one may be left out.
    if left and left == right and all(not a or not b or a == b for a, b in zip(gaps, others, strict=True)):
        return "same"
    if _are_replaced(wanted.tokens, made.tokens) or _values_differ(wanted, made):
        return "different"
    shared = common_content(expected, actual)
    is_phrase = max(len(text.split()) for text in (expected, actual)) <= _PHRASE_WORDS
    if not shared and is_phrase and not may_be_forms(expected, actual):
        return "different"
    if _denials(expected) != _denials(actual):
        return "different" if shared >= _SAME_CONTENT else "unclear"
    sizes = [sum(word.is_content for word in reading.words) for reading in (wanted, made)]
    return "different" if not shared and is_one_language and min(sizes) >= _NOTHING_IN_COMMON else "unclear"


def contradicts(expected: str, actual: str) -> bool:
    """Returns whether two texts state the same but for a value or a negation, or only one is empty."""
    if compare_texts(expected, actual) != "different":
        return False
    return not (expected.strip() and actual.strip()) or common_content(expected, actual) >= _SAME_CONTENT


def may_be_forms(expected: str, actual: str) -> bool:
    """Returns whether phrases have the same words but for order and endings, or one compounds the other's.

    As `flight delay` and `delayed flight`, or `Flugverspätung` and `Flug verspätet`. Phrases with digits or
    signs have none in common, and neither have names, but `2 days` may be `48 hours`.
    """
    texts = (named_values.mark_named_values(spell_alike(text), {}) for text in (expected, actual))
    units, other_units = (set(_UNIT.findall(text)) for text in texts)
    if units and other_units and units != other_units:
        return True
    if not (_ONLY_WORDS.fullmatch(expected.strip()) and _ONLY_WORDS.fullmatch(actual.strip())):
        return False
    sides = [re.findall(r"[^\W_]+", text.casefold()) for text in (expected, actual)]
    left, right = ([word for word in side if word not in FUNCTION_WORDS] for side in sides)
    if not _DENYING.isdisjoint(set(left) ^ set(right)):
        return False
    are_names = len(left) == len(right) == 1 and expected.istitle() and actual.istitle()
    for compounds, others in ((left, right), (right, left)):
        for word in others if len(compounds) == 1 else ():
            # The compound holds the word or its stem behind another word, or begins with it.
            compound, stem = compounds[0], word if are_names else word[: max(4, math.ceil(0.6 * len(word)))]
            start = compound.find(stem)
            is_held = start == 0 or (start >= 4 and compound[:start] not in _OPPOSING)
            if is_held and len(word) >= 4 and len(compound) >= len(stem) + 4:
                return True
    if are_names:
        return False
    for word in left:
        partner = next((other for other in right if _are_forms(word, other)), None)
        if partner is None:
            return False
        right.remove(partner)
    return bool(left) and not right


def may_be_one_name(expected: str, actual: str) -> bool:
    """Returns whether short texts are equal but for accents, or one may shorten the other.

    As `Zurich` and `Zürich`, `business` and `business class`, `USA` and `United States of America`.
    """
    left, right = (_bare(_TITLES.sub("", text)) for text in (expected, actual))
    if left == right:
        return True
    ours, theirs = left.split(), right.split()
    if len(ours) == len(theirs) > 1 and len(ours[-1]) > 1 and ours[-1] == theirs[-1]:
        # Whether they are equal but for words of which one has the initial alone.
        apart = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
        if all(a.isalpha() and b.isalpha() and a[0] == b[0] and 1 in (len(a), len(b)) for a, b in apart):
            return True
    if all(map(_PHONE.fullmatch, (expected.strip(), actual.strip()))):
        # Only one of two numbers may have the code of its country.
        codes = [re.match(r"\s*(?:\+|00)", text) is not None for text in (expected, actual)]
        digits = ("".join(filter(str.isdecimal, text)).lstrip("0") for text in (expected, actual))
        fewer, more = sorted(digits, key=len)
        if codes[0] != codes[1] and len(fewer) >= _LEAST_LONG and more.endswith(fewer):
            return True
    (short, name), (long, _) = sorted(((left, expected), (right, actual)), key=lambda side: len(side[0]))
    first, words_of = re.findall(r"[^\W_]+", short), re.findall(r"[^\W_]+", long)
    has_digit = any(map(str.isdecimal, short))
    for further, rest in (
        (words_of[len(first) :], words_of[: len(first)]),
        (words_of[: -len(first)] if has_digit else [], words_of[-len(first) :]),
    ):
        if first and further and rest == first and not short.isdecimal():
            return all(word.isalpha() and len(word) > 1 and word not in NEGATIONS for word in further)
    if not (name.strip().isupper() and _ABBREVIATION.fullmatch(short)):
        return False
    content = [word for word in words_of if word not in FUNCTION_WORDS]
    initials = ["".join(word[0] for word in some) for some in (words_of, content)]
    is_word = long.isalpha() and (len(long) > _SHORT_NAME or len(long) == len(short) + 1 > 2)
    return (is_word and long.startswith(short)) or (len(words_of) > 1 and short in initials)


_TITLES = re.compile(
    r"(?i)\s*(?:(?:mrs?|ms|miss|sir|dr|prof|herrn?|frau|mme|monsieur|sra?|dott|sig)\b\.?\s*)+(?=[^\W\d])"
)
_ABBREVIATION, _SHORT_NAME = re.compile(r"[a-z]{1,4}"), 3


def _bare(text: str) -> str:
    text = re.sub(r"\b(?:saint|sankt)\b", "st", without_accents(plain(text)))
    text = re.sub(r"(\d ?[a-z]{2,}?)s\b", r"\1", text)
    text = re.sub(r" ?(?:&| (?:and|und|et|y|e) ) ?", "&", text)
    return _BARE.sub("", text)


_BARE = re.compile(
    r"(?<=[aou])e|['’`]|\.(?=\s|$)|(?<=,)\s|\s(?=,)"
    r"|(?<=[^\W\d_])-(?=[^\W\d_])|(?<=[^\W\d_])\s(?=\d)|(?<=\d)\s(?=[^\W\d_])"
)
_PHONE = re.compile(r"[+\d(][\d ()./-]{6,30}")
_ONLY_WORDS = re.compile(r"(?:[^\W\d]|[ ,'’-]){1,200}")
_OPPOSING = word_set("anti counter inter over super trans ultra under unter über gegen rück sobre contre")
_DENYING = NEGATIONS | {"non"}


def _are_forms(word: str, other: str) -> bool:
    size = max(4, math.ceil(0.6 * min(len(word), len(other))))
    return word == other or (len(word) >= size and word[:size] == other[:size])


def common_content(expected: str, actual: str) -> float:
    """Returns the share of the content of the text with more of it that the other one has too, 0..1."""
    sides = _content(expected), _content(actual)
    shared = sum(min(weight, sides[1].get(key, 0.0)) for key, weight in sides[0].items())
    return shared / max(1e-9, *(sum(side.values()) for side in sides))


@lru_cache(maxsize=_MOST_READ)
def _content(text: str) -> dict[str, float]:
    read = (word for word in words(NEGATING.sub("", text)) if word.is_content and not word.demands)
    return weigh(word for word in read if not word.is_negation)


@lru_cache(maxsize=_MOST_READ)
def _denials(text: str) -> int:
    text = named_values.replace_idioms(named_values.with_single_negations(text))
    apart = [word.lower for word in words(text) if word.is_negation]
    return len(NEGATING.findall(text)) + sum(w.isascii() or not NEGATING.search(w) for w in apart)


_ARTICLES = words_by_name("""en: a an the
    de: der die das den dem des ein eine einen einem einer eines
    fr: le la les l un une des
    es: el la los las un una unos unas
    it: il lo la i gli le un una uno l
    pt: o a os as um uma
    nl: de het een""")
_CASES: dict[object, str] = {
    article: articles[-1]
    for articles in ("der das ein einer r", "die eine e", "den einen n", "dem einem m", "des eines s")
    for article in articles.split()[:-1]
}
_DETERMINERS = words_by_name("""en: this that these those my your his her its our their please kindly also
    very really
    de: mein meine meinen meinem meiner dein deine ihr ihre ihren ihrem ihrer sein seine seinen seinem seiner
    unser unsere unseren diese dieser dieses diesen diesem bitte
    fr: ce cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs
    es: este esta estos estas mi mis tu tus su sus nuestro nuestra
    pt: este esta seu sua seus suas""")
"""Language -> determiners and polite words, which change nothing where one text leaves them out."""
_DROPPED = re.compile(
    r"(?<=[^\W\d_])-(?=[^\W_])|[.,;:!¿¡…。、，！；：・「」『』“”„‟\"'‘’«»()\[\]（）【】–—`*]+"
)
_CHARACTER = f"[{CHARACTER_SCRIPTS}{UNSPACED_SCRIPTS}]"
_PROSE_TOKEN = re.compile(rf"{_CHARACTER}|(?:(?!{_CHARACTER})[^\W_])+(?:['’][^\W_]+)*|[^\w\s]|_")
_NAME = re.compile(r"(?<=[^\W_] )[A-Z][\w-]+")
_NO_NAMES = word_set("mr mrs ms miss dr prof sir madam monsieur madame señor señora herr frau herrn")
_THOUSANDS = re.compile(r"\d[.,'’ ]\d{3}(?!\d)")
_MARKED = re.compile(r"zq(month|weekday|unit|half)\d\d")
_UNIT = re.compile(r"zqunit\d\d")
_ONES = word_set("one ein eine einen einem einer un une una uno um uma 한 一")


class _TextValue:
    """A value in a text: its mention, and how it is spelled."""

    def __init__(self, mention: Mention, spelled: str) -> None:
        self.mention, self.spelled = mention, spelled
        # Values of different kinds do not contradict each other. Equal values alone have one key, but for the
        # currency that one side leaves out.
        self.kind: Literal["number", "share", "date", "clock", "code"] = "code"
        self.key: object = mention.code
        if mention.amount is not None:
            self.kind, number = "share" if mention.is_share else "number", mention.amount
            self.key = float(number.value), number.currency, mention.is_share, mention.is_denied
        elif mention.dates:
            self.kind = "clock" if mention.dates[0].day is None else "date"
            self.key = ("date", *(reading.key for reading in mention.dates))
        self.parts = [int(part) for part in re.findall(r"\d{1,18}", spelled)]
        # Numbers that may stand for it: of a date its parts, of a time the hour, else its own.
        self.days = set(self.parts) if not mention.dates and len(self.parts) < 4 else set[int]()
        for day, clock, _ in mention.dates:
            self.days |= {day.year, day.month, day.day} if day else set()
            self.days |= {clock.hour, clock.hour % 12 or 12} if clock else set()

    def may_be(self, other: "_TextValue") -> bool:
        """Returns whether two values are the same, or may be: `LH 452` and `LH452`, `3` and `15:00`."""
        if self.mention.means(other.mention):
            return True
        if self.mention.dates and other.mention.dates:
            return likeness_of_dates(self.mention.dates, other.mention.dates) != "different"
        if self.kind == other.kind == "number":
            digits = ["".join(filter(str.isdecimal, value.spelled)) for value in (self, other)]
            return digits[0] == digits[1] and any(map(_THOUSANDS.search, (self.spelled, other.spelled)))
        if self.kind == other.kind and self.kind != "code":
            return False
        if "code" in (self.kind, other.kind):
            short, long = sorted(map(call_values.compact, (self.spelled, other.spelled)), key=len)
            is_end = long.endswith(short) or ("number" in (self.kind, other.kind) and long.startswith(short))
            if (len(short) > 2 and is_end) or short.lstrip("0") == long.rstrip(ascii_lowercase):
                return True
            if self.kind != other.kind and sorted(self.parts) == sorted(other.parts):
                return True
        return bool(self.days & other.days)


_VERSION = re.compile(
    r"(?i)(\b(?:v|ver|version|release|build|update|chapter|kapitel|chapitre|section|abschnitt|python|java|ios"
    r"|android|macos|ubuntu)\.? ?)(\d+(?:\.\d+)+)"
)


class _TextReading:
    """A text as words and values, in order."""

    def __init__(self, text: str, language: str | None) -> None:
        self.text, self.words, self.language = text, words(text), language or "en"
        # As identifiers, the versions 2.1 and 2.10 are two.
        spelled = _VERSION.sub(lambda match: f"{match[1]}v{match[2].replace('.', '_')}", spell_alike(text))
        # English alone does not tell whether the month or the day comes first in 05/06/2024.
        region = None if language == "en" else language
        passage, shown = read_passage(spelled, region), normalized(spelled, region)
        self.values = [_TextValue(m, shown[m.start : m.end]) for m in passage.mentions]
        self.tokens: list[object] = []
        for i, part in enumerate(passage.between):
            self.tokens += _PROSE_TOKEN.findall(_DROPPED.sub(" ", part))
            self.tokens += [value.key for value in self.values[i : i + 1]]
        marked = _PROSE_TOKEN.findall(named_values.mark_named_values(spelled, {}).lower())
        self.named = {token for token in marked if _MARKED.fullmatch(token)}

    @cached_property
    def apart(self) -> tuple[list[object], list[list[object]]]:
        """The tokens that count, and before each of them and at the end the determiners.

        Of articles, only the German ones count, by their case: `den Hund` is none of `der Hund`.
        """
        articles, determiners = _ARTICLES.get(self.language, ()), _DETERMINERS.get(self.language, ())
        cases = _CASES if self.language == "de" else {}
        is_code = len(self.tokens) == 2 and _is_value(self.tokens[1])  # `A 1`
        kept: list[object] = []
        gaps: list[list[object]] = [[]]
        for token in self.tokens:
            if token in determiners:
                gaps[-1].append(token)
            elif token not in articles or is_code:
                kept.append(token)
                gaps.append([])
            elif token in cases:
                gaps[-1].append(cases[token])
        return kept, gaps

    def names(self) -> set[str]:
        """Capitalised words inside sentences, where the language does not write all nouns so."""
        marked: dict[str, str] = {}
        named_values.mark_named_values(self.text, marked)
        names = () if _language(self.text) in ("de", None) else _NAME.findall(self.text)
        return {name for name in names if name.casefold() not in _NO_NAMES | set(marked.values())}


_read_text = lru_cache(maxsize=_MOST_READ)(_TextReading)
_language = lru_cache(maxsize=_MOST_READ)(guessed_language)


def _are_replaced(wanted: Sequence[object], made: Sequence[object]) -> bool:
    """Returns whether texts are equal but for values, which differ or stand in each other's places."""
    apart = [pair for pair in zip(wanted, made, strict=False) if pair[0] != pair[1]]
    if len(wanted) != len(made) or not any(map(_is_value, (token for pair in apart for token in pair))):
        return False
    for token, other in apart:
        # Two keys may be one value: dates by the order of day and month, `1,000` and `1.000`.
        if isinstance(token, tuple) and isinstance(other, tuple):
            are_dates = token[0] == "date", other[0] == "date"
            if all(are_dates) and len(token) != len(other) and not {*token[1:]}.isdisjoint(other[1:]):
                return False
            if not any(are_dates) and token[0] in (1_000 * other[0], other[0] / 1_000):
                return False
    return all(token in _ONES or _is_value(token) for pair in apart for token in pair)


def _is_value(token: object) -> bool:
    return not isinstance(token, str) or any(map(str.isdecimal, token))


def _values_differ(wanted: _TextReading, made: _TextReading) -> bool:
    """Returns whether each side states a value of a kind, an address or a name that the other lacks."""
    missing = _without_partner(wanted.values, made.values)
    extra = _without_partner(made.values, wanted.values)
    # Weekdays, months and units that only one text names.
    named, others = (
        {token[2:-2] for token in tokens} for tokens in (wanted.named - made.named, made.named - wanted.named)
    )
    kinds = {value.kind for value in missing} & {value.kind for value in extra}
    # `2 days` may be `48 hours`: where number and unit differ, the value may be the same.
    is_money = any(value.mention.amount and value.mention.amount.currency for value in missing)
    if "unit" in named & others and not is_money:
        kinds.discard("number")
        if not (missing or extra):
            return True
    if kinds or (named & others) - {"unit"}:
        return True
    ours, theirs = (set(_addresses(reading.text)) for reading in (wanted, made))
    if ours - theirs and theirs - ours:
        return True
    # Whether a name stands in the place of another one, in texts with much in common.
    names, others = wanted.names(), made.names()
    only, instead = names - others, others - names
    if not only or not instead or common_content(wanted.text, made.text) < 0.5:
        return False
    # An abbreviation (`NYC`) may stand for a name, and names may be shortened.
    if any(map(str.isupper, only)) != any(map(str.isupper, instead)):
        return False
    pairs = (sorted((_bare(name), _bare(other)), key=len) for name in only for other in instead)
    return not any(long.startswith(shorter) or long[:4] == shorter[:4] for shorter, long in pairs)


def _without_partner(values: Sequence[_TextValue], others: Sequence[_TextValue]) -> list[_TextValue]:
    """Returns the values that the other text does not state; of hundreds, only the first are compared."""
    known = {other.key: other for other in others}
    left = list({value.key: value for value in values if value.key not in known}.values())[:_MOST_VALUES]
    rest = list(known.values())[:_MOST_COMPARED]
    return [value for value in left if not any(map(value.may_be, rest))]


# Compares the names and other words that an agent states with those of an argument.

_VOWELS = frozenset("aeiou")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_SIGN = re.compile(r"(?<![\w)])-(?=\d)|(?<=\w)[#+*]|[^\s\w.,:;!?'’\"“”„()…#*+/–-]")
_TOKEN = re.compile(rf"{_SIGN.pattern}|[^\W_]*\d[^\W_]*(?:[.,:/]\d+)*|[^\W\d_]+(?:-[^\W\d_]+)*")
_CODES = re.compile(r"\b[A-Z]{2,3}\b")
_SEGMENT = re.compile(r"[,;\n]+")
_LETTER_DIGIT = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=\d)|(?<=\d)\s+(?=[^\W\d_])")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_UNSAID_NUMBER = re.compile(r"(?<=_)\d{4,}\b")
_LONGEST_SHORT, _ENDINGS = 4, frozenset(("s", "es", "n", "en", "e"))
_TITLE = re.compile(r"(?:mrs?|ms|dr|prof|herrn?|frau|madame|monsieur|señora?)\b\.?\s", re.IGNORECASE)
_PERSONS = word_set("""guest passenger customer person recipient attendee patient contact user client surname
    first last full""")
_KINDS = word_set("ending class room seat size shipping delivery color colour meal")
_LEAST_SUFFIX, _LEAST_LONG = 4, 7


def compare_names(text: str, argument: str, path: str) -> call_values.ValueVerdict:
    """Compares words, codes and numbers with those of an argument.

    They are the same if all of them are equal but function words and words of the argument's name. Whole
    parts between commas may be left out, the number at the end of `credit_card_4421`, and all but one name of
    a person. Words that differ are another value if all of them are capitalised, as names are; numbers, if
    all stated words are held.
    """
    if _joined(text, path) == _joined(argument, path) != "":
        return "same"
    verdict = call_values.compare_codes(text, argument)
    if verdict:
        return verdict
    if _SIGN.findall(text) != _SIGN.findall(argument):
        return "not_compared"
    (stated, stated_numbers), (given, given_numbers) = _parts(text), _parts(argument)
    words = [word for word in stated if not any(_is_alike(word, other) for other in given)]
    named = call_values.path_words(path)
    words = [word for word in words if word not in _KINDS and word.removesuffix("s") not in named]
    numbers = [n for n in stated_numbers if not any(map(partial(_is_number, n), given_numbers))]
    unstated = [word for word in given if not any(_is_alike(word, other) for other in stated)]
    if numbers:
        is_number_alone = not words and bool(stated or not given)
        if not is_number_alone or not all(map(str.isdecimal, (*numbers, *given_numbers))):
            return "not_compared"
        # `7` may be `007`, and 452 stands in `LH452`.
        is_part = any(number in code for number in numbers for code in call_values.codes_in(argument))
        is_open = is_part or not given_numbers or set(map(int, numbers)) & set(map(int, given_numbers))
        return "not_compared" if is_open else "other"
    if words:
        may_be_alike = any(_may_be_alike(word, other) for word in words for other in unstated)
        if not unstated or len(words) == len(stated) or may_be_alike:
            return "not_compared"
        if not {word.lower() for word in _CODES.findall(argument)}.isdisjoint(unstated):
            return "not_compared"
        capitals = {_folded(word) for word in _WORD.findall(f"{text} {argument}") if word[0].isupper()}
        return "other" if capitals.issuperset((*words, *unstated)) else "not_compared"
    if not (stated or stated_numbers or call_values.codes_in(text)):
        return "not_compared"
    if _PERSONS.intersection(named) or _TITLE.match(text):
        return "same"
    # Every part of the argument is stated as a whole, or left out as a detail of it.
    is_any = False
    for part in _SEGMENT.split(_UNSAID_NUMBER.sub("", argument)):
        part_words, part_numbers = _parts(part)
        held = [
            *(any(_is_alike(word, other) for other in stated) for word in part_words),
            *(any(_is_number(other, number) for other in stated_numbers) for number in part_numbers),
            *(code in call_values.codes_in(text) for code in call_values.codes_in(part)),
        ]
        if any(held) and not all(held):
            return "not_compared"
        is_any = is_any or any(held)
    return "same" if is_any else "not_compared"


def _parts(text: str) -> tuple[list[str], list[str]]:
    """Returns the words and numbers of a text; function words in lower case are left out."""
    rest = with_digits(call_values.without_codes(normalize("NFKC", text).replace("_", " ")))
    words = [_folded(word) for word in _WORD.findall(rest) if not _is_function_word(word, "")]
    return [word for word in words if not _TITLE.fullmatch(f"{word} ")], _NUMBER.findall(rest)


def _is_number(stated: str, given: str) -> bool:
    """Returns whether numbers are equal, or one has the last digits of a long one."""
    is_end = len(stated) >= _LEAST_SUFFIX and len(given) >= _LEAST_LONG and given.isdecimal()
    return stated == given or (is_end and given.endswith(stated))


def _joined(text: str, path: str) -> str:
    """Returns the words of a text without those of the argument's name, and without gaps beside digits."""
    tokens = (plain(token) for token in _TOKEN.findall(text) if not _is_function_word(token, path))
    return _LETTER_DIGIT.sub("", _HYPHEN.sub(" ", " ".join(tokens)))


def _is_function_word(word: str, path: str) -> bool:
    is_small = word == word.lower() or word.lower() in call_values.path_words(path)
    return len(word) > 1 and word.isalpha() and is_small and call_values.is_plain_word(word.lower(), path)


def _folded(word: str) -> str:
    word = "".join(char for char in normalize("NFKD", word.casefold()) if not combining(char))
    return re.sub(r"(?<=\w)strasse$", "str", word)


def _is_alike(left: str, right: str) -> bool:
    """Returns whether two words are equal, with `ue` for `ü` and `st` for `street`."""
    if STREETS.get(left, left) == STREETS.get(right, right):
        return True
    return re.sub(r"([aou])e", r"\1", left) == re.sub(r"([aou])e", r"\1", right)


def _may_be_alike(left: str, right: str) -> bool:
    """Returns whether one word may shorten the other, as names are shortened (`Alex`, `Alexandra`)."""
    short, long = sorted((left, right), key=len)
    if long.startswith(short) and (len(short) <= _LONGEST_SHORT or long[len(short) :] in {"", *_ENDINGS}):
        return True
    letters = iter(long)
    is_abbreviation = short[0] == long[0] and not _VOWELS.intersection(short[1:])
    return is_abbreviation and all(letter in letters for letter in short)
