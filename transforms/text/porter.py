"""Stems of English words as the `rouge-score` package gives them: Porter's algorithm with NLTK's extensions.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980. The extensions are those of
`nltk.stem.PorterStemmer` in its default mode.
"""

from collections.abc import Callable, Mapping

_IRREGULAR = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
    **{word: word for word in ("sky", "news", "inning", "outing", "canning", "howe")},
    **{word: word for word in ("proceed", "exceed", "succeed")},
}
_KINDS = bytes(118 if chr(code) in "aeiou" else 121 if chr(code) == "y" else 99 for code in range(256))
_SHORTEST = 3


# Suffix -> what stands in its place.
_STEP_2 = {
    **{"ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble"},
    **{"alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate"},
    **{"ator": "ate", "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al"},
    **{"iviti": "ive", "biliti": "ble", "fulli": "ful"},
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = dict.fromkeys(
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou"),
        *("ism", "ate", "iti", "ous", "ive", "ize"),
    ),
    "",
)
_ENDS_2 = (*_STEP_2, "logi")
_ENDS_3, _ENDS_4 = tuple(_STEP_3), tuple(_STEP_4)


def stem(word: str) -> str:
    """Returns the stem of a word.

    Args:
        word: ASCII letters in lower case, and digits.
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < _SHORTEST or word[-1].isdigit():
        return word
    for step in _STEPS:
        word = step(word)
    return word


def _kinds(word: str) -> str:
    """Returns `c` (consonant) or `v` (vowel) for each letter; `y` after a consonant is a vowel."""
    kinds = word.encode().translate(_KINDS).decode()
    if "y" not in kinds:
        return kinds
    found, before = [], "v"
    for kind in kinds:
        before = ("v" if before == "c" else "c") if kind == "y" else kind
        found.append(before)
    return "".join(found)


def _measure(word: str) -> int:
    """Returns Porter's m: how often a consonant follows a vowel."""
    return _kinds(word).count("vc")


def _is_short(word: str) -> bool:
    """Returns whether a word ends like `hop` (not in w, x or y), or is two letters like `at`."""
    kinds = _kinds(word)
    return kinds == "vc" or (kinds[-3:] == "cvc" and word[-1] not in "wxy")


def _replaced(word: str, replacements: Mapping[str, str], above: int = 0) -> str:
    """Replaces the first suffix that fits, if the measure of what is before it is more than `above`."""
    for suffix, replacement in replacements.items():
        if word.endswith(suffix):
            left = word[: -len(suffix)]
            return left + replacement if _measure(left) > above else word
    return word


def _plural(word: str) -> str:
    if not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-1] if len(word) == len("dies") else word[:-2]
    return word[:-1]


def _past_or_progressive(word: str) -> str:
    if not word.endswith(("ed", "ing")):
        return word
    if word.endswith("ied"):
        return word[:-1] if len(word) == len("died") else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    left = word[:-2] if word.endswith("ed") else word[:-3]
    if "v" not in _kinds(left):
        return word
    if left.endswith(("at", "bl", "iz")):
        return f"{left}e"
    if left[-2:-1] == left[-1] and _kinds(left)[-1] == "c":
        return left if left[-1] in "lsz" else left[:-1]
    return f"{left}e" if _measure(left) == 1 and _is_short(left) else left


def _final_y(word: str) -> str:
    is_after_consonant = word.endswith("y") and len(word) > 2 and _kinds(word[:-1])[-1] == "c"
    return f"{word[:-1]}i" if is_after_consonant else word


def _double_suffix(word: str) -> str:
    if not word.endswith(_ENDS_2):
        return word
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _STEP_2)


def _suffix(word: str) -> str:
    return _replaced(word, _STEP_3) if word.endswith(_ENDS_3) else word


def _last_suffix(word: str) -> str:
    if not word.endswith(_ENDS_4) or (word.endswith("ion") and not word.endswith(("sion", "tion"))):
        return word
    return _replaced(word, _STEP_4, above=1)


def _final_e(word: str) -> str:
    if not word.endswith("e"):
        return word
    left = word[:-1]
    measure = _measure(left)
    return left if measure > 1 or (measure == 1 and not _is_short(left)) else word


def _final_l(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


_STEPS: tuple[Callable[[str], str], ...] = (
    _plural,
    _past_or_progressive,
    _final_y,
    _double_suffix,
    _suffix,
    _last_suffix,
    _final_e,
    _final_l,
)
