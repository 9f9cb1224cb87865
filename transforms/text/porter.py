"""Porter stems of English words, in the variant of NLTK that rouge-score uses.

The algorithm is that of M. F. Porter, "An algorithm for suffix stripping", Program 14.3 (1980), with the
extensions of `nltk.stem.PorterStemmer`. A word is [C](VC){m}[V], with C and V for runs of consonants and
vowels; m is its measure.
"""

from collections.abc import Iterable

_VOWELS = frozenset("aeiou")
_DOUBLES_KEPT = frozenset("lsz")
_NO_SHORT_END = frozenset("wxy")
_IRREGULAR = {
    **{"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news"},
    **{"innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing", "howe": "howe"},
    **{"cannings": "canning", "canning": "canning"},
    **{"proceed": "proceed", "exceed": "exceed", "succeed": "succeed"},
}
_STEP_2 = (
    *(("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize")),
    *(("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize")),
    *(("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful")),
    *(("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful")),
)
_STEP_3 = (
    *(("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", "")),
    ("ness", ""),
)
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism"),
    *("ate", "iti", "ous", "ive", "ize"),
)


def porter_stem(word: str) -> str:
    """Returns the stem of a word in lower case; a word of at most two letters is its own stem.

    >>> [porter_stem(word) for word in ("ponies", "hopping", "relational", "enjoyed")]
    ['poni', 'hop', 'relat', 'enjoy']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    stem = _past(_plural(word))
    if stem.endswith("y") and len(stem) > 2 and _kinds(stem[:-1])[-1] == "c":
        stem = f"{stem[:-1]}i"
    return _tidy(_step_4(_replaced(_step_2(stem), _STEP_3)))


def _kinds(text: str) -> str:
    """Returns a `c` for every consonant and a `v` for every vowel; y after a consonant is a vowel."""
    kinds: list[str] = []
    for char in text:
        is_vowel = char in _VOWELS or (char == "y" and kinds[-1:] == ["c"])
        kinds.append("v" if is_vowel else "c")
    return "".join(kinds)


def _measure(text: str) -> int:
    return _kinds(text).count("vc")


def _ends_short(text: str) -> bool:
    """Returns whether a text ends in consonant, vowel, consonant (no w, x, y), or is vowel and consonant."""
    kinds = _kinds(text)
    return kinds == "vc" or (kinds.endswith("cvc") and text[-1] not in _NO_SHORT_END)


def _replaced(word: str, rules: Iterable[tuple[str, str]]) -> str:
    """Applies the first rule whose suffix the word has, if what is before it has a measure above 0."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + replacement if _measure(stem) > 0 else word
    return word


def _plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word if word.endswith("ss") else word.removesuffix("s")


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    suffix = next((end for end in ("ed", "ing") if word.endswith(end)), "")
    stem = word.removesuffix(suffix)
    if not suffix or "v" not in _kinds(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if len(stem) > 1 and stem[-1] == stem[-2] and _kinds(stem)[-1] == "c":
        return stem if stem[-1] in _DOUBLES_KEPT else stem[:-1]
    return f"{stem}e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _STEP_2)


def _step_4(word: str) -> str:
    for suffix in _STEP_4:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            is_left = _measure(stem) > 1 and (suffix != "ion" or stem[-1] in "st")
            return stem if is_left else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        measure = _measure(stem)
        word = stem if measure > 1 or (measure == 1 and not _ends_short(stem)) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
