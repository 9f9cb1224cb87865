"""expectations_met: the expectations of a case that can be checked without a judge."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property

from turnwise.schemas.conversation import Expectation, ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped, listed
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.effects.changes import call_text, told_apart, value_text
from turnwise.transforms.effects.prose_values import PHONE, states_moment
from turnwise.transforms.local_judge.named_values import (
    SpelledText,
    are_other,
    mark_named_values,
    measures_of,
)
from turnwise.transforms.matching.expectations import ExpectationOutcome, turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text import values
from turnwise.transforms.text.cleaning import plain
from turnwise.transforms.text.sentences import (
    FUNCTION_WORDS_BY_LANGUAGE,
    LANGUAGES_READ,
    guessed_language,
    sentences,
    shown_language,
)

_MOST_SHOWN = 3
_CHECKED_ELSEWHERE = ("tool_call", "mock_tool_response")


class ExpectationsMet(MeasuredCriterion):
    """Share of a CES case's checkable expectations that were met, 0..1.

    Of a golden turn: agent transfers, updated variables, tool responses, `noToolCalls`, and agent responses
    compared by EQUALS or CONTAINS. Of a scenario: its expected tool calls and agent responses, anywhere in
    the conversation. Of any case: the texts (`outputs`) that must have been said by the end, their numbers,
    amounts and dates by value. Comparisons by meaning are excluded. The details hold the expected and
    observed values under `checks`.

    When to use: Check CES cases, and cases with `outputs`, without a judge.
    """

    name = "expectations_met"
    needs = "a case with texts that must be said"

    threshold: float | None = 1.0

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        if pair.expected is None or not pair.expected.expectations:
            return None
        return self._share([o for o in sample.replay(pair).outcomes if _is_checked(o)], pair.label)

    def score_conversation(self, sample: Sample) -> Score | None:
        """Checks a scenario's expectations and any case's outputs, with those of turns; None: none."""
        case, outcomes = sample.eval_case, list(sample.scenario_outcomes)
        wanted = [text for text in case.outputs if text.strip()] if case else []
        if case is not None and wanted:
            texts = [text for turn in sample.conversation.turns for text in turn_texts(turn)]
            spoken = SpokenText(texts, sample.conversation.language or case.language)
            for text in wanted:
                expectation = Expectation("agent_response", text=text, comparison="CONTAINS")
                outcome = ExpectationOutcome(expectation, "PASS")
                if not spoken.contains(text):
                    nearest, failed = spoken.nearest_sentence(text) or None, not spoken.may_contain(text)
                    outcome = ExpectationOutcome(expectation, "FAIL" if failed else None, nearest, "text")
                outcomes.append(outcome)
        if not outcomes:
            return None
        pairs = (pair for pair in sample.evaluable if pair.expected and pair.expected.expectations)
        of_turns = [o for pair in pairs for o in sample.replay(pair).outcomes if _is_checked(o)]
        return self._share([*of_turns, *outcomes], None)

    def _share(self, outcomes: Sequence[ExpectationOutcome], label: str | None) -> Score | None:
        if not outcomes:
            return None
        unclear, met = (sum(outcome.outcome == o for outcome in outcomes) for o in (None, "PASS"))
        checks, unread = list[JsonObject](), list[str]()
        for outcome in outcomes:
            if expectation := outcome.expectation:
                (_, wanted), (_, observed) = _sides(expectation, outcome)
                checks.append({"kind": expectation.kind, "outcome": outcome.outcome, "wanted": wanted})
                if outcome.outcome != "PASS":
                    checks[-1]["observed"] = observed
                if outcome.outcome is None and outcome.observed_as == "text":
                    unread.append(f": “{wanted}” may be said in words that are not read")
        if unclear:
            reason = "".join([f"{unclear} of {len(outcomes)} expectations need a judge", *unread[:1]])
            score = Score(None, reason=reason, label=label, details={"checks": checks})
            if self.threshold is not None and (met + unclear) / len(outcomes) < self.threshold:
                score.outcome, score.explanation = "FAIL", not_met(outcomes)
            return score
        head = f"{met} of {len(outcomes)} expectation{'s' * (len(outcomes) != 1)} met."
        explanation = f"{head} {not_met(outcomes)}".rstrip()
        return Score(met / len(outcomes), label=label, explanation=explanation, details={"checks": checks})


def _is_checked(outcome: ExpectationOutcome) -> bool:
    expectation = outcome.expectation
    if expectation is None or outcome.outcome == "SKIPPED" or expectation.kind in _CHECKED_ELSEWHERE:
        return False
    return expectation.kind != "agent_response" or expectation.comparison != "SEMANTIC_SIMILARITY"


def _sides(expectation: Expectation, outcome: ExpectationOutcome) -> list[tuple[JsonValue, str | None]]:
    """Returns what is expected and what was observed, as JSON and as a text; None: nothing."""
    stated = expectation.text or expectation.target_agent or expectation.variables
    wanted = expectation.tool_call or expectation.tool_response or stated
    sides: list[tuple[JsonValue, str | None]] = []
    for value in (wanted, outcome.observed):
        if isinstance(value, ToolResponse):
            value = f"{value.name}: {value_text(value.response)}"
        elif isinstance(value, ToolCall):
            value = call_text(value)
        sides.append((value, None if value is None else value_text(value)))
    return sides


def not_met(outcomes: Sequence[ExpectationOutcome]) -> str:
    """Returns the expected and observed values of failed expectations; "" if none failed."""
    failed = []
    for outcome in outcomes:
        expectation = outcome.expectation
        if outcome.outcome != "FAIL" or expectation is None:
            continue
        (want, wanted), (actual, observed) = _sides(expectation, outcome)
        if wanted and observed:
            wanted, observed = told_apart(want, actual)
        if expectation.kind == "agent_response":
            instead = f"said instead: “{observed}”" if observed else "the agent said nothing"
            failed.append(f"“{wanted}” was not said, {instead}")
        elif expectation.kind == "no_tool_calls":
            failed.append("a tool was called where none was to be")
        else:
            failed.append(f"{expectation.kind} {wanted}{f', but {observed}' if observed else ''}")
    return f"Not met: {listed(failed, _MOST_SHOWN, mark='; ')}." if failed else ""


# Searches an agent's messages for expected texts, by words and by values.

_LONGEST_SHOWN, _LONGEST_SEARCHED = 160, 20_000
_DIGIT, _NO_DIGIT = re.compile(r"\d"), re.compile(r"\D")
_LIST_NUMBER = re.compile(r"^[ \t>*-]*(?:\*\*)?(\d{1,3})[.)](?:\*\*)?[ \t]+(?=\S)", re.MULTILINE)
_WORD_OF_TEXT = re.compile(r"\w+")
_TO = re.compile(r"(?<=\d) ?(?:\b(?:to|bis|à|a)\b|[〜～~]) ?(?=\d)")
_CLOCK = re.compile(r"(?<=\d)\s?[時时点시]\s?(?:([0-5]?\d)\s?[分분](?![間间간])|[半반](?!드시))")
_HOURS = re.compile(r"(?<=\d)\s?(?=[時时시][間间간])")
_CODE, _SHORT_CODE = re.compile(r"(?=.*\d)(?=.*[A-Z])[A-Z0-9]{4,64}|\d{9,64}"), 8


class SpokenText:
    """The messages of an agent."""

    def __init__(self, texts: Sequence[str], language: str | None) -> None:
        self._language = language
        self._known = language or guessed_language("\n".join(texts)[:_LONGEST_SEARCHED])
        self._is_grouped = values.language_root(self._known) in values.GROUPED_BY_SPACE
        self._texts = list(map(self._joined, texts))
        self._is_english = values.language_root(self._known) in ("", "en")
        self._all = _words("\n".join(self._texts))

    def _joined(self, text: str) -> str:
        if not text.isascii():  # `15時` is not in `15時30分`, which is `15:30`, nor in `15時間`
            text = _HOURS.sub("-", _CLOCK.sub(lambda n: f":{(n[1] or '30').zfill(2)}", text))
        return values.with_joined_groups(text) if self._is_grouped else text

    @cached_property
    def _is_read(self) -> bool:
        shown = values.language_root(self._language) or shown_language("\n".join(self._texts))
        return shown is None or shown in LANGUAGES_READ

    @cached_property
    def _spellings(self) -> list[str]:
        """The messages, and again those with numbers in words, in digits; but `one` is often no number."""
        marked = [_NUMBER_ONE.sub("#", text) for text in self._texts]
        in_digits = [other for text in marked if (other := values.with_digits(text)) != text]
        texts = [*self._texts, *in_digits]
        return [*texts, *(other for text in texts if (other := _TO.sub("-", text)) != text)]

    def contains(self, wanted: str) -> bool:
        """Returns whether a text was said.

        Words are compared without regard to letter case, bold type, kind of apostrophe and encoding of
        accents. They are whole words, but for endings as in `confirmed` for `confirm`, where there are spaces
        between words. Numbers, amounts, dates and times of day are compared by value, in digits or words,
        units by any of their names, identifiers as a whole (`1` is not in `21`), long ones also in groups.
        Negated numbers (`not 5`) and numbers of list entries do not count.
        """
        wanted = self._joined(wanted)
        in_digits = values.with_digits(_NUMBER_ONE.sub("#", wanted))
        spellings = [wanted, in_digits] if "#" not in in_digits else [wanted]
        joined = _TO.sub("-", spellings[-1])
        if any(self._contains(text, self._spellings) for text in dict.fromkeys((*spellings, joined))):
            return True
        marked = mark_named_values(joined, {})  # `2.5 kilograms` as `2.5 kg`
        has_units = "zqunit" in marked and not _STERLING.search(wanted)  # `£5` is not `5 lb`
        if has_units and self._contains(marked, [mark_named_values(t, {}) for t in self._spellings]):
            return True
        # Codes and phone numbers, however they are grouped, in the text as it is wanted: it may deny them.
        code = re.sub("[ -]", "", wanted.removeprefix("#"))
        is_code = _CODE.fullmatch(code) and (" " not in wanted or len(code) > _SHORT_CODE)
        digits = _NO_DIGIT.sub("", wanted) if PHONE.fullmatch(wanted) else None
        for text in self._texts:
            spelled = SpelledText(text).find(code) if is_code else None
            phones = (n[0] for n in PHONE.finditer(text) if digits and _NO_DIGIT.sub("", n[0]) == digits)
            spelled = spelled or next(phones, None)
            if spelled and self._contains(code, [text.replace(spelled, code)]):
                return True
        return any(states_moment(text, wanted, self._language) for text in self._texts)

    def _contains(self, wanted: str, spellings: Sequence[str]) -> bool:
        read, language = values.read_passage, self._language
        passage = read(wanted, language) if _DIGIT.search(wanted) else None
        if passage is None or not passage.mentions:
            return _holds(self._all, _words(wanted), self._is_english)
        if not any(map(str.isalpha, "".join(passage.between))):
            for text in spellings:
                numbers = list(map(int, _LIST_NUMBER.findall(text)))
                is_list = len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)]
                stated = read(_LIST_NUMBER.sub("", text) if is_list else text, language)
                if self._states(stated, passage):
                    return True
            return False
        return any(
            self._states(read(text, language, with_words), read(wanted, language, with_words))
            for with_words in (True, False)
            for text in spellings
        )

    def _states(self, stated: values.Passage, wanted: values.Passage) -> bool:
        size = len(wanted.mentions)
        return any(
            all(map(values.Mention.means, wanted.mentions, stated.mentions[i : i + size]))
            and not any(map(self._is_other, wanted.mentions, stated.mentions[i:], stated.between[i + 1 :]))
            and _holds(stated.between[i], wanted.between[0], self._is_english, is_end=True)
            and stated.between[i + 1 : i + size] == wanted.between[1:-1]
            and _holds(stated.between[i + size], wanted.between[-1], self._is_english, is_start=True)
            for i in range(len(stated.mentions) - size + 1)
        )

    def _is_other(self, wanted: values.Mention, stated: values.Mention, after: str) -> bool:
        """Returns whether a number has another unit than the wanted amount of money, or a word not read."""
        mine, other, word = wanted.amount, stated.amount, _WORD_OF_TEXT.match(after.lstrip("-"))
        if not (mine and mine.currency and other and not other.currency and word):
            return False
        function_words = FUNCTION_WORDS_BY_LANGUAGE.values()
        is_read = self._is_read or any(word[0] in some for some in function_words)
        return not is_read or word[0] in ("lb", "lbs") or bool(measures_of(f"1 {word[0]}"))

    def may_contain(self, wanted: str) -> bool:
        """Returns whether a text may have been said: `10:30` by `10:30 PM`, or in words that are not read."""
        if _HALF_OPEN.search(wanted) and self.contains(f"{wanted} pm"):
            return True
        return not self._is_read and any(self._may_say(text, self._joined(wanted)) for text in self._texts)

    def _may_say(self, text: str, wanted: str) -> bool:
        """Returns whether a text in a language that is not read may say the wanted one.

        Its numbers are there, with no known unit, month or currency that is another, or may be in words. Of
        its words, which may be inflected or have synonyms beside a number, the beginnings are there.
        """
        stated, want = (values.read_passage(mark_named_values(t, {}), self._language) for t in (text, wanted))
        numbers, held, shown = list(_numbers(want)), grouped(_numbers(stated)), plain(text)
        words = _WORD.findall(" ".join(want.between) if numbers else plain(wanted))
        strange = [word for word in words if word[: max(3, len(word) * 3 // 5)] not in shown]
        if not numbers:
            return not strange or (len(strange) == 1 < len(words) and bool(held))
        for number, unit in numbers:
            units = held.get(number, ())
            is_other = all(u is None or (unit and u and are_other(unit, u)) for u in units)
            is_large = isinstance(number, str) or (held and number > _LARGEST_IN_WORDS)
            if is_other and (units or is_large or (words and words == strange)):
                return False
        if not words and len(want.mentions) == 1 and want.mentions[0].amount:
            return True
        for i in range(len(stated.mentions) - len(want.mentions) + 1):  # whether others stand in their place
            pairs = zip(want.mentions, stated.mentions[i:], strict=False)
            others = [mine if _MARK.match(mine.code) else other for mine, other in pairs]
            if self._states(stated, want._replace(mentions=others)):
                return False
        return True

    def nearest_sentence(self, wanted: str) -> str:
        """Returns the sentence most similar to a text, or the last sentence; "": there are no messages."""
        text = "\n\n".join(text for text in self._texts if text.strip())[-_LONGEST_SEARCHED:]
        if not text:
            return ""
        parts = [text[a:b] for a, b in sentences(text, self._known)] or [text]
        words = set(_WORD_OF_TEXT.findall(wanted.casefold()))

        def likeness(part: str) -> float:  # two numbers count as half a shared word
            both_count = all(map(_DIGIT.search, (wanted, part)))
            return len(words & set(_WORD_OF_TEXT.findall(part.casefold()))) + both_count / 2

        line = " ".join(max(reversed(parts), key=likeness).split())
        return line if len(line) <= _LONGEST_SHOWN else f"…{line[1 - _LONGEST_SHOWN :]}"


def _words(text: str) -> str:
    """Normalises case, bold type, apostrophes and accents."""
    if not text.isascii():
        text = values.with_plain_signs(unicodedata.normalize("NFC", text))
    return (text.replace("**", "") or text).casefold()


def _holds(text: str, wanted: str, is_english: bool, is_start: bool = False, is_end: bool = False) -> bool:
    """Returns whether a text holds the wanted one, at its start or end, as whole words or forms of them."""
    last, start, most = _LAST_WORD.search(wanted), text.find(wanted), len(text) - len(wanted)
    ending = "" if last is None else "s?"
    if last and last[1]:
        ending = _ENDING if is_english and last[0].isascii() else _ANY_ENDING
    after = rf"{ending}(?!{values.SPACED_LETTER})" if _SPACED.match(wanted[-1:]) else ""
    is_unprefixed = not is_start and _UNPREFIXED.match(wanted) is not None
    if is_end and start >= 0:
        start = most if text.endswith(wanted) else -1
    while start >= 0 and not (is_start and start):  # no pattern of the wanted text: it may be long
        is_within = text.endswith("non-", 0, start) or (
            is_unprefixed and start and _SPACED.match(text[start - 1])
        )
        if not is_within and (is_end or re.compile(after).match(text, start + len(wanted))):
            return True
        start = text.find(wanted, start + 1)
    return False


_ENDING = r"(?:[a-z]?(?:ed|ing)|e?[dns]|es|'s)?"
_ANY_ENDING = rf"(?:['’]?{values.SPACED_LETTER}{{1,4}})?"
_LAST_WORD = re.compile(r"([^\W\d_])?[^\W\d_]{3}$")
_SPACED = re.compile(values.SPACED_LETTER)
_UNPREFIXED = re.compile(rf"(?![\u0590-\u08ff]){values.SPACED_LETTER}")
"""A letter that may begin a word; in Hebrew and Arabic, articles and prepositions stand before it."""
_NUMBER_ONE = re.compile(
    r"(?i)(?<![\w-])(?<!ty |nd )(?:one|eins|uno|하나|한|一)\b(?![ -](?:hundred|thousand|million|and a half))"
)


def _numbers(passage: values.Passage) -> Iterator[tuple[float | str, str | None]]:
    """Yields the numbers of a text, of its dates and times too, and codes, and their unit; None: denied."""
    nexts = [*passage.mentions[1:], values.Mention(0, 0)]
    for mention, after, following in zip(passage.mentions, passage.between[1:], nexts, strict=False):
        if not _MARK.match(mention.code):
            unit = following.code if not after and _MARK.match(following.code) else ""
            parts: tuple[float | str, ...] = (mention.amount.value if mention.amount else mention.code,)
            for day, clock, _ in mention.dates:
                parts = (day.day, day.year) if day else ()
                parts += (clock.hour, clock.minute) if clock else ()
            yield from ((part, None if mention.is_denied else unit) for part in parts)


_WORD, _MARK = re.compile(r"[^\s\d.,:;!?()\"'“”«»।]+"), re.compile(r"zq(?:unit|month)\d\d")
_HALF_OPEN = re.compile(r"(?<!\d)1[01]:[0-5]\d$")
_STERLING, _LARGEST_IN_WORDS = re.compile(r"(?i)£|\bgbp\b"), 20
"""Larger numbers are in words only where all are."""
