"""Compares addresses of the internet and codes of letters and digits, which are equal as a whole only."""

import re

from turnwise.transforms.effects.call_values import ValueVerdict, is_plain_word
from turnwise.transforms.text.values import plain

_ADDRESS = re.compile(
    r"[^\s@,;<>()\[\]{}\"'“”„|]+@[^\s@,;<>()\[\]{}\"'“”„|]+|(?:https?://|www\.)[^\s<>\"“”|]+"
    r"|(?<![\w.])(?:[a-z0-9][\w-]*\.)+[a-z]{2,}(?![\w.]*\w)(?:/[^\s<>\"“”|]*)?"
)
_CODE = re.compile(r"(?<![^\W_])[^\W_]+(?:-[^\W_]+)*", re.ASCII)
_AROUND = "#$€£¥₩.,:;()[]\"'“”"
_LAST_DIGITS = 4
_IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9_/.-]*")
_PLACE_MARKS = ".,:;!?)]'\"/"
_WORD = re.compile(r"[^\W\d_]+")


def addresses_in(text: str) -> list[str]:
    """Returns the e-mail and web addresses of a text, in lower case, without `https://www.`."""
    found = (address.rstrip(_PLACE_MARKS) for address in _ADDRESS.findall(plain(text)))
    return [re.sub(r"^(?:mailto:)?(?:https?://)?(?:www\.)?", "", address) for address in found]


def codes_in(text: str) -> list[str]:
    """Returns the codes of a text, of ASCII letters and digits, in lower case and without hyphens."""
    rest = _ADDRESS.sub(" ", plain(text))
    found = (code.replace("-", "") for code in _CODE.findall(rest))
    return [code for code in found if not code.isdecimal() and any(map(str.isdecimal, code))]


def without_codes(text: str) -> str:
    """Returns a text without its codes."""
    return _CODE.sub(lambda found: " " if codes_in(found[0]) else found[0], text)


def compare_addresses(text: str, argument: str, path: str) -> ValueVerdict | None:
    """Compares addresses as a whole; None: neither side has one."""
    said, given = addresses_in(text), addresses_in(argument)
    if not said and not given:
        return None
    unheld = set(said).difference(given)
    if not said or not given:
        return "not_compared"
    if not unheld:
        rest = _WORD.findall(_ADDRESS.sub(" ", plain(text)))
        return "same" if all(is_plain_word(word, path) for word in rest) else "not_compared"
    if len(said) > 1 or any(_is_part(said[0], one) for one in given):
        return "not_compared"
    return "other" if all("@" in one or "/" in one for one in (*said, *given)) else "not_compared"


def _is_part(left: str, right: str) -> bool:
    return "@" not in left and (left.startswith(right) or right.startswith(left))


def compare_codes(text: str, argument: str) -> ValueVerdict | None:
    """Compares codes; None: all that are stated are held, and other words remain to be compared."""
    said, given = set(codes_in(text)), set(codes_in(argument))
    unheld, unsaid = said - given, given - said
    if not unheld:
        return None
    is_part = any(one in code or code in one for one in unheld for code in unsaid)
    return "other" if unsaid and not is_part else "not_compared"


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
    found = set(map(_joined, _IDENTIFIER.findall(text)))
    codes = codes_in(wanted) if " " in wanted else []
    return _joined(wanted) in found or (bool(codes) and found.issuperset(codes))


def _joined(identifier: str) -> str:
    return "".join(filter(str.isalnum, identifier))
