import asyncio

import pytest
from pydantic import BaseModel, ValidationError

from tests.samples import sample_of
from turnwise.transforms.judging.ask import JudgeSample
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation


class ScriptedJudge:
    """Answers by a function of the question and the sample number, or by a list of answers.

    An answer is a dict (checked against the reply model), a reply, or a text: why it is unusable.
    """

    def __init__(self, script):
        self.script = script
        self.asked = []

    async def __call__(self, question, samples):
        self.asked.append((question, samples))
        return [self.sample(question, number) for number in samples]

    def sample(self, question, number):
        answer = self.script(question, number) if callable(self.script) else self.script[number]
        if isinstance(answer, str):
            return JudgeSample(None, answer, "scripted")
        try:
            reply = answer if isinstance(answer, BaseModel) else question.reply_model.model_validate(answer)
        except ValidationError:
            return JudgeSample(None, "the answer does not fit the schema", "scripted", 10, 1)
        return JudgeSample(reply, None, "scripted", 10, 2)

    @property
    def samples(self):
        return sum(len(samples) for _, samples in self.asked)

    @property
    def evidence(self):
        return [question.prompt.evidence for question, _ in self.asked]


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


def read_sections(evidence):
    """Reads evidence back by its own delimiters: a list of (name, text)."""
    code = evidence[1 : evidence.index(":")]
    opening = f"[{code}: "
    sections, name, lines = [], None, []
    for line in evidence.split("\n"):
        if line.startswith(opening):
            assert line.endswith("]")
            if name is not None:
                sections.append((name, "\n".join(lines)))
            name, lines = line[len(opening) : -1], []
        else:
            lines.append(line)
    assert (name, lines) == ("end", [])
    return sections


@pytest.fixture
def sections_of():
    return read_sections
