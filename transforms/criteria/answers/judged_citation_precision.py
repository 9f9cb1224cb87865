"""judged_citation_precision: support of the marked text by citations, by a judge."""

from collections.abc import Sequence
from typing import ClassVar

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.answers.citation_support import CitedSource, Grounds, why_nothing
from turnwise.transforms.criteria.base import JudgedCriterion, RestsOn
from turnwise.transforms.criteria.citations import grounds_of
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.judging.prompts.statements import (
    StatementReply,
    StatementVerdict,
    judge_statements,
    share_score,
)
from turnwise.transforms.local_judge.grounding import TooLargeError
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.sentences import MAX_SENTENCES


class JudgedCitationPrecision(JudgedCriterion):
    """Share of the references in an answer's citations that support the marked text, 0..1.

    A reference that does not exist or marks no text is not judged: it supports nothing. Not
    applicable to a skipped answer, nor without citations. A passage that claims nothing counts as supported.

    When to use: Like `citation_precision`, with a model instead of rules.
    """

    name: ClassVar[str] = "judged_citation_precision"
    needs: ClassVar[str] = "answers of a search engine with citations"
    harm: ClassVar[CriterionHarm] = "unsupported"
    rests_on: ClassVar[RestsOn] = ("words",)

    async def judge(self, sample: Sample, pair: TurnPair, ask: Ask) -> Score | None:
        """Asks about all citations of a recorded answer at once."""
        try:
            grounds = grounds_of(sample, pair)
        except TooLargeError as error:
            return Score(None, reason=str(error))
        cited = grounds.cited_sources() if grounds else []
        if grounds is None or not cited:
            return None
        asked = [one for one in cited if one.marks_text]
        if not asked:
            return Score(0.0, explanation=why_nothing(cited[0]))
        if len(asked) > MAX_SENTENCES:
            return Score(None, f"{len(asked)} cited references; at most {MAX_SENTENCES} are judged")
        request = pair.actual.user or "" if pair.actual else ""
        prompt = self._prompt(
            "citation_precision/2", [Section("request", request), *_sections(grounds, asked)]
        )
        judged, vote = await judge_statements(
            ask, prompt, self.options, len(asked), lambda: local_reply(grounds, asked)
        )
        verdicts = iter(judged)
        found = [{**one.details(), **(next(verdicts) if one.marks_text else _nothing(one))} for one in cited]
        return share_score(found, vote, "citations", self.threshold)


def _sections(grounds: Grounds, asked: Sequence[CitedSource]) -> list[Section]:
    sources = sorted({one.source or 0 for one in asked})
    return [
        *(Section(f"source {source}", grounds.source_text(source)) for source in sources),
        *(
            Section(f"passage {number}, from source {one.source}", grounds.cited_text(one.mark))
            for number, one in enumerate(asked, 1)
        ),
    ]


def _nothing(one: CitedSource) -> JsonObject:
    return {"score": 0.0, "reason": why_nothing(one)}


def local_reply(grounds: Grounds, asked: Sequence[CitedSource]) -> StatementReply:
    """Answers without a model; leaves everything out if it is too much to compare."""
    try:
        supports = grounds.by_local_judge(asked)
    except TooLargeError:
        return StatementReply(verdicts=[])
    return StatementReply(
        verdicts=[
            StatementVerdict(
                number=number,
                quote="",
                reason=support.reason or "",
                verdict="no" if support.value is False else "yes",
            )
            for number, support in enumerate(supports, 1)
        ]
    )
