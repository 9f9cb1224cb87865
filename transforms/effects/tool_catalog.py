"""What the tools of one conversation do: by the config, by declarations, or by a guess."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ToolCall
from turnwise.schemas.tools import ToolDeclaration, ToolEffect, ToolSetting
from turnwise.schemas.values import JsonValue
from turnwise.transforms.effects.inferred import guess_effect, words_of

CONFIG = "config"
_CALLING = frozenset(("call", "execute", "invoke", "perform", "run", "use"))
_TOOL_WORDS = frozenset(("action", "api", "command", "function", "method", "operation", "skill", "tool"))
_GLOB_MARKS = frozenset("*?[")


class ToolSettings(NamedTuple):
    """The config's tools.

    Attributes:
        names: By full name.
        globs: By a pattern of names, in the order of the config.
    """

    names: Mapping[str, ToolSetting]
    globs: tuple[tuple[str, ToolSetting], ...]


def sort_settings(tools: Mapping[str, ToolSetting]) -> ToolSettings:
    """Tells names from globs (`*`, `?`, `[...]`)."""
    globs = tuple((name, tool) for name, tool in tools.items() if _GLOB_MARKS & set(name))
    return ToolSettings({name: tool for name, tool in tools.items() if not _GLOB_MARKS & set(name)}, globs)


class ToolCatalog:
    """Looks up what tools do; every tool once.

    What the config says goes before what the log or the case declares, and that before the guess, for each
    of effect, idempotence and destructiveness alone. In the config a full name goes before globs; of those
    the first that fits counts.
    """

    def __init__(self, settings: ToolSettings, declared: Iterable[ToolDeclaration] = ()) -> None:
        self._settings = settings
        self._declared: dict[str, ToolDeclaration] = {}
        for tool in declared:
            self._declared.setdefault(tool.name, tool)
        self._known: dict[str, ToolEffect] = {}

    @property
    def declared(self) -> list[str]:
        """Names of the declared tools."""
        return list(self._declared)

    def effect(self, name: str) -> ToolEffect:
        """Returns what a tool does."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._look_up(name)
        return known

    def effect_of(self, call: ToolCall) -> ToolEffect:
        """Returns what a call does; a tool that calls another one does what that one does."""
        return self.effect(called_tool(call))

    def guesses(self, names: Iterable[str]) -> dict[str, str]:
        """Returns those tools whose effect is guessed, with the guess."""
        found = {name: self.effect(name) for name in names}
        return {name: tool.effect for name, tool in found.items() if tool.is_guess}

    def _look_up(self, name: str) -> ToolEffect:
        declared = self._declared.get(name)
        guess = guess_effect(name, declared.description if declared else None)
        setting = self._settings.names.get(name) or self._glob(name)
        if declared is not None:
            guess = _over(guess, declared.effect, declared.idempotent, declared.destructive, declared.origin)
        if setting is not None:
            guess = _over(guess, setting.effect, setting.idempotent, setting.destructive, CONFIG)
        return guess

    def _glob(self, name: str) -> ToolSetting | None:
        return next((tool for glob, tool in self._settings.globs if fnmatchcase(name, glob)), None)


def _over(
    base: ToolEffect, effect: str | None, idempotent: bool | None, destructive: bool | None, source: str
) -> ToolEffect:
    """Returns an effect with all that a nearer source says in place of its own."""
    if effect is not None and effect != base.effect:
        base = base._replace(idempotent=effect != "write", destructive=False)
    stated = {"effect": effect, "idempotent": idempotent, "destructive": destructive}
    fields = {name: value for name, value in stated.items() if value is not None}
    return base._replace(**fields, **({"source": source} if effect is not None else {}))  # type: ignore[arg-type]


def open_book(settings: ToolSettings, conversation: Conversation, case: EvalCase | None) -> ToolCatalog:
    """Returns the tools of a conversation and its case."""
    return ToolCatalog(settings, [*conversation.tools, *(case.tools if case else ())])


def called_tool(call: ToolCall) -> str:
    """Returns the name of the tool that does the work.

    It is the call's own, unless that is a tool to call tools (`call_tool`, `execute_action`) and an argument
    whose name speaks of a tool's name (`tool_name`, `action`) holds one.
    """
    name = call.name or ""
    if not _calls_tools(name):
        return name
    named = (v for key, v in (call.args or {}).items() if _speaks_of_a_tool(key) and _is_name(v))
    return next(named, name)


@lru_cache(maxsize=4096)
def _calls_tools(name: str) -> bool:
    words = words_of(name)
    return len(words) > 1 and words[0] in _CALLING and words[-1] in _TOOL_WORDS


def _speaks_of_a_tool(parameter: str) -> bool:
    words = words_of(parameter)
    return bool(words) and (words == ["name"] or words[-1] in _TOOL_WORDS or _names_a_tool(words))


def _names_a_tool(words: list[str]) -> bool:
    return words[-1] in ("name", "id") and not _TOOL_WORDS.isdisjoint(words)


def _is_name(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value) and not any(map(str.isspace, value))
