import asyncio
import json

from msgspec.structs import asdict
from pydantic import BaseModel

from tests.tables import rows_test
from tests.transforms.scoring.joint import models as joint
from turnwise.schemas.config import JudgeConfig
from turnwise.transforms.criteria.responses import CoherenceReply
from turnwise.transforms.decisions.comparison.collect import judge_of
from turnwise.transforms.judging.ask import JudgeModelOptions, JudgeSample, Prompt, Question
from turnwise.transforms.judging.limits import ANSWER_TOKENS
from turnwise.transforms.judging.prompts import asked_schema
from turnwise.transforms.scoring.panels import confident, confident_version, least_confidence, with_confidence

judged, says = joint.judged, joint.says
test_rows = rows_test(globals(), "cascade")


def decides(cheap, cascade, dear, value, unsure, why):
    answers = {"cheap": cheap, "dear": [dear]}
    score, _, models = judged(answers, judge_model="dear", cascade={"model": "cheap", **cascade})
    detail = score.details["cascade"]
    assert score.value == value
    assert (detail["decided_by"], detail["unsure"]) == ("second" if unsure else "first", unsure)
    assert (detail["why"] or "").startswith(why or "")
    assert models.models().count("dear") == (unsure is not None)
    assert detail["first"]["model"] == "cheap"
    assert (score.judge.model, score.judge.samples) == ("cheap > dear", len(models.asked))
    assert score.judge.tokens_in == 10 * len(models.asked)


def test_what_the_first_judge_spared():
    answers = {"cheap": ["Y"], "dear": ["Y"]}
    score, _, models = judged(answers, judge_model="dear", num_samples=5, cascade={"model": "cheap"})
    assert models.models() == ["cheap", "cheap"]
    prompt = models.asked[0][2].prompt
    size = len((prompt.instructions + prompt.evidence).encode()) // 4
    spared = score.details["cascade"]["spared"]
    assert spared == {"dear": {"calls": 3, "tokens_in": 3 * size, "tokens_out": 3 * ANSWER_TOKENS}}


def test_only_the_first_judge_is_asked_for_its_confidence():
    answers = {"cheap": ["Y:10"], "dear": ["Y"]}
    cascade = {"model": "cheap", "num_samples": 1, "min_confidence": 50}
    score, _, models = judged(answers, judge_model="dear", cascade=cascade)
    (_, _, first), (_, _, second) = models.asked
    assert (first.prompt.version, second.prompt.version) == (
        "final_response_match/2+confidence",
        "final_response_match/2",
    )
    added = first.prompt.instructions.removeprefix(second.prompt.instructions)
    assert added.startswith("\n\nLast, state in `confidence`")
    scale = {"value": score.value, "judge": asdict(score.judge)}
    assert judge_of(scale) == "cheap > dear, final_response_match/2+confidence"
    fields = list(first.reply_model.model_fields)
    assert fields == [*second.reply_model.model_fields, "confidence"]
    assert (first.if_unsure, second.if_unsure) == (False, True)


class OwnReply(BaseModel):
    verdict: str
    confidence: float | None = None


def test_answers_with_a_confidence_of_their_own_stay_as_they_are():
    asked = []

    async def ask(question, samples):
        asked.append(question)
        return [JudgeSample(OwnReply(verdict="yes", confidence=0.9))]

    question = Question(Prompt("own/1", "Judge.", "evidence"), OwnReply, JudgeModelOptions())
    samples = asyncio.run(confident(ask)(question, range(1)))
    assert asked == [question]
    assert confident_version("own/1", [OwnReply]) == "own/1"
    assert least_confidence([*samples, JudgeSample(None)]) == 0.9
    assert least_confidence([JudgeSample(None)]) is None
    silent = JudgeSample(OwnReply(verdict="no"))
    assert least_confidence([*samples, silent]) is None, "an answer that states none is not sure"


def test_the_schema_of_an_answer_with_confidence():
    plain, asked = CoherenceReply, with_confidence(CoherenceReply)
    assert with_confidence(plain) is asked
    schema, own = asked_schema(asked), asked_schema(plain)
    stated = schema["properties"].pop("confidence")
    assert (stated["type"], stated["minimum"], stated["maximum"]) == ("integer", 0, 100)
    assert schema["required"] == [*own["required"], "confidence"]
    assert schema["properties"] == own["properties"]


def asked_models(options, models):
    """Those of the cascade, then the others."""
    run = JudgeConfig(model="m", panel=("a", "b"), cascade={"model": "first"})
    asked = JudgeModelOptions.model_validate(options).within(run).by_model()
    assert [each.judge_model for each in asked] == models
    assert all(not each.panel and each.cascade is None for each in asked)
    without = JudgeModelOptions.model_validate(options).without_others()
    assert (without.panel, without.cascade) == ((), None)


def test_options_without_several_models_stay_as_they_are():
    options = JudgeModelOptions(judge_model="m")
    assert options.within(JudgeConfig()) is options
    assert "panel" not in json.loads(options.model_dump_json())
