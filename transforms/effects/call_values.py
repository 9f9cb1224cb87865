"""Reads the values of a call, and compares addresses, codes, numbers and amounts in prose with them."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.text.cleaning import CURRENCY_CODES, Amount, amount, plain, same_amount
from turnwise.transforms.text.values import MONEY_NAMES, read_passage, with_digits
from turnwise.transforms.text.words import FUNCTION_WORDS, LARGE_NUMBERS, NUMBERS_IN_WORDS, word_set

_INDEX = re.compile(r"\.(\d+)(?=\.|$)")
_PLACE = re.compile(r"\[\w*\]")
_NAME_PARTS = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")
_LARGEST = 10**40
CHANGING_WORDS = word_set("""before after against since than between over under up down out off again all
    every each both either one ones est cet same other others another only even more most much many about no
    nor not vor nach über unter zwischen gegen mehr seit sehr aber oder or más muy entre depuis plus""")
"""Function words that change a value (`before 5`, `one more`)."""

_PLAIN_WORDS = (FUNCTION_WORDS - CHANGING_WORDS) | word_set("""no nr number mr mrs ms dr herr frau 을 를 이 가
    은 는 에 로 으로 の に を へ は""")

ValueVerdict = Literal["same", "other", "not_compared"]


class CallValue(NamedTuple):
    """A scalar of a call: its path (`items[0].count`) and its value."""

    path: str
    value: JsonValue


def leaves(value: JsonValue) -> list[CallValue]:
    """Returns the scalars of a value with their paths, in order, without whole numbers of over 40 digits."""
    scalars, left = [], [CallValue("", value)]
    while left:
        path, held = left.pop()
        inner: list[CallValue] = []
        if isinstance(held, dict):
            inner = [CallValue(f"{path}.{name}" if path else name, item) for name, item in held.items()]
        elif isinstance(held, list):
            inner = [CallValue(f"{path}[{i}]", item) for i, item in enumerate(held)]
        elif not isinstance(held, int) or abs(held) < _LARGEST:
            scalars.append(CallValue(path, held))
        left += reversed(inner)
    return scalars


def argument_paths(args: JsonObject | None) -> list[str]:
    """Returns the paths of the scalar arguments of a call: `amount`, `address.street`, `items.id`."""
    return list(dict.fromkeys(_PLACE.sub("", leaf.path) for leaf in leaves(args or {})))


def named(path: str, values: Sequence[CallValue]) -> tuple[list[CallValue], list[CallValue]]:
    """Returns the values that a path names, in any case, with or without the places in lists.

    If there are none, the second list holds those that it names with more before or behind (`args.amount` or
    `amount.value` of `amount`).
    """
    wanted, as_written = _INDEX.sub(r"[\1]", path).strip().lower(), path.strip().lower()
    spelled = [(leaf, (leaf.path.lower(), _PLACE.sub("", leaf.path).lower())) for leaf in values]
    if exact := [leaf for leaf, spellings in spelled if wanted in spellings]:
        return exact, []
    return [], [
        leaf
        for leaf, spellings in spelled
        if any(as_written.startswith(f"{s}.") or as_written.endswith(f".{s}") for s in spellings)
    ]


def values_text(values: Iterable[CallValue]) -> str:
    """Returns the values as one text for searching; names of arguments that hold a digit are values, too."""
    shown = (
        f"{path if any(map(str.isdecimal, _PLACE.sub('', path))) else ''} | {plain(value)}"
        for path, value in values
        if not isinstance(value, bool)
    )
    return plain(" | ".join(shown))


def path_words(path: str) -> list[str]:
    """Returns the words of a path in lower case, without a plural `s`: `maxDays` -> max, day."""
    return [part.lower().removesuffix("s") for part in _NAME_PARTS.findall(_PLACE.sub("", path))]


def is_plain_word(word: str, path: str) -> bool:
    """Returns whether a word changes no value: a function word, or one of the argument's name."""
    return word in _PLAIN_WORDS or word.removesuffix("s") in path_words(path)


def currency_of(path: str, values: Sequence[CallValue]) -> str | None:
    """Returns the code of the currency that a call names for an argument; "": it names none.

    The argument's own name comes first (`amount_eur`), then a currency beside it, then one further out, then
    the only one anywhere. None: one is named, but cannot be read, or there are several.
    """
    around, codes = path, set[str | None](filter(None, map(_code, path_words(path)[-1:])))
    while around and not codes:
        around = around.rpartition(".")[0]
        for leaf in values:
            parent, _, name = leaf.path.rpartition(".")
            if parent == around and isinstance(leaf.value, str):
                code = _code(plain(leaf.value))
                if "currency" in name.lower() or (name.lower() == "unit" and code is not None):
                    codes.add(code)
    codes = codes or {_code(plain(leaf.value)) for leaf in values if "currency" in leaf.path.lower()}
    return codes.pop() if len(codes) == 1 else None if codes else ""


def _code(text: str) -> str | None:
    name = MONEY_NAMES.get(text, text)
    return name if CURRENCY_CODES.fullmatch(name) else None


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
    is_part = "@" not in first and any(first.startswith(other) or other.startswith(first) for other in given)
    if len(stated) > 1 or is_part:
        return "not_compared"
    are_whole = all("@" in address or "/" in address for address in (*stated, *given))
    return "other" if are_whole else "not_compared"


def compare_codes(text: str, argument: str) -> ValueVerdict | None:
    """Compares codes; None: all that are stated are held, and other words remain to be compared."""
    stated, given = set(codes_in(text)), set(codes_in(argument))
    if stated <= given:
        return None
    unstated = given - stated
    is_part = any(other in code or code in other for other in stated - given for code in unstated)
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
    if wanted in text and re.search(rf"{before}{re.escape(wanted)}(?![a-z0-9])", text):
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
_SHARE_NAMES = frozenset(("percent", "percentage", "pct", "rate", "share"))
_MONEY_NAMES = word_set("""amount price fee cost total subtotal sum refund payment balance charge budget
    deposit value tip fare bill donation credit debit money paid salary wage rent tax premium limit discount
    due income revenue""")
_COUNT_NAMES = frozenset(("count", "quantity", "qty"))
_SMALL_UNITS = frozenset(("cent", "minor", "pence", "penny"))
_SUMS = word_set("refund amount total sum price fee cost payment charge value")
_THREE_AFTER_POINT = re.compile(r"(?<![\d.,])\d{1,3}\.\d{3}(?!\d)")
_DOLLARS = frozenset(("aud", "cad", "hkd", "nzd", "sgd", "twd"))
_OTHERS_OF_THE_NAME = {"usd": _DOLLARS, "cny": {"twd", "hkd"}, "gbp": {"egp"}}
_US = re.compile(r"\bU\.?S\b|US\$|\bUSD", re.IGNORECASE)
_LONG_NUMBER, _ENDING_DIGITS = 7, 4
_DECIMALS, _NO_PART = re.compile(r"[.,]\d{1,2}$"), re.compile(r"[^\d\s().,+#*…•·–-]")
_LONG_DIGITS = re.compile(r"\+?[\d\s().-]{7,}")
_ENDINGS = word_set("""ending ends endet endend endung auf in last digits card phone number termina terminant
    par en""")
# Words that are not counted things, but change the number, belong to it or are its unit.
_NO_COUNTS = (
    NUMBERS_IN_WORDS.keys()
    | LARGE_NUMBERS.keys()
    | CHANGING_WORDS
    | word_set("""hundreds thousands millions billions lakhs crores hundert cent cien dozen dozens dutzend
        douzaine docena pair pairs paar half halves quarter twice double triple minus negative percent prozent
        per each second seconds minute minutes hour hours day days week weeks month months year years night
        nights""")
)
_NUMERALS = frozenset("十百千万萬億亿兆十백천만억조십半반")


class Given(NamedTuple):
    """Numbers of an argument, with the currency that the call names for them, if it can be read."""

    amounts: tuple[Amount, ...]
    is_share: bool
    is_currency_unclear: bool
    path: str
    is_money: bool
    is_us: bool = False  # dollars are stated as those of the United States


def read_given(arguments: Sequence[JsonValue], path: str, currency: str | None) -> Given | None:
    """Reads the numbers of an argument, of all entries if it is a list; None: one is no number."""
    amounts, is_share = list[Amount](), bool(_SHARE_NAMES.intersection(path_words(path)))
    for argument in arguments:
        if isinstance(argument, str) and _THREE_AFTER_POINT.search(argument):
            return None
        number = amount(argument)
        if number is None and isinstance(argument, str):
            between, mentions = read_passage(argument, None)
            if len(mentions) == 1 and not "".join(between).strip(" |"):
                number, is_share = mentions[0].amount, is_share or mentions[0].is_share
        if number is None:
            return None
        amounts.append(number)
    return Given(
        tuple(number if number.currency else Amount(number.value, currency or "") for number in amounts),
        is_share,
        currency is None,
        path,
        _is_money_name(path) or any(number.currency for number in amounts),
    )


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
        mentions = read_passage(text, None).mentions
        is_money = any(mention.amount and mention.amount.currency for mention in mentions)
        has_point = _THREE_AFTER_POINT.search(text) is not None
        verdict = _compare_in("de" if has_point else None, text, given)
        return verdict if verdict == "same" and (is_money or not has_point) else "not_compared"
    return "same" if "same" in verdicts else "other" if "other" in verdicts else "not_compared"


def _compare_in(language: str | None, text: str, given: Given) -> ValueVerdict:
    between, mentions = read_passage(text, language)
    if not mentions:
        in_digits = with_digits(text)
        is_read = in_digits != text and all(float(number.value).is_integer() for number in given.amounts)
        return _compare_in(language, in_digits, given) if is_read else "not_compared"
    rest, names = " | ".join(between), path_words(given.path)
    if any(m.amount is None or m.is_denied for m in mentions) or _NO_WORD.search(_WORD.sub("", rest)):
        return "not_compared"
    # The words beside a number must change nothing; beside a count, any thing may be counted.
    may_count = bool(_COUNT_NAMES.intersection(names[-1:])) or names[:1] == ["num"]
    left = {word for word in _WORD.findall(plain(rest)) if not is_plain_word(word, given.path)} - _SUMS
    are_things = not any(word in _NO_COUNTS or _NUMERALS.intersection(word) for word in left)
    if left and not (may_count and are_things and re.search(r"\|.*\w", rest)):
        return "not_compared"
    given = given._replace(is_us=_US.search(text) is not None)
    return _together([_compare_one(m.amount, m.is_share, given) for m in mentions if m.amount], given)


def _together(verdicts: Sequence[ValueVerdict], given: Given) -> ValueVerdict:
    if not verdicts or len(verdicts) > len(given.amounts) or "not_compared" in verdicts:
        return "not_compared"
    return "other" if "other" in verdicts else "same"


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
