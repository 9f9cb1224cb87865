"""Texts as a judge is shown them, the quotes that it gives, and amounts and names as they are compared."""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar
from unicodedata import category, normalize

from turnwise.schemas.jsonio import JsonObject, JsonValue

# Neutralises control characters, hidden characters and chat markup in judged text.

HIDDEN = "\u200b"
"""What `sanitize` writes in the place of a character without width; `visible` leaves it out."""

_KEPT = {*"\t\n\u200c\u200d", *"\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"}
_KEPT |= {"\U000110bd", "\U000110cd"}
"""Of control and format characters: tab, newline, joiners, and the signs of Unicode's property
Prepended_Concatenation_Mark, which are seen."""

_OVERRIDES = frozenset(
    map(chr, [0x180E, *range(0x202A, 0x202F), *range(0x2065, 0x2070), *range(0xFFF0, 0xFFFC)])
)
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")
_VARIATION_SELECTORS = frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))

_THOUGHTS = re.compile(
    r"(?:\s*(?:<(think|thinking|thought|reasoning)>.*?</\1>|\[THINK\].*?\[/THINK\]))+\s*", re.DOTALL
)
_UNOPENED = re.compile(
    r"\s*[^\s{\[`<].*?(?:\n[^\S\n]*</think>[^\S\n]*(?:\n\s*|\Z)|</think>[^\S\n]*\n[^\S\n]*\n\s*)", re.DOTALL
)


def without_thoughts(text: str) -> str:
    """Returns a model's text without the thoughts that some servers leave before it.

    Where the model's template opens them, only their end is there: on its own line, or before an empty one.
    """
    thoughts = _THOUGHTS.match(text) or ("</think>" in text and _UNOPENED.match(text))
    return text[thoughts.end() :] if thoughts else text


K = TypeVar("K")
V = TypeVar("V")


class Remembered(dict[K, V]):
    """What a function makes of each key, made at its first use; all are forgotten when they are `most`."""

    def __init__(
        self, make: Callable[[K], V], most: int = 2_000_000, known: Mapping[K, V] | None = None
    ) -> None:
        super().__init__(known or {})
        self._make, self._most = make, most

    def __missing__(self, key: K) -> V:
        if len(self) >= self._most:
            self.clear()
        value = self[key] = self._make(key)
        return value


def _shown(code: int) -> str:
    char = chr(code)
    kind = category(char)
    if char in _KEPT:
        return char
    if char in _FILLERS or char in _VARIATION_SELECTORS:
        return HIDDEN
    if kind in ("Cc", "Cs") or char in _OVERRIDES or "\U000e0000" <= char <= "\U000e0fff":
        return "\ufffd"
    return HIDDEN if kind == "Cf" else char


_SHOWN = Remembered(_shown, known={0x0D: " ", 0x2028: "\n", 0x2029: "\n"})

_JOINING = (
    "\u0600-\u06ff\u0710-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1807\u1820-\u18af"
    "\ufb50-\ufdff\ufe70-\ufefc"
)
"""Scripts whose letters change beside a joiner: Arabic, those of India, Mongolian and others."""

_EMOJI = "\u2190-\u21ff\u2300-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"

_NEEDLESS_JOINERS = re.compile(
    rf"[\u200c\u200d](?:(?<![{_JOINING}].)(?<![{_EMOJI}].)(?<![{_EMOJI}]{HIDDEN}.)"
    rf"|(?<=[{_EMOJI}{HIDDEN}].)(?:(?<=\u200c)|(?![{_EMOJI}])))"
)


def _folded(code: int) -> str:
    """Returns a character as NFKC writes it, such as a full-width one in ASCII, if that is one character."""
    folded = normalize("NFKC", chr(code))
    return folded if len(folded) == 1 else chr(code)


_ALIKE = dict(zip(map(ord, "\u2223\u00a6\u2502\u01c0⟨〈⟩〉"), "||||<<>>", strict=True))
_FOLDED = Remembered(_folded, known=_ALIKE)

_NAMES = (
    r"(?:start|end)_of_\w+|bos|eos|sop|eop|s|pad|unk|mask|cls|sep"
    "|[be]os_token|pad_token|system|developer|user|human|assistant|model|tool"
    "|think|thinking|tools|tool_calls?|tool_responses?|tool_results?|function|function_calls?"
    "|role|_user|_bot|c_[qa]|available_tools|toolcall|functions|tool_code|tool_outputs?|arg_(?:key|value)"
    r"|unused\d+|reserved_\d+|extra_id_\d+|special_\d+|ctrl\d+|seed:\w+|minimax:\w+|longcat_\w+|fim_\w+"
    r"|(?:start|end)oftext|function=[\w.:-]{1,64}|(?:invoke|parameter) name=[\w.:\"'-]{1,64}"
)
_IN_BRACKETS = (
    "INST|gMASK|CLS|SEP|IMG|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|MODEL_SETTINGS"
    "|(?-i:ARGS|CALL_ID|PREFIX|MIDDLE|SUFFIX)"
)
_HEADINGS = "instructions?|input|output|response|answer|system|user|human|assistant|응답|명령어|指示|応答"
_GAP = r"[^\S\n]{0,3}"
_PIPED = rf"{_GAP}\|{_GAP}[\w▁:-]{{1,40}}{_GAP}\|{_GAP}"
_CLOSED = rf"{_PIPED}|{_GAP}/?{_GAP}(?:{_NAMES}){_GAP}"
_SYS = rf"<{_GAP}/?{_GAP}SYS{_GAP}>{_GAP}"

_MARKERS = re.compile(
    rf"(?im)[<>\[\]#](?:(?<=<)(?=\||(?:{_CLOSED}|{_SYS})>)|(?<=\|[>\]])"
    rf"|(?<=\[)(?=\||(?:{_PIPED}|{_GAP}/?{_GAP}(?:{_IN_BRACKETS}){_GAP})\]|e~\[)"
    r"|(?<=\])(?=~!?b[\[\]])|(?<=^\[)(?=[0-9a-f]{8}:)"
    rf"|(?<=#)(?<![#♯]#)(?=#{{1,5}}{_GAP}(?:{_HEADINGS}){_GAP}(?::|$)))"
)
"""Brackets and signs of the role markers of chat templates, and of lines that look like section headings."""

_HARMLESS = {"<": "‹", ">": "›", "[": "⟦", "]": "⟧", "#": "♯"}


def visible(text: str) -> str:
    """Returns a text as a judge is shown it: neutralised, and without characters that have no width."""
    return sanitize(text).replace(HIDDEN, "")


def sanitize(text: str) -> str:
    """Replaces characters that could mislead a judge, one code point by one, so that offsets stay valid.

    Control characters, overrides of the writing direction, invisible tags and lone surrogates become
    U+FFFD. Characters without width become HIDDEN, but joiners stay where they belong to a word or an emoji:
    after a letter of a script that they shape, and between two emoji. The brackets of chat templates' role
    markers, also in full-width forms and with spaces or hidden characters between, and of lines that look
    like section headings, become similar characters, and so does the first `#` of `### Response:` and the
    like. Newline and tab stay.
    """
    shown = _NEEDLESS_JOINERS.sub(HIDDEN, text.translate(_SHOWN))
    marks = [(m.start(), m[0]) for m in _MARKERS.finditer(shown.replace(HIDDEN, "").translate(_FOLDED))]
    if not marks:
        return shown
    places, chars = [i for i, char in enumerate(shown) if char != HIDDEN], list(shown)
    for index, char in marks:
        chars[places[index]] = _HARMLESS[char]
    return "".join(chars)


# Finds a judge's quotes in a text.

_MARKS = str.maketrans("", "", "\\\"'`*_“”„‘’«»\u200c\u200d")
_BRACKETS = str.maketrans("‹›⟦⟧♯", "<>[]#")
"""What `sanitize` writes in place of brackets and heading signs, which depends on what is around them."""

_ELLIPSIS = re.compile(r"\[?(?:\.\.\.|…)\]?")


def quoted(quote: str, evidence: str, name: str = "quote") -> JsonObject:
    """Returns `{name: quote, name_found: whether the evidence holds it}`; both None for an empty quote."""
    text = quote.strip()
    return {name: text or None, f"{name}_found": contains_quote(text, evidence) if text else None}


def contains_quote(quote: str, text: str) -> bool:
    """Returns whether a text holds a quote, ignoring white space, letter case, quotation marks and markup.

    Both are compared as a judge is shown them, with their own brackets, and without characters that have no
    width and without joiners. An ellipsis matches any text between its parts. A quote without a letter or
    digit is never found.
    """
    parts = [_flat(part) for part in _ELLIPSIS.split(quote)]
    start, flat = 0, _flat(text)
    if not any(char.isalnum() for part in parts for char in part):
        return False
    for part in parts:
        index = flat.find(part, start)
        if index < 0:
            return False
        start = index + len(part)
    return True


def find_span(quote: str, text: str) -> tuple[int, int] | None:
    """Returns the half-open range of a quote's first occurrence, with any white space; None: not found."""
    words = visible(quote).translate(_BRACKETS).strip(" \t\n\"'“”„«»").split()
    shown = sanitize(text).translate(_BRACKETS)
    seen = shown.replace(HIDDEN, "")
    match = re.search(r"\s+".join(map(re.escape, words)), seen) if words else None
    if match is None or len(seen) == len(shown):
        return match.span() if match else None
    places = [i for i, char in enumerate(shown) if char != HIDDEN]
    return places[match.start()], places[match.end() - 1] + 1


@lru_cache(maxsize=16)
def _flat(text: str) -> str:
    shown = visible(text).translate(_BRACKETS)
    return " ".join(normalize("NFKC", shown).translate(_MARKS).casefold().split())


# Reads numbers and amounts of money as tools take them, and texts without their spelling.

_NUMBER = re.compile(
    r"([+-]?)(?P<before>[$€£¥₩₹]|[a-z]{3} ?)?([+-]?)(?P<digits>(?:0|[1-9]\d{0,2}(?:,\d{3})+"
    r"|[1-9]\d*)(?:\.\d+)?|\.\d+)(?P<after> ?(?:[$€£¥₩₹]|[a-z]{3}))?"
)
CURRENCIES = dict(zip("$€£¥₩₹", ("usd", "eur", "gbp", "¥", "krw", "inr"), strict=True))
CURRENCY_NAMES = {
    "eur": "euro euros ユーロ 유로 欧元",
    "usd": "dollar dollars dólar dólares ドル 달러 美元 美金",
    "gbp": "pound pounds ポンド 파운드",
    "jpy": "yen 円",
    "krw": "won 원 ウォン",
    "inr": "rupee rupees रुपये",
    "cny": "yuan rmb renminbi 元",
    "¥": "",
}
CURRENCY_CODES = re.compile(
    "aed|ars|aud|bgn|brl|cad|chf|clp|cny|cop|czk|dkk|egp|eur|gbp|hkd|huf|idr|ils|inr|isk|jpy|krw|mxn|myr"
    "|nok|nzd|php|pln|qar|ron|rub|sar|sek|sgd|thb|try|twd|uah|usd|vnd|zar"
)
_OF_SIGN = {"$": "aud cad clp cop hkd mxn nzd sgd twd usd", "¥": "cny jpy", "£": "egp gbp"}
"""Currencies that share a sign; without a code, `$` and `£` are those of most texts."""


def currency_named(marks: Collection[str]) -> str | None:
    """Returns the currency of signs and codes, of which a code is decisive; "": none, None: they differ."""
    named = {CURRENCIES.get(mark, mark) for mark in marks}
    codes = {mark for mark in marks if mark not in CURRENCIES}
    if len(codes) == 1 and all(max(codes) in _OF_SIGN.get(mark, mark) for mark in marks):
        named = codes
    return None if len(named) > 1 else next(iter(named), "")


def same_currency(left: str, right: str) -> bool:
    """Returns whether two currencies may be one: `¥` is the sign of yen and of yuan."""
    return left == right or {left, right} in ({"¥", "jpy"}, {"¥", "cny"})


class Amount(NamedTuple):
    """A number with the code of a currency in lower case, `¥` for yen or yuan; "": none is stated."""

    value: float | int
    currency: str


def same_amount(left: Amount, right: Amount) -> bool:
    """Returns whether two amounts are equal; an amount without a currency matches any currency."""
    if left.currency and right.currency and not same_currency(left.currency, right.currency):
        return False
    if left.value == right.value or left.value % 1 == right.value % 1 == 0:  # whole numbers are exact
        return left.value == right.value
    try:
        return math.isclose(left.value, right.value, rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:
        return False


def amount(value: JsonValue) -> Amount | None:
    """Parses a number, or a text that holds only a number with an optional currency; None: it is neither."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return Amount(value, "")
    return _amount_of(plain(value)) if len(value) <= 40 else None  # longer texts are no numbers


@lru_cache(maxsize=4096)
def _amount_of(text: str) -> Amount | None:
    match = _NUMBER.fullmatch(text)
    if match is None or (match[1] and match[3]):
        return None
    marks = [mark.strip() for mark in (match["before"], match["after"]) if mark]
    currency = currency_named(marks)
    if currency is None or not all(mark in CURRENCIES or CURRENCY_CODES.fullmatch(mark) for mark in marks):
        return None
    digits = (match[1] or match[3]) + match["digits"].replace(",", "")
    return Amount(float(digits) if "." in digits else int(digits), currency)


@lru_cache(maxsize=4096)
def _plain_text(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())


def plain(value: JsonValue) -> str:
    """Returns a value as text with case, width and white space normalised."""
    if not isinstance(value, str):
        return str(value)
    return _plain_text(value) if len(value) <= 256 else _plain_text.__wrapped__(value)


# Converts UTF-8 byte offsets to code-point offsets.

OUTSIDE = "OffsetOutsideText"
INSIDE = "OffsetInsideCharacter"
EMPTY = "EmptyRange"


class TextRange(NamedTuple):
    """A byte range as half-open code-point offsets; None: it is invalid, by OUTSIDE, INSIDE or EMPTY."""

    start: int | None
    end: int | None
    problem: str | None = None


class Utf8Text:
    """A text and its UTF-8 encoding, in which a lone surrogate has three bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode("utf-8", "surrogatepass")
        # Offsets of bytes that continue a character.
        data = b"" if text.isascii() else self.data
        self._inside = [i for i, byte in enumerate(data) if 0x80 <= byte < 0xC0]

    def text_range(self, start: int, end: int) -> TextRange:
        """Returns a byte range in code points."""
        if not (0 <= start <= len(self.data) and 0 <= end <= len(self.data)):
            return TextRange(None, None, OUTSIDE)
        code_points = []
        for offset in (start, end):
            inside = bisect_left(self._inside, offset)
            if self._inside[inside : inside + 1] == [offset]:
                return TextRange(None, None, INSIDE)
            code_points.append(offset - inside)
        first, after = code_points
        return TextRange(first, after) if start < end else TextRange(None, None, EMPTY)

    def cut(self, start: int, end: int) -> str:
        """Returns the text of a byte range, valid or not; U+FFFD for partial characters."""
        return self.data[max(start, 0) : max(end, 0)].decode("utf-8", "replace")


# Natural order of names.

_NATURAL_NUMBER = re.compile(r"(\d+)")


def natural_order(name: str) -> tuple[tuple[object, ...], str]:
    """Returns a key that sorts names with their numbers by value: v2 before v10.

    >>> sorted(["v10", "v2", "v2.1"], key=natural_order)
    ['v2', 'v2.1', 'v10']
    """
    # `int` refuses numbers beyond 4,300 digits: the longer one is the larger one.
    bare = ((part, part.lstrip("0")) for part in _NATURAL_NUMBER.split(name))
    return tuple((len(number), number) if i % 2 else part for i, (part, number) in enumerate(bare)), name
