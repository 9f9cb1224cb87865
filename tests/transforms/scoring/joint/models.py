"""A judge whose models answer as they are told, and one conversation to be judged."""

import asyncio
import json

from msgspec import to_builtins

from tests.pipeline.test_commands import part
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.canonical import read_conversation
from turnwise.transforms.judging.ask import JudgeSample
from turnwise.transforms.matching.sample import Sample, inline_case
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation
from turnwise.transforms.scoring.selection import select

WORDS = {"Y": ("valid", "yes"), "N": ("invalid", "no")}


class Models:
    """Answers by model: Y and N, a grade, U (unusable), each with a confidence behind a colon.

    Of several rubrics, Y2 is an answer about the second one alone, and Y* about both.
    """

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    async def __call__(self, question, samples):
        await asyncio.sleep(0)
        model = question.options.judge_model
        self.asked += [(model, number, question) for number in samples]
        told = self.answers[model or ""]
        return [self._sample(question, told[number % len(told)]) for number in samples]

    def models(self):
        return [model for model, _, _ in self.asked]

    def _sample(self, question, told):
        word, _, confidence = told.partition(":")
        tokens = {"tokens_in": 10, "tokens_out": 2}
        if word == "U":
            return JudgeSample(None, "HTTP 500", model="m", **tokens)
        fields = question.reply_model.model_fields
        reply = {name: "" for name, field in fields.items() if field.annotation is str}
        if "verdicts" in fields:
            numbers = [1, 2] if word.endswith("*") else [int(word[1:] or 1)]
            said = {"quote": "", "reason": "", "verdict": WORDS[word[0]][1]}
            reply["verdicts"] = [{"number": number, **said} for number in numbers]
        elif "verdict" in fields:
            reply["verdict"] = WORDS[word][0]
        else:
            reply["grade"] = int(word)
        if "confidence" in fields:
            reply["confidence"] = int(confidence or 100)
        return JudgeSample(question.reply_model.model_validate(reply), model="m", **tokens)


def judged(answers, criterion="final_response_match_v2", **options):
    """Judges the conversation by one criterion; returns the turn's score, the whole and the models."""
    judge, gate, agent = (options.pop(name, {}) for name in ("judge", "gate", "agent"))
    options.setdefault("num_samples", 1)
    stated = {"criteria": {criterion: {"judge_model_options": options, **gate}}, "judge": judge}
    config = parse_config(json.dumps(stated))
    (asking,) = select(build_criteria(config), judge=config.judge).judged
    models = Models(answers)
    turn = {"user": "When?", "agent": agent or "On Monday.", "expected": {"response": "Monday"}}
    log = json.dumps({"conversation_id": "c1", "turns": [turn]}).encode()
    conversation = read_conversation(log)
    sample = Sample(conversation, inline_case(conversation), Record("log", 1, log))
    scored = ScoredConversation(sample, [], [])
    asyncio.run(judge_conversation(scored, [asking], models))
    assert not scored.failures, scored.failures
    (entry,) = scored.scores
    return entry.turns[0][1], entry.overall, models


def says(answers, options, wanted):
    """Compares what is wanted of a turn's score, its `whole`, its `judge` and the models that are `asked`."""
    score, overall, models = judged(answers, **options)
    use = score.judge and [score.judge.model, score.judge.samples, score.judge.tokens_in]
    found = {**to_builtins(score), "judge": use, "asked": sorted(models.models())}
    found["whole"] = [overall.value, overall.outcome]
    assert part(found, wanted) == wanted
