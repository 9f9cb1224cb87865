"""Random invocations in google-adk's JSON, actual beside expected; the same ones for the same seed."""

import random
from collections.abc import Sequence
from typing import Any

_WORDS = [
    *("the", "booking", "is", "paid", "refund", "14:30", "3.5", "running", "runs", "cities", "city", "$30"),
    *("Straße", "déjà", "서울의", "날씨가", "맑다", "東京は", "晴れ", "カタカナ", "我爱你", "สวัสดี", "ครับ"),
    *(
        "Погода",
        "مرحبا",
        "हिन्दी",
        "👍",
        "—",
        "don't",
        "ＡＢＣ",
        "news",
        "dying",
        "A1-B2",
        "e\u0301",
        "ㅋㅋㅋ",
    ),
]
_TOOLS = ("search", "book", "cancel", "transfer_to_agent")
_PARAMETERS = ("id", "amount", "note", "items")
_VALUES: tuple[Any, ...] = (
    *(1, 1.0, True, 0, False, -0.0, "1", "", None, "a", "A", "é", "e\u0301", 2**53, 2**53 + 1, 0.1, 1e300),
    *([], [1, 2], [2, 1], {}, {"k": 1}, {"k": None}, {"k": [1, {"z": "y"}]}),
)
JsonObject = dict[str, Any]
_PICTURE = {"inline_data": {"mime_type": "image/png", "data": "aGk="}}
_CODE = {"executable_code": {"code": "print(1)", "language": "PYTHON"}}
_ODD_PARTS: tuple[JsonObject, ...] = (
    *(_PICTURE, {"inline_data": {"mime_type": "audio/pcm", "data": "aGk="}}, _CODE),
    {"file_data": {"file_uri": "gs://b/report.pdf", "mime_type": "application/pdf"}},
    {"code_execution_result": {"outcome": "OUTCOME_OK", "output": "1"}},
    {"tool_call": {"id": "1", "tool_type": "GOOGLE_SEARCH_WEB", "args": {}}},
    *({"text": "a chart", **_PICTURE}, {"text": "done", "function_call": {"name": "book", "args": {}}}),
    *({}, {"text": ""}, {"text": None}, {"thought": True}, {"thought_signature": "aGk="}),
    *({"text": '{"tool_calls": [{"name": "book"}]}'}, {"text": "```tool_code book()```"}),
)
_ODD_ARGUMENTS: tuple[Any, ...] = (
    *({}, None, {"x": 1}, {"x": 1.0}, {"x": True}, {"x": None}, {"$matchType": "ignore"}),
    *({"x": {"$matchType": "ignore"}}, {"x": {"$matchType": "semantic", "$matchValue": "a"}}),
)


class CaseMaker:
    """Makes cases.

    Attributes:
        random: Where all choices come from.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def measured(self) -> JsonObject:
        """Returns a case of one to four turns: `actual` and `expected` invocations."""
        pairs = [self._pair() for _ in range(self.random.randint(1, 4))]
        return {"actual": [actual for actual, _ in pairs], "expected": [expected for _, expected in pairs]}

    def _pair(self) -> tuple[JsonObject, JsonObject]:
        words, calls = self._words(), [self._call() for _ in range(self._few())]
        user = self._content("user", self._words())
        actual = {
            "user_content": user,
            "final_response": self._final(words),
            "intermediate_data": self._data(calls),
            **self._times(),
        }
        expected = {
            "user_content": user,
            "final_response": self._final(self._changed(words)),
            "intermediate_data": self._data(self._other(calls)),
        }
        return _without_none(actual), _without_none(expected)

    def odd(self) -> JsonObject:
        """Returns a case of one or two turns with missing names, ids and results, and parts of all kinds."""
        pairs = [self._odd_pair() for _ in range(self.random.randint(1, 2))]
        return {"actual": [actual for actual, _ in pairs], "expected": [expected for _, expected in pairs]}

    def _odd_pair(self) -> tuple[JsonObject, JsonObject]:
        calls = [self._odd_call() for _ in range(self.random.choice((0, 1, 2)))]
        others = calls if self.random.random() < 0.6 else [self._odd_call() for _ in calls]
        said = self._odd_content()
        answers = (said, said if self.random.random() < 0.5 else self._odd_content())
        user = {"role": "user", "parts": [{"text": "q"}, *self._some(_ODD_PARTS, 0.1)]}
        actual, expected = (
            {"user_content": user, "final_response": answer, "intermediate_data": self._odd_data(made)}
            for answer, made in zip(answers, (calls, others), strict=True)
        )
        return _without_none(actual), _without_none(expected)

    def _some(self, parts: Sequence[JsonObject], probability: float) -> list[JsonObject]:
        return [self.random.choice(parts)] if self.random.random() < probability else []

    def _odd_content(self) -> JsonObject | None:
        if self.random.random() < 0.15:
            return self.random.choice((None, {}, {"role": "model", "parts": None}, {"parts": []}))
        said = [{"text": " ".join(self._words())}, *self._some(_ODD_PARTS, 0.5)]
        self.random.shuffle(said)
        return {"role": "model", "parts": said[: self.random.choice((1, 2))]}

    def _odd_call(self) -> JsonObject:
        names, ids = ("book", "book", "search", "", None), ("a", "b", None)
        call = {"name": self.random.choice(names), "id": self.random.choice(ids)}
        return {
            **_without_none(call),
            **self.random.choice(({}, {"args": self.random.choice(_ODD_ARGUMENTS)})),
        }

    def _odd_answer(self) -> JsonObject:
        return _without_none({**self._odd_call(), "args": None, "response": self.random.choice(({}, None))})

    def _odd_data(self, calls: list[JsonObject]) -> JsonObject | None:
        if not calls and self.random.random() < 0.5:
            return self.random.choice((None, {}))
        answers = [self._odd_answer() for _ in range(self.random.choice((0, 0, 1, 2)))]
        more = self._some((*_ODD_PARTS, {"function_call": self._odd_call()}), 0.3)
        if self.random.random() < 0.5:
            said = [["agent", [{"text": "wait"}, *more]]]
            return {"tool_uses": calls, "tool_responses": answers, "intermediate_responses": said}
        parts = [
            *({"function_call": call} for call in calls),
            *({"function_response": answer} for answer in answers),
            *more,
        ]
        return {"invocation_events": [self._event(part) for part in parts]}

    def _few(self) -> int:
        return self.random.choice((0, 1, 1, 2, 2, 3, 5))

    def _words(self) -> list[str]:
        return self.random.choices(_WORDS, k=self.random.choice((0, 1, 3, 6, 12)))

    def _changed(self, words: list[str]) -> list[str]:
        changed = [self.random.choice(_WORDS) if self.random.random() < 0.2 else word for word in words]
        if self.random.random() < 0.2:
            self.random.shuffle(changed)
        return changed[: self.random.choice((None, None, 2))]

    def _final(self, words: list[str]) -> JsonObject | None:
        return self._content("model", words) if self.random.random() < 0.9 else None

    def _content(self, role: str, words: list[str]) -> JsonObject:
        cut = self.random.randint(0, len(words))
        parts: list[JsonObject] = [{"text": " ".join(words[:cut])}, {"text": " ".join(words[cut:])}]
        if role == "model" and self.random.random() < 0.15:
            parts.insert(0, {"text": "perhaps " + self.random.choice(_WORDS), "thought": True})
        return {"role": role, "parts": self.random.choice((parts, parts[:1], parts, None))}

    def _call(self) -> JsonObject:
        call: JsonObject = {"name": self.random.choice(_TOOLS), "id": f"c{self.random.randint(0, 999)}"}
        if self.random.random() < 0.9:
            names = self.random.sample(_PARAMETERS, self.random.randint(0, 3))
            call["args"] = {name: self.random.choice(_VALUES) for name in names}
        return call

    def _other(self, calls: list[JsonObject]) -> list[JsonObject]:
        """Returns calls that are often the same: some left out, changed, added, or in another order."""
        if self.random.random() < 0.4:
            return calls
        kept = [call for call in calls if self.random.random() < 0.85]
        if kept and self.random.random() < 0.3:
            args = {**kept[0].get("args", {}), self.random.choice(_PARAMETERS): self.random.choice(_VALUES)}
            kept[0] = {**kept[0], "args": args}
        if self.random.random() < 0.2:
            kept.append(self._call())
        if self.random.random() < 0.3:
            self.random.shuffle(kept)
        return kept

    def _data(self, calls: list[JsonObject]) -> JsonObject | None:
        if not calls and self.random.random() < 0.4:
            return None
        answers = [{"name": call["name"], "id": call["id"], "response": {"ok": 1}} for call in calls]
        if self.random.random() < 0.4:
            said = [["agent", [{"text": " ".join(self._words())}]]] if self.random.random() < 0.3 else []
            return {"tool_uses": calls, "tool_responses": answers, "intermediate_responses": said}
        events = [self._event({"function_call": call}) for call in calls]
        events += [self._event({"function_response": answer}) for answer in answers]
        return {"invocation_events": events}

    def _event(self, part: JsonObject) -> JsonObject:
        event: JsonObject = {"author": "agent", "content": {"role": "model", "parts": [part]}}
        if self.random.random() < 0.5:
            event["usage_metadata"] = self._usage()
        if self.random.random() < 0.2:
            event["model_version"] = "m-1"
        return event

    def _usage(self) -> JsonObject:
        names = (
            *("prompt_token_count", "tool_use_prompt_token_count", "candidates_token_count"),
            *("thoughts_token_count", "cached_content_token_count", "total_token_count"),
        )
        return {name: self.random.randint(0, 5000) for name in names if self.random.random() < 0.6}

    def _times(self) -> JsonObject:
        if self.random.random() < 0.25:
            return {}
        total = self.random.choice((0.0, round(self.random.uniform(0, 90), 3)))
        parts = {
            "model_duration": total * self.random.random(),
            "tool_duration": total * self.random.random(),
        }
        known = {name: round(value, 3) for name, value in parts.items() if self.random.random() < 0.7}
        return {"duration": total, **known}

    def judged(self) -> JsonObject:
        """Returns a case of one to three turns with the scripted answers of the judges.

        `verdicts` and `rubrics` hold one entry a turn and sample: `valid`, `invalid` or None (no answer); and
        yes or no for each of two rubrics. `labels` holds one label a sentence and turn.
        """
        turns = self.random.randint(1, 3)
        counts = [self.random.randint(1, 5) for _ in range(turns)]
        samples = self.random.choice((1, 2, 3, 5))
        return {
            "actual": [self._answer(turn, count) for turn, count in enumerate(counts)],
            "expected": [self._answer(turn, 1) for turn in range(turns)],
            "samples": samples,
            "verdicts": [self.random.choices(("valid", "invalid", None), k=samples) for _ in counts],
            "rubrics": [[self.random.choices(("yes", "no"), k=2) for _ in range(samples)] for _ in counts],
            "labels": [self.random.choices(LABELS, k=count) for count in counts],
        }

    def _answer(self, turn: int, sentences: int) -> JsonObject:
        text = " ".join(f"The flight {self.random.randint(100, 999)} is late." for _ in range(sentences))
        user = f"Which flight is late at gate {turn}?"
        return {
            "user_content": {"role": "user", "parts": [{"text": user}]},
            "final_response": {"role": "model", "parts": [{"text": text}]},
            "intermediate_data": {"invocation_events": []},
        }


LABELS = ("supported", "unsupported", "contradictory", "disputed", "not_applicable")


def _without_none(value: JsonObject) -> JsonObject:
    return {key: item for key, item in value.items() if item is not None}
