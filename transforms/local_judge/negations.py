"""Detects negations, apart from those in idioms that deny nothing, such as `not only` and `no later than`."""

import re

from turnwise.transforms.text.words import is_negated, words

_IDIOMS = re.compile(
    r"\b(?:not|no|n['’]t)\s+(?:only|just|merely|simply|solely|more|less|fewer|later|earlier|sooner|doubt|wonder"
    r"|matter|problem|worries|until|before|unless|(?:un|im|in|ir)[a-z]{4,}(?:ble|ly|ual))\b"
    r"|\bnothing (?:but|less|more)\b|\b(?:cannot|can['’]t) (?:but|wait)\b|\bif not\b|\bunless\b"
    r"|\bdo(?:n['’]t| not) (?:forget|hesitate|worry|miss)\b"
    r"|\bnicht\s+(?:nur|bloß|allein|zuletzt|später|früher|mehr als|weniger|selten|vergessen|un[a-zäöüß]+)\b"
    r"|\bkeine?\s+(?:zweifel|problem|sorge)\b|\bvergessen sie nicht\b|\bes sei denn\b|\bohne weiteres\b"
    r"|だけで(?:は)?なく|だけじゃなく|のみならず|に過ぎない|なければなら?な?りません|なければならない"
    r"|かもしれ(?:ない|ません)|ない限り|なければ|ないと|問題(?:は)?(?:ない|ありません)"
    r"|뿐(?:만)?\s?아니라|뿐만이?\s?아니|지\s?않으면|않는\s?한|문제\s?없|틀림없|빠짐없|상관없",
    re.IGNORECASE,
)


def replace_idioms(text: str, replacement: str = " ") -> str:
    """Replaces idioms with a negation that denies nothing by itself."""
    return _IDIOMS.sub(replacement, text)


def is_denied(text: str) -> bool:
    """Returns whether a text has a negation that denies something."""
    return is_negated(words(replace_idioms(text)))
