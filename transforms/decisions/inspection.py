"""Inspects a file: which mapping would read it, what it holds, and which criteria could score it."""

import asyncio
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import jmespath

from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.config import EvalConfig, MappingConfig, named_keys
from turnwise.schemas.conversation import (
    Conversation,
    Expectation,
    Record,
    Rubric,
    ToolCall,
    ToolResponse,
    Turn,
    turn_name,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, grouped
from turnwise.schemas.report import Applies, CriterionUse, FileInspection, Noted
from turnwise.schemas.score import Failure
from turnwise.transforms.criteria.base import CRITERIA, Criterion, JudgedCriterion, MeasuredCriterion
from turnwise.transforms.criteria.figures import (
    AgentCost,
    EndedNormally,
    TokenUsage,
    ToolCallCount,
    ToolCallLatency,
    TurnLatency,
)
from turnwise.transforms.criteria.hallucinations import ClaimedActions, Hallucinations, ReportedFailures
from turnwise.transforms.criteria.rubrics import Safety
from turnwise.transforms.effects.changes import call_text, value_text
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.messages.kinds import decoded, objects_in, role_of, snake
from turnwise.transforms.formats.messages.messages_base import dialects_of
from turnwise.transforms.formats.reading import FoundCase, LoggedConversation, ReadRecord
from turnwise.transforms.judging.ask import JudgeSample, NotAsked, Question, R
from turnwise.transforms.judging.judges import LOCAL
from turnwise.transforms.matching.calls import pair_responses
from turnwise.transforms.matching.sample import Sample, inline_case, played_case, recorded_case
from turnwise.transforms.scoring.evaluate import CriterionScores, evaluate, judge_conversation, open_pairs
from turnwise.transforms.scoring.selection import Criteria

_IDS = ("conversation_id", "session_id", "thread_id", "chat_id", "dialog_id", "dialogue_id", "call_id",
        "conv_id", "conversation", "session", "thread", "chat", "conv", "conversation_hash", "ticket_id",
        "case_id", "contact_id", "id", "sid", "call")  # fmt: skip
_CALLS = ("tool_calls", "calls", "actions", "tools", "tools_used", "function_calls", "functions", "steps")
_TOOLS = ("name", "fn", "tool", "tool_name", "function", "function_name", "action")
_ARGS = ("args", "arguments", "params", "parameters", "input", "inputs", "kwargs", "tool_input")
_CALL_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")
_ANSWERED_IDS = ("tool_call_id", "call_id", "tool_use_id")
_RESULTS = ("result", "results", "output", "outputs", "returned", "response", "observation",
            "ret", "return", "return_value")  # fmt: skip
_MARKS = ("error", "status", "success", "is_error")
"""Keys of a call that say whether it failed, as readers of messages and of turns know them."""
_USERS = ("user", "question", "query", "prompt", "asked", "request", "input", "human", "customer", "caller",
          "q", "input_transcript")  # fmt: skip
_AGENTS = ("agent", "answer", "response", "reply", "said", "assistant", "output", "bot", "completion",
           "a")  # fmt: skip
_ROLES = ("role", "from", "sender", "speaker", "author", "who", "author_type", "sender_type", "sender_role",
          "speaker_role", "direction")  # fmt: skip
_TEXTS = ("content", "text", "message", "body", "value", "utterance")
_TIMES = ("timestamp", "time", "created_at", "sent_at", "date", "datetime", "created", "at", "ts",
          "create_time", "start_time")  # fmt: skip
_ORDERS = ("seq", "sequence", "n", "index", "position", "order", "turn_index", "message_index", "turn_number",
           "message_number", "number", "step", *_TIMES)  # fmt: skip
_CONVERSATIONS = ("conversation", "session", "thread", "chat", "call")
_REPLIES = ("messages", "responses", "replies", "answers", "outputs")
_KINDS = ("type", "role", "kind")
"""Keys that say who speaks, in an object that stands for the speaker."""
_SAYINGS = {*_TEXTS, "input", "query", "question", "prompt", "response", "reply", "answer", "output", "msg"}
_OTHERS = {
    "app_version": ("app_version", "version", "release", "agent_version"),
    "language": ("language", "language_code", "locale", "lang"),
    "start_time": ("start_time", "started_at", "created_at"),
}
_SPEAKERS = {
    "user": "user human customer client caller visitor guest patient enduser end_user incoming inbound",
    "assistant": "assistant bot gpt chatgpt agent model ai chatbot virtual_agent automated_agent outgoing "
    "outbound",
    "call": "function_call tool_call tool_calls tool_call_invocation",
    "tool": "tool function observation tool_result tool_call_result tool_response tool_output "
    "function_response function_result function_output api environment",
    "system": "system system_prompt developer instructions internal internal_note private_note note event "
    "notification status supervisor moderator admin",
}
"""Whose the words are -> values of a role; those of `system` are nobody's in the conversation."""
_BY_SPEAKER = {word: speaker for speaker, words in _SPEAKERS.items() for word in words.split()}
_MOST_SPEAKERS = 20
_DEEPEST = 3
_WORD = re.compile(r"\w+")


def suggested_mapping(records: Sequence[JsonObject]) -> tuple[MappingConfig, list[str]] | str:
    """Returns a mapping that finds words of a user and of an agent in the first records, or why none does.

    It is a proposal by names: a person has to look at what it reads. Beside it: roles that it leaves out.
    """
    why = "no key names words of both a user and an agent"
    for record in records:
        for key, expression, left_out in _contents(record, records):
            is_part = key in ("turn", "message")
            path = _path(record, _IDS)
            if is_part:
                # What no two rows share is the id of a row. That of a turn may be a conversation.
                paths = [path for name in _IDS if (path := _path(record, (name,)))]
                paths += filter(None, [_path(record, _CONVERSATIONS, ("id", "name"))])
                values = ([str(jmespath.search(path, row)) for row in records] for path in paths)
                shared = (
                    path for path, ids in zip(paths, values, strict=True) if len(set(ids)) < len(records)
                )
                path = next(shared, paths[0] if key == "turn" and paths else None)
            mapping = {"conversation_id": path}
            mapping |= {name: _path(record, names) for name, names in _OTHERS.items()}
            mapping |= {"order": _order(record, records)} if is_part else {}
            stated = {name: path for name, path in mapping.items() if path is not None}
            if not is_part or "conversation_id" in stated:
                return MappingConfig.model_validate({**stated, key: expression}), left_out
            no_id = "no key known as an id of conversations has a value that rows share"
            why = f"each row is a {key}, and {no_id}"
    return why


def _order(record: JsonObject, records: Sequence[JsonObject]) -> str | None:
    """Returns the path of a number or time that every row has, and that sorts as it is written."""
    for name in _ORDERS:
        path = _path(record, (name,))
        values = [jmespath.search(path, record) for record in records] if path else []
        texts = [str(value) for value in values]
        dates = [text for text in texts if _SORTS.match(text) and len(text) == len(texts[0])]
        if path and None not in values and (all(map(_NUMBER.fullmatch, texts)) or dates == texts):
            return path
    return None


_NUMBER, _SORTS = re.compile(r"-?\d+(\.\d+)?"), re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")


def _contents(record: JsonObject, records: Sequence[JsonObject]) -> Iterator[tuple[str, str, list[str]]]:
    """Yields where conversations may stand: lists first, the longest of all, then the record itself."""
    # A log that holds its messages twice leaves calls out of one of the lists.
    for path, first in sorted(_lists(record), key=lambda held: -len(held[1])):
        lists = [dict(_lists(held)).get(path, []) for held in records]
        items = list(chain.from_iterable(lists))
        keys = list(dict.fromkeys(key for item in first for key in item))
        # Some chats are exported with the newest message first: the times only fall.
        times: list[list[Any]] = [[i.get(_named(list(i), _TIMES) or "") for i in held] for held in lists]
        stated = [held for held in times if len(set(map(str, held))) > 1]
        kinds = {type(value) for held in stated for value in held}
        is_comparable = bool(stated) and (kinds == {str} or kinds <= {int, float})
        falls = is_comparable and all(before >= after for held in stated for before, after in pairwise(held))
        ordered = f"reverse({path})" if falls else path
        # Messages as a format has them need no expression.
        dialects = dialects_of({"messages": items})
        has_roles = not any("parts" in i and i.keys().isdisjoint({"role", "kind"}) for i in items)
        is_plain = all(role_of(i.get("role")) and i.keys() & {"content", "parts"} for i in items)
        if has_roles and (len(dialects) == 1 or (is_plain and not dialects)):
            yield "messages", ordered, []
        elif message := _message(items):
            yield "messages", f"{ordered}[*].{message[0]}", message[1]
        elif turn := _turn(keys, items, items):
            yield "turns", f"{ordered}[*].{turn}", []
    if turn := _turn(list(record), records, [record]):
        yield "turn", turn, []
    elif (user := _side(list(record), _USERS, "user")) and (replies := _parts(record, _REPLIES)):
        yield "turn", f"{{user: {_quoted(user)}, agent: {replies}}}", []
    elif message := _message(records):
        yield "message", *message
    for path, pairs in _arrays(record):
        if not all(isinstance(p, list) and len(p) == 2 and all(isinstance(t, str) for t in p) for p in pairs):
            continue
        speakers = _speakers([first for first, _ in pairs])
        if speakers["user"] and speakers["assistant"]:
            expression = f"{path}[*].{{role: {_whose('[0]', speakers)}, content: [1]}}"
            yield "messages", expression, speakers["system"]
        else:
            yield "turns", f"{path}[*].{{user: [0], agent: [1]}}", []


def _side(keys: Sequence[str], names: Sequence[str], who: str) -> str | None:
    """Returns the key of the words of one side: a known one, or a speaker and a saying, as `bot_response`."""
    spoken = (key for key in keys if (words := snake(key).rpartition("_"))[2] in _SAYINGS
              and _BY_SPEAKER.get(words[0]) == who)  # fmt: skip
    return _named(keys, names) or next(spoken, None)


def _turn(keys: Sequence[str], items: Sequence[JsonObject], shown: Sequence[JsonObject]) -> str | None:
    """Returns the expression of a turn, with its calls where shapes show them; None: none has both sides."""
    user, agent = _side(keys, _USERS, "user"), _side(keys, _AGENTS, "assistant")
    # Objects with the words of one side alone are messages.
    if not user or not agent or not any(item.get(user) and item.get(agent) for item in items):
        return None
    return f"{{user: {_quoted(user)}, agent: {_quoted(agent)}{_calls(shown, with_results=True)}}}"


def _calls(items: Sequence[JsonObject], with_results: bool) -> str:
    """Returns the part of an expression that finds calls, and what they returned; empty: none are seen."""
    places: dict[str, list[JsonObject]] = {}
    for item in items:
        single = ((f"[{_quoted(key)}]", [held]) for key, held in item.items() if isinstance(held, dict))
        for path, held in (*_lists(item), *single):
            places.setdefault(path, []).extend(held)
    for path, held in places.items():
        functions = [call.get("function") for call in held]
        if all(isinstance(function, dict) and "name" in function for function in functions):
            return f", tool_calls: {path}"
    named = {path: fields for path, held in places.items() if (fields := _call_fields(held))}
    usual = (path for path in named if snake((_WORD.findall(path) or [""])[-1]) in _CALLS)
    if not (path := next(usual, next(iter(named), ""))):
        return ""
    fields = named[path]
    keys = {key: None for call in places[path] for key in call}
    marks = {mark: _quoted(key) for mark in _MARKS if (key := _named(list(keys), (mark,)))}
    if "response" in fields and not with_results:
        marks["result"] = fields["response"]
    stated = {**{name: key for name, key in fields.items() if name != "response"}, **marks}
    called = ", ".join(f"{name}: {key}" for name, key in stated.items())
    expression = f", tool_calls: {path}[*].{{{called}}}"
    if "response" in fields and with_results:
        answered = ", ".join(f"{name}: {key}" for name, key in fields.items() if name != "args")
        expression += f", tool_responses: {path}[*].{{{answered}}}"
    return expression


def _call_fields(held: Sequence[JsonObject]) -> dict[str, str]:
    """Returns which keys of objects name the fields of calls; empty: they are no calls."""
    keys = list(dict.fromkeys(key for call in held for key in call))
    names = (("id", _CALL_IDS), ("name", _TOOLS), ("args", _ARGS), ("response", _RESULTS))
    fields = {field: key for field, known in names if (key := _named(keys, known))}
    return {field: _quoted(key) for field, key in fields.items()} if {"name", "args"} <= fields.keys() else {}


def unread_keys(record: JsonObject, mapping: MappingConfig) -> list[str]:
    """Returns the keys of a record, and of objects in its lists, that a mapping does not name."""
    named = named_keys(mapping)
    unread = {key: None for key in record if key not in named}
    for path, items in _lists(record):
        for item in items:
            unread |= {f"{path}[].{key}": None for key in unread_keys(item, mapping)}
    return list(unread)


def _message(items: Sequence[JsonObject]) -> tuple[str, list[str]] | None:
    """Returns the expression of a message, and the roles that it leaves out; None: one side is not seen.

    Role and words stand in the items, or one object below. A role that none of the items has stays as it is,
    which is a finding.
    """
    key = next(filter(None, (_path(item, _ROLES) or _path(item, _ROLES, _KINDS) for item in items)), None)
    texts = {name: None for item in items for name, held in item.items() if _is_plain(held) or held is None}
    top = _named(list(texts), _TEXTS)
    below = filter(None, (_path(item, _TEXTS) or _parts(item, (*_TEXTS, "parts")) for item in items))
    words = _quoted(top) if top else next(below, None)
    if key is None or words is None:
        return None
    spoken = [(jmespath.search(key, item), jmespath.search(words, item)) for item in items]
    speakers = _speakers([role for role, _ in spoken])
    if not (speakers["user"] and speakers["assistant"]):
        return None
    calls = _calls(items, with_results=False)
    callers = set()
    for role, text in spoken:  # whose text is the JSON of a call, or of several
        held = decoded(text) if isinstance(role, str) else None
        written = objects_in(held if isinstance(held, list) else [held])
        callers |= {role} if written and _call_fields(written) else set()
    spelt = [name for name in speakers["call"] if not calls and name in callers]
    speakers["assistant"] += speakers["call"]
    if spelt:
        condition = _is_any(key, spelt)
        words, calls = f"!({condition}) && {words} || ''", f", tool_calls: {condition} && [{words}] || `[]`"
    whole = [item for item, (role, _) in zip(items, spoken, strict=True) if role in speakers["call"]]
    if not calls and (fields := _call_fields(whole)):  # a message that is a call
        called = ", ".join(f"{name}: {key}" for name, key in fields.items() if name != "response")
        calls = f", tool_calls: {_is_any(key, speakers['call'])} && [{{{called}}}] || `[]`"
    answers = [item for item, (role, text) in zip(items, spoken, strict=True) if role in speakers["tool"]]
    known = [name for item in answers for name in item]
    if (result := _named(known, _RESULTS)) and not spelt and _quoted(result) != words:
        words = f"{words} || {_quoted(result)}"
    if answered := _named(known, _ANSWERED_IDS):
        of_answer = f"{_is_any(key, speakers['tool'])} && " if whole else ""
        calls += f", tool_call_id: {of_answer}{_quoted(answered)}"
    return f"{{role: {_whose(key, speakers)}, content: {words}{calls}}}", speakers["system"]


def _parts(item: JsonObject, names: Sequence[str]) -> str | None:
    """Returns the expression of words in a list of texts, or of objects with texts."""
    for key, held in item.items():
        if snake(key) in names and isinstance(held, list) and held:
            text = next((_named(list(part), _TEXTS) for part in held if isinstance(part, dict)), None)
            if text is not None or all(isinstance(part, str) for part in held):
                inner = f"[?{_quoted(text)}].{_quoted(text)}" if text else ""
                return f"join('\\n', {_quoted(key)}{inner} || `[]`)"
    return None


def _whose(key: str, speakers: dict[str, list[str]]) -> str:
    """Returns the expression of a role: whose words they are by the value of a key."""
    sides = ("user", "assistant", "tool", "system")
    tests = [f"{_is_any(key, speakers[who])} && '{who}'" for who in sides if speakers[who]]
    return " || ".join((*tests, key))


def _speakers(roles: Sequence[JsonValue]) -> dict[str, list[str]]:
    """Returns the values of a role by whose words they are; those of `system` are left out.

    Where only one side is known, the only value that is not known is the other side; without any, `system`
    is, if it does not speak first, as in dialogues of research. Of two numbers the first is the user's.
    """
    values = dict.fromkeys(name for name in roles if isinstance(name, str) and "\\" not in name)
    numbers = list(dict.fromkeys(repr(name) for name in roles if type(name) is int))
    if not values and len(numbers) == 2:
        return {**{who: [] for who in _SPEAKERS}, "user": numbers[:1], "assistant": numbers[1:]}
    spelt: dict[str, list[str]] = {who: [] for who in _SPEAKERS}
    others: list[str] = []
    for name in list(values)[:_MOST_SPEAKERS]:
        who = _BY_SPEAKER.get(snake(name)) or role_of(name)
        (spelt[who] if who else others).append(name)
    missing = [who for who in ("user", "assistant") if not spelt[who]]
    user_opens = next(iter(values), None) in spelt["user"]
    if len(missing) == 1 and len(others) == 1:
        spelt[missing[0]], others = others, []
    elif missing == ["assistant"] and not others and len(spelt["system"]) == 1 and user_opens:
        spelt["assistant"], spelt["system"] = spelt["system"], []
    spelt["system"] += others
    return spelt


def _is_any(key: str, names: Sequence[str]) -> str:
    literals = (name.replace("'", "\\'") for name in names)
    quoted = (f"`{name}`" if _NUMBER.fullmatch(name) else f"'{name}'" for name in literals)
    tests = [f"{key} == {name}" for name in quoted]
    return f"({' || '.join(tests)})" if len(tests) > 1 else tests[0]


def _lists(value: JsonObject) -> Iterator[tuple[str, list[JsonObject]]]:
    """Yields the lists of objects in a record with their paths, the outer ones first."""
    for path, items in _arrays(value):
        if all(isinstance(item, dict) for item in items):
            yield path, items


def _arrays(value: JsonObject, path: str = "", depth: int = 0) -> Iterator[tuple[str, list[JsonValue]]]:
    deeper: list[tuple[str, JsonObject]] = []
    for key, item in value.items():
        inner_path = f"{path}.{_quoted(key)}" if path else _quoted(key)
        if isinstance(item, list) and item:
            yield inner_path, item
        elif isinstance(item, dict):
            deeper.append((inner_path, item))
    for inner_path, inner in deeper if depth < _DEEPEST else ():
        yield from _arrays(inner, inner_path, depth + 1)


def _path(record: JsonObject, names: Sequence[str], inner_names: Sequence[str] = ()) -> str | None:
    """Returns the path of the first of some keys, at the top or one object below.

    With `inner_names` it is the path of the first of these in an object that stands at one of the keys.
    """
    key = _named([key for key, item in record.items() if _is_plain(item)], names)
    if key is not None and not inner_names:
        return _quoted(key)
    for outer, inner in record.items():
        if isinstance(inner, dict) and (not inner_names or snake(outer) in names):
            below = _named([key for key, item in inner.items() if _is_plain(item)], inner_names or names)
            if below is not None:
                return f"{_quoted(outer)}.{_quoted(below)}"
    return None


def _is_plain(value: JsonValue) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _named(keys: Sequence[str], names: Sequence[str]) -> str | None:
    by_name = {snake(key): key for key in keys}
    return next((by_name[name] for name in names if name in by_name), None)


def _quoted(key: str) -> str:
    """Returns a key as JMESPath writes it."""
    if key.isidentifier() and key.isascii():
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Adds up what a file holds.

MOST_KINDS = 20
"""Number of different messages that are kept of a file."""
_REST = "others"
_TRIED, _TRIED_WITH_CASES, _TRIED_CASES = 50, 3, 20


class FileCollector:
    """Adds up what one file holds; its size does not grow with the file."""

    def __init__(self, path: str, criteria: Sequence[Criterion]) -> None:
        self.inspection = FileInspection(path)
        self._criteria = criteria

    def add_record(self, read: ReadRecord) -> None:
        """Adds what a record holds; an event counts as joined, its conversation comes later."""
        inspection = self.inspection
        inspection.records += 1
        inspection.formats[read.format or ""] = inspection.formats.get(read.format or "", 0) + 1
        for content in read.contents:
            if isinstance(content, ConversationEvent):
                inspection.joined += 1
            elif isinstance(content, Failure):
                self.add_failure(content)
            elif isinstance(content, FoundCase):
                inspection.cases += 1
                if inspection.example is None:
                    case = content.case
                    lines = [["task", value_text(case.task)]] if case.task else []
                    lines += _turn_lines([(t.user, t.tool_calls or (), (), t.response) for t in case.turns])
                    lines += [] if case.turns else _call_lines(case.actions or (), ())
                    inspection.example = {"kind": case.kind, "id": case.eval_id}
                    inspection.example |= {"turns": len(case.turns), "lines": lines}
                if inspection.cases <= _TRIED_CASES:
                    helped = try_case(content.case, content.record, self._criteria)
                    inspection.case_criteria = [*least_uses([*inspection.case_criteria, *helped]).values()]
            else:
                self.add_conversation(content)

    def add_failure(self, failure: Failure) -> None:
        """Adds what could not be read."""
        position = (failure.source or self.inspection.path, failure.position or 0)
        noted = Noted(failure.error_type, failure.message, 0, *position)
        notes = self.inspection.findings if failure.stage == "check" else self.inspection.not_read
        _note(notes, noted, by_message=failure.stage != "check")

    def add_conversation(self, logged: LoggedConversation) -> None:
        """Adds a conversation, and tries the criteria on the first ones."""
        inspection, conversation = self.inspection, logged.conversation
        inspection.conversations += 1
        inspection.turns += len(conversation.turns)
        inspection.names_case += conversation.eval_id is not None and inline_case(conversation) is None
        if conversation.app_version is None:
            source = conversation.source or "turnwise"
            inspection.without_version[source] = inspection.without_version.get(source, 0) + 1
        for turn in conversation.turns:
            inspection.calls += len(turn.tool_calls)
            inspection.results += len(turn.tool_responses)
            for problem in turn.findings:
                message = f"{turn_name(turn.turn_index)}: {problem.message}"
                noted = Noted(problem.kind, message, 0, logged.record.source, logged.record.position)
                _note(inspection.findings, noted)
        if inspection.example is None:
            turns = [(t.user, t.tool_calls, t.tool_responses, t.agent) for t in conversation.turns]
            about: JsonObject = {"kind": "conversation", "id": conversation.conversation_id}
            about |= {"app_version": conversation.app_version, "turns": len(turns)}
            inspection.example = about | {"lines": _turn_lines(turns)}
        if inspection.tried < _TRIED:
            with_cases = inspection.tried < _TRIED_WITH_CASES
            inspection.tried += 1
            uses = try_criteria(conversation, logged.record, self._criteria, with_cases)
            inspection.criteria = [*least_uses([*inspection.criteria, *uses]).values()]


DECIDING = (Hallucinations.name, Safety.name, ClaimedActions.name, EndedNormally.name)
"""Criteria of a starter config that decide verdicts: the logs must feed one. Failed calls decide, too."""
_SHOWN_ONLY = tuple(c.name for c in (TurnLatency, ToolCallLatency, TokenUsage, ToolCallCount, AgentCost))
_MOST_CALLS = 1_000
_ALERTS: JsonValue = [
    {"name": "most fail", "criterion": "verdict", "measure": "pass_rate", "below": 0.5},
    {"name": "nearly all fail", "criterion": "verdict", "measure": "pass_rate", "below": 0.2, "min_count": 1},
    {
        "name": "no verdicts",
        "criterion": "verdict",
        "measure": "no_score_rate",
        "above": 0.99,
        "min_count": 1,
    },
]
"""Of few conversations only a night raises an alert in which none passed."""


def starter_config(files: Sequence[FileInspection], given: EvalConfig) -> JsonObject:
    """Returns a config for logs without eval cases: the criteria that they can feed, beside what is given.

    Hallucinations are judged by the rules of `local`, or with safety and claimed actions by the judge that
    `given` names, within a budget. Failed calls are held against what the agent says of them. What no
    conversation states is left out; `ended_normally` decides only where every conversation states its end.
    Alerts end a night with exit status 1 in which most conversations fail, or none has a verdict.
    """
    fed: dict[str, int] = {}
    for use in chain.from_iterable(file.criteria for file in files):
        if use.applies in ("scored", "judge"):
            fed[use.criterion] = fed.get(use.criterion, 0) + use.conversations
    backend = given.judge.backend or LOCAL
    criteria: JsonObject = {}
    if Hallucinations.name in fed and (any(file.results for file in files) or backend != LOCAL):
        criteria[Hallucinations.name] = 0.8
    if backend != LOCAL:
        criteria |= {name: {} for name in (Safety.name, ClaimedActions.name) if name in fed}
    if any(file.results for file in files):
        criteria[ReportedFailures.name] = 1.0
    if fed.get(EndedNormally.name) == sum(file.tried for file in files):
        criteria[EndedNormally.name] = 1.0
    criteria |= {name: {} for name in _SHOWN_ONLY if name in fed}
    stated = given.model_dump(mode="json", exclude_unset=True)
    budget = {} if backend == LOCAL else {"max_calls": _MOST_CALLS}
    judge = {"backend": backend, **budget, **stated.get("judge", {})}
    return {"alerts": _ALERTS, **stated, "criteria": criteria, "judge": judge}


def least_uses(uses: Iterable[CriterionUse]) -> dict[str, CriterionUse]:
    """Returns criterion -> the least that it needs, and the conversations in which it needs no more."""
    least = {}
    for name, of_criterion in grouped((use.criterion, use) for use in uses).items():
        first = min(of_criterion, key=lambda use: ORDER.index(use.applies))
        number = sum(use.conversations for use in of_criterion if use.applies == first.applies)
        least[name] = CriterionUse(name, first.applies, number, first.why)
    return least


def _note(notes: list[Noted], first: Noted, by_message: bool = False) -> None:
    """Counts something under its kind, or under kind and message."""
    alike = (n for n in notes if n.what == first.what and (not by_message or n.message == first.message))
    known = next(alike, None)
    if known is None and len(notes) > MOST_KINDS:
        known = notes[-1]
    elif known is None:
        known = first
        if len(notes) == MOST_KINDS:
            known = Noted(_REST, first.message, 0, first.source, first.position)
        notes.append(known)
    known.count += 1


# Tries every criterion on a conversation: as it is, with a judge, and with eval cases.

ORDER: tuple[Applies, ...] = ("scored", "judge", "cases", "no")
"""What a criterion needs, the least first."""
_NOTHING = "the logs hold nothing that it measures"
_STATEMENT = "The agent helps."
_RUBRIC_TYPES = ("FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY")


def all_criteria(configured: Sequence[Criterion] = ()) -> list[Criterion]:
    """Returns every criterion of the registry: as it is configured, or else with its defaults.

    A criterion that cannot be without fields of its own, and is not configured, is left out.
    """
    named = {criterion.name: criterion for criterion in configured}
    criteria = []
    for name in sorted({*CRITERIA, *named}):
        try:
            criteria.append(named[name] if name in named else CRITERIA[name]())
        except ValueError:
            continue
    return criteria


def try_criteria(
    conversation: Conversation, record: Record, criteria: Sequence[Criterion], with_cases: bool
) -> Collection[CriterionUse]:
    """Returns what each criterion needs to score a conversation.

    `with_cases`: whether those that do not apply are tried with supposed eval cases, too.
    """
    sample = Sample(conversation, inline_case(conversation), record)
    trials = asyncio.run(_trials(sample, criteria))
    for case in _supposed_cases(conversation) if with_cases else ():
        left = [criterion for criterion in criteria if trials[criterion.name].applies == "no"]
        supposed = asyncio.run(_trials(Sample(conversation, case, record), left))
        for use in (trials[name] for name, trial in supposed.items() if trial.applies != "no"):
            use.applies = "cases"
    return trials.values()


def try_case(case: EvalCase, record: Record, criteria: Sequence[Criterion]) -> list[CriterionUse]:
    """Returns the criteria that score a conversation which meets a case, and would not without the case."""
    played = played_case(case)
    played.turns = played.turns or [Turn(user=_STATEMENT, agent=_STATEMENT, tool_calls=case.actions or [])]
    played.state = played.state or case.final_session_state
    alone = asyncio.run(_trials(Sample(played, None, record), criteria))
    left = [criterion for criterion in criteria if alone[criterion.name].applies == "no"]
    trials = asyncio.run(_trials(Sample(played, case, record), left))
    applying = [name for name, trial in trials.items() if trial.applies != "no"]
    return [CriterionUse(name, "cases", 1, alone[name].why) for name in applying]


async def _trials(sample: Sample, criteria: Sequence[Criterion]) -> dict[str, CriterionUse]:
    measured = [c for c in criteria if isinstance(c, MeasuredCriterion)]
    scored, _ = evaluate(sample, Criteria(measured))
    trials = {result.criterion.name: _trial(result, bool(open_pairs(result))) for result in scored.scores}

    async def ends(question: Question[R], samples: range) -> list[JudgeSample[R]]:
        # One question shows that a judge is needed. Each turn's prompt may hold all the turns before it.
        judging.cancel()
        return await NotAsked()(question, samples)

    for criterion in (c for c in criteria if isinstance(c, JudgedCriterion)):
        scored.scores = []
        judging = asyncio.create_task(judge_conversation(scored, [criterion], ends))
        await asyncio.wait([judging])
        result = scored.scores[0] if scored.scores else CriterionScores(criterion)
        trials[criterion.name] = _trial(result, judging.cancelled())
    return trials


def _trial(scores: CriterionScores, was_asked: bool) -> CriterionUse:
    name, needs = scores.criterion.name, scores.criterion.needs
    given = [score for _, score in scores.scores()]
    is_scored = any(score.value is not None for score in given)
    if is_scored or was_asked:
        return CriterionUse(name, "scored" if is_scored else "judge", 1)
    needed = f"needs {needs}" if needs else _NOTHING
    reason = next((score.reason for score in given if score.reason), needed)
    return CriterionUse(name, "no", 1, "it raised an error" if scores.errors else reason)


def _supposed_cases(conversation: Conversation) -> Iterator[EvalCase]:
    """Yields eval cases of every kind that the conversation might be held against: it would meet them all."""
    golden = recorded_case(conversation)
    golden.rubrics = [Rubric(rubric_id=kind, text=_STATEMENT, type=kind) for kind in _RUBRIC_TYPES]
    calls = [call for turn in golden.turns for call in turn.tool_calls or ()]
    golden.actions, golden.final_session_state = calls, dict(conversation.state) or {"key": "value"}
    golden.outputs = [_STATEMENT] if any(turn.response for turn in golden.turns) else []
    yield golden
    ces = recorded_case(conversation)
    ces.dialect, ces.evaluation_expectations = "ces", [_STATEMENT]
    for turn in ces.turns:
        turn.expectations = [Expectation(kind="tool_call", tool_call=call) for call in turn.tool_calls or ()]
        if turn.response:
            turn.expectations.append(Expectation(kind="agent_response", text=turn.response))
    directive: JsonObject = {"$matchType": "semantic", "$matchValue": _STATEMENT}
    for expectation in (e for turn in ces.turns for e in turn.expectations if e.tool_call is not None):
        if expectation.tool_call is not None and expectation.tool_call.args:
            expectation.tool_call.args = dict.fromkeys(expectation.tool_call.args, directive)
    yield ces
    yield EvalCase(
        eval_id=golden.eval_id,
        kind="scenario",
        dialect="ces",
        task=_STATEMENT,
        user_facts=[UserFact(name="name", value="value")],
        rubrics=list(golden.rubrics),
        expectations=[Expectation(kind="agent_response", text=_STATEMENT, comparison="CONTAINS")],
        evaluation_expectations=[_STATEMENT],
        user_behaviors=[_STATEMENT],
    )


# Shortens a conversation or a case to an example.

_TURNS, _EXAMPLE_CALLS = 2, 3
_MORE = "..."

_TurnParts = tuple[str | None, Sequence[ToolCall], Sequence[ToolResponse], str | None]


def _turn_lines(turns: Sequence[_TurnParts]) -> list[list[str]]:
    """Returns who, and what they said or called, in the first two turns, each with at most three calls."""
    lines: list[list[str]] = []
    for user, calls, responses, answer in turns[:_TURNS]:
        lines += [] if user is None else [["user", value_text(user)]]
        lines += [*_call_lines(calls, responses), *([["agent", value_text(answer)]] if answer else [])]
    more = len(turns) - _TURNS
    return [*lines, [_MORE, f"{more} more turns"]] if more > 0 else lines


def _call_lines(calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> list[list[str]]:
    paired = pair_responses(list(calls), list(responses))
    lines = []
    for call, response in zip(calls[:_EXAMPLE_CALLS], paired, strict=False):
        text = call_text(call)
        if response is not None:
            error, answer = response.error, response.response
            text += f" -> error {value_text(error)}" if error else f" -> {value_text(answer)}"
        lines.append(["calls", text])
    if len(calls) > _EXAMPLE_CALLS:
        lines.append([_MORE, f"{len(calls) - _EXAMPLE_CALLS} more calls"])
    return lines
