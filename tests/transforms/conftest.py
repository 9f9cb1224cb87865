import asyncio

import pytest

from tests.samples import sample_of
from tests.scripted_judge import ScriptedJudge, read_sections
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation


@pytest.fixture
def scripted():
    return ScriptedJudge


@pytest.fixture
def matched():
    return sample_of


@pytest.fixture
def judged():
    """Judges a case by one criterion and returns its scores; nothing may have been raised."""

    def _judged(criterion, case, ask):
        scored = ScoredConversation(case, [], [])
        asyncio.run(judge_conversation(scored, [criterion], ask))
        assert scored.failures == []
        (scores,) = scored.scores
        return scores

    return _judged


@pytest.fixture
def sections_of():
    return read_sections
