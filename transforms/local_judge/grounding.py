"""Checks sentences against evidence without a model, by their common words.

Every sentence that claims something has a coverage and with it a probability of being supported (a logistic
function; Platt 1999). What a missing number, date or identifier, or a contradiction, refutes has a coverage
of 0. With prose, the coverage is the mean of two shares of the weight of its words: that which the evidence
holds, and that which stands together in one passage. Function words weigh little there; names, negations, the
speaker and, in English, all other words weigh more if the evidence lacks them, while words of little meaning
then weigh nothing. With a record, such as JSON, which has few function words, it is the mean of the shares of
the content that the evidence and one passage hold, with a credit of two words.
"""

import re
from collections.abc import Container, Sequence, Set
from itertools import chain, islice, takewhile
from math import exp, fsum
from typing import Literal, NamedTuple

from turnwise.schemas.jsonio import grouped
from turnwise.transforms.local_judge import named_values
from turnwise.transforms.local_judge.claims import (
    NOTHING_SAID,
    OF_ABSENCE,
    Claim,
    computed_numbers,
    missing_numbers,
    missing_words,
    nothing_claimed,
    plain_numbers,
    quoted_names,
    read_claim,
    says_absence,
    totals_of_lines,
    why_no_claim,
    without_talk,
)
from turnwise.transforms.local_judge.contradictions import contradiction, overstated
from turnwise.transforms.local_judge.derived import claimed_numbers, may_follow, taken_together
from turnwise.transforms.local_judge.evidence import (
    UNKNOWN,
    WINDOW,
    Evidence,
    EvidencePassage,
    RecordFlag,
    alike,
    denying_flag,
    denying_status,
    keys_of,
    read_evidence,
)
from turnwise.transforms.local_judge.meanings import LIGHT, words
from turnwise.transforms.text.cleaning import plain
from turnwise.transforms.text.sentences import LANGUAGES_READ, guessed_language, shown_language
from turnwise.transforms.text.words import (
    ORDINALS,
    WORD_WEIGHT,
    Word,
    is_run_of_characters,
    spoken_number,
    weigh,
    word_set,
)

GroundingLabel = Literal["supported", "unsupported", "contradictory", "not_applicable"]

PROBABLE = 0.5
"""Lowest probability of what counts as supported."""
_UNSURE = "the local judge is unsure: "
NO_EVIDENCE = f"{_UNSURE}nothing that the answer could stand on is recorded"
OTHER_LANGUAGE = f"{_UNSURE}the evidence is no prose in the language of the answer"
UNREAD_LANGUAGE = f"{_UNSURE}it does not read the forms of the words of this language"
IN_RECORDS = f"{_UNSURE}the evidence holds records, such as JSON, and the answer may paraphrase them"
ABSENCE = f"{_UNSURE}the answer says that something failed or is missing, and no evidence says the contrary"
OTHER_POLARITY = f"{_UNSURE}only one of the answer and its evidence denies something"
FOLLOWING = f"{_UNSURE}a number may follow from the evidence, which does not state it"
NO_MEASURE = f"{_UNSURE}the evidence measures nothing of the kind that the answer states"
FAILED = f"{_UNSURE}only a call that failed holds what the answer says"
"""Why words alone do not refute an answer."""

_LABEL = re.compile(r"\W*([^\W\d_]+) (\d{1,2}):")


class GroundingVerdict(NamedTuple):
    """Verdict on a sentence, with the words of the evidence that cover most of it, and a sentence on why.

    Attributes:
        coverage: How much of it the evidence holds, 0..1, 0 if it is refuted; None: it claims nothing.
        weight: How much it counts among the sentences of an answer, 0..1: a short one counts less.
        is_certain: Whether numbers, dates, identifiers or a negation decided it, not other words.
        unsure: Why a low coverage says little against it; None: it says that nothing supports it.
    """

    label: GroundingLabel
    quote: str
    reason: str
    coverage: float | None = None
    weight: float = 1.0
    is_certain: bool = False
    unsure: str | None = None


def ground(
    sentences: Sequence[str],
    evidence: Sequence[str],
    asked: Sequence[str] = (),
    failed: Sequence[str] = (),
    earlier: Sequence[str] = (),
) -> list[GroundingVerdict]:
    """Compares sentences of an answer, in any language, with evidence; returns one verdict each, in order.

    More evidence (tool results, sources, instructions) never makes a supported sentence unsupported; its
    order does not matter. What the user `asked` supports nothing, but a number in it is not invented, and
    neither is one that follows from others of the answer, such as their sum. Calls that `failed` support only
    what denies something: of another sentence that they hold it is open whether it says that it was done.
    A number that may have followed in an `earlier` answer may do so where it is repeated.
    """
    # What only numbers the sentences of one answer, as `Option 1:` and `Option 2:`, claims nothing.
    labels = [_LABEL.match(sentence) for sentence in sentences]
    numbers = grouped((label[1].lower(), int(label[2])) for label in labels if label)
    are_labels = {word for word, of_word in numbers.items() if len(of_word) > 1 and of_word[0] == 1}
    claims = [
        read_claim(sentence[label.end() :] if label and label[1].lower() in are_labels else sentence)
        for sentence, label in zip(sentences, labels, strict=True)
    ]
    with read_evidence(evidence) as known, read_evidence([*asked, *failed]) as mentioned:
        computed = computed_numbers(claims, known.keys, mentioned.keys)
        following = _following_numbers(claims, known, mentioned, computed)
        held = (known.keys, mentioned.keys, computed, following)
        repeated = {word for claim in claims for word in missing_numbers(claim, *held)}
        holding = (text for text in earlier if any(word in text.lower() for word in repeated))
        for text in islice(holding if repeated else (), _MOST_EARLIER):
            before = [read_claim(sentence) for sentence in _SENTENCE_END.split(text)]
            stated = computed_numbers(before, known.keys, mentioned.keys, following)
            following |= stated | _following_numbers(before, known, mentioned, stated | following)
        verdicts = [_verdict(claim, known, mentioned, computed, following) for claim in claims]
        if failed and any(verdict.label == "unsupported" for verdict in verdicts):
            with read_evidence([*evidence, *failed]) as with_failed:
                others = [_verdict(claim, with_failed, mentioned, computed, following) for claim in claims]
            for i, (claim, other) in enumerate(zip(claims, others, strict=True)):
                if (verdicts[i].label, other.label) == ("unsupported", "supported"):
                    is_denial = says_absence(claim.text) or named_values.is_denied(claim.text)
                    unsure = verdicts[i]._replace(unsure=FAILED, is_certain=False)
                    verdicts[i] = other if is_denial else unsure
    return verdicts


def probable_range(claims: Sequence[GroundingVerdict]) -> tuple[float, float]:
    """Returns how probably people call claims supported, 0..1, and if all of the unsure ones were so."""
    parts = [(claim.coverage or 0.0, claim.weight) for claim in claims]
    best = [(1.0 if claim.unsure else part[0], part[1]) for claim, part in zip(claims, parts, strict=True)]
    return probability(parts), probability(best)


_MOST_EARLIER = 10
_SMALL = frozenset(f"#{number}" for number in range(2, 13))


def _following_numbers(
    claims: Sequence[Claim], known: Evidence, mentioned: Evidence, computed: Set[str]
) -> set[str]:
    """Returns the keys of missing numbers that may follow from evidence, or from others that may."""
    held = (known.keys, mentioned.keys, computed)
    demanded = {keys for claim in claims for _, keys in claim.demands if all(map(set(keys).isdisjoint, held))}
    if not demanded:
        return set()
    evidence = taken_together([piece.derived for piece in (*known.pieces, *mentioned.pieces)])
    following = set[str]().union(*map(evidence.of_moment, demanded))
    for claim in claims:
        if keys := plain_numbers(claim, *held):
            factors = {float(key[1:]) for word in claim.words for key in word.keys if key in _SMALL}
            numbers = claimed_numbers(claim.text, [*keys], factors)
            following |= {keys[value] for value in may_follow(numbers, evidence)}
    totals = totals_of_lines(claims, *held, following)
    open_numbers = chain.from_iterable(plain_numbers(claim, *held).items() for claim in claims)
    following |= {key for value, key in open_numbers if value in totals}
    return following | computed_numbers(claims, *held, following)


def _verdict(
    sentence: Claim, known: Evidence, mentioned: Evidence, computed: Set[str], following: Set[str]
) -> GroundingVerdict:
    if reason := nothing_claimed(sentence):
        return GroundingVerdict("not_applicable", "", reason)
    whole, sentence = sentence, without_talk(sentence)
    if not sentence.content:
        return GroundingVerdict("not_applicable", "", NOTHING_SAID)
    texts = [piece.spelled for piece in (*known.pieces, *mentioned.pieces)]
    claim, missing = named_values.as_spelled(sentence, texts, known.keys, mentioned.keys, computed)
    passages = known.passages(claim.content)
    best = passages[0] if passages else None
    quote = best.span.quote if best else ""
    flag = denying_flag(claim, known.flags, known.stated)
    # A number that may follow from one of the evidence does not contradict it, unless it stands somewhere.
    unstated = following & set(plain_numbers(claim, known.keys, mentioned.keys, computed).values())
    if reason := _refuting(claim, known, best, flag, unstated):
        return GroundingVerdict("contradictory", quote, reason, 0.0, is_certain=True)
    is_absence, is_contrary = says_absence(whole.text), False
    if is_absence and claim.demands:
        # Evidence that itself denies nothing holds all that the claim calls failed or missing: of `I could
        # not find order 5` the order and its number. Without a number, it may be another order.
        content = (word for word in claim.words if word.is_content and not word.is_negation)
        rest = weigh(word for word in content if word.lower not in OF_ABSENCE)
        holding = (passage for passage in passages if all(map(passage.holds, rest)))
        is_contrary = any(not passage.piece.denies_something for passage in holding)
    absence = ABSENCE if is_absence and not is_contrary else None
    if flag and flag.value == UNKNOWN:
        reason = f"The evidence has no value of “{flag.name}”."
        return GroundingVerdict("unsupported", quote, reason, 0.0, unsure=absence)
    if missing:
        reason = f"No evidence holds {quoted_names(missing)}."
        _, still_missing = named_values.as_spelled(
            sentence, texts, known.keys, mentioned.keys, computed | following
        )
        unsure = absence or _why_open(claim, still_missing, known, best)
        return GroundingVerdict("unsupported", quote, reason, 0.0, is_certain=not unsure, unsure=unsure)
    if best and (most := overstated(claim.text, best.span)):
        reason = f"The evidence says “{most}” of several."
        return GroundingVerdict("unsupported", quote, reason, 0.0, is_certain=True)
    covered = coverage(claim, known, passages, mentioned)
    weight = min(1.0, fsum(claim.content.values()) / _FULL_WEIGHT)
    if probability([(covered, weight)]) >= PROBABLE:
        # The claim denies something where prose around it does not, or prose does in its words.
        is_denial = named_values.is_denied(claim.text)
        held_text = (best.span.context if is_denial else best.span.quote) if best else ""
        if best and best.piece.is_prose and is_denial != named_values.is_denied(held_text):
            reason = f"Only one of it and “{quote}” denies something."
            return GroundingVerdict("unsupported", quote, reason, covered, weight, unsure=OTHER_POLARITY)
        held = f"The evidence holds {covered:.0%} of it."
        return GroundingVerdict("supported", quote, held, covered, weight)
    if reason := why_no_claim(whole, sentence.text):
        return GroundingVerdict("not_applicable", quote, reason)
    unknown = missing_words(claim, known.keys)
    together = "The evidence has its words, but not together."
    reason = f"No evidence says {quoted_names(unknown)}." if unknown else together
    unsure = None if is_contrary else absence or _why_incomparable(claim, known)
    return GroundingVerdict("unsupported", quote, reason, covered, weight, unsure=unsure)


def _why_open(
    claim: Claim, missing: Sequence[str], known: Evidence, best: EvidencePassage | None
) -> str | None:
    """Returns why missing numbers, without those that may follow, may be right; None: they are wrong."""
    days = {word.lower for word, keys in claim.demands if keys[0].startswith("#m")}
    if not missing:
        return FOLLOWING
    if not _MONTHS_READ.issuperset(p.language or "en" for p in known.pieces) and days.issuperset(missing):
        return UNREAD_LANGUAGE
    if known.keys and not known.holds_records:
        return None
    polarity = OTHER_POLARITY if named_values.is_denied(claim.text) else None
    return polarity if _may_differ(claim, missing, known, best) else NO_MEASURE


def _may_differ(claim: Claim, missing: Sequence[str], known: Evidence, best: EvidencePassage | None) -> bool:
    """Returns whether evidence may state another value of a missing number; any may but for measures.

    A measure of a kind that it lacks may be of a policy that is not recorded, as `within 24 hours`.
    """
    kinds = named_values.measures_of(claim.text)
    stated = {kinds.get(number) for number in missing}
    if None in stated or any(not stated.isdisjoint(piece.measures) for piece in known.pieces):
        return True
    is_about = best and best.weight >= _ABOUT * fsum(claim.content.values())
    if best and is_about and named_values.TIME in stated and len(_CLOCK.findall(best.span.context)) > 1:
        return True  # a length between two times
    # A number without a unit that has a name of the claim, as `{"delay": 40}`.
    for name, values in chain.from_iterable(piece.flags.items() for piece in known.pieces):
        content = {key for word in words(name) if word.is_content for key in word.keys}
        if content and content <= claim.content.keys():
            numbers = {key for value in filter(_BARE.fullmatch, values) for key in keys_of(words(value))}
            if numbers and numbers.isdisjoint(claim.content):
                return True
    return False


_ABOUT = 0.3
_BARE = re.compile(r'\\?"?-?\d{1,15}(?:\.\d{1,9})?[A-Z]?\\?"?')
_CLOCK = re.compile(r"\b\d\d?:\d\d\b")


_MONTHS_READ = LANGUAGES_READ | {"it", "nl", "pt"}


def _why_incomparable(claim: Claim, known: Evidence) -> str | None:
    """Returns why words that the evidence lacks say nothing against a claim; None: they say something."""
    if not known.keys:
        return NO_EVIDENCE
    if known.holds_records:
        return IN_RECORDS
    language, languages = shown_language(claim.text), {p.language for p in known.pieces if p.language}
    if LANGUAGES_READ.isdisjoint([language] if language else languages):
        return UNREAD_LANGUAGE
    if language and languages:
        return None if language in languages else OTHER_LANGUAGE
    grammar = [key for word in claim.words if not word.is_content for key in word.keys]
    return OTHER_LANGUAGE if known.keys.isdisjoint(grammar) else None


def _refuting(
    claim: Claim, known: Evidence, best: EvidencePassage | None, flag: RecordFlag | None, following: Set[str]
) -> str | None:
    if best and (reason := contradiction(claim, best.span, "The evidence", following)):
        return reason
    if flag is not None and flag.value != UNKNOWN:
        return f"The evidence says “{flag.name}”: {flag.value}."
    if status := denying_status(claim, known.statuses, known.keys):
        return f"The evidence says “{status.name}”: {status.value}."
    if best and (reason := replaced_number(claim, best, following)):
        return reason
    if other := named_values.other_unit(claim.text, known.units_of):
        return f"The evidence says {quoted_names(other[1:])}, not {quoted_names(other[:1])}."
    return None


LOG_ODDS_OF_NOTHING = -9.17
LOG_ODDS_OF_ALL = 2.22
"""Log odds where the coverage is 0 and 1, by `python -m benchmarks.local_judge_fit`."""
_FULL_WEIGHT = 3 * WORD_WEIGHT  # of a claim that counts wholly among the sentences of an answer
_CREDIT = 2 * WORD_WEIGHT
_GRAMMAR = 2
"""What a function word weighs, as a multiple of its own weight."""
_STRANGE = 2 * WORD_WEIGHT
"""What the speaker weighs, and a strange name or negation beside its own weight."""
_MISSING = {"en": 1.0, None: 0.0}
_MISSING_ELSEWHERE = -0.5
"""What a word that the evidence lacks weighs beside its own weight, by the language of the claim.

Endings and compounds of other languages often hide a word that is there; English has the best stems.
"""
_SPEAKER = word_set("i me my mine myself ich mich mir mein meine je moi mon ma mes mi mis yo")
_CAPITALIZED = re.compile(r"(?<=[\w,;] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\w+")


def probability(parts: Sequence[tuple[float, float]]) -> float:
    """Returns how probably people call a text supported, 0..1, by coverage and weight of its claims."""
    share = fsum(covered * weight for covered, weight in parts) / fsum(weight for _, weight in parts)
    return 1 / (1 + exp(-LOG_ODDS_OF_NOTHING * (1 - share) - LOG_ODDS_OF_ALL * share))


def coverage(claim: Claim, known: Evidence, passages: Sequence[EvidencePassage], asked: Evidence) -> float:
    """Returns how much of a claim with content the evidence holds, 0..1. More evidence never lowers it.

    What the user mentioned supports nothing, but a name in it is not strange.
    """
    content = fsum(claim.content.values())
    features = [feature for word in claim.words if not word.is_content for feature in word.features]
    grammar = [(key, _STRANGE if key in _SPEAKER else _GRAMMAR * weight) for key, weight in features]
    # Capitalized words inside a sentence that are not known; of German and of titles, none count.
    capitalized = _CAPITALIZED.findall(claim.text)
    of_numbers = {part for word in claim.words if word.demands for part in word.lower.split()}
    names = [w for w in words(" ".join(capitalized)) if w.is_content and w.lower not in of_numbers]
    strange = sum(known.keys.isdisjoint(w.keys) and asked.keys.isdisjoint(w.keys) for w in names)
    if strange and (2 * len(capitalized) > len(claim.words) or guessed_language(claim.text) == "de"):
        strange = 0
    strange += any(word.is_negation for word in claim.words) and not known.is_negated
    whole = content + fsum([weight for _, weight in grammar]) + _STRANGE * strange
    anywhere = fsum([weight for key, weight in claim.content.items() if key in known.keys])
    # What words of alphabets weigh that are not known: those of little meaning, and others.
    unknown_light = unknown_other = 0.0
    light: dict[str, float] = {}
    for word in claim.words:
        if word.is_content and not is_run_of_characters(word.lower):
            unknown = fsum([weight for key, weight in word.features if key not in known.keys])
            if word.lower in LIGHT:
                unknown_light += unknown
                light |= {key: claim.content[key] for key in word.keys if key in known.keys}
            else:
                unknown_other += unknown
    if unknown_other:
        whole += _MISSING.get(guessed_language(claim.text), _MISSING_ELSEWHERE) * unknown_other
    if anywhere:
        whole -= unknown_light
    # Of a long claim, only what a passage can hold must stand there.
    in_passage = min(1.0, WINDOW / len(claim.words))

    def grammar_in(keys: Container[str]) -> float:
        return fsum([weight for key, weight in grammar if key in keys])

    def share(of_passage: float, near: float, spoken: float | None) -> float:
        # A word of little meaning may stand anywhere; unknown, it would not count at all.
        close = anywhere - (anywhere - of_passage - near) * in_passage
        if spoken is None:
            return ((anywhere + close) / 2 + _CREDIT) / (content + _CREDIT)
        return held / 2 + (close + spoken) / whole / 2

    held = (anywhere + grammar_in(known.keys)) / whole
    best, of_light, of_grammar = held / 2, fsum(light.values()), fsum([weight for _, weight in grammar])
    for passage in passages:
        # The passages come by weight: those that cannot cover more than the best are not read.
        is_prose = passage.piece.is_prose
        if whole > 0 and max(share(passage.weight, of_light, most) for most in (of_grammar, None)) <= best:
            break
        near = fsum([weight for key, weight in light.items() if not passage.holds(key)])
        keys = passage.piece.keys_near(passage.window) if is_prose else ()
        best = max(best, share(passage.weight, near, grammar_in(keys) if is_prose else None))
    return best


# A number of a claim may stand elsewhere in the evidence, as a year does in a text with several. So it is
# compared with the number that stands between the same words of a sentence.
_LEAST_WORDS = 3
_MOST_WORDS_A_SIDE = 4
_MOST_PLACES = 20


def replaced_number(claim: Claim, passage: EvidencePassage, following: Set[str] = frozenset()) -> str | None:
    """Returns one sentence on a number in whose place the evidence has another one; None: there is none.

    At least three words around both numbers must be the same, one of them on either side, and more than
    around the number of the claim wherever it stands. One of the keys `following` replaces none.
    """
    for position, word in enumerate(claim.words[1:-1], 1):
        is_number = word.demands or (spoken_number(word.lower) is not None and word.lower not in ORDINALS)
        if not is_number or not following.isdisjoint(word.keys):
            continue
        if other := _in_place_of(claim.words, position, passage):
            return f"The evidence says {quoted_names([other])}, not {quoted_names([word.lower])}."
    return None


def _in_place_of(claimed: Sequence[Word], position: int, passage: EvidencePassage) -> str | None:
    held, (between, places_of) = passage.piece.words, passage.piece.numbers
    others = between.get((alike(claimed[position - 1]), alike(claimed[position + 1])), ())
    if not 0 < len(others) <= _MOST_PLACES:
        return None
    same_number: set[int] = set()
    for key in chain.from_iterable(claimed[position].demands or (claimed[position].keys,)):
        same_number.update(places_of.get(key, ())[: _MOST_PLACES + 1])
        if len(same_number) > _MOST_PLACES:
            return None
    around = {i: _words_around(claimed, position, held, i) for i in (*others, *same_number)}
    # The number follows the same name, such as `double` in `double 149`, as in the claim.
    most = max(1, *(around[other][0] for other in others))
    if claimed[position - 1].is_content and any(around[number][0] >= most for number in same_number):
        return None
    same, best = max((sum(around[other]), -other) for other in others)
    sides = position, len(claimed) - position - 1
    for number in same_number:
        # It fits a side better than the other one, or wholly (`3 euros for adults and 2 euros for kids`).
        places = zip(around[number], around[-best], sides, strict=True)
        if any(mine > other or 0 < side == mine == other for mine, other, side in places):
            return None
    least = max(_LEAST_WORDS, 0, *(sum(around[number]) + 1 for number in same_number))
    return held[-best].lower if same >= least else None


def _words_around(claimed: Sequence[Word], index: int, held: Sequence[Word], other: int) -> tuple[int, int]:
    """Returns how many words before and after two places are the same, without a gap, 0..4 each."""
    most, counts = _MOST_WORDS_A_SIDE, []
    for ours, theirs in (
        (claimed[max(0, index - most) : index][::-1], held[max(0, other - most) : other][::-1]),
        (claimed[index + 1 : index + 1 + most], held[other + 1 : other + 1 + most]),
    ):
        pairs = zip(ours, theirs, strict=False)
        counts.append(sum(1 for _ in takewhile(lambda pair: alike(pair[0]) == alike(pair[1]), pairs)))
    return counts[0], counts[1]


MAX_QUESTIONS = 1_000
"""Maximum number of sentences per call."""
MAX_READ = 1_000_000
"""Maximum number of characters of all sources per call."""


class TooLargeError(Exception):
    """The input of the local judge is too large; one line that states what exceeds the limit."""


def supported(questions: Sequence[tuple[str, tuple[str, ...]]]) -> list[GroundingVerdict]:
    """Compares sentences, each with its own sources; returns one verdict each. Raises TooLargeError."""
    if len(questions) > MAX_QUESTIONS:
        size = len(questions)
        raise TooLargeError(f"{size} sentences and sources; the local judge compares {MAX_QUESTIONS}")
    by_sources = grouped((sources, sentence) for sentence, sources in questions)
    size = sum(len(source) for sources in by_sources for source in sources)
    if size > MAX_READ:
        raise TooLargeError(f"sources of {size} characters; the local judge reads {MAX_READ}")
    verdicts = {sources: iter(ground(sentences, sources)) for sources, sentences in by_sources.items()}
    return [next(verdicts[sources]) for _, sources in questions]


# A weighted F-measure in which recall counts four times as much as precision, F = 5PR / (4P + R).
_RECALL_FACTOR = 4.0
_ALL_NUMBERS_MISSING = 0.5
_ONE_IS_NEGATED = 0.9
_CONTRADICTED = 0.05
_LEAST = (0.1, 0.3, 0.48, 0.8)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


class AnswerComparison(NamedTuple):
    """How an answer, by a quote of it, agrees with the expected one: 0 to 1, 1 for equal texts."""

    similarity: float
    quote: str
    reason: str

    @property
    def score(self) -> int:
        """0 (contradictory) to 4 (consistent)."""
        return sum(self.similarity >= least for least in _LEAST)


def compare_answers(expected: str, actual: str) -> AnswerComparison:
    """Compares an answer with the expected one, in any language; additional information is allowed."""
    if plain(expected) == plain(actual):
        return AnswerComparison(1.0, actual.strip(), "The texts are the same.")
    wanted, answer, known = read_claim(expected), read_claim(actual), Evidence([actual])
    passages = known.passages(wanted.content)
    quote = passages[0].span.quote if passages else ""
    ours, theirs = (
        weigh([word for word in claim.words if not word.is_content], claim.content)
        for claim in (wanted, answer)
    )
    common = fsum(min(weight, theirs.get(key, 0.0)) for key, weight in ours.items())
    both = _RECALL_FACTOR * fsum(ours.values()) + fsum(theirs.values())
    figure = min(1.0, (1 + _RECALL_FACTOR) * common / both) if common else 0.0
    numbers = missing_numbers(wanted, known.keys)
    if numbers:
        figure *= 1 - (1 - _ALL_NUMBERS_MISSING) * len(numbers) / len(wanted.demands)
    negations = [any(word.is_negation for word in claim.words) for claim in (wanted, answer)]
    one_denies = negations[0] != negations[1]
    if one_denies:
        figure *= _ONE_IS_NEGATED
    contrary = None
    for claim in map(read_claim, _SENTENCE_END.split(expected)):
        passages = known.passages(claim.content)
        if passages and (contrary := contradiction(claim, passages[0].span, "The answer")):
            figure *= _CONTRADICTED
            break
    missing = numbers + missing_words(wanted, known.keys)
    reason = "Only one of the texts denies something." if one_denies else "The answer has all expected words."
    reason = f"The answer lacks {quoted_names(missing)}." if missing else reason
    reason = reason if figure else "The texts have nothing in common."
    return AnswerComparison(figure, quote, contrary or reason)
