"""Detects contradictions between two clauses, with few false positives.

Two clauses with nearly the same content contradict each other if only one of them is negated, or if they
differ in one number. Longer texts do if all their words are aligned but one negation, month, weekday or unit.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import cache
from itertools import takewhile
from math import fsum
from typing import NamedTuple

from turnwise.transforms.local_judge.claims import PLAIN_NUMBER, Claim, quoted_names
from turnwise.transforms.local_judge.derived import DerivedNumbers, claimed_numbers, may_follow
from turnwise.transforms.local_judge.evidence import EvidenceSpan, alike, keys_of
from turnwise.transforms.local_judge.meanings import words
from turnwise.transforms.local_judge.named_values import (
    are_other,
    denies,
    is_denied,
    mark_named_values,
    replace_idioms,
    with_single_negations,
)
from turnwise.transforms.text.words import (
    FUNCTION_WORDS,
    KOREAN_GRAMMAR,
    NEGATING,
    Keys,
    Word,
    is_run_of_characters,
    spoken_number,
    weigh,
    without_korean_endings,
    word_set,
)
from turnwise.transforms.text.words import words as plain_words

_BREAK = re.compile(r"[.,:](?=[\s*_]|$)|[!?;。！？；؟،、，\n(){}\[\]|\"“”«»—–]")
_ANSWER = re.compile(r"(?i)\W*(?:yes|no|ja|nein|oui|non|sí|はい|いいえ|네|아니요)\s*[,，、،.!。！]\s*")
_IS_KEY = re.compile(r'(?:\\?")?\s{0,4}:')
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")
_CONDITION = re.compile(
    r"(?i)\b(?:if|when|unless|until|except|wenn|falls|sofern|solange|außer|si|sauf)\b|場合|限り|なければ|たら|경우|[으하]면\b"
)
# A superlative of which evidence says that it holds of several, and the same one without that.
_SUPERLATIVES = [
    (re.compile(limited, re.IGNORECASE), re.compile(whole, re.IGNORECASE))
    for limited, whole in (
        (
            r"\b(?:one|some|many|among|amongst)\b(?: of)? (?:the|its|his|her|their) (?:\w+ ){0,2}?"
            r"(most \w+|\w{2,}est)\b",
            r"\bthe (?:\w+ )?(most \w+|\w{2,}est)\b",
        ),
        (
            r"\b(?:eine[rsm]?|zu|unter) de[rn] (?:\w+ )?(\w{2,}[sß]t)en\b",
            r"\b(?:der|die|das) (\w{2,}[sß]t)e\b",
        ),
        (r"\bl'une? des (?:\w+ )?(plus \w+?)s?\b", r"\b(?:le|la) (?:\w+ la )?(plus \w+?)s?\b"),
        (r"\b(?:uno|una) de l[oa]s \w+ (más \w+?)s?\b", r"\b(?:el|la) \w+ (más \w+?)s?\b"),
    )
]
_KIND = re.compile(r"^#[mt]?")
_SAME = 0.9
_ALIKE = 0.75
_MARGIN = 40


def contradiction(
    claim: Claim, span: EvidenceSpan, source: str, following: Set[str] = frozenset()
) -> str | None:
    """Returns one sentence on how a span of a source contradicts a claim; None: no clear contradiction.

    Of numbers that the source does not state, but that may be `following` from it, by their keys, those
    contradict nothing that may be the source's number, in another unit or rounded.
    """
    answer = _ANSWER.match(claim.text)
    stated_text = claim.text[answer.end() if answer else 0 :]
    clause = stated_text.strip(" .!。！\n*")
    claimed = None if _BREAK.search(clause) else clause
    held: str | None = None
    before, after = span.context[: span.start], span.context[span.end :]
    is_clause = _BREAK.search(before) and _BREAK.search(after) and not _BREAK.search(span.quote)
    if is_clause and not _IS_KEY.match(after):
        held = _BREAK.split(before)[-1] + span.quote + _BREAK.split(after, maxsplit=1)[0]
    sentence = _SENTENCE_END.split(before)[-1] + span.quote + _SENTENCE_END.split(after, maxsplit=1)[0]
    # The evidence denies something under a condition that the claim lacks.
    is_limited = _CONDITION.search(sentence) and not (_CONDITION.search(claim.text) or is_denied(claim.text))
    if claimed is not None and held is not None:
        if not is_limited and _is_denial(claimed, held):
            return f"{source} says the contrary: “{held.strip()}”."
        ours, theirs = words(claimed), words(held)
        mine, others = (
            [word for word in side if any(keys.isdisjoint(demand) for demand in word.demands)]
            for side, keys in ((ours, keys_of(theirs)), (theirs, keys_of(ours)))
        )
        # Both have one number of a kind that the other lacks, and the same content beside it.
        if (
            len(mine) == len(others) == 1
            and _KIND.findall(mine[0].keys[0]) == _KIND.findall(others[0].keys[0])
            and _is_same_content(*([word for word in side if not word.demands] for side in (ours, theirs)))
            and (following.isdisjoint(mine[0].keys) or not _restates(mine[0], others[0], claim.text))
        ):
            return f"{source} says {quoted_names([others[0].lower])}, not {quoted_names([mine[0].lower])}."
    if is_limited:
        return None
    size = len(claim.text) // 2 + _MARGIN
    start, end = max(0, span.start - size), span.end + size
    around = ("zqcut " if start else "") + span.context[start:end]
    around += " zqcut" if end < len(span.context) else ""
    difference = only_difference(stated_text, around)
    if difference is None:
        return None
    stated, value = difference
    if stated:
        return f"{source} says {quoted_names([value])}, not {quoted_names([stated])}."
    return f"{source} says the contrary: “{span.quote}”."


def _restates(mine: Word, other: Word, text: str) -> bool:
    """Returns whether a number of a text may be another one, in another unit or rounded."""
    values, stated = (
        [float(key[1:]) for key in word.keys if PLAIN_NUMBER.fullmatch(key)] for word in (mine, other)
    )
    return bool(may_follow(claimed_numbers(text, values), DerivedNumbers({*stated} - {0.0, 1.0})))


def overstated(claimed: str, span: EvidenceSpan) -> str | None:
    """Returns a superlative of a claim that holds of several by the evidence; None: there is none."""
    for limited, whole in _SUPERLATIVES:
        held = {superlative[1].lower() for superlative in limited.finditer(span.context)}
        held -= {superlative[1].lower() for superlative in whole.finditer(limited.sub(" ", span.context))}
        for superlative in whole.finditer(limited.sub(" ", claimed)) if held else ():
            if superlative[1].lower() in held:
                return superlative[1]
    return None


def _is_denial(claimed: str, held: str) -> bool:
    both = with_single_negations(claimed), with_single_negations(held)
    if is_denied(claimed) == is_denied(held) or any(replace_idioms(clause) != clause for clause in both):
        return False
    if any(sum(word.is_negation for word in words(clause)) > 1 for clause in both):
        return False
    negated, other = both if is_denied(claimed) else both[::-1]
    if not denies(negated, keys_of(words(other))):
        return False
    return any(
        _is_same_content(*(words(NEGATING.sub("", shorten(clause))) for clause in both))
        for shorten in (str, without_korean_endings)
    )


def _is_same_content(claimed: Iterable[Word], known: Iterable[Word]) -> bool:
    ours, theirs = (weigh(word for word in side if word.is_content) for side in (claimed, known))
    shared = fsum(min(weight, theirs.get(key, 0.0)) for key, weight in ours.items())
    return shared > 0 and shared >= _SAME * fsum(ours.values()) and shared >= _ALIKE * fsum(theirs.values())


NOT, BREAK, END, COLON, NUMBER = "zqnot", "zqbreak", "zqend", "zqcolon", "#"
"""Kinds of tokens: negations, punctuation in sentences and after them, colons, numbers and identifiers."""
_IDIOM = "zqidiom"
_NAMED = re.compile(r"(zq(?:month|weekday|unit|half))\d\d")
_BRACKETS = re.compile(r"[(（\[][^()（）\[\]]{0,200}[)）\]]")
_CANNOT = re.compile(r"\bcan(?:['’]t|not)\b", re.IGNORECASE)
_CONTRACTED = re.compile(r"n['’]t\b", re.IGNORECASE)
_COLONS = re.compile(r"\\?[\"”]?\s{0,4}(?:(?<!\d)[:：]|[:：](?!\d))")
_ENDS = re.compile(r"\.(?=[\s*_]|$)|[!?。！？\n]")
_PUNCTUATION = re.compile(r",(?=[\s*_]|$)|[;；،、，{}\[\]()|\"“”«»—–]")
PRONOUNS = word_set("it he she they er sie il elle")
_ADVERBS = (
    "unfortunately currently generally strictly absolutely definitely sadly leider derzeit aktuell momentan"
    " grundsätzlich generell malheureusement actuellement lamentablemente desafortunadamente actualmente"
)
_FILLERS = (
    word_set("""a an the there do does did any some is are was were be been well oh also ein eine einen einem
        einer eines der die das es zu le la les un une des el los las una""")
    | {BREAK, END, COLON}
    | frozenset("ますしたでるだはがもをにいうくんれらっ")
    | PRONOUNS
    | KOREAN_GRAMMAR
)


# Kinds of tokens that may be unaligned.
fillers = cache(lambda: _FILLERS | {alike(word) for word in plain_words(_ADVERBS)})


class AlignedToken(NamedTuple):
    """A token: its kind, which equal ones share apart from their values, and the keys that it provides.

    It has a value if it is a month, weekday, half of the day, unit or number word; of every tuple that it
    demands, a token of the evidence must have one key.
    """

    kind: str
    value: str = ""
    keys: Keys = ()
    demands: tuple[Keys, ...] = ()

    def aligns(self, other: "AlignedToken") -> bool:
        """Returns whether a token of a claim may stand for one of the evidence."""
        if self.kind != NUMBER or (self.value and other.value):
            return self.kind == other.kind
        demands = self.demands or (self.keys,)
        return other.kind == NUMBER and not any(set(keys).isdisjoint(other.keys) for keys in demands)

    def differs(self, other: "AlignedToken") -> bool:
        """Returns whether both have values, and not the same."""
        return bool(self.value and other.value) and are_other(self.value, other.value)


_Tokens = Sequence[AlignedToken]


class AlignedText:
    """A text as tokens; values have their names in `names`."""

    def __init__(self, text: str) -> None:
        self.names: dict[str, str] = {}
        text = _BRACKETS.sub(" ", replace_idioms(with_single_negations(text), f" {_IDIOM} "))
        text = _CONTRACTED.sub(" not", _CANNOT.sub("can not", text))
        text = mark_named_values(text, self.names)
        text = text if text.isascii() else NEGATING.sub(f" {NOT} ", text)
        text = _ENDS.sub(f" {END} ", _COLONS.sub(f" {COLON} ", text))
        self.tokens: list[AlignedToken] = []
        for word in plain_words(_PUNCTUATION.sub(f" {BREAK} ", text)):
            is_number_word = spoken_number(word.lower) is not None
            if is_number_word:
                self.names[word.keys[0]] = word.lower
            if named := _NAMED.fullmatch(word.lower):
                self.tokens.append(AlignedToken(named[1], word.lower))
            elif word.is_negation or word.lower == NOT:
                self.tokens.append(AlignedToken(NOT))
            elif word.demands:
                self.tokens.append(AlignedToken(NUMBER, keys=word.keys, demands=word.demands))
            elif is_number_word:
                self.tokens.append(AlignedToken(NUMBER, word.keys[0], word.keys))
            elif is_run_of_characters(word.lower):
                self.tokens += map(AlignedToken, word.lower)
            else:
                self.tokens.append(AlignedToken(alike(word), keys=word.keys))
        self.values = {(token.kind, token.value) for token in self.tokens if token.value}
        self.is_negated = any(token.kind == NOT for token in self.tokens)


_MOST_CLAIMED, _MOST_HELD = 100, 400
_LONGEST = 1_000
_AROUND = " .!?。！？\n*"
_JOINS = word_set("and but because that und aber denn dass daß weil et mais que y pero") | {BREAK, END, COLON}
_LISTED, _NEAR = ("zqmonth", "zqweekday"), 3
_UNALIGNED, _DENIED, _FILLED, _OTHER_VALUE = 100, 90, 1, 2
_TOO_MUCH = 2 * _UNALIGNED
_LEAST_ALIGNED, _LEAST_OF_A_PRONOUN = 2, 4


def only_difference(claimed: str, held: str) -> tuple[str, str] | None:
    """Returns the only values in which a claim and evidence of the same differ; "": one is negated."""
    if len(claimed) > _LONGEST:
        return None
    claim, evidence = AlignedText(claimed.strip(_AROUND)), AlignedText(held)
    if len(claim.tokens) > _MOST_CLAIMED or len(evidence.tokens) > _MOST_HELD:
        return None
    # Without a negation, both must have values of one kind, and not the same.
    kinds, held_kinds = ({kind for kind, _ in text.values} for text in (claim, evidence))
    counts = Counter(kind for kind, _ in claim.values | evidence.values)
    may_deny = claim.is_negated or evidence.is_negated
    if not may_deny and all(counts[kind] == 1 for kind in kinds & held_kinds):
        return None
    tokens = evidence.tokens
    pairs = _align(claim.tokens, tokens)
    aligned = [(token, i) for token, i in pairs if token and i >= 0]
    # A claim may have a pronoun in the place of a name of the evidence.
    has_pronoun = any(token and i < 0 and token.kind in PRONOUNS for token, i in pairs)
    least = _LEAST_OF_A_PRONOUN if has_pronoun else _LEAST_ALIGNED
    if sum(not (token.value or token.kind in fillers()) for token, _ in aligned) < least:
        return None
    # What stands before a colon only names what is stated after it, as the key of a record does.
    behind = tokens[max(i for _, i in pairs) + 1 :]
    if any(t.kind == COLON for t in takewhile(lambda token: token.kind in (BREAK, END, COLON), behind)):
        return None
    before = 0 if has_pronoun else _edge(tokens[: aligned[0][1]][::-1])
    unaligned = [token or tokens[i] for token, i in pairs if not (token and i >= 0)]
    others = [(token, i) for token, i in aligned if token.differs(tokens[i])]
    after = _edge(tokens[aligned[-1][1] + 1 :])
    if not others and before is not None and (after is not None or claim.is_negated):
        denying = [token for token in unaligned if token.kind not in fillers()]
        if len(denying) + before + (after or 0) == 1 and all(token.kind == NOT for token in denying):
            return "", ""
    if len(others) != 1 or before != 0 or any(_cost(token) > _FILLED for token in unaligned):
        return None
    ((claimed_value, i),) = others
    if is_held(claimed_value, claim.tokens, i, tokens):
        return None
    kind, near = tokens[i].kind, [*tokens[max(0, i - _NEAR) : i], *tokens[i + 1 : i + 1 + _NEAR]]
    if kind in _LISTED and any(token.kind == kind for token in near):  # as in `Monday to Friday`
        return None
    return claim.names[claimed_value.value], evidence.names[tokens[i].value]


def _cost(token: AlignedToken) -> int:
    if token.kind == NOT:
        return _DENIED
    return _FILLED if token.kind in fillers() else _UNALIGNED


def _align(claimed: _Tokens, held: _Tokens) -> list[tuple[AlignedToken | None, int]]:
    """Returns pairs of tokens of a claim and indexes in the evidence; None and -1: there is no partner.

    A claim may begin and end anywhere in the evidence (semi-global alignment with the least cost of unaligned
    tokens, after Needleman and Wunsch 1970).
    """
    rows, steps = [0] * (len(held) + 1), list[list[int]]()
    costs = [_cost(token) for token in held]
    for token in claimed:
        cost, row, step = _cost(token), [rows[0] + _cost(token)], [1]
        for position, other in enumerate(held):
            best, move = rows[position + 1] + cost, 1
            if (left := row[position] + costs[position]) < best:
                best, move = left, 2
            if token.aligns(other):
                same = rows[position] + (_OTHER_VALUE if token.differs(other) else 0)
                if same <= best:
                    best, move = same, 0
            row.append(best)
            step.append(move)
        rows = row
        steps.append(step)
        if min(rows) >= _TOO_MUCH:
            return []
    pairs: list[tuple[AlignedToken | None, int]] = []
    number, position = len(steps), min(range(len(rows)), key=rows.__getitem__)
    while number:
        move = steps[number - 1][position]
        pairs.append((None if move == 2 else claimed[number - 1], -1 if move == 1 else position - 1))
        number, position = number - (move != 2), position - (move != 1)
    return pairs[::-1]


def _edge(outside: _Tokens) -> int | None:
    """Returns the number of negations between a part and the end of its clause, 0..1; None: more is there."""
    denials = 0
    for token in outside:
        if token.kind in _JOINS:
            break
        if token.kind == NOT and not denials:
            denials = 1
        elif token.kind not in fillers():
            return None
    return denials


_SIDES = {"zqunit": (-1,), "zqhalf": (-1, 1), NUMBER: (1, 2)}
_REFERS = PRONOUNS | word_set("""this that these those there also too again auch dies diese dieser dieses
    ebenfalls wieder aussi también""")


def is_held(value: AlignedToken, claim: _Tokens, position: int, held: _Tokens) -> bool:
    """Returns whether evidence has a value of a claim apart from the position with which it is aligned.

    A unit, a half of the day or a number word counts with what stands beside it (`20 dollars`), a month or
    weekday unless it stands in a sentence about something else.
    """
    others = [other for other, token in enumerate(held) if token.value == value.value]
    if sides := _SIDES.get(value.kind):
        beside = _beside(claim, claim.index(value), sides)
        beside = [token for token in beside if NUMBER in (value.kind, token.kind)]
        return any(
            not beside or any(mine.aligns(token) for mine in beside for token in _beside(held, other, sides))
            for other in others
        )
    ends = [-1, *(i for i, token in enumerate(held) if token.kind == END), len(held)]
    for other in others:
        start, end = max(end for end in ends if end < other) + 1, min(end for end in ends if end > other)
        # Another sentence may refer to the aligned one, or have no content of its own, as `On Friday, too`.
        kinds = {token.kind for token in held[start:end]}
        content = kinds - {token.kind for token in claim} - fillers() - FUNCTION_WORDS - {NUMBER}
        if start <= position < end or not content or not kinds.isdisjoint(_REFERS):
            return True
    return False


def _beside(tokens: _Tokens, i: int, sides: Sequence[int]) -> list[AlignedToken]:
    return [tokens[i + side] for side in sides if 0 <= i + side < len(tokens)]
