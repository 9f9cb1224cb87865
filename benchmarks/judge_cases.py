"""Cases for the judge benchmark and the answers of the fake judge server, for turnwise and google-adk."""

import json
import re
from typing import Any

from benchmarks.data import APP, adk_document, conversations

Json = dict[str, Any]

_ANSWER_RUBRICS = ("The answer names the next step.", "The answer apologises for the trouble.")
_TOOL_RUBRICS = (
    "Every call names the order it is about.",
    "No tool is called twice in the same way.",
)
_VERDICTS = ("yes", "no")
_LABELS = ("supported", "supported", "unsupported", "not_applicable")
_REASON = "The words of the material say so."


def criteria(samples_together: int = 1) -> Json:
    """Returns the criteria, which turnwise and google-adk read alike.

    Args:
        samples_together: How many samples of a case google-adk asks for at once, per criterion.
    """
    options = {"judge_model_options": {"parallelism_limit": samples_together}} if samples_together > 1 else {}
    return {
        "final_response_match_v2": {"threshold": 0.5, **options},
        "hallucinations_v1": {"threshold": 0.5, **options},
        "rubric_based_final_response_quality_v1": {
            "threshold": 0.5,
            "rubrics": _rubrics(_ANSWER_RUBRICS),
            **options,
        },
        "rubric_based_tool_use_quality_v1": {
            "threshold": 0.5,
            "rubrics": _rubrics(_TOOL_RUBRICS),
            **options,
        },
    }


def _rubrics(texts: tuple[str, ...]) -> list[Json]:
    return [
        {"rubric_id": str(number), "rubric_content": {"text_property": text}}
        for number, text in enumerate(texts, 1)
    ]


def adk_cases(turns: int) -> Json:
    """Returns the cases for google-adk, what was done as events: its hallucination judge sees only those."""
    document = adk_document(turns)
    for result in document["inference_results"]:
        for turn in result["inferences"]:
            turn["intermediate_data"] = _events(turn["intermediate_data"])
    return document


def _events(done: Json) -> Json:
    calls = [{"function_call": call} for call in done["tool_uses"]]
    responses = [{"function_response": response} for response in done["tool_responses"]]
    contents = ({"role": "model", "parts": calls}, {"role": "user", "parts": responses})
    return {"invocation_events": [{"author": APP, "content": content} for content in contents]}


def script(adk_turns: int) -> list[Json]:
    """Returns the server's rules. They give both sides the same verdicts, and every sample the same one.

    Args:
        adk_turns: About how many turns google-adk asks; 0: it asks nothing.
    """
    return [
        {"match": "responseJsonSchema", "values": _schema_values()},
        {"match": "expert rater for an AI agent", "text": _match_text()},
        {"match": "evaluate the final answer quality", "text": _rubric_text(_ANSWER_RUBRICS)},
        {"match": "evaluate the quality of responses", "text": _rubric_text(_TOOL_RUBRICS)},
        {"match": "classify each sentence according to", "text": _label_text()},
        *_segmenter_rules(adk_turns),
    ]


def _schema_values() -> Json:
    said = {"quote": _REASON, "reason": _REASON}
    quotes = {"supporting_quote": _REASON, "contradicting_quote": ""}
    return {
        "verdicts": [{"number": i, **said, "verdict": verdict} for i, verdict in enumerate(_VERDICTS, 1)],
        "sentences": [
            {"number": i, **quotes, "reason": _REASON, "label": label} for i, label in enumerate(_LABELS, 1)
        ],
    }


def _match_text() -> str:
    return json.dumps({"reasoning": _REASON, "is_the_agent_response_valid": "valid"})


def _rubric_text(rubrics: tuple[str, ...]) -> str:
    return "\n\n".join(
        f"ID: {number}\nProperty: {text}\nEvidence: {_REASON}\nRationale: {_REASON}\nVerdict: {verdict}"
        for number, (text, verdict) in enumerate(zip(rubrics, _VERDICTS, strict=True), 1)
    )


def _label_text() -> str:
    return "\n\n".join(
        f"sentence: {number}\nlabel: {label}\nrationale: {_REASON}\n"
        f"supporting_excerpt: {_REASON}\ncontradicting_excerpt: null"
        for number, label in enumerate(_LABELS, 1)
    )


def _segmenter_rules(turns: int) -> list[Json]:
    """Returns a rule per answer that google-adk has split: the answer's own sentences."""
    answers = (turn["agent"] for entry in conversations(turns) for turn in entry["turns"])
    return [
        {"match": f"**Response Begin**\\n{json.dumps(answer)[1:-1]}\\n", "text": _tagged(answer)}
        for answer in answers
    ]


def _tagged(answer: str) -> str:
    sentences = re.split(r"(?<=[.?]) ", answer)
    return "\n".join(f"<sentence>{sentence}</sentence>" for sentence in sentences)
