"""Detects failed calls by the tool's response."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from turnwise.schemas.conversation import ExpectedTurn, ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.effects.catalog import words_of
from turnwise.transforms.effects.mentions import ToolCatalog
from turnwise.transforms.matching.expectations import same_agent
from turnwise.transforms.text.cleaning import is_bad_status, plain_key, states_failure
from turnwise.transforms.text.words import word_set

_DEEPEST = 4
_MOST_PARTS = 20
_LONGEST_TEXT = 500
_HOLDING_KEYS = ("result", "data", "output", "response", "content", "body", "structuredcontent", "text",
                 "message", "detail", "msg")  # fmt: skip
_OPENING = re.compile(
    r"[\W_]*(?:(?:\w+ )?(?:errors?|failure)\b(?![ -]?free)|[\w.]*(?:error|exception)\b ?[:(]"
    r"|exception\b|traceback \(|fail(?:ed|ure)?\b|fatal\b|invalid\b|forbidden\b|unauthori[sz]ed\b|bad request"
    r"|(?:access|permission) denied|no such\b|not found\b|insufficient\b"
    r"|not (?:allowed|permitted|possible|authori[sz]ed)\b|http\S* [45]\d\d\b"
    r"|time ?out\b|connection (?:refused|reset|aborted|closed)|(?:service )?unavailable\b"
    r"|internal server error\b"
    r"|(?:http\S* |status(?: code)?:? ?)?[45]\d\d (?:[a-z-]+ ){0,3}"
    r"(?:error|request|unauthori[sz]ed|forbidden|found|conflict|gone|unavailable|timeout|gateway)\b"
    r"|fehler\b|erreur\b|échec\b|fallo\b|오류|실패|에러|エラー|失敗|错误|失败|錯誤)"
)
_SAYING = re.compile(
    r"\b(?:unable to|can ?not|can['’]t|could ?n['’]t|could not|not found|does ?n['’]t exist|does not exist"
    r"|(?:do|does|did)(?: not|n['’]t) have(?! to\b)"
    r"|fehlgeschlagen|konnten? nicht|nicht möglich|fall(?:ó|aron|ado)|no se (?:pudo|puede)|échoué"
    r"|n['’]a pas pu|não foi possível|falhou|non riuscit[oa]|fallit[oa]|mislukt"
    r"|not (?:allowed|permitted|authori[sz]ed)|failed|denied|timed out|is invalid|are invalid|not valid)\b"
)
_SAYING_UNSPACED = re.compile(r"失敗|できません(?:でした)?|실패|할 수 없|失败|无法|無法")
_SUCCEEDING = re.compile(
    r"\b(?:success(?:ful|fully)?|succeeded|completed|erfolgreich|abgeschlossen"
    r"|(?:0|nothing|never|none) failed"
    r"|(?:(?:did|has|have)(?: not|n['’]t)) fail(?:ed)?"
    r"|(?:no|not any|0|zero|without(?: any)?)(?: \w+)? (?:errors?|failures?|exceptions?|problems?|issues?)"
    r"|(?:errors|failures): (?:0|none)(?![^,;])"
    r"|(?:keine?n?|ohne) (?:\w+ )?(?:fehler|probleme?)|(?:aucune?|sans) (?:erreurs?|problème|échec)"
    r"|(?:sin|ning[úu]n) (?:error(?:es)?|fallos?|problemas?)|(?:sem|nenhum) (?:erros?|falhas?|problemas?)"
    r"|(?:senza|nessun) (?:error[ei]|problem[ai])|(?:geen|zonder) (?:fout(?:en)?|probleem|problemen))\b"
    r"|(?:エラー|失敗|問題)(?:は|が)?(?:なし|無し|ありません|ない)"
    r"|(?:오류|에러|실패|문제)(?:가|는|이)? 없(?:음|습|이|었)"
    r"|(?:没有|沒有|未发现|无)(?:任何)?(?:错误|錯誤|失败|问题|異常|异常)"
)
_DONE = (
    "activated|added|adjusted|applied|approved|assigned|blocked|booked|cancell?ed|changed|charged|cleared|closed"
    "|confirmed|created|deactivated|deleted|disabled|enabled|extended|filed|fixed|increased|issued|logged|marked|moved"
    "|opened|ordered|paid|placed|posted|processed|purchased|recorded|reduced|refunded|registered|removed|renamed"
    "|reopened|replaced|reported|rescheduled|reserved|reset|resolved|restored|retried|saved|scheduled|sent|set|shipped"
    "|started|stored|submitted|unblocked|unlocked|updated|upgraded"
    "|gebucht|bestätigt|erstellt|gespeichert|gesendet|behoben|aktualisiert|gelöscht|storniert|réservé|confirmé|créé"
    "|enregistré|envoyé|corrigé|corrigée|reservado|reservada|confirmado|confirmada|creado|creada|guardado|enviado"
    "|corregido|criado|salvo|prenotato|confermato|creato|salvato|inviato|geboekt|bevestigd|aangemaakt|opgeslagen"
)
_DONE_TO_NOUN = re.compile(
    r"(?!.*[:(!])(?!s? \d)(?! ?(?:in|on|at|with|of)\b)"
    r"(?!.*\b(?:no|not|never|unable|cannot|could|to|while|when|because"
    rf"|before|during|until|unless|as|due|failed|\w+ing)\b.*\b(?:{_DONE})\b).*\b(?:{_DONE})\b"
)
"""What follows a noun such as `error` in `Error report created`: something was done."""
_IN_GENERAL = re.compile(
    r"can ?not|can['’]t|not (?:allowed|permitted)|nicht möglich|no se puede|できません|할 수 없|无法|無法"
)
_LATER = re.compile(
    r"\b(?:later(?! than)|afterwards?|hereafter|in (?:the )?future|from (?:now|then) on|später|nachträglich"
    r"|danach|künftig|plus tard|ultérieurement|par la suite|más tarde|después|posteriormente|mais tarde"
    r"|depois|più tardi|in seguito|achteraf|naderhand)\b"
    r"|後で|あとで|今後|以降|後から|나중에|이후|향후|之后|之後|以后|以後|日后|稍后"
)
_AGAIN = re.compile(
    r"\b(?:again|try|retry|wait|call|come|now|currently|yet|moment|today|erneut|versuchen|jetzt|derzeit|réessay\w*"
    r"|maintenant|intent\w*|ahora|agora|tent\w*|riprov\w*|adesso|opnieuw|nu)\b"
    r"|もう一度|再度|再試行|다시|지금|현재|再试|重试|现在|目前"
)
_WARNING = re.compile(r"(?:can ?not|can['’]t) be (?:undone|reversed|reverted|recovered)\b")
_TERM = re.compile(
    r"(?:can ?not|can['’]t) be (?:amended|cancell?ed|changed|edited|exchanged|modified|refunded|rescheduled"
    r"|returned|transferred|withdrawn)\b"
)
_CREATING = word_set("add book buy create make order pay place purchase register reserve schedule")
_PART_END = re.compile(r"[,;–—，、。]|\s-\s|\b(?:and|but|und|aber|et|mais|y|pero|e|mas|ma|en|maar)\b")
_SO_BEFORE = re.compile(r"\b(?:is|are|was|were) already \w+(?: \w+){0,2}$")
_CLAUSE_END = re.compile(r"[.!?;\n](?:\s|$)")


class _Call(NamedTuple):
    """What a call is about, by which an answer that seems to state a failure may state none.

    Attributes:
        texts: Texts in lower case that its answer may repeat: its arguments, and `denied` if it denies.
        is_creating: Whether it makes something, whose terms its answer may state.
    """

    texts: frozenset[str]
    is_creating: bool


_UNKNOWN_CALL = _Call(frozenset(), False)


def has_failed(response: ToolResponse | None, tool: str = "", args: JsonObject | None = None) -> bool:
    """Returns whether a call failed, by the log's error mark or else by the content of the response.

    A text is a failure if it starts like an error (`Error: ...`, `ValueError: ...`, `404 Not Found`) or if
    its first clause states one (`order not found`), and not terms for later (`it cannot be cancelled later`).
    An object is a failure by `error`, `isError`, `success`, `ok`, a status of 400 or more or a status or
    state such as `failed`, at the top or inside `result`, `content` and similar keys.

    Args:
        response: The response; None (not recorded) counts as success.
        tool: Name of the tool. For a tool that denies, "denied" is a success; what a tool has just made may
            not be cancellable.
        args: Arguments of the call: `failed` is no failure of a call that sets this status.
    """
    if response is None:
        return False
    if response.error:
        return True
    if not _says_failure(response.response, _DEEPEST, _UNKNOWN_CALL):
        return False
    call = _Call(_DENIED.get(_denying(tool), frozenset()) | _texts(args or {}), _creates(tool))
    return call == _UNKNOWN_CALL or _says_failure(response.response, _DEEPEST, call)


_DENIED = {
    verb: frozenset((status,))
    for verb, status in zip(
        ["deny", "reject", "refuse", "decline", "fail", "abort"],
        ["denied", "rejected", "refused", "declined", "failed", "aborted"],
        strict=True,
    )
}
"""Verb of a tool -> the status of what it did."""


@lru_cache(maxsize=4096)
def _denying(tool: str) -> str:
    return next((word for word in words_of(tool) if word in _DENIED), "")


@lru_cache(maxsize=4096)
def _creates(tool: str) -> bool:
    return next(iter(words_of(tool)), "") in _CREATING


def _texts(value: JsonValue) -> frozenset[str]:
    """Returns the texts of arguments, in lower case."""
    if isinstance(value, dict | list):
        return frozenset().union(*map(_texts, value.values() if isinstance(value, dict) else value))
    return frozenset((value.strip().casefold(),)) if isinstance(value, str) else frozenset()


def changed_nothing(response: ToolResponse | None) -> bool:
    """Returns whether a response states that nothing had to change (`it was already open`)."""
    answer = response.response if response else None
    return isinstance(answer, str) and _SO_BEFORE.search(_first_clause(answer)) is not None


def _says_failure(answer: JsonValue, depth: int, call: _Call) -> bool:
    if isinstance(answer, dict):
        return depth > 0 and _object_says_failure(answer, depth, call)
    if isinstance(answer, str):
        decoded = json_structure(answer)
        if decoded is None:
            return _text_says_failure(answer, call)
        return _says_failure(decoded, depth, call)
    if depth and isinstance(answer, list) and answer:
        return all(
            isinstance(part, dict | str) and _says_failure(part, depth - 1, call)
            for part in answer[:_MOST_PARTS]
        )
    return False


def _text_says_failure(text: str, call: _Call) -> bool:
    plain, clause = _plain(text), _first_clause(text)
    if plain and " " not in plain and is_bad_status(plain):
        return plain not in call.texts
    if _SUCCEEDING.search(clause):
        return False
    opening = _OPENING.match(plain)
    if opening and not _DONE_TO_NOUN.match(clause, opening.end()):
        return True
    said = [*_SAYING.finditer(clause), *(() if clause.isascii() else _SAYING_UNSPACED.finditer(clause))]
    return any(found[0] not in call.texts and not _states_terms(clause, found, call) for found in said)


def _states_terms(clause: str, said: re.Match[str], call: _Call) -> bool:
    """Returns whether a clause says what cannot be done later, and not what the call could not do."""
    start, end = said.span()
    if _WARNING.match(clause, start) or (call.is_creating and _TERM.match(clause, start)):
        return True
    before, after = _PART_END.split(clause[:start])[-1], _PART_END.split(clause[end:], maxsplit=1)[0]
    is_general = _IN_GENERAL.match(said[0]) is not None
    return is_general and any(map(_LATER.search, (before, after))) and not _AGAIN.search(clause)


def _plain(text: str) -> str:
    return " ".join(text[:_LONGEST_TEXT].casefold().split())


def _first_clause(text: str) -> str:
    return _CLAUSE_END.split(_plain(text), maxsplit=1)[0]


def _object_says_failure(answer: JsonObject, depth: int, call: _Call) -> bool:
    marked = states_failure(answer, call.texts)
    if marked is not None:
        return marked
    return any(_says_failure(answer[key], depth - 1, call) for key in _holding_keys(tuple(answer)))


@lru_cache(maxsize=4096)
def _holding_keys(keys: tuple[str, ...]) -> Sequence[str]:
    """Returns the keys of an object under which a failure may be stated; of equal ones the last counts."""
    plain = {plain_key(key): key for key in keys}
    return [plain[name] for name in _HOLDING_KEYS if name in plain]


# Converts hand-offs that are recorded or expected without a tool call into equivalent calls.

_TOOL, _PARAMETER = "transfer_to_agent", "agent_name"


def recorded_handoffs(turn: Turn, catalog: ToolCatalog, wanted: Iterable[ToolCall] = ()) -> list[ToolCall]:
    """Returns the hand-offs of a turn that have no call of their own.

    Args:
        turn: The recorded turn.
        catalog: Effects of the tools.
        wanted: Expected calls; a hand-off to an agent that one of them names becomes that call.
    """
    agents = _without_called(turn.transfers, turn.tool_calls, catalog)
    return [_as_wanted(_call(agent), wanted, catalog) for agent in agents]


def expected_handoffs(turn: ExpectedTurn, catalog: ToolCatalog) -> tuple[list[ToolCall], list[ToolCall]]:
    """Returns the required and the optional hand-offs of a golden turn, beside its calls."""
    found = [each for each in turn.expectations if each.kind == "agent_transfer"]
    wanted = [each.target_agent or "" for each in found if not each.skip]
    free = [*(each.target_agent or "" for each in found if each.skip), *turn.scripted_transfers]
    must = _without_called(wanted, turn.tool_calls or (), catalog)
    return [_call(agent) for agent in must], [_call(agent) for agent in free]


def _call(agent: str) -> ToolCall:
    return ToolCall(_TOOL, {_PARAMETER: agent.rsplit("/", 1)[-1]})


def _as_wanted(made: ToolCall, wanted: Iterable[ToolCall], catalog: ToolCatalog) -> ToolCall:
    """Returns the expected call that hands over to the same agent and has no other argument, else `made`."""
    agent = (made.args or {})[_PARAMETER]
    return next(
        (c for c in wanted if len(c.args or ()) == 1 and _names(c, agent) and _hands_over(c, catalog)), made
    )


def _without_called(agents: Sequence[str], calls: Sequence[ToolCall], catalog: ToolCatalog) -> list[str]:
    """Removes agents for which there is a call: the named agent, else one agent per unnamed hand-off."""
    left = list(agents)
    unnamed = 0
    for call in calls if left else ():
        if not _hands_over(call, catalog):
            continue
        named = next((agent for agent in left if _names(call, agent)), None)
        if named is not None:
            left.remove(named)
        elif not (call.name == _TOOL and (call.args or {}).get(_PARAMETER)):
            unnamed += 1
    return left[unnamed:]


def _hands_over(call: ToolCall, catalog: ToolCatalog) -> bool:
    return catalog.effect_of(call).effect == "handoff"


def _names(call: ToolCall, agent: object) -> bool:
    return any(
        isinstance(value, str) and same_agent(value, str(agent)) for value in (call.args or {}).values()
    )
