"""Makes the benchmark's conversations, as turnwise and as google-adk read them."""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.wording import reworded, sentence, text

Json = dict[str, Any]

APP = "customer_service"
EVAL_SET = "benchmark"
TURNS_EACH = 2
CALLS_EACH = 3
WRONG_SHARE = 0.2
OTHER_SENTENCE_SHARE = 0.4
_SEED = 20_260
_SENTENCES = 4
_NAMES = ("Amelia", "Jonas", "Priya", "Mateo", "Hannah", "Kenji", "Olga", "Samuel", "Leila", "Victor")
_MONTHS = ("January", "March", "April", "June", "August", "October")
_CARRIERS = ("northpost", "swiftline", "parcelway")
_REASONS = ("damaged", "late_delivery", "wrong_item", "changed_mind")


def conversation(index: int) -> Json:
    """Returns one conversation in turnwise's canonical form; the same for the same index."""
    rng = random.Random(_SEED + index)
    facts = (
        f"{rng.choice('ABCDEFGH')}{rng.randrange(10_000, 99_999)}",
        f"${rng.randrange(5, 400)}.{rng.randrange(100):02}",
        f"{rng.choice(_MONTHS)} {rng.randrange(1, 29)}",
        f"{rng.randrange(2, 9)} days",
        rng.choice(_NAMES),
    )
    return {
        "conversation_id": f"conversation-{index:06}",
        "app_version": f"v{index % 2 + 1}",
        "language": "en",
        "turns": [_turn(rng, index, turn, facts) for turn in range(TURNS_EACH)],
    }


def _turn(rng: random.Random, index: int, turn: int, facts: Sequence[str]) -> Json:
    expected = [_call(rng, facts) for _ in range(CALLS_EACH)]
    actual = [{**call, "id": f"call-{index}-{turn}-{place}"} for place, call in enumerate(expected)]
    if rng.random() < WRONG_SHARE:
        _spoil(rng, actual[rng.randrange(CALLS_EACH)], facts)
    wanted, said = _answers(rng, facts)
    return {
        "turn_index": turn,
        "user": text([sentence(rng, facts)], "?"),
        "agent": said,
        "tool_calls": actual,
        "tool_responses": [_response(rng, call) for call in actual],
        "expected": {"response": wanted, "tool_calls": expected},
    }


def _answers(rng: random.Random, facts: Sequence[str]) -> tuple[str, str]:
    """Returns the expected answer, about 60 words, and one in other word forms, or with another sentence."""
    wanted = [sentence(rng, facts) for _ in range(_SENTENCES)]
    said = [reworded(rng, each) for each in wanted]
    if rng.random() < OTHER_SENTENCE_SHARE:
        said[rng.randrange(_SENTENCES)] = sentence(rng, facts)
    return text(wanted), text(said)


def _call(rng: random.Random, facts: Sequence[str]) -> Json:
    order = {"order_id": facts[0]}
    name, args = rng.choice(
        (
            ("get_order", {**order, "include_items": rng.random() < 0.5, "page": 1}),
            ("track_package", {**order, "carrier": rng.choice(_CARRIERS), "events": 5}),
            ("check_stock", {"sku": f"SKU-{rng.randrange(9999)}", "limit": rng.randrange(1, 9)}),
            ("issue_refund", {**order, "amount": rng.randrange(500) / 4, "reason": rng.choice(_REASONS)}),
            ("search_products", {"query": rng.choice(_REASONS), "filters": {"in_stock": True}}),
        )
    )
    return {"name": name, "args": args}


def _spoil(rng: random.Random, call: Json, facts: Sequence[str]) -> None:
    """Makes a call a wrong one: another tool, or another value of an argument."""
    if rng.random() < 0.5:
        call["name"] = f"{call['name']}_v2"
    else:
        call["args"] = {**call["args"], next(iter(call["args"])): f"{facts[0]}-wrong"}


def _response(rng: random.Random, call: Json) -> Json:
    answer = {"status": "ok", "value": rng.randrange(1000), "updated": rng.random() < 0.5}
    return {"name": call["name"], "id": call["id"], "response": answer}


def conversations(turns: int) -> Iterator[Json]:
    """Yields conversations that hold so many turns; a shorter run is the beginning of a longer one."""
    return (conversation(index) for index in range(turns // TURNS_EACH))


def write_turnwise(path: Path, turns: int) -> None:
    """Writes conversations with what is expected of them, as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in conversations(turns))


def write_adk(path: Path, turns: int) -> None:
    """Writes the same cases for google-adk."""
    path.write_text(json.dumps(adk_document(turns)), encoding="utf-8")


def adk_document(turns: int) -> Json:
    """Returns the same cases for google-adk: `eval_set` (an EvalSet) and `inference_results`."""
    entries = list(conversations(turns))
    return {
        "eval_set": {"eval_set_id": EVAL_SET, "eval_cases": [_eval_case(entry) for entry in entries]},
        "inference_results": [_inference_result(entry) for entry in entries],
    }


def _eval_case(entry: Json) -> Json:
    expected = [
        _invocation(turn, turn["expected"]["response"], {"tool_uses": turn["expected"]["tool_calls"]})
        for turn in entry["turns"]
    ]
    return {"eval_id": entry["conversation_id"], "conversation": expected}


def _inference_result(entry: Json) -> Json:
    actual = [
        _invocation(
            turn,
            turn["agent"],
            {"tool_uses": turn["tool_calls"], "tool_responses": turn["tool_responses"]},
        )
        for turn in entry["turns"]
    ]
    return {
        "app_name": APP,
        "eval_set_id": EVAL_SET,
        "eval_case_id": entry["conversation_id"],
        "inferences": actual,
        "session_id": None,
        "status": 1,
    }


def _invocation(turn: Json, answer: str, intermediate: Json) -> Json:
    return {
        "invocation_id": str(turn["turn_index"]),
        "user_content": {"role": "user", "parts": [{"text": turn["user"]}]},
        "final_response": {"role": "model", "parts": [{"text": answer}]},
        "intermediate_data": intermediate,
    }
