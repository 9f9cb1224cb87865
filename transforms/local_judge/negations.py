"""Detects negations and the words that they deny.

Negations of two words (`ne ... pas`, `no ... nada`) count once. Those in idioms that deny nothing, such as
`not only` and `no later than`, do not count.
"""

import re
from collections.abc import Iterator, Set
from itertools import takewhile

from turnwise.transforms.local_judge.claims import is_half_known
from turnwise.transforms.local_judge.meanings import words
from turnwise.transforms.text.function_words import NEGATING, word_set
from turnwise.transforms.text.words import Word, is_negated, weigh

_IDIOMS = re.compile(
    r"\b(?:not|no|n['’]t)\s+(?:only|just|merely|simply|solely|more|less|fewer|later|earlier|sooner|doubt|wonder"
    r"|matter|problem|worries|until|before|unless|(?:un|im|in|ir)[a-z]{4,}(?:ble|ly|ual))\b"
    r"|\bnothing (?:but|less|more)\b|\b(?:cannot|can['’]t) (?:but|wait)\b|\bif not\b|\bunless\b"
    r"|\bdo(?:n['’]t| not) (?:forget|hesitate|worry|miss)\b"
    r"|\bnicht\s+(?:nur|bloß|allein|zuletzt|später|früher|mehr als|weniger|selten|vergessen|un[a-zäöüß]+)\b"
    r"|\bkeine?\s+(?:zweifel|problem|sorge)\b|\bvergessen sie nicht\b|\bes sei denn\b|\bohne weiteres\b"
    r"|\bn(?:e\s+|['’])(?:[^\W\d_]+\s+){1,4}?qu(?:e\b|['’])|\bpas\s+(?:seulement|uniquement|plus|moins)\b"
    r"|\bsans (?:doute|souci|problème)\b|\bhésitez pas\b"
    r"|\bno\s+(?:s[oó]lo|obstante|más|menos|dude|olvide)\b|\bsin (?:duda|problemas?)\b"
    r"|だけで(?:は)?なく|だけじゃなく|のみならず|に過ぎない|なければなら?な?りません|なければならない"
    r"|かもしれ(?:ない|ません)|ない限り|なければ|ないと|問題(?:は)?(?:ない|ありません)"
    r"|뿐(?:만)?\s?아니라|뿐만이?\s?아니|지\s?않으면|않는\s?한|문제\s?없|틀림없|빠짐없|상관없",
    re.IGNORECASE,
)

_IN_BETWEEN = r"(?:[^\W\d_]+(?:\s+|['’])){0,4}?"
_PAIRS = (
    (
        rf"\bn(?:e\s+|['’])({_IN_BETWEEN})(?:pas|plus(?!\s+qu)|jamais|aucune?|rien|point|guère|personne)\b",
        r"\1pas",
    ),
    (r"\b((?:aucune?|rien|jamais)\b[^.,;:!?]{0,60}?)\bn(?:e\s+|['’])", r"\1"),
    (
        rf"\bno\s+({_IN_BETWEEN})(?:nada|nunca|jamás|ning[uú]n|ninguno|ninguna|nadie|tampoco)\b",
        r"no \1",
    ),
    (r"\bnon-(?!stop|profit|fiction)(?=[^\W\d_]{4})|\bnon(?=[a-z]{3,}[ai]ble\b)", "not "),
    (r"\bout[ -]of[ -](?=(?:stock|service|order|print)\b)", "not in "),
)
_MAY_BE_TWO = re.compile(r"\b(?:n(?:e\s|['’]|on?[\s-]|on[a-z])|out[ -]of|aucun|rien|jamais)", re.IGNORECASE)
_ONE_NEGATION = [(re.compile(pair, re.IGNORECASE), one) for pair, one in _PAIRS]
_JOINS = word_set("and but or und aber oder et mais ou y pero o")
_FORWARD = re.compile("不|没有|沒有|未")
_LAST_RUN = re.compile(r"[^\s\u3040-\u309f]+(?=[\s\u3040-\u309f]*$)")
_MOST_DENIED = 0.75
_NEAR = 200


def with_single_negations(text: str) -> str:
    """Writes each negation of two words, and words such as `non-refundable`, with one negation."""
    for pair, one in _ONE_NEGATION if _MAY_BE_TWO.search(text) else ():
        text = pair.sub(one, text)
    return text


def replace_idioms(text: str, replacement: str = " ") -> str:
    """Replaces idioms with a negation that denies nothing by itself."""
    return _IDIOMS.sub(replacement, text)


def is_denied(text: str) -> bool:
    """Returns whether a text has a negation that denies something."""
    return is_negated(words(replace_idioms(with_single_negations(text))))


def denies(text: str, known: Set[str]) -> bool:
    """Returns whether what a text denies is known.

    Args:
        text: A clause with one negation.
        known: Keys of the words that are known.
    """
    denied = list(_denied(text))
    total, shared = weigh(denied), weigh(word for word in denied if is_half_known(word, known))
    return not denied or (
        is_half_known(denied[0], known) and sum(shared.values()) >= _MOST_DENIED * sum(total.values())
    )


def _denied(text: str) -> Iterator[Word]:
    """Yields the content words that a negation denies, the nearest one first.

    These are the words after it up to `and`, or the last one before it. Negated endings of Japanese and
    Korean deny the word before them.
    """
    found = words(text)
    place = next((i for i, word in enumerate(found) if word.is_negation), len(found))
    inside = NEGATING.search(text) if place < len(found) and not found[place].lower.isascii() else None
    if inside and found[place].is_content and not _FORWARD.match(inside[0]):
        yield from _last_content(text[: inside.start()][-_NEAR:])
        return
    after = [word for word in takewhile(_is_no_join, found[place + 1 :]) if word.is_content]
    yield from after or [word for word in found[:place] if word.is_content][-1:]


def _is_no_join(word: Word) -> bool:
    return word.lower not in _JOINS


def _last_content(text: str) -> list[Word]:
    """Returns the last content word of a text, in Japanese without its Hiragana."""
    while run := _LAST_RUN.search(text):
        if content := [word for word in words(run[0]) if word.is_content]:
            return content[-1:]
        text = text[: run.start()]
    return []
