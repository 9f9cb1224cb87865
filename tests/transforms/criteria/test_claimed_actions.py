from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.ask import NotAsked

KIND = CRITERIA["claimed_actions_v1"]


def did(*made, said="", **fields):
    """A turn; `cancel A1` -> a call of cancel with {"id": "A1"}, `!` at its end: it failed."""
    calls, answers = [], []
    for text in made:
        name, _, value = text.rstrip("!").partition(" ")
        calls.append(ToolCall(name, {"id": value} if value else {}))
        answers.append(ToolResponse(name, response="Error: no" if text.endswith("!") else {"status": "ok"}))
    return Turn(user="please", agent=said, tool_calls=calls, tool_responses=answers, **fields)


def claims(*said):
    """`2|cancel|A1|the words|amount=$5` -> a claim of turn 2 with a value."""
    return {"claims": [claim(*text.split("|")) for text in said]}


def claim(turn, tool, identifier, quote, *values):
    stated = [dict(zip(("argument", "text"), value.split("=", 1), strict=True)) for value in values]
    return {"turn": turn, "tool": tool, "identifier": identifier, "quote": quote, "values": stated}


def test_the_local_judge_does_not_serve_it(judged, matched, scripted):
    ask = scripted([claims()])
    judged(KIND(), matched(None, did(said="I cancelled A1.")), ask)
    assert ask.asked[0][0].local is None
    assert judged(KIND(), matched(None, did(said="Done.")), NotAsked()).overall.value is None
