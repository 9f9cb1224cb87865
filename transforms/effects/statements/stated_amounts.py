"""Compares the numbers and amounts of money that an agent states with those of a call."""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.effects.call_values import ValueVerdict, is_plain_word, path_words
from turnwise.transforms.effects.mentions import MONEY_NAMES, Mention, read_passage
from turnwise.transforms.effects.statements.written_words import may_be_counted, number_in_words
from turnwise.transforms.text.function_words import word_set
from turnwise.transforms.text.values import CURRENCY_CODES, Amount, amount, plain, same_amount

_WORD = re.compile(r"[^\W\d_]+")
_NO_WORD = re.compile(r"[^\s.,:;!?'\"“”„’#*|…]")
_ENTRY = re.compile(r",\s+|;|&|\b(?:and|und|et|y)\b")
_LETTER = re.compile(r"\b[A-Z] \d")
_INNER = re.compile(r"(?<=\w)-(?=\w)|\w")
_SHARE_NAMES = frozenset(("percent", "percentage", "pct", "rate", "share"))
_MONEY_NAMES = word_set(
    "amount price fee cost total subtotal sum refund payment balance charge budget deposit value tip fare",
    "bill donation credit debit money paid salary wage rent tax premium limit discount due income revenue",
)
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
_ENDINGS = word_set(
    "ending ends endet endend endung auf in last digits card phone number termina terminant par en"
)


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
    read = [_read(argument) for argument in arguments]
    found = [one.amount for one in read if one is not None and one.amount is not None]
    if not found or len(found) < len(arguments):
        return None
    is_share = any(one is not None and one.is_share for one in read)
    return Given(
        tuple(own if own.currency else Amount(own.value, currency or "") for own in found),
        is_share or bool(_SHARE_NAMES.intersection(path_words(path))),
        currency is None,
        path,
        _is_money_name(path) or any(own.currency for own in found),
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
        found = [compare_amounts(part, given) for part in parts if part.strip()]
        return _together(found, given)
    verdicts = {_compare_in(language, text, given) for language in (None, "de", "fr")}
    if "same" in verdicts and "other" in verdicts:
        verdicts = {_compare_grouped(text, given), "not_compared"}
    return next((one for one in ("same", "other") if one in verdicts), "not_compared")


def _compare_grouped(text: str, given: Given) -> ValueVerdict:
    """Compares a number with three digits behind its only separator as thousands, if they are shown to be."""
    mentions, _ = _parts(text, None)
    is_money = any(mention.amount and mention.amount.currency for mention in mentions)
    has_point = _THREE_AFTER_POINT.search(text) is not None
    found = _compare_in("de" if has_point else None, text, given)
    return found if found == "same" and (is_money or not has_point) else "not_compared"


def _compare_in(language: str | None, text: str, given: Given) -> ValueVerdict:
    mentions, rest = _parts(text, language)
    if not mentions:
        return _compare_words(text, given)
    if any(mention.amount is None or mention.is_denied for mention in mentions):
        return "not_compared"
    if not _is_read(rest, given.path, bool(re.search(r"\|.*\w", rest))):
        return "not_compared"
    given = given._replace(is_us=_US.search(text) is not None)
    found = [_compare_one(mention.amount, mention.is_share, given) for mention in mentions if mention.amount]
    return _together(found, given)


def _compare_words(text: str, given: Given) -> ValueVerdict:
    value, rest = number_in_words(text)
    if _NO_WORD.search(_INNER.sub("", text)):
        return "not_compared"
    money = {code for word in _WORD.findall(rest) if (code := MONEY_NAMES.get(word)) is not None}
    rest = " ".join(word for word in rest.split() if word not in MONEY_NAMES)
    if value is None or len(money) > 1 or not _is_read(rest, given.path, True):
        return "not_compared"
    if not all(isinstance(one.value, int) or one.value.is_integer() for one in given.amounts):
        return "not_compared"
    return _together([_compare_one(Amount(value, next(iter(money), "")), False, given)], given)


def _together(found: Sequence[ValueVerdict], given: Given) -> ValueVerdict:
    if not found or len(found) > len(given.amounts) or "not_compared" in found:
        return "not_compared"
    return "other" if "other" in found else "same"


def _is_read(rest: str, path: str, may_count: bool) -> bool:
    """Returns whether the words beside a number change nothing: of a count, any thing may be counted."""
    if _NO_WORD.search(_WORD.sub("", rest)):
        return False
    names = path_words(path)
    counts = may_count and (bool(_COUNT_NAMES.intersection(names[-1:])) or names[:1] == ["num"])
    left = [
        word for word in _WORD.findall(plain(rest)) if not is_plain_word(word, path) and word not in _SUMS
    ]
    return not left or (counts and all(map(may_be_counted, left)))


def _compare_one(stated: Amount, is_share: bool, given: Given) -> ValueVerdict:
    """Compares one number; money must be compared with money, and a share with a share."""
    is_money = stated.currency != ""
    if stated.currency == "cent":
        return "not_compared"
    if is_money and (given.is_share or not given.is_money):
        return "not_compared"
    if is_share != given.is_share and (is_share or is_money):
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


def is_fraction(text: str) -> bool:
    """Returns whether a text has fractions or raised digits, which are not read."""
    return any(unicodedata.category(char) == "No" for char in text)


def compare_digits(text: str, argument: str, path: str) -> ValueVerdict | None:
    """Compares phone and card numbers, whose last digits may stand for all; None: the argument is none."""
    if not _LONG_DIGITS.fullmatch(plain(argument)) or _DECIMALS.search(argument) or _is_money_name(path):
        return None
    said, given = ("".join(filter(str.isdecimal, plain(side))).lstrip("0") for side in (text, argument))
    left = {word for word in _WORD.findall(plain(text)) if not is_plain_word(word, path)}
    is_short = len(given) < _LONG_NUMBER or len(said) < _ENDING_DIGITS
    if is_short or left - _ENDINGS or _NO_PART.search(_WORD.sub("", text)):
        return "not_compared"
    if given.endswith(said):
        return "same"
    is_other = said[-_LONG_NUMBER:] != given[-_LONG_NUMBER:] and (len(said) >= _LONG_NUMBER or left)
    return "other" if is_other else "not_compared"
