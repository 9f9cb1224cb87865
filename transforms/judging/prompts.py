"""Conversations as sections of evidence."""

import json
from collections.abc import Iterable, Sequence

from turnwise.schemas.conversation import (
    APP_DETAILS,
    GROUNDING,
    Conversation,
    Reference,
    ToolCall,
    ToolResponse,
    Turn,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.judging.prompts.search import found_by_search
from turnwise.transforms.judging.prompts.sections import Section
from turnwise.transforms.matching.calls import pair_responses
from turnwise.transforms.matching.expectations import turn_texts

_OF_THE_USER = ", user"
_NO_EVIDENCE = (", agent", ", agent shows", ", searched for", _OF_THE_USER)
MAX_REFERENCES = 100
"""Maximum number of references per turn."""


def json_text(value: JsonValue) -> str:
    """Returns a value as JSON in plain characters (nothing escaped that need not be); a text as it is."""
    if isinstance(value, str):
        return value
    try:
        return dump_json(value).decode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(value, ensure_ascii=False, default=repr)


def agent_sections(conversation: Conversation, turn: Turn | None = None) -> list[Section]:
    """Renders the agents' instructions and tools, if recorded.

    Args:
        conversation: The record.
        turn: Turn of the agents; None: the latest state of each agent in any turn.
    """
    places = range(len(conversation.turns)) if turn is None else [position(conversation, turn)]
    agents: JsonObject = {}
    for place in places:
        details = _of_turn(conversation, APP_DETAILS, place)
        agents |= details if isinstance(details, dict) else {}
    return [section for name, agent in agents.items() for section in _agent(name, agent)]


def _of_turn(conversation: Conversation, key: str, place: int) -> JsonValue:
    by_turn = conversation.meta.get(key)
    return by_turn[place] if isinstance(by_turn, list) and place < len(by_turn) else None


def _agent(name: str, agent: JsonValue) -> list[Section]:
    details = agent if isinstance(agent, dict) else {}
    instructions, tools = details.get("instructions"), details.get("tool_declarations")
    sections = (
        [Section("instructions of an agent", f"{name}:\n{json_text(instructions)}")] if instructions else []
    )
    return [*sections, Section("tools of an agent", f"{name}:\n{json_text(tools)}")] if tools else sections


def position(conversation: Conversation, turn: Turn) -> int:
    """Returns the place of a recorded turn in its conversation."""
    return next(i for i, other in enumerate(conversation.turns) if other is turn)


def earlier_sections(conversation: Conversation, turn: Turn) -> list[Section]:
    """Renders the turns before a turn."""
    return dialogue_sections(conversation, position(conversation, turn))


def dialogue_sections(conversation: Conversation, end: int | None = None) -> list[Section]:
    """Renders whole turns: all, or the first `end`."""
    return [
        section
        for place, turn in enumerate(conversation.turns[:end])
        for section in [*_work(conversation, place), *words(turn, place + 1)]
    ]


def asked_sections(conversation: Conversation, turn: Turn) -> list[Section]:
    """Renders a turn without the agent's texts: user message and tool calls with results."""
    return _work(conversation, position(conversation, turn))


def spoken_sections(conversation: Conversation) -> list[Section]:
    """Renders only the messages of user and agent."""
    return [
        section
        for number, turn in enumerate(conversation.turns, 1)
        for section in [*_user(turn, number), *words(turn, number)]
    ]


def reference_sections(turn: Turn, number: int) -> list[Section]:
    """Renders the sources that the answer of a turn was made from, the first 100 of them."""
    references = turn.grounded.references if turn.grounded else []
    shown = [
        Section(f"turn {number}, source {i}", reference_text(reference))
        for i, reference in enumerate(references[:MAX_REFERENCES])
    ]
    more = len(references) - len(shown)
    return shown + ([Section(f"turn {number}, {more} more sources are not shown", "")] if more else [])


def reference_text(reference: Reference) -> str:
    """Returns title, texts and fields of a source."""
    data = [json_text(reference.data)] if reference.data else []
    return "\n".join([*([reference.title] if reference.title else []), *reference.texts, *data])


def facts(sections: Iterable[Section]) -> list[str]:
    """Returns the texts of the sections that are evidence: all but messages and the agent's queries."""
    return [text for name, text in sections if text and not name.endswith(_NO_EVIDENCE)]


def messages_of_user(sections: Iterable[Section]) -> list[str]:
    """Returns the texts of the sections that are messages of the user."""
    return [text for name, text in sections if text and name.endswith(_OF_THE_USER)]


def words(turn: Turn, number: int) -> list[Section]:
    """Renders the agent's messages of a turn."""
    said = [Section(f"turn {number}, agent", text) for text in turn_texts(turn)]
    return said + [Section(f"turn {number}, agent shows", json_text(payload)) for payload in turn.payloads]


def _user(turn: Turn, number: int) -> list[Section]:
    return [Section(f"turn {number}, user", turn.user)] if turn.user else []


def _work(conversation: Conversation, place: int) -> list[Section]:
    """Renders the user message, calls, sources, hand-offs and variables of a turn."""
    turn, number = conversation.turns[place], place + 1
    sections = _user(turn, number)
    sections += _calls(f"turn {number}, user's tool", turn.user_tool_calls, turn.user_tool_responses)
    sections += _calls(f"turn {number}, tool", turn.tool_calls, turn.tool_responses)
    grounding = _of_turn(conversation, GROUNDING, place)
    if grounding:
        found = found_by_search(grounding, number)
        sections += found.sections
        if found.rest:
            sections.append(Section(f"turn {number}, sources found", json_text(found.rest)))
    sections += reference_sections(turn, number)
    if turn.transfers:
        sections.append(Section(f"turn {number}, handed over to", "\n".join(turn.transfers)))
    if turn.variables:
        sections.append(Section(f"turn {number}, variables set", json_text(turn.variables)))
    return sections


def _calls(name: str, calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> Iterable[Section]:
    paired = pair_responses(calls, responses)
    used = {id(response) for response in paired}
    for i, (call, response) in enumerate(zip(calls, paired, strict=True), 1):
        yield Section(f"{name} call {i}", f"{call.name or ''} {json_text(call.args or {})}")
        if response is None:
            yield Section(f"{name} result {i} was not recorded", "")
        else:
            yield Section(f"{name} result {i}", _answer(response))
    for response in responses:
        if id(response) not in used:
            yield Section(f"{name} result without a call", f"{response.name or ''} {_answer(response)}")


def _answer(response: ToolResponse) -> str:
    failed = "the call failed" if response.error is True else f"the call failed: {response.error}"
    answer = "" if response.response is None else json_text(response.response)
    return f"{failed}\n{answer}" if response.error else answer
