"""Prompts of judges: conversations as sections of evidence, the words of the tasks, schemas of answers."""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import count, repeat
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from turnwise.schemas.config import snake_case
from turnwise.schemas.conversation import (
    APP_DETAILS,
    GROUNDING,
    Conversation,
    Reference,
    ToolCall,
    ToolResponse,
    Turn,
    turn_name,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.schemas.score import Score
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.judging.ask import Answers, Prompt
from turnwise.transforms.matching.calls import answered_calls, pair_responses
from turnwise.transforms.matching.expectations import turn_texts
from turnwise.transforms.text.cleaning import quoted, visible

MAX_SECTION = 20_000
"""Maximum characters of a section; the middle of a longer one is replaced by a mark with its length."""
MAX_EVIDENCE = 200_000
"""Characters of all sections together; beyond it, the limit of each section is halved until they fit."""
_LEAST_SECTION = 200


class Section(NamedTuple):
    """A piece of evidence.

    Attributes:
        name: Kind of the section; only fixed words and numbers, no judged text.
        text: The judged text.

    >>> import turnwise
    >>> turnwise.Section("answer", "It arrives on Monday.").name
    'answer'
    """

    name: str
    text: str


class JudgedSection(Section):
    """A text to be judged; omitting a part of it could change the verdict."""


class _FailedCall(Section):
    """A call that failed: what it asks for was not done."""


def task_prompt(version: str, sections: Sequence[Section], words: str = "") -> Prompt:
    """Returns the prompt of a task of turnwise's own; `words` names its wording if `version` does not."""
    return fill(version, wording(words or version.rpartition("/")[0]), sections)


def fill(version: str, task: str, sections: Sequence[Section]) -> Prompt:
    """Returns a prompt with delimited sections that their texts cannot close.

    A section opens with a line `[CODE: name]` and ends where the next such line begins. The code is made from
    all the texts and occurs in none of them; equal texts get an equal code, so that answers can be cached.

    Args:
        version: Name and version of the task's wording.
        task: Task of the judge; the rules for reading the sections are appended.
        sections: The evidence.

    >>> import turnwise
    >>> prompt = turnwise.fill("tone/1", "Grade the tone.", [turnwise.Section("answer", "Hello")])
    >>> print(prompt.evidence)
    [...: answer]
    Hello
    [...: end]
    """
    shown_of = _LATEST[0].shown if _LATEST else {}
    texts = [shown_of.get(section.text) or visible(section.text) for section in sections]
    limit = MAX_SECTION
    while limit > _LEAST_SECTION and sum(map(min, map(len, texts), repeat(limit))) > MAX_EVIDENCE:
        limit //= 2
    cuts, head = [max(0, len(text) - limit) for text in texts], limit // 2
    shown = [
        f"{text[:head]}\n[… {cut} characters left out …]\n{text[cut + head :]}" if cut else text
        for text, cut in zip(texts, cuts, strict=True)
    ]
    joined = "\0".join(shown)
    codes = (sha256(f"{i}{joined}".encode()).hexdigest()[:8] for i in count())
    code = next(code for code in codes if code not in joined)
    parts = [f"[{code}: {name}]\n{text}\n" for (name, _), text in zip(sections, shown, strict=True)]
    judged = [cut for cut, section in zip(cuts, sections, strict=True) if isinstance(section, JudgedSection)]
    instructions = f"{task.strip()}\n\n{wording('rules')}"
    return Prompt(version, instructions, "".join(parts) + f"[{code}: end]", sum(cuts), sum(judged))


_OF_THE_USER = ", user"
_OF_THE_AGENT = ", agent"
_SPOKEN = (_OF_THE_AGENT, ", agent shows", _OF_THE_USER)
_NO_EVIDENCE = (*_SPOKEN, ", searched for")
MAX_REFERENCES = 100
"""Maximum number of sources, of attributed texts and of queries, per turn or message."""


def json_text(value: JsonValue) -> str:
    """Returns a value as JSON in plain characters (nothing escaped that need not be); a text as it is."""
    if isinstance(value, str):
        return value
    try:
        return dump_json(value).decode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(value, ensure_ascii=False, default=repr)


def agent_sections(conversation: Conversation, turn: Turn | None = None) -> list[Section]:
    """Renders the agents' recorded instructions and tools; without a turn, the latest of each agent."""
    by_turn = conversation.meta.get(APP_DETAILS)
    if not isinstance(by_turn, list):
        return []
    if turn is not None:
        index = position(conversation, turn)
        by_turn = by_turn[index : index + 1]
    agents: JsonObject = {}
    for details in by_turn[: len(conversation.turns)]:
        agents |= details if isinstance(details, dict) else {}
    sections = []
    for name, agent in agents.items():
        for key, kind in (("instructions", "instructions"), ("tool_declarations", "tools")):
            if isinstance(agent, dict) and agent.get(key):
                sections.append(Section(f"{kind} of an agent", f"{name}:\n{json_text(agent[key])}"))
    return sections


def context_sections(conversation: Conversation, turn: Turn) -> list[Section]:
    """Renders what an answer stands on: the agents, the turns before it, and its turn without its texts."""
    index = position(conversation, turn)
    rendered, agents = _rendered(conversation, index + 1), agent_sections(conversation, turn)
    rendered.show(agents)
    return [*agents, *rendered.sections[: rendered.ends[index][0]]]


def sections_of_other_agents(conversation: Conversation, turn: Turn) -> list[Section]:
    """Renders what other agents told the one that answers in a turn, which is as a tool's result to it."""
    number = position(conversation, turn) + 1
    return [
        Section(f"turn {number}, told by the agent {name}", text)
        for name, text in zip(turn.speakers[:-1], turn.agent_messages, strict=False)
        if name and turn.speakers[-1] not in ("", name)
    ]


def evidence_gap(conversation: Conversation, turn: Turn) -> str | None:
    """Returns why what an answer stands on may not be in the log; None: it is there."""
    for index, earlier in enumerate(conversation.turns[: position(conversation, turn) + 1]):
        gap = earlier.unknown_evidence
        for call, response in answered_calls(earlier) if not (gap or earlier.transfers) else ():
            if response is None:
                gap = f"the log does not hold the result of the call {call.name!r}"
        if gap:
            return f"{turn_name(index)}: {gap}"
    return None


def position(conversation: Conversation, turn: Turn) -> int:
    """Returns the place of a recorded turn in its conversation."""
    return next(i for i, other in enumerate(conversation.turns) if other is turn)


class _Rendered(NamedTuple):
    """The first turns of a conversation, rendered once: the prompt of every later turn begins with them."""

    conversation: Conversation
    sections: list[Section]
    ends: list[tuple[int, int]]  # of what each turn's texts stand on, and of the turn
    shown: dict[str, str]  # what a judge is shown of the texts

    def show(self, sections: Iterable[Section]) -> None:
        self.shown.update({text: visible(text) for _, text in sections if text not in self.shown})


_LATEST: list[_Rendered] = []


def _rendered(conversation: Conversation, end: int) -> _Rendered:
    if not _LATEST or (latest := _LATEST[0]).conversation is not conversation:
        _LATEST[:] = [latest := _Rendered(conversation, [], [], {})]
    for index, turn in enumerate(conversation.turns[len(latest.ends) : end], len(latest.ends)):
        name, sections = f"turn {index + 1}, agent", _work(conversation, index)
        texts_from = len(latest.sections) + len(sections)
        sections += [Section(name, text) for text in turn_texts(turn)]
        sections += [Section(f"{name} shows", json_text(payload)) for payload in turn.payloads]
        latest.show(sections)
        latest.sections.extend(sections)
        latest.ends.append((texts_from, len(latest.sections)))
    return latest


def dialogue_sections(conversation: Conversation, end: int | None = None) -> list[Section]:
    """Renders whole turns: all, or the first `end`."""
    rendered = _rendered(conversation, turns := len(conversation.turns[:end]))
    return rendered.sections[: rendered.ends[turns - 1][1] if turns else 0]


def spoken_sections(conversation: Conversation) -> list[Section]:
    """Renders only the messages of user and agent."""
    return [section for section in dialogue_sections(conversation) if section.name.endswith(_SPOKEN)]


def reference_sections(turn: Turn, number: int) -> list[Section]:
    """Renders the sources that the answer of a turn was made from, the first 100 of them."""
    references = enumerate(turn.grounded.references if turn.grounded else [])
    sections = (Section(f"turn {number}, source {i}", reference_text(source)) for i, source in references)
    return _limited(number, "sources", sections)


def _limited(number: int, word: str, results: Iterable[Section]) -> list[Section]:
    """Returns the first sections about a turn, and one that says how many more there are."""
    listed = list(results)
    more = len(listed) - MAX_REFERENCES
    note = [Section(f"turn {number}, {more} more {word} are not shown", "")] if more > 0 else []
    return listed[:MAX_REFERENCES] + note


def reference_text(reference: Reference) -> str:
    """Returns title, texts and fields of a source."""
    data = [json_text(reference.data)] if reference.data else []
    return "\n".join([*([reference.title] if reference.title else []), *reference.texts, *data])


class EvidenceTexts(NamedTuple):
    """The texts of sections by what they are to an answer; see `ground`."""

    evidence: list[str]  # all but messages, failed calls and the agent's queries
    asked: list[str]  # messages of the user
    failed: list[str]  # calls that failed
    earlier: list[str]  # messages of the agent


def evidence_texts(sections: Iterable[Section]) -> EvidenceTexts:
    """Returns the texts of sections that an answer may stand on."""
    held = EvidenceTexts([], [], [], [])
    for section in sections:
        name, text = section
        if text and isinstance(section, _FailedCall):
            held.failed.append(text)
        elif text and not name.endswith(_NO_EVIDENCE):
            held.evidence.append(text)
        elif text and name.endswith(_OF_THE_USER):
            held.asked.append(text)
        elif text and name.endswith(_OF_THE_AGENT):
            held.earlier.append(text)
    return held


def _work(conversation: Conversation, index: int) -> list[Section]:
    turn, number = conversation.turns[index], index + 1
    sections = [Section(f"turn {number}, user", turn.user)] if turn.user else []
    sections += _calls(f"turn {number}, user's tool", turn.user_tool_calls, turn.user_tool_responses)
    sections += _calls(f"turn {number}, tool", turn.tool_calls, turn.tool_responses)
    by_turn = conversation.meta.get(GROUNDING)
    if isinstance(by_turn, list) and index < len(by_turn) and by_turn[index]:
        sections += _search_sections(by_turn[index], number)
    sections += reference_sections(turn, number)
    if turn.transfers:
        sections.append(Section(f"turn {number}, handed over to", "\n".join(turn.transfers)))
    if turn.variables:
        sections.append(Section(f"turn {number}, variables set", json_text(turn.variables)))
    return sections


def _calls(name: str, calls: Sequence[ToolCall], responses: Sequence[ToolResponse]) -> Iterable[Section]:
    def answer(response: ToolResponse) -> str:
        text = "" if response.response is None else json_text(response.response)
        failed = "the call failed" if response.error is True else f"the call failed: {response.error}"
        return f"{failed}\n{text}" if response.error else text

    paired = pair_responses(calls, responses)
    used = {id(response) for response in paired}
    for i, (call, response) in enumerate(zip(calls, paired, strict=True), 1):
        kind = _FailedCall if has_failed(response, call.name or "", call.args) else Section
        yield kind(f"{name} call {i}", f"{call.name or ''} {json_text(call.args or {})}")
        if response is None:
            yield Section(f"{name} result {i} was not recorded", "")
        else:
            yield Section(f"{name} result {i}", answer(response))
    for response in responses:
        if id(response) not in used:
            yield Section(f"{name} result without a call", f"{response.name or ''} {answer(response)}")


_NOT_SHOWN = frozenset(("search_entry_point", "google_maps_widget_context_token"))
_QUERIES = ("web_search_queries", "image_search_queries", "retrieval_queries")

_SHOWN_OF_CHUNKS = ("title", "uri", "domain", "text")
_DEEPEST = 3


def _search_sections(grounding: JsonValue, number: int) -> list[Section]:
    """Renders what a model's own search gave: the grounding metadata of a turn.

    Chunks of `google_search` hold an address and a title; what the sources say stands in
    `grounding_supports`, as texts that the search attributes to chunks. A text that it attributes to no chunk
    is left out, as are rendered search suggestions (`search_entry_point`, HTML).
    """
    sections: list[Section] = []
    rest: list[JsonValue] = []
    first = 1

    def taken(metadata: JsonObject, *keys: str) -> list[JsonValue]:  # what is no list stays
        return [v for key in keys if isinstance(metadata.get(key), list) for v in metadata.pop(key)]

    for value in grounding if isinstance(grounding, list) else [grounding]:
        metadata = {snake_case(key): item for key, item in value.items()} if isinstance(value, dict) else {}
        chunks, supports = taken(metadata, "grounding_chunks"), taken(metadata, "grounding_supports")
        queries = taken(metadata, *_QUERIES)
        searches = (Section(f"turn {number}, searched for", str(query)) for query in queries)
        sources = (
            Section(f"turn {number}, source {i} found by search", "\n".join(_lines(chunk, _DEEPEST)))
            for i, chunk in enumerate(chunks, first)
        )
        attributed, without_source = list[Section](), 0
        for support in supports:
            stated = {snake_case(k): v for k, v in support.items()} if isinstance(support, dict) else {}
            segment, indices = stated.get("segment"), stated.get("grounding_chunk_indices")
            text = segment.get("text") if isinstance(segment, dict) else None
            numbers = [i for i in indices if type(i) is int and i >= 0] if isinstance(indices, list) else []
            known = sorted({i for i in numbers if i < len(chunks) or not chunks})
            if isinstance(text, str) and text and known:
                named = ", ".join(str(first + i) for i in known)
                name = f"turn {number}, words that the search attributes to sources {named}"
                attributed.append(Section(name, text))
            else:
                without_source += 1
        if without_source:
            name = f"turn {number}, {without_source} texts without a source are not shown"
            attributed.append(Section(name, ""))
        for word, shown in (("searches", searches), ("sources", sources), ("attributed texts", attributed)):
            sections += _limited(number, word, shown)
        first += len(chunks)
        left = {k: item for k, item in metadata.items() if k not in _NOT_SHOWN and item not in (None, [])}
        if left or not isinstance(value, dict | None):
            rest.append(left or value)
    return [*sections, Section(f"turn {number}, sources found", json_text(rest))] if rest else sections


def _lines(chunk: JsonValue, depth: int) -> Iterator[str]:
    """Yields title, address and text of a source, wherever they stand in its chunk."""
    if isinstance(chunk, dict) and depth:
        for key in _SHOWN_OF_CHUNKS:
            if isinstance(chunk.get(key), str):
                yield chunk[key]
        for item in chunk.values():
            yield from _lines(item, depth - 1)


def rules_of(persona: str | None) -> list[str]:
    """Returns the rules of a persona; those of any user where there is none of that name."""
    texts = {block.partition(":")[0]: block for block in wording("user_rules").split("\n\n")}
    names = dict(line.split(": ", 1) for line in wording("personas").splitlines())
    return [texts[name] for name in names.get(persona or "ANY", names["ANY"]).split("; ")]


def aspects_of(criterion: str) -> list[str]:
    """Returns what a criterion of whole conversations asks about, in order."""
    blocks = (block.partition(":\n") for block in wording("aspects").split("\n\n"))
    return next(aspects.splitlines() for name, _, aspects in blocks if name == criterion)


# One text file a task; those of `reworded` are in other words, without examples.
_TEXTS = files("turnwise.transforms.judging") / "wordings"


@cache
def wording(name: str, folder: str = "asked") -> str:
    """Returns the words of a task, or of `rules`, `user_rules`, their `personas`, and `aspects`."""
    return (_TEXTS / folder / f"{name}.txt").read_text("utf-8").strip()


@cache
def reworded_tasks() -> tuple[str, ...]:
    """Returns the names of the wordings that there are in other words."""
    return tuple(sorted(text.name.removesuffix(".txt") for text in (_TEXTS / "reworded").iterdir()))


_ANALYSIS = "analysis"


class Reply(BaseModel):
    """Base of answer schemas; unknown keys make an answer unusable.

    >>> import turnwise
    >>> class Grade(turnwise.Reply):
    ...     grade: int
    >>> Grade(grade=3)
    Grade(grade=3)
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    def inapplicable(self) -> Sequence[bool]:
        """Returns for each of its verdicts whether it says that the question does not apply."""
        return (False,)


class ReasonedReply(Reply):
    """Base of answers and of entries of answers that begin with an analysis.

    The analysis is for the judge itself and is in no score. An answer counts without one, and with one that
    is longer than asked for.
    """

    analysis: str = Field(
        default="",
        description="Thinking, before anything is decided: what is asked, what the material shows.",
    )


def asked_schema(model: type[BaseModel]) -> JsonObject:
    """Returns the JSON schema that an answer is asked for by, its `analysis` required."""
    schema, base = model.model_json_schema(), ReasonedReply.model_json_schema()["properties"][_ANALYSIS]
    for part in (schema, *schema.get("$defs", {}).values()):
        properties = part.get("properties", {})
        if properties.get(_ANALYSIS) == base:
            properties[_ANALYSIS].pop("default")
            part["required"] = [_ANALYSIS, *part.get("required", [])]
    return schema


UNREAD = "unread"
V = TypeVar("V", bool, int)


class StatementVerdict(ReasonedReply):
    """Verdict on one numbered item."""

    number: int = Field(description="Number of the item, as in its section's name.")
    quote: str = Field(description="The words of the material that decide; empty if there are none.")
    reason: str = Field(description="Why, in one or two sentences.")
    verdict: Literal["yes", "no"]


class StatementReply(Reply):
    """One entry for every numbered item."""

    verdicts: list[StatementVerdict]


def statement_sections(word: str, texts: Sequence[str]) -> list[Section]:
    """Returns texts as numbered sections, `{word} 1` and so on."""
    return [Section(f"{word} {i}", text) for i, text in enumerate(texts, 1)]


def votes_of(verdicts: Iterable[tuple[int, V]], count: int) -> list[V | None]:
    """Returns the votes on numbered items; one that is left out, or answered in two ways, abstains.

    Beside a number that was not asked about all abstain: who counts from 0, or splits an item, means others.
    """
    answers: list[set[V]] = [set() for _ in range(count)]
    for number, verdict in verdicts:
        if not 1 <= number <= count:
            return [None] * count
        answers[number - 1].add(verdict)
    return [next(iter(answer)) if len(answer) == 1 else None for answer in answers]


def share(scores: Sequence[float | None], reason: str, threshold: float | None) -> Score:
    """Returns the share of yes among some scores, 0..1.

    The value covers the judged items. While items are unjudged, the outcome is never PASS, and FAIL only if
    yes for all of them would not reach the threshold.
    """
    judged = [score for score in scores if score is not None]
    missing = len(scores) - len(judged)
    if not judged:
        return Score(None, reason=reason)
    value = sum(judged) / len(judged)
    score = Score(value)
    if missing:
        score.reason = unjudged_reason(missing, len(scores), reason)
        best = (sum(judged) + missing) / len(scores)
        if threshold is not None and best < threshold:
            score.threshold, score.outcome = threshold, "FAIL"
    elif threshold is not None:
        score.threshold, score.outcome = threshold, "PASS" if value >= threshold else "FAIL"
    return score


def unjudged_reason(missing: int, total: int, reason: str) -> str:
    """Returns why something has no value: the reason alone where nothing at all was judged."""
    return reason if missing == total else f"{missing} of {total} not judged: {reason}"


def reply_score(
    answers: Answers[Any], reply: BaseModel, value: float | None, label: str | None, **votes: JsonValue
) -> Score:
    """Returns the score that a reply decides, with its `reason`, its quotes and the votes."""
    prompt, stated = answers.question.prompt, reply.model_dump()
    quotes: JsonObject = {}
    for name in stated:
        if name.endswith("quote"):
            quotes |= quoted(stated[name], prompt.evidence, name)
    details = {**quotes, **votes, **left_out(prompt)}
    return Score(value, label=label, explanation=stated["reason"], details=details, judge=answers.use)


def left_out(prompt: Prompt) -> JsonObject:
    """Returns the number of omitted characters of evidence and of judged text, as details."""
    details = {"left_out": prompt.left_out, UNREAD: prompt.unread}
    return {name: count for name, count in details.items() if count}


def unread_reason(count: int) -> str:
    """Returns the reason of a score whose judged text was truncated."""
    return f"{count} characters of what was to be judged were not read"
