"""The effect of a call: by config, declaration or the tool's name, and by arguments that state it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import product
from typing import Final

from msgspec import Struct, field

from turnwise.schemas.conversation import (
    GUESS,
    UNKNOWN,
    Effect,
    ExpectedTurn,
    TimedSpan,
    ToolCall,
    ToolDeclaration,
    ToolEffect,
    ToolResponse,
    ToolSetting,
    Turn,
)
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.rows import TranscriptCall
from turnwise.transforms.effects.catalog import (
    ANSWERING,
    NOUNS_TOO,
    READ,
    effect_of_verb,
    infer_effect,
    last_words,
    verb_of_name,
    words_of,
)
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.matching.calls import pair_responses, tool_identity
from turnwise.transforms.text.patterns import glob_matches
from turnwise.transforms.text.words import word_set

DESTRUCTIVE: Final = "destructive"
_CALLING = frozenset(("call", "execute", "invoke", "perform", "run", "use"))
_TOOL_WORDS = frozenset(("action", "api", "command", "function", "method", "operation", "skill", "tool"))
_GLOB_MARKS = frozenset("*?[")


class ToolCatalog:
    """Effects of the tools of one conversation, by the config's `tools` and what log and case declare.

    For effect, idempotence and destructiveness separately, the config takes precedence over the declaration
    of the log or case, and that over the inference. In the config, a full name takes precedence over globs;
    the first matching glob counts.
    """

    def __init__(self, settings: Mapping[str, ToolSetting], declared: Iterable[ToolDeclaration] = ()) -> None:
        self._settings = settings
        self._declared: dict[str, ToolDeclaration] = {}
        for tool in declared:
            self._declared.setdefault(tool.name, tool)
        self._known: dict[str, ToolEffect] = {}
        self._whatever_args: dict[str, ToolEffect] = {}  # of calls, by their name
        self._are_lookups: bool | None = None

    @property
    def declared(self) -> list[str]:
        """Names of the declared tools."""
        return list(self._declared)

    def effect(self, name: str) -> ToolEffect:
        """Returns the effect of a tool."""
        if name not in self._known:
            self._known[name] = self._stated(name, self._inferred(name))
        return self._known[name]

    def effect_of(self, call: ToolCall) -> ToolEffect:
        """Returns the effect of a call; a tool that calls another tool has the effect of that tool.

        Where the effect of the tool is inferred, the arguments may state the one of the call.
        """
        known, args = self._whatever_args.get(call.name or ""), call.args
        may_state = args and (known is None or known.source == GUESS) and may_state_effect(args)
        if known is not None and not may_state:
            return known
        name = called_tool(call)
        tool = self.effect(name)
        if tool.is_guess and (may_state or _reads_arguments(name)):
            effect = effect_of_call(name, inferred := self._inferred(name), args or {})
            return tool if effect is inferred else self._stated(name, effect)
        if not calls_tools(call.name or ""):
            self._whatever_args[name] = tool
        return tool

    def are_lookups(self, case: Iterable[ExpectedTurn]) -> bool:
        """Returns whether a case, that of the catalog, expects only look-ups; worked out once."""
        if self._are_lookups is None:
            calls = (call for turn in case for call in turn.tool_calls or ())
            self._are_lookups = all(self.effect_of(call).effect == "read" for call in calls)
        return self._are_lookups

    def guesses(self, calls: Iterable[ToolCall]) -> dict[str, str]:
        """Returns the called tools whose effect is inferred, with it; unknown if it is of any call."""
        guesses: dict[str, str] = {}
        for call in calls:
            name, tool = called_tool(call), self.effect_of(call)
            is_telling = tool.effect != "read" or name not in guesses
            if tool.is_guess and is_telling and guesses.get(name) != UNKNOWN:
                guesses[name] = tool.effect
        return guesses

    def _inferred(self, name: str) -> ToolEffect:
        declared = self._declared.get(name)
        return infer_effect(name, declared.description if declared else None)

    def _stated(self, name: str, effect: ToolEffect) -> ToolEffect:
        declared = self._declared.get(name)
        setting = self._settings.get(name) if _GLOB_MARKS.isdisjoint(name) else None  # a glob is no name
        if declared is not None:
            effect = _overridden(effect, declared, declared.origin)
        if setting is None:
            globs = (item for item in self._settings.items() if not _GLOB_MARKS.isdisjoint(item[0]))
            setting = next((tool for glob, tool in globs if glob_matches(glob, name)), None)
        return effect if setting is None else _overridden(effect, setting, "config")


def _overridden(base: ToolEffect, stated: ToolDeclaration | ToolSetting, source: str) -> ToolEffect:
    """Returns an effect with the values that a source of higher precedence states; what destroys writes."""
    effect: Effect | None = stated.effect
    if effect is None and base.effect == UNKNOWN and stated.destructive:
        effect = "write"
    if effect is not None and effect != base.effect:
        base = base._replace(idempotent=effect != "write", destructive=False)
    return ToolEffect(
        effect or base.effect,
        base.idempotent if stated.idempotent is None else stated.idempotent,
        base.destructive if stated.destructive is None else stated.destructive,
        source if effect else base.source,
    )


def called_tool(call: ToolCall) -> str:
    """Returns the name of the tool that a call runs.

    For a tool that calls tools (`call_tool`, `execute_action`) it is the value of an argument that names a
    tool (`tool_name`, `action`), if there is one; else the name of the call.
    """
    name = call.name or ""
    for key, value in (call.args or {}).items() if calls_tools(name) else ():
        words = words_of(key)
        names_tool = not _TOOL_WORDS.isdisjoint(words) and words[-1] in (*_TOOL_WORDS, "name", "id")
        is_word = isinstance(value, str) and len(value.split()) == 1 and value == value.strip()
        if is_word and (names_tool or words == ["name"]):
            return value
    return name


@lru_cache(maxsize=4096)
def calls_tools(name: str) -> bool:
    """Returns whether a tool calls other tools (`call_tool`, `execute_action`), by its name."""
    words = words_of(name)
    return len(words) > 1 and words[0] in _CALLING and words[-1] in _TOOL_WORDS


# Infers the effect of a call from arguments that state it: a query, an action or an HTTP method.

_ANSWERS = word_set("""answer content explanation message output plan reason response result status success
    summary text thought""")
"""Parameters of tools that give an answer or a plan."""

_ACTION = re.compile(r"[\w.:/-]{1,80}(?: [\w.-]{1,80})?")
_LONGEST_QUERY = 20_000
_ACTION_KEYS = word_set("action cmd command method op operation verb")
_HTTP = frozenset(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"))
_ADDRESSES = word_set("endpoint path uri url")
_ASKED_FOR = word_set("info options status")
_NAVIGATING = word_set("click open press tap")
_SHELL = word_set("chmod chown cp kill mkdir mv rm rmdir shred touch unlink")
"""Commands of a shell that write; what another one does is unknown."""

_CALLED_WITH = word_set("args arguments input inputs kwargs parameters params payload")
_NOT_RUN = word_set("""analyse analyze check checker dryrun estimate explain format formatter lint linter
    parse parser review translate validate validator verify""")
"""Words of tools that look at a query and do not run it."""

_OPERAND = re.compile(
    r"[a-z]|(?:addend|first|num|number|operand|second|term|val|value)s?(?:_?\w)?|\w+_number"
)
_SEARCHING = word_set("autocomplete browse faq find google search suggest")
"""Words of tools that are asked in everyday words, as for a `drop table lamp`."""
_STORES_OF_QUERIES = word_set("""bigquery clickhouse cypher database databases db duckdb mysql oracle postgres
    postgresql redshift snowflake sql sqlite warehouse""")
_NOT_CODE = re.compile(
    r"```(?:\w+(?=\s))?|--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|\"[^\"]*\"", re.DOTALL
)
_QUERYING = (
    "alter|attach|begin|call|comment|commit|copy|create|delete|desc|describe|drop|exec|execute|explain|flush"
    "|fragment|grant|insert|load|match|merge|mutation|optional|pragma|query|rename|replace|revoke|rollback"
    "|select|set|show|start|subscription|table|truncate|update|upsert|use|vacuum|values|with"
)
_may_be_query = re.compile(rf"[\s(;]*(?:--|/\*|```|db\.|\{{|(?:{_QUERYING})\b)").match
"""Of texts in lower case: without regard to case it takes four times as long."""
_QUERY_STARTS = frozenset(
    "".join(letters)
    for word in _QUERYING.split("|")
    for letters in product(*[(letter, letter.upper()) for letter in word[:3]])
)
"""The first three letters of queries, in any case."""
_IN_CAPITALS = re.compile(
    r"(?:SELECT\s[^;]*?\b(?:FROM|INTO)|WITH\s[^;]*?\bAS|INSERT\s[^;]*?\bINTO|UPDATE\s[^;]*?\bSET|DELETE\s[^;]*?\bFROM"
    r"|(?:DROP|TRUNCATE|ALTER|CREATE)\s[^;]*?\b(?:COLUMN|DATABASE|INDEX|ROLE|SCHEMA|TABLE|USER|VIEW)"
    r"|(?:MERGE|REPLACE)\s+INTO|(?:GRANT|REVOKE)\s[^;]*?\bON|EXPLAIN|SHOW)\b"
    r"|TRUNCATE\s+[\w.]+\s*\Z|SELECT\s+[\w.]+\s*\("
)
_STATEMENT = re.compile(
    r"delete\s+from\s+[\w.`\[\]]+\s*(?:\Z|(?:where|using|returning|limit|as)\b|\w+\s+where\b)|(?:drop"
    r"|truncate)\s+(?:table|view|index|database|schema)\s+(?:if\s+exists\s+)?[\w.`\[\]]+\s*(?:\Z|,|cascade\b"
    r"|restrict\b)|insert\s+(?:\w+\s+){0,2}into\s+\S+\s*(?:\(|values\b|select\b|set\b|default\b)"
    r"|update\s+\S+(?:\s+\w+)?\s+set\s+[\w.`]+\s*=|(?:merge|replace|upsert)\s+into\s+\S+|(?:create"
    r"|alter)\s+table\s+(?:if\s+not\s+exists\s+)?\S+\s*(?:\(|(?:add|alter|as|drop|rename)\b)"
    r"|select\s+(?:distinct\s+)?(?:\*|[\w.]+(?:\([^()]*\))?(?:\s*,\s*[\w.*]+(?:\([^()]*\))?)*)\s+(?:from"
    r"|into)\s|with\s+(?:recursive\s+)?\w+\s*(?:\([^()]*\)\s*)?as\s*\(|(?:optional\s+)?match\s*\(|(?:create"
    r"|merge)\s*\(\w*:|call\s+[\w.]+\(|exec(?:ute)?\s+\w+[_.]\w+",
    re.IGNORECASE,
)
_DESTROYING = re.compile(
    r"\A(?:delete|drop|truncate)\b|\bdelete\s+(?:[\w.,*]+\s+)?from\b|\bthen\s+delete\b|\Aalter\b.*\bdrop\b"
    r"|\A(?:optional\s+)?match\b.*\bdelete\b",
    re.DOTALL,
)
_WRITING = re.compile(
    r"\A(?:alter|attach|comment|copy|create|grant|insert|load|merge|rename|replace|revoke|update|upsert)\b"
    r"|\binsert\s+(?:\w+\s+)?into\b|\bupdate\s+\S+\s+(?:\w+\s+)?set\b|\bmerge\s+into\b|\A(?:select|with)\b.*\binto\b"
    r"|\A(?:optional\s+)?match\b.*\b(?:create|merge|remove|set)\b|\Apragma\s+[\w.]+\s*=",
    re.DOTALL,
)
_ASKING_SQL = re.compile(
    r"(?:begin|commit|desc|describe|explain|match|optional|pragma|rollback|select|set|show|start|table|use|values|with)\b"
)
_DOING = re.compile(r"(?:call|exec|execute|flush|vacuum)\b")
_EXPLAINING = re.compile(r"explain\b(?!.*\banaly[sz]e\b)", re.DOTALL)
_COUNTING = re.compile(r"\bset\b.*?=[^,=]*?\w\s*[-+*/|]")
_MUTATION = re.compile(r"(?:\A|[}\s])mutation\b[^{}]*\{\s*(?:\w+\s*:\s*)?(\w+)")
_GRAPHQL = re.compile(r"\s*(?:query|mutation|subscription|fragment)\b[^{}]*\{|\s*\{\s*\w+\s*[({\w}]")
_may_be_action = lru_cache(4096)(lambda key: last_words(key)[-1] in _ACTION_KEYS or key in _CALLED_WITH)


def may_state_effect(args: JsonObject) -> bool:
    """Returns whether the arguments of a call may state its effect: at a glance, which most do not."""
    for key, value in args.items():
        kind = type(value)
        if kind is str:
            start = value[:3]  # three letters tell most texts from queries, at less cost than the pattern
            is_query = (start in _QUERY_STARTS or not start.isalnum()) and _may_be_query(value.lower())
            if is_query or _may_be_action(key):
                return True
        elif kind is dict:
            if may_state_effect(value):
                return True
        elif kind is list and any([may_state_effect({key: item}) for item in value]):
            return True
    return False


@lru_cache(maxsize=4096)
def _reads_arguments(name: str) -> bool:
    """Returns whether only its arguments say what a call of a tool does."""
    words = last_words(name)
    return words[-1] == "add" or "_".join(words) in ANSWERING


def effect_of_call(name: str, effect: ToolEffect, args: JsonObject) -> ToolEffect:
    """Returns the effect of a call, which its arguments may state, of a tool whose effect is inferred.

    What a query does (SQL, Cypher, GraphQL, MongoDB) decides, and then an action (`action: create`,
    `method: DELETE`), but not against a verb that begins the name: `get_log(action: delete)` may filter.
    """
    words = last_words(name)
    if effect.effect == "handoff":
        return effect
    if "_".join(words) in ANSWERING:
        is_answer = isinstance(args.get("plan", []), list) and all(key.lower() in _ANSWERS for key in args)
        return READ if is_answer else effect
    if words[-1] == "add" and _are_operands(args):
        return READ
    texts: list[tuple[str, str, bool]] = []  # with their keys, and whether they stand outside of lists
    left: list[tuple[str, JsonValue, bool]] = [("", args, True)]
    while left:
        key, value, is_outside = left.pop()
        # Arguments of a called tool may stand there as JSON.
        if isinstance(value, str) and key in _CALLED_WITH and value.lstrip().startswith("{"):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if isinstance(value, str):
            texts.append((key, value, is_outside))
        elif isinstance(value, dict):
            left += [(inner, item, is_outside) for inner, item in value.items()]
        elif isinstance(value, list):
            left += [(key, item, False) for item in value]
    queries = [
        query
        for key, text, _ in (texts if _NOT_RUN.isdisjoint(words) else ())
        if _may_be_query(text.lower()) and (query := _query_effect(text, {*words, *last_words(key)}))
    ]
    if queries:
        strongest = max(queries, key=_strength)
        return strongest if effect.effect != "write" else max(effect, strongest, key=_strength)
    stated_in = ((key, text) for key, text, is_outside in texts if is_outside or text in _HTTP)
    actions = [action for key, text in stated_in if (action := _action_effect(key, text, args))]
    if not actions:
        return effect
    stated, verb = max(actions, key=_strength), verb_of_name(name)
    is_plain = verb is not None and verb.verb == words[0] and (len(words) > 1 or verb.verb not in NOUNS_TOO)
    if not is_plain or effect.effect == UNKNOWN:
        return stated
    if effect.effect == "write" or stated.effect == "read":
        return effect
    is_http = any(text.upper() in _HTTP and last_words(key)[-1] == "method" for key, text, _ in texts)
    return stated if is_http else ToolEffect(UNKNOWN, False, False, GUESS)


def _strength(effect: ToolEffect) -> int:
    return effect.destructive + ("read", UNKNOWN, "handoff", "write").index(effect.effect)


def _are_operands(args: JsonObject) -> bool:
    """Returns whether arguments are the two numbers, or the list of them, of a calculation."""
    values = [item for value in args.values() for item in (value if isinstance(value, list) else [value])]
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    is_one = len(args) == 1 or len(values) == 2
    return len(values) > 1 and is_one and are_numbers and all(map(_OPERAND.fullmatch, args))


def _action_effect(key: str, text: str, args: JsonObject) -> ToolEffect | None:
    """Returns the effect of an argument that names an action; None: it names none that is known."""
    words, action = last_words(key), text.strip()
    if words[-1] not in _ACTION_KEYS or words[0] not in (words[-1], "http", "request"):
        return None
    if words in (("command",), ("cmd",)) and len(action.split()) > 1 and action.split()[0] in _SHELL:
        action = action.split()[0]
    if words[-1] == "method" and (len(words_of(action)) == 1 or action.upper() in _HTTP):
        has_address = any(not _ADDRESSES.isdisjoint(words_of(name)) for name in args)
        is_http = action.upper() in _HTTP and (action.isupper() or len(words) > 1 or has_address)
        return infer_effect(action) if is_http else None
    if action.lower() in _ASKED_FOR:
        return READ
    verb = verb_of_name(action) if _ACTION.fullmatch(action) else None
    if verb is None or not verb.verb or verb.verb in _NAVIGATING:
        return None
    operands = {name: value for name, value in args.items() if value != text}
    return READ if verb.verb == "add" and _are_operands(operands) else effect_of_verb(verb, action)


def _query_effect(text: str, words: set[str]) -> ToolEffect | None:
    """Returns the effect of a query; None: the text is none, or it is unknown what it does."""
    text = text[:_LONGEST_QUERY]
    if _GRAPHQL.match(text):
        fields = [infer_effect(match[1]) for match in _MUTATION.finditer(text)]
        if fields:
            return ToolEffect("write", False, any(field.destructive for field in fields), GUESS)
        return READ if "graphql" in words or not text.lstrip().startswith("{") else None
    if text.lstrip().startswith("db."):
        command = re.match(r"\s*db(?:\.\w+)*?\.(\w+)\(", text)
        effect = infer_effect(command[1]) if command else None
        return effect if effect and effect.effect != UNKNOWN else None
    bare = _NOT_CODE.sub(lambda match: " " if match[0][0] in "-/`" else "x", text)
    statements = [part for piece in bare.split(";") if (part := piece.strip("( \t\r\n"))]
    # Where the words (of the tool and the parameter) name a database, any statement is a query.
    if (
        _STORES_OF_QUERIES.isdisjoint(words)
        and not any(map(_IN_CAPITALS.match, statements))
        and not (_SEARCHING.isdisjoint(words) and any(map(_STATEMENT.match, statements)))
    ):
        return None
    effects: list[ToolEffect] = []
    for statement in map(str.lower, statements):
        if _EXPLAINING.match(statement):
            effects.append(READ)
        elif _DESTROYING.search(statement):
            effects.append(ToolEffect("write", True, True, GUESS))
        elif _WRITING.search(statement):
            is_set = statement.startswith("update") and not _COUNTING.search(statement)
            effects.append(ToolEffect("write", is_set, False, GUESS))
        elif _DOING.match(statement):
            effects.append(ToolEffect(UNKNOWN, False, False, GUESS))
        elif _ASKING_SQL.match(statement):
            effects.append(READ)
    return max(effects, key=_strength, default=None)


# The calls of a conversation, with their effects and failures.

_MOST_TOOLS = 100
_LONGEST_NAME = 200


class MadeCalls(Struct):
    """The calls of one actor in a conversation."""

    turns: list[list[TranscriptCall]] = field(default_factory=list)
    number: int = 0
    errors: int = 0  # how many failed
    destructive: int = 0  # how many of the others destroyed something
    # Those of the others that destroyed something, or whose effect is unknown or guessed to be a write.
    changing: list[list[ToolCall]] = field(default_factory=list)  # one list a turn
    guessed: set[str] = field(default_factory=set)  # tools whose effect is guessed or unknown
    guessed_tools: list[str] = field(default_factory=list)  # their names as `tool_names` gives them

    def add(
        self,
        calls: Sequence[ToolCall],
        responses: Sequence[ToolResponse],
        spans: list[TimedSpan],
        catalog: ToolCatalog,
    ) -> None:
        """Adds the calls of a turn."""
        made: list[TranscriptCall] = []
        changing: list[ToolCall] = []
        self.turns.append(made)
        self.changing.append(changing)
        if not calls:
            return
        self.number += len(calls)
        answers = pair_responses(calls, responses)
        for index, call in enumerate(calls):
            response, args, tool = answers[index], call.args, call.name or ""
            if calls_tools(tool):
                tool = called_tool(call)
            effect, _, is_destructive, source = catalog.effect_of(call)
            error: bool | str | None = None
            if source == GUESS:
                self.guessed.add(tool)
            if response is not None and has_failed(response, tool, args):
                error = response.error or True
                self.errors += 1
            elif is_destructive:
                self.destructive += 1
                changing.append(call)
            elif source == GUESS and (effect == "write" or effect == UNKNOWN):
                changing.append(call)
            seconds = None
            for span in spans:
                if tool_identity(span) == tool_identity(call) or span.name == call.name:
                    spans.remove(span)  # the next call of the tool takes its next one
                    seconds = span.seconds
                    break
            row: TranscriptCall = {
                "name": call.name,
                "args": args,
                "result": None if response is None else response.response,
                "error": error,
                "effect": DESTRUCTIVE if is_destructive else effect,
                "seconds": seconds,
            }
            if call.inside:
                row["inside"] = call.inside
            made.append(row)


def agent_calls(turns: Iterable[Turn], catalog: ToolCatalog) -> MadeCalls:
    """Returns the agent's calls."""
    made = MadeCalls()
    for turn in turns:
        spans = [span for span in turn.spans if span.type == "TOOL"] if turn.spans else []
        made.add(turn.tool_calls, turn.tool_responses, spans, catalog)
    made.guessed_tools = tool_names(made.guessed)
    return made


def tool_names(tools: Iterable[str]) -> list[str]:
    """Returns names of tools, sorted, each once and at most 200 characters long; the first 100."""
    return sorted({tool[:_LONGEST_NAME] for tool in tools})[:_MOST_TOOLS]
