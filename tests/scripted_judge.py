"""A judge that answers by what it is asked about."""

import json

import turnwise


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
