"""Looks up the effects of a conversation's tools, by config, declaration or inference."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import (
    UNKNOWN,
    Conversation,
    Effect,
    ToolCall,
    ToolDeclaration,
    ToolEffect,
    ToolSetting,
)
from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.effects.catalog import infer_effect, words_of
from turnwise.transforms.text.patterns import glob_matches

CONFIG = "config"
_CALLING = frozenset(("call", "execute", "invoke", "perform", "run", "use"))
_TOOL_WORDS = frozenset(("action", "api", "command", "function", "method", "operation", "skill", "tool"))
_GLOB_MARKS = frozenset("*?[")


class ToolSettings(NamedTuple):
    """Tool settings of the config.

    Attributes:
        names: Settings by full name.
        globs: Settings by glob, in the order of the config.
    """

    names: Mapping[str, ToolSetting]
    globs: tuple[tuple[str, ToolSetting], ...]


def sort_settings(tools: Mapping[str, ToolSetting]) -> ToolSettings:
    """Separates names from globs (`*`, `?`, `[...]`)."""
    globs = tuple((name, tool) for name, tool in tools.items() if _GLOB_MARKS & set(name))
    return ToolSettings({name: tool for name, tool in tools.items() if not _GLOB_MARKS & set(name)}, globs)


class ToolCatalog:
    """Effects of the tools of one conversation.

    For effect, idempotence and destructiveness separately, the config takes precedence over the declaration
    of the log or case, and that over the inference. In the config, a full name takes precedence over globs;
    the first matching glob counts.
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
        """Returns the effect of a tool."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._look_up(name)
        return known

    def effect_of(self, call: ToolCall) -> ToolEffect:
        """Returns the effect of a call; a tool that calls another tool has the effect of that tool."""
        return self.effect(called_tool(call))

    def guesses(self, names: Iterable[str]) -> dict[str, str]:
        """Returns the tools whose effect is inferred or unknown, with the effect."""
        found = {name: self.effect(name) for name in names}
        return {name: tool.effect for name, tool in found.items() if tool.is_guess}

    def _look_up(self, name: str) -> ToolEffect:
        declared = self._declared.get(name)
        effect = infer_effect(name, declared.description if declared else None)
        setting = self._settings.names.get(name) or self._glob(name)
        if declared is not None:
            effect = _overridden(effect, declared, declared.origin)
        return effect if setting is None else _overridden(effect, setting, CONFIG)

    def _glob(self, name: str) -> ToolSetting | None:
        return next((tool for glob, tool in self._settings.globs if glob_matches(glob, name)), None)


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


def conversation_tools(
    settings: ToolSettings, conversation: Conversation, case: EvalCase | None
) -> ToolCatalog:
    """Returns the catalog of a conversation's and its case's tools."""
    return ToolCatalog(settings, [*conversation.tools, *(case.tools if case else ())])


def called_tool(call: ToolCall) -> str:
    """Returns the name of the tool that a call runs.

    For a tool that calls tools (`call_tool`, `execute_action`) it is the value of an argument that names a
    tool (`tool_name`, `action`), if there is one; else the name of the call.
    """
    name = call.name or ""
    if not calls_tools(name):
        return name
    named = (v for key, v in (call.args or {}).items() if _is_tool_parameter(key) and _is_name(v))
    return next(named, name)


@lru_cache(maxsize=4096)
def calls_tools(name: str) -> bool:
    """Returns whether a tool calls other tools (`call_tool`, `execute_action`), by its name."""
    words = words_of(name)
    return len(words) > 1 and words[0] in _CALLING and words[-1] in _TOOL_WORDS


def _is_tool_parameter(parameter: str) -> bool:
    words = words_of(parameter)
    return bool(words) and (words == ["name"] or words[-1] in _TOOL_WORDS or _names_a_tool(words))


def _names_a_tool(words: list[str]) -> bool:
    return words[-1] in ("name", "id") and not _TOOL_WORDS.isdisjoint(words)


def _is_name(value: JsonValue) -> bool:
    return isinstance(value, str) and bool(value) and not any(map(str.isspace, value))
