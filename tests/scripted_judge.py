"""Judges that answer by what they are asked about, and what they are shown."""

import json

from pydantic import BaseModel, ValidationError

import turnwise
from turnwise.transforms.judging.ask import JudgeSample


def verdicts(letters, quote=""):
    """Returns a reply of one verdict a letter, numbered from 1: Y yes, N no, B both, - none."""
    words = {"Y": ["yes"], "N": ["no"], "B": ["yes", "no"], "-": []}
    return {
        "verdicts": [
            {"number": number, "quote": quote, "reason": f"{word} to {number}", "verdict": word}
            for number, letter in enumerate(letters, 1)
            for word in words[letter]
        ]
    }


class Scripted:
    """A judge that answers by what it is asked about; of what it does not know, it fails with "429"."""

    def __init__(self, answers):
        self.answers = answers

    async def generate(self, request, count):
        return [self.reply(request.template.schema, request.evidence)] * count

    async def aclose(self):
        pass

    def reply(self, schema, evidence):
        kind = {"SimilarityReply": "similar", "HallucinationReply": "claims", "GoalReply": "goal"}
        of_lists = {"pair 1": "values", "expected answer 1": "answers", "expectation 1": "expectations"}
        asked = kind.get(schema["title"]) or next(
            (of_lists[one] for one in of_lists if one in evidence), None
        )
        answer = self.answers.get(asked)
        if answer is None:
            return turnwise.RawReply(None, turnwise.Fault("http", "429"))
        if isinstance(answer, list):
            words = {1: "yes", 0: "no", None: ""}
            said = [
                {"number": i, "quote": "hello", "reason": "", "verdict": words[one]}
                for i, one in enumerate(answer, 1)
            ]
            return turnwise.RawReply(json.dumps({"verdicts": [one for one in said if one["verdict"]]}))
        reply = {**dict.fromkeys(schema["properties"], "hello"), "score": answer, "verdict": answer}
        return turnwise.RawReply(json.dumps({name: reply[name] for name in schema["properties"]}))


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
