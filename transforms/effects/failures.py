"""Detects failed calls by the tool's response and by the marks of logs."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from turnwise.schemas.conversation import UNKNOWN, ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.effects.catalog import infer_effect, words_of
from turnwise.transforms.text.words import word_set

_DEEPEST = 4
_MOST_PARTS = 20
_LONGEST_TEXT = 500
_HOLDING_KEYS = word_set("""result data output response content body structuredcontent text message detail
    msg nachricht meldung mensaje mensagem messaggio bericht ergebnis resultado résultat risultato resultaat
    antwort respuesta réponse resposta risposta antwoord メッセージ 結果 消息 信息 结果 메시지 결과""")
_TELLING_OF_WRITES = ("info", "answer", "warning", "reply")
_STATUS = frozenset(("status", "state", "outcome"))
_OPENING = re.compile(
    r"[\W_]*(?:(?:\w+ )?(?:errors?|failure)\b(?![ -]?(?:free|handling|reports?|reporting|logs?|logging"
    r"|tracking)\b)|[\w.]*(?:error|exception)\b ?[:(]|exception\b|traceback \(|fail(?:ed|ure)?\b|fatal\b"
    r"|invalid\b|forbidden\b|unauthori[sz]ed\b|bad request|(?:access|permission) denied|no such\b|not found\b"
    r"|insufficient\b|not (?:allowed|permitted|possible|authori[sz]ed|authenticated|logged in)\b"
    r"|http\S* [45]\d\d\b|time ?out\b"
    r"|connection (?:refused|reset|aborted|closed)|(?:service )?unavailable\b|internal server error\b"
    r"|(?:http )?status(?: code)?[:=]? ?[45]\d\d$|bad gateway|gateway time-?out|oops\b|something went wrong"
    r"|socket hang ?up|getaddrinfo|e(?:conn|notfound|timedout|acces|perm|hostunreach)[a-z]*\b|(?:unknown"
    r"|invalid|unsupported|unrecognized) (?:\w+ )?(?:tool|function|method|command|action|argument|parameter"
    r"|input|value|field|id|request|format)\b|no (?:tool|function)s? (?:named|called)|no (?:access"
    r"|authori[sz]ation|permissions?)\b|missing "
    r"(?:\w+ ){0,4}(?:parameter|argument|field|property|value)s?\b|\d+ validation errors?|field required"
    r"|(?:\w+ ){1,2}(?:is )?required$|<(?:!doctype|html)[^>]*>.*<(?:title|h1)>\W*[45]\d\d\b"
    r"|(?:\w+ ){0,3}(?:temporarily |currently )unavailable\b|(?:\w+ ){0,3}(?:limit|quota) (?:exceeded"
    r"|reached)|rate limit|too many requests|(?:please )?(?:re)?try again\b|(?:http\S* |status(?: "
    r"code)?:? ?)?[45]\d\d (?:[a-z-]+ ){0,3}(?:error|requests?|unauthori[sz]ed|forbidden|found|conflict|gone"
    r"|unavailable|timeout|gateway|such)\b|(?:\w+ ){0,2}\w*fehler\b|erreur\b|échec\b|fallo\b|erro\b|errore\b"
    r"|fout\b|błąd|hata\b|ошибка|خطأ|فشل|오류|실패|에러|エラー(?!報告|レポート|ログ)|失敗|错误|失败|錯誤)"
)
_SAYING = re.compile(
    r"\b(?:unable to|can ?not|can['’]t|could ?n['’]t|could not|not found(?! to\b)|does ?n['’]t exist|does "
    r"not exist|(?:do|does|did)(?: not|n['’]t) have(?! to\b)|fehlgeschlagen|konnten? nicht|nicht möglich"
    r"|fall(?:ó|aron|ado)|no se (?:pudo|puede)|échoué|n['’]a pas pu|não foi possível|falhou|non riuscit[oa]"
    r"|fallit[oa]|mislukt|not (?:allowed|permitted|authori[sz]ed)|unsuccessful|timed out|is invalid|are "
    r"invalid|not valid|not a valid|unexpected keyword argument|is a required|errors? (?:has |have )?occurred"
    r"|responded with (?:status )?(?:code )?[45]\d\d|(?:tool|function|request|operation|command|action)(?: "
    r"(?:use|call|execution))? (?:(?:was|has been) )?(?P<stopped>cancell?ed|interrupted|aborted|stopped"
    r"|blocked)|interrupted by|does ?n['’]t want to proceed|(?:ist|sind) ein fehler|(?:nicht|niet) "
    r"(?:gefunden|verfügbar|zulässig|erlaubt|gelukt|gevonden|beschikbaar)|ausgebucht|ungültige?[rsn]?"
    r"|zeitüberschreitung|verweigert|gescheitert|abgebrochen|une erreur|introuvable|indisponible|(?:un|um) "
    r"err(?:or|o|ore)|no (?:encontrad[oa]|disponible)|denegad[oa]|agotad[oa]|inválid[oa]|não (?:encontrad[oa]"
    r"|disponível)|negad[oa]|esgotad[oa]|non (?:è stato possibile|trovat[oa]|disponibile)|esaurit[oa]"
    r"|negat[oa]|een fout|geweigerd|uitverkocht|ongeldig|не (?:удалось|найден[ао]?)|отказано|недоступ\w+|nie "
    r"(?:udało|znaleziono)|odmow[ay]|niedostępn\w+|başarısız|bulunamadı|reddedildi|geçersiz)\b"
    r"|\b(?P<state>failed|denied|declined|rejected|refused|refusée?s?)\b"
)
_BEFORE_ADJECTIVE = word_set("""the a an your my our their his her its this that any all every each previous
    last der die das dein ihr""")
_NO_NOUN = word_set("to with because due by on in at for and or as since when while until again")
_NOT = re.compile(r"(?:\b(?:not|never|can ?not|unable to|without|nicht)|n['’]t)(?: \w+){0,2} ?$")
_WAS_NOT = re.compile(r"(?:(?<!can )\b(?:not|never)|(?<!ca)n['’]t)(?: \w+)? ?$")
_SAYING_UNSPACED = re.compile(
    r"失敗|できません(?:でした)?|満席|満室|見つかりません|タイムアウト|不足|拒否|無効|売り切れ|실패|할 수 없"
    r"|찾을 수 없|매진|시간 초과|부족|거부|잘못된|失败|无法|無法|未找到|找不到|超时|无效|無效|拒绝|拒絕|售罄"
    r"|已满|不存在|غير (?:متاح|موجود)|مرفوض"
)
_SUCCEEDING = re.compile(
    r"\b(?:success(?:ful|fully)?|succeeded|completed|erfolgreich|abgeschlossen|(?:0|nothing|never|none) "
    r"failed|(?:(?:did|has|have)(?: not|n['’]t)) fail(?:ed)?|(?:no|not any|0|zero|without(?: any)?)(?: \w+)? "
    r"(?:errors?|failures?|exceptions?|problems?|issues?)|(?:errors|failures): (?:0|none)(?![^,;])"
    r"|(?:keine?n?|ohne) (?:\w+ )?(?:fehler|probleme?)|(?:aucune?|sans) (?:erreurs?|problème|échec)|(?:sin"
    r"|ning[úu]n) (?:error(?:es)?|fallos?|problemas?)|(?:sem|nenhum) (?:erros?|falhas?|problemas?)|(?:senza"
    r"|nessun) (?:error[ei]|problem[ai])|(?:geen|zonder) (?:fout(?:en)?|probleem|problemen))\b|(?:エラー|失敗"
    r"|問題)(?:は|が)?(?:なし|無し|ありません|ない)|(?:오류|에러|실패|문제)(?:가|는|이)? 없(?:음|습|이|었)"
    r"|(?:没有|沒有|未发现|无)(?:任何)?(?:错误|錯誤|失败|问题|異常|异常)|完了(?!でき)|(?:予約|注文|登録|更新"
    r"|変更|送信|作成|保存|削除|確定|設定|キャンセル)(?:しま|され|できま)した|已(?:成功|完成|创建|建立|取消"
    r"|更新|发送|保存|删除|预订|提交|确认|修改|退款)|(?:预订|预定|创建|提交|操作)成功|완료|(?:예약|주문|취소"
    r"|등록|변경|저장|삭제|전송|생성|확인)(?:되었|됐|했)습니다"
)
_DONE = (
    "activated|added|adjusted|applied|approved|assigned|blocked|booked|cancell?ed|changed|charged|cleared"
    "|closed|confirmed|created|deactivated|deleted|disabled|enabled|extended|filed|fixed|increased|issued"
    "|logged|marked|moved|opened|ordered|paid|placed|posted|processed|purchased|recorded|reduced|refunded"
    "|registered|removed|renamed|reopened|replaced|reported|rescheduled|reserved|reset|resolved|restored"
    "|retried|saved|scheduled|sent|set|shipped|started|stored|submitted|unblocked|unlocked|updated|upgraded"
    "|gebucht|bestätigt|erstellt|gespeichert|gesendet|behoben|aktualisiert|gelöscht|storniert|réservé"
    "|confirmé|créé|enregistré|envoyé|corrigé|corrigée|reservado|reservada|confirmado|confirmada|creado"
    "|creada|guardado|enviado|corregido|criado|salvo|prenotato|confermato|creato|salvato|inviato|geboekt"
    "|bevestigd|aangemaakt|opgeslagen"
)
_DONE_WORD = re.compile(rf"\b(?:{_DONE})\b")
_DONE_FIRST = re.compile(rf"(?!(?:re)?set\b)(?:{_DONE})\b(?! ?[:,])(?!.*\bbut\b)")
"""What was done to something: `Fixed error E12`, `Deleted 3 failed jobs`."""
_REPORTED_WORD = (
    r"(?!(?:not|never|failed|unable|could|cannot|but|errors?|denied|declined|rejected|refused)\b)\w+"
)
_REPORTING = re.compile(
    rf"(?:{_REPORTED_WORD} ){{0,3}}(?!(?:re)?set\b)(?P<done>{_DONE})\b(?: {_REPORTED_WORD}){{0,3}} ?:"
)
_ENDED = word_set("blocked cancelled canceled closed deactivated disabled")
"""Of what may be done those that may also have happened to the call itself."""
_UNDONE_STATUS = re.compile(
    r"not[ _-](?!required|needed|applicable).*|(?:needs|requires|awaiting)[ _-].*|rate[ _-]?limited|throttled"
    r"|conflict|unprocessable.*|wait[ _-]?listed|on[ _-]hold|blocked|expired|skipped|incomplete"
    r"|partial(?:ly.*)?|no|terminated|interrupted|stopped"
)
_REFUSING = re.compile(
    r"\bno (?!(?:\w+ )?(?:conflict|duplicate|error|exception|failure|issue|problem|warning)s? )(?:\w+ ){1,3}"
    r"(?:is |are |was |were )?(?:available|left|found)\b|\bnot (?:available|possible)\b"
    r"|\b(?:fully booked|sold out|out of stock|did(?: not|n['’]t) go through)\b|^there (?:is|are|was|were) "
    r"no\b|\balready (?:exists?|taken|in use)\b|\b(?:is taken|(?:is|has|are|have) expired)\b|^\w+ expired$"
    r"|^nothing to \w+|\bnot enough\b|\bmust be \w+ed in\b|\balready (?:departed|expired|left|sold)\b"
)
_DONE_TO_NOUN = re.compile(
    r"(?!.*[:(!])(?!s? \d)(?! ?(?:in|on|at|with|of)\b)(?!.*\b(?:no|not|never|unable|cannot|could|to|while"
    r"|when|because"
    rf"|before|during|until|unless|as|due|failed|\w+ing)\b.*\b(?:{_DONE})\b).*\b(?:{_DONE})\b"
)
"""What follows a noun such as `error` in `Error report created`: something was done."""
_IN_GENERAL = re.compile(
    r"can ?not|can['’]t|not (?:allowed|permitted)|nicht möglich|no se puede|できません|할 수 없|无法|無法"
)
_LATER = re.compile(
    r"\b(?:later(?! than)|afterwards?|hereafter|in (?:the )?future|from (?:now|then) on|später|nachträglich"
    r"|danach|künftig|plus tard|ultérieurement|par la suite|más tarde|después|posteriormente|mais tarde"
    r"|depois|più tardi|in seguito|achteraf|naderhand)\b|後で|あとで|今後|以降|後から|나중에|이후|향후|之后"
    r"|之後|以后|以後|日后|稍后"
)
_AGAIN = re.compile(
    r"\b(?:again|try|retry|wait|call|come|now|currently|yet|moment|today|erneut|versuchen|jetzt|derzeit"
    r"|réessay\w*|maintenant|intent\w*|ahora|agora|tent\w*|riprov\w*|adesso|opnieuw|nu)\b|もう一度|再度"
    r"|再試行|다시|지금|현재|再试|重试|现在|目前"
)
_WARNING = re.compile(r"(?:can ?not|can['’]t) be (?:undone|reversed|reverted|recovered)\b")
_TERM = re.compile(
    r"(?:can ?not|can['’]t) be (?:amended|cancell?ed|changed|edited|exchanged|modified|refunded|rescheduled"
    r"|returned|transferred|withdrawn)\b"
)
_CREATING = word_set("add book buy create make order pay place purchase register reserve schedule")
_HTTP_ERRORS = word_set("400 401 403 404 405 408 409 410 422 429 500 501 502 503 504")
_STATE_WORDS = word_set("status state outcome availability stock")
_LONG_CLAUSE = 4
_WRITTEN = word_set("""code content document email file files history log logs mail message messages page
    transcript""")
_EXITED = re.compile(
    r"(?:[\w ]{0,40}\b)?exit(?:ed)?(?: with)?(?: an?)?(?: non-?zero)?(?: exit)? (?:code|status)(?: "
    r"of)?[:=]? ?-?[1-9]\d*\.?"
)
_CHANGED = "affected|changed|modified|updated|upserted|deleted|removed|inserted|matched"
_NOTHING_DONE = re.compile(
    r"(?:query ok, )?(?:no|0|zero|none of the) (?:\w+ )?(?:rows?|records?|documents?|entries|items?|objects?"
    r"|files?|lines?|orders?|bookings?|reservations?|users?|accounts?|changes?) (?:(?:were|was|ha(?:ve|s) "
    r"been) )?"
    rf"(?:{_CHANGED}|added|created|made|cancell?ed|saved|booked|sent)\b|nothing (?:was |has "
    rf"been )?(?:{_CHANGED}|{_DONE}|done)\b|(?:update|delete|merge) 0$|insert 0 0$"
)
_COUNT_KEY = re.compile(
    r"(?:num|number|total)?(?:of)?(?:rows?|records?|documents?|items?)?"
    rf"(?:{_CHANGED})(?:rows?|records?|documents?|items?)?(?:count)?|rowcount"
)
_ERRORS = re.compile(r"(?!last|previous)\w*(?:errors|failures|problems|faults)|failed\w+")
_ERROR = re.compile(r"err|faults?|failures?|failurereason|problems?")
_IS = re.compile(r"^(?:is|was|has|hasbeen)(?=\w{4})")
_DONE_KEYS = frozenset(("executed", "performed", "applied"))
_PARTICIPLE = re.compile(r"(?:[dt]|[aiu][dt][oa]|ée?|en)$")
_PART_STATUS = re.compile(
    r"(?!previous|old|last|former|initial|original|prior|from|current)\w+(?:status|state|outcome|result)"
)
_IRREGULAR = {
    **{verb: verb for verb in ("set", "put", "reset", "cut")},
    **{"buy": "bought", "do": "done", "give": "given", "hold": "held", "make": "made", "pay": "paid"},
    **{"sell": "sold", "send": "sent", "undo": "undone", "withdraw": "withdrawn", "write": "written"},
}
_PART_END = re.compile(r"[,;–—，、。]|\s-\s|\b(?:and|but|und|aber|et|mais|y|pero|e|mas|ma|en|maar)\b")
_SO_BEFORE = re.compile(r"(?:^(?:\w+ ){0,5}|\b(?:is|are|was|were|been) )already (?:been )?\w+(?: \w+){0,2}$")
_IDLE_KEYS = frozenset((*_HOLDING_KEYS, "status", "state"))
_LOOKING = (
    "(?:access|check|confirm|connect|determin|fetch|find|found|get|load|locat|look|obtain|open|pull|reach"
    "|read|retriev|search|see|tell|verif|view)"
)
_LOOKING_ELSEWHERE = (
    r"[^.,;!?]{0,60}\b(?:abgerufen|abrufen|aufrufen|einsehen|ermitteln|erreichen|finden|gefunden|laden"
    r"|nachsehen"
    "|prüfen|zugreifen|trouv|retrouv|accéd|récupér|consult|vérifi|encontr|encuentr|localiz|acced|recuper"
    "|verific|comprob|acess|trov|controll|vinden|gevonden|ophalen|opgehaald|openen|controleren|bereiken"
    "|opzoeken)"
)
_SYSTEM = r"(?:systems?|services?|tools?|databases?|servers?|search|look-?up|request|query|call|connection)"
_ADMITTING = re.compile(
    r"\b(?:(?:could|can|was|were|am|are|is|do|did|have)(?:n?['’]t| ?not) (?:[a-z]+ ){0,3}"
    rf"(?:{_LOOKING}|have (?:access|any|information|a record))(?! (?:any )?(?:problem|issue|delay)s?\b)"
    rf"|(?:unable|not able|failed) to {_LOOKING}"
    r"|(?:not|nothing|no (?:\w+ ){1,4}(?:was |were )?)(?: be)? ?found\b|(?:does|do)(?: ?n['’]t| not) (?:\w+ "
    r"to )?exist\b|there(?: is| are| was| were|['’]s) no (?:\w+ ){1,3}(?:with|under|matching|named|associated"
    r"|registered|linked|on file|in (?:the|our) system)\b"
    rf"|{_SYSTEM} (?:\w+ )?(?:is|are|seems?|appears?)(?: to be)? (?:\w+ )?"
    r"(?:unavailable|unreachable|down|offline|not (?:available|responding))\b"
    rf"|{_SYSTEM} (?:\w+ )?(?:failed|timed out|(?:is|are)n['’]t (?:available|responding))\b"
    r"|(?:an|system|technical|unexpected) (?:\w+ )?error\b|something went wrong|(?:be|is|seems|appears) "
    r"invalid\b|technical (?:issue|problem|difficult|glitch)|having (?:some )?(?:trouble|problem|issue"
    r"|difficult)"
    rf"|(?:(?:nicht|keine?n?|ne|no|não|non|niet|geen)\b|n['’]|imposs?ible d){_LOOKING_ELSEWHERE}"
    r"|gibt (?:es )?keine?n? \w+ (?:mit|unter|zu) dies|introuvable\b|n['’]existe pas|no existe|não existe"
    r"|non esiste|bestaat niet|(?:une?|eine?|een|um) (?:\w+ )?(?:fehler|erreur|error|erro|errore|fout)\b"
    r"|technische\w* (?:problem|fehler|störung|storing)|problème technique|problema t[ée]cnico)"
    r"|見つかりません|見つけられ|見つからな|(?:確認|取得|アクセス|接続|照会|検索)でき(?:ません|なか)"
    r"|存在しません|該当する[^。]{0,12}(?:ございません|ありません)|エラーが|障害が|찾을 수 없|찾지 못|(?:확인"
    r"|조회|접속|접근)(?:할 수 없|하지 못)|해당[^.]{0,12}없습니다|존재하지 않|오류가|장애가|找不到|查不到"
    r"|(?:未能?|没有?|沒有?)(?:找到|查到|查询到)|不存在|出错|查[询詢]失[败敗]|(?:无法|無法|不能)(?:查|找|访问"
    r"|訪問|获取|獲取|连|連|确认|確認)|系[统統](?:出现|发生|出現|發生)?(?:故障|错误|錯誤)"
)
_ASKING = re.compile(r"(?:[^.!?。！？]*[?？])+")
_UNABLE = re.compile(
    r"\b(?:(?:was|were|am|are|is)(?:n['’]t| not| not yet) able|unable|could(?:n['’]t| not)"
    r"|did(?:n['’]t| not) (?:work|succeed|go through)|failed|timed out|(?:a|some) problems?"
    r"|konnten?\b[^.,;!?]{0,60} nicht|(?:n['’](?:ai|avons|a)|avons|ai) pas (?:pu|réussi)"
    r"|no (?:pude|pudimos|he podido|hemos podido|fue posible)|não (?:pude|consegui(?:mos)?|foi possível)"
    r"|non (?:(?:sono|siamo) riuscit\w|ho potuto|abbiamo potuto)|konden?\b[^.,;!?]{0,60} niet"
    r"|kon\b[^.,;!?]{0,60} niet|nie (?:udało|mogłem|mogłam))\b|하지 못했|못했습니다"
)
_SAID_DONE = re.compile(
    r"\b(?:(?:i|we)(?: have|['’]ve)?|is|are|was|were|(?:has|have) been) (?:now |just |successfully )?"
    rf"({_DONE})\b"
)
_HEDGED = re.compile(
    r"[?]|n['’]t\b|\b(?:already|as soon as|can(?:not)?|could|if|may|might|never|no|not|nothing|once|try"
    r"|tried|unable|unless|until|when|whether|will|would)\b"
)
_ROOT = 4
_CLAUSE_END = re.compile(r"[.!?;\n](?:\s|$)|[。！？]")


class _Call(Struct, frozen=True):
    """What a call is about, by which an answer that seems to state a failure may state none."""

    words: tuple[str, ...]
    effect: str
    # What its answer may repeat, in lower case: its arguments, and `denied` if it denies.
    texts: frozenset[str] = frozenset()


def has_failed(response: ToolResponse | None, tool: str = "", args: JsonObject | None = None) -> bool:
    """Returns whether a call failed, by the log's error mark or else by the content of the response.

    A text is a failure if it starts like an error (`Error: ...`, `ValueError: ...`, `404 Not Found`) or if
    its first clause states one (`order not found`), and not terms for later (`it cannot be cancelled later`).
    An object is a failure by `error`, `isError`, `success`, `ok`, an exit code, a status of 400 or more or a
    status or state such as `failed`, at the top or inside `result`, `content` and similar keys. None (not
    recorded) counts as success.

    The answer of a write is a failure, too, if it says that it was not done (`{"cancelled": false}` of
    `cancel_order`, `{"rows_affected": 0}`, `false`). A record that a read returns may have a bad state
    (`{"payment_id": 7, "status": "declined"}`). For a tool that denies, "denied" is a success; what a tool
    has just made may not be cancellable; `failed` is no failure of a call whose arguments set this status.
    """
    if response is None:
        return False
    if response.error:
        return True
    answer = response.response
    # Most answers need no look at the tool: `{"status": "ok", "order": 7}`.
    key = _read_keys(tuple(answer))[0] if isinstance(answer, dict) else None
    if key is not None and isinstance(answer[key], str) and answer[key] in _GOOD_STATUS:
        return False
    call = _call_of(tool)
    says_failure = _object_says_failure if isinstance(answer, dict) else _says_failure
    if not says_failure(answer, _DEEPEST, call):
        return False
    denied = frozenset(_DENIED[word] for word in call.words if word in _DENIED)
    call = replace(call, texts=denied | _texts(args or {}))
    return not call.texts or says_failure(answer, _DEEPEST, call)


# Verb of a tool -> the status of what it did.
_DENIED = {
    **{"deny": "denied", "reject": "rejected", "refuse": "refused", "decline": "declined"},
    **{"fail": "failed", "abort": "aborted"},
}


@lru_cache(maxsize=4096)
def _call_of(tool: str) -> _Call:
    return _Call(tuple(words_of(tool)), infer_effect(tool).effect if tool else UNKNOWN)


def _texts(value: JsonValue) -> frozenset[str]:
    """Returns the texts of arguments, in lower case; `false` is one."""
    if isinstance(value, dict | list):
        return frozenset().union(*map(_texts, value.values() if isinstance(value, dict) else value))
    if value is False:
        return frozenset(("false",))
    return frozenset((value.strip().casefold(),)) if isinstance(value, str) else frozenset()


def changed_nothing(response: ToolResponse | None) -> bool:
    """Returns whether a response states that nothing had to change (`it was already open`)."""
    return response is not None and _says_idle(response.response, _DEEPEST)


def _says_idle(answer: JsonValue, depth: int) -> bool:
    read = json_structure(answer) if isinstance(answer, str) else answer
    if isinstance(read, dict) and depth:
        return any([_says_idle(read[key], depth - 1) for key in read if plain_key(key) in _IDLE_KEYS])
    if not isinstance(answer, str):
        return False
    plain = " ".join(answer.replace("_", " ")[:_LONGEST_TEXT].casefold().split())
    return _SO_BEFORE.search(_CLAUSE_END.split(plain, maxsplit=1)[0]) is not None


def admits_failure(text: str) -> bool:
    """Returns whether an agent says that it could not look something up, or only asks."""
    plain = " ".join(text.casefold().split())
    return _ADMITTING.search(plain) is not None or _ASKING.fullmatch(plain) is not None


def reports_failure(text: str, tool: str) -> bool:
    """Returns whether an agent says in a sentence that a call of a tool failed."""
    plain = " ".join(text.casefold().split())
    is_said = _ADMITTING.search(plain) is not None or _UNABLE.search(plain) is not None
    return is_said or has_failed(ToolResponse(response=text), tool)


def claims_success(text: str, tool: str) -> bool:
    """Returns whether an agent says plainly, in an English sentence, that it did what a tool does."""
    plain = " ".join(text.casefold().split())
    if _HEDGED.search(plain):
        return False
    roots = [word[:_ROOT] for word in words_of(tool) if len(word) >= _ROOT]
    return any(match[1].startswith(root) for match in _SAID_DONE.finditer(plain) for root in roots)


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
    return call.effect == "write" and _is_refusal(answer, call)


def _is_refusal(answer: JsonValue, call: _Call) -> bool:
    """Returns whether the whole answer of a write, `false` or an HTTP status, says that it was not done."""
    text = str(answer).strip().casefold()
    return (text == "false" or text in _HTTP_ERRORS) and text not in call.texts


def _text_says_failure(text: str, call: _Call) -> bool:
    plain = " ".join(text[:_LONGEST_TEXT].casefold().split())
    for given in sorted(call.texts, key=len, reverse=True):
        if " " in given:  # words that the call was given are repeated, not said
            plain = plain.replace(" ".join(given.split()), "…")
    clause = _CLAUSE_END.split(plain, maxsplit=1)[0]
    if plain and " " not in plain and is_bad_status(plain):
        is_state = call.effect == "read" and not _STATE_WORDS.isdisjoint(call.words)
        return plain not in call.texts and not is_state
    lines = [line.strip() for line in text[:_LONGEST_TEXT].casefold().splitlines() if line.strip()]
    if any(map(_EXITED.fullmatch, lines)):
        return True
    if call.effect == "write" and (_is_refusal(plain, call) or _refuses(clause)):
        return True
    is_written = call.effect == "read" and len(lines) > 1 and not _WRITTEN.isdisjoint(call.words)
    if is_written and len(list(filter(_OPENING.match, lines))) != 1:
        return False  # a log or a file that holds errors; one line of error is the call's own
    if call.effect == "write" and (report := _REPORTING.match(clause)):
        # The answer of a write may say what was done and then quote it, as `Note saved: ...`.
        quoted = clause[report.end() :].strip()
        is_of_call = report["done"] not in _ENDED or _says_done(report["done"], call.words)
        if is_of_call and (" " in quoted or not is_bad_status(quoted)):
            return False
    successes = [_NOT.search(clause[: success.start()]) for success in _SUCCEEDING.finditer(clause)]
    if successes and not all(successes):
        return False
    opening = _OPENING.match(plain.replace("_", " "))
    if opening and not (_DONE_FIRST.match(clause) or _DONE_TO_NOUN.match(clause, opening.end())):
        return True
    if successes and call.effect != "read" and " yet" not in clause:
        return True
    saying = [*_SAYING.finditer(clause), *(() if clause.isascii() else _SAYING_UNSPACED.finditer(clause))]
    return any(words[0] not in call.texts and not _says_no_failure(clause, words, call) for words in saying)


def _refuses(clause: str) -> bool:
    """Returns whether the answer of a write says that nothing was done, or why it cannot be done."""
    if _NOTHING_DONE.match(clause):
        return True
    deeds = [(deed.end(), _WAS_NOT.search(clause[: deed.start()])) for deed in _DONE_WORD.finditer(clause)]
    refusing = _REFUSING.search(clause)
    if refusing:
        return not any(end <= refusing.start() and not negated for end, negated in deeds)
    if deeds:
        return all(negated for _, negated in deeds) and " yet" not in clause
    return clause.startswith(("sorry", "unfortunately"))


def _says_no_failure(clause: str, match: re.Match[str], call: _Call) -> bool:
    """Returns whether the words of a failure state terms of what was done, or the state of a thing."""
    groups, (start, end) = match.groupdict(), match.span()
    if groups.get("stopped") and any(word[:4] == groups["stopped"][:4] for word in call.words):
        return True
    # `your failed payment was removed`, and in the answer of a read any longer sentence with `failed`.
    if groups.get("state") or groups.get("stopped"):
        before, after = clause[:start].split(), clause[end:].split()
        is_before_noun = bool(before and after) and after[0] not in _NO_NOUN
        is_adjective = is_before_noun and (before[-1] in _BEFORE_ADJECTIVE or bool(_DONE_FIRST.match(clause)))
        is_told = call.effect == "read" and not clause.startswith(":", end)
        is_count = call.effect != "write" and bool(before) and before[-1].isdecimal()  # `2 failed, 10 passed`
        return is_adjective or is_count or (is_told and len(before) + len(after) >= _LONG_CLAUSE)
    # The terms of what the call has made, or what cannot be done later, are not what it could not do.
    is_creating = call.words[:1] != () and call.words[0] in _CREATING
    if _WARNING.match(clause, start) or (is_creating and _TERM.match(clause, start)):
        return True
    parts = _PART_END.split(clause[:start])[-1], _PART_END.split(clause[end:], maxsplit=1)[0]
    return bool(_IN_GENERAL.match(match[0]) and any(map(_LATER.search, parts)) and not _AGAIN.search(clause))


def _object_says_failure(answer: JsonObject, depth: int, call: _Call) -> bool:
    _, marks, is_record, holding, telling, meta = _read_keys(tuple(answer))
    marked = _marks_failure(answer, marks, call.texts, is_record and call.effect == "read")
    if meta is not None and isinstance(held := answer[meta], dict):
        marked = states_failure({k: v for k, v in held.items() if "exit" in k.lower()}) or marked
    if marked:
        return True
    if marked is False:  # a server that answered with the failure of what it was asked for
        for key in holding:
            inner = json_structure(answer[key]) if isinstance(answer[key], str) else answer[key]
            if isinstance(inner, dict) and states_failure(inner, call.texts):
                return True
        return False
    if call.effect == "write":
        if _says_not_done(answer, depth, call):
            return True
        holding = [*holding, *telling]
    return bool(holding) and any(_says_failure(answer[key], depth - 1, call) for key in holding)


def _says_not_done(answer: JsonObject, depth: int, call: _Call) -> bool:
    plain_keys = {plain_key(key): value for key, value in answer.items()}
    stated = [key for key in plain_keys if key not in TELLING_KEYS]
    counts = []
    for key, value in plain_keys.items():
        text = value.strip().casefold() if isinstance(value, str) else ""
        if _COUNT_KEY.fullmatch(key) and isinstance(value, int):
            counts.append(value)
        elif value in (False, "false"):  # or 0, of its own verb (`cancelled`) or of all that is stated
            is_done = _says_done(key, call.words) or (stated == [key] and type(value) is not int)
            if is_done and "false" not in call.texts:
                return True
        elif isinstance(value, list | dict) and value and _ERRORS.fullmatch(key):
            return True
        elif text and text not in call.texts:
            if _ERROR.fullmatch(key) and states_failure({"error": text}):
                return True
            if _PART_STATUS.fullmatch(key) and is_bad_status(text):  # `payment_status`
                return True
            is_own = text[:3] != "not" and any(word[:4] in text for word in call.words if len(word) > 2)
            if key in _STATUS and _UNDONE_STATUS.fullmatch(text) and not is_own:
                return True
        elif isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
            if all(states_failure(entry, call.texts) or entry.keys() >= {"loc", "msg"} for entry in value):
                return True
        elif isinstance(value, dict) and len(answer) == 1 and depth:
            return _object_says_failure(value, depth - 1, call)
    return bool(counts) and not any(counts)


@lru_cache(maxsize=4096)
def _says_done(key: str, words: tuple[str, ...]) -> bool:
    """Returns whether a key in plain form says that a verb of a tool was done: `iscancelled` of `cancel`."""
    done = _IS.sub("", key)
    if done in _DONE_KEYS or any(done == _IRREGULAR.get(word) for word in words):
        return True
    starts = (word[: max(3, len(word) - 3)] for word in words if len(word) > 2)
    return any(map(done.startswith, starts)) and _PARTICIPLE.search(done) is not None


# Reads the marks by which logs and tools say that a call failed, as `isError` or `"status": "failed"`.

_ERROR_KEYS = word_set("""error errors exception errormessage errorcode errortype iserror errcode errno errmsg
    errormsg errordescription errordetails faultstring faultcode fehler fehlermeldung erreur erro errore fout
    エラー 오류 错误 錯誤""")
_SUCCESS_KEYS = word_set("""success succeeded successful ok issuccess erfolg erfolgreich succès succes réussi
    exito éxito sucesso successo gelukt 成功 是否成功 성공 성공여부""")
_STATUS_KEYS = word_set("""status state outcome statuscode statustext httpstatus httpstatuscode responsecode
    resultcode resultstatus callstatus requeststatus executionstatus operationstatus estado statut stato
    zustand 状態 状态 상태""")
_EXIT_KEYS = word_set("exitcode exitstatus returncode retcode rc grpcstatus grpcstatuscode")
_FLAG_KEYS = word_set("failed isfailed hasfailed haserror haserrors")
_KINDS = (_ERROR_KEYS, _FLAG_KEYS, _EXIT_KEYS, _SUCCESS_KEYS, _STATUS_KEYS)
_MARKS = {name: kind for kind in _KINDS for name in kind}
TELLING_KEYS = frozenset(_MARKS) | word_set("""message msg detail details reason description text title code
    type timestamp requestid traceid hint""")
"""Keys that speak of the call. An object with another one is a record of something."""
_NO_ERROR = frozenset(
    ("", "0", "-", "none", "null", "false", "no", "ok", "n/a", "no error", "no errors", "none found",
     "success", "nein", "kein", "keine", "kein fehler", "keine fehler", "aucun", "aucune", "aucune erreur",
     "ninguno", "ninguna", "ningún error", "nenhum", "nenhum erro", "nessuno", "nessun errore", "geen",
     "なし", "無し", "無", "없음", "无", "沒有", "没有")
)  # fmt: skip
_GOOD_STATUS = frozenset(("success", "succeeded", "successful", "ok", "200", "201", "completed", "done"))
_BAD_WORDS = (
    "error|errored|unavailable|unsuccessful|fail|fails|failed|failing|failure|fatal|exception|crashed"
    "|forbidden|unauthori[sz]ed|unauthenticated|unimplemented|aborted|denied|declined|rejected|refused|nok"
    "|ko|time[d ]?[ _-]?out|not[ _-]?(?:found|ok|allowed|permitted|possible|processed|completed)"
    "|bad[ _-]?request|(?:deadline|quota|limit)[ _-]exceeded|resource[ _-]exhausted"
    r"|rate[ _-]?limit(?:ed|[ _-]exceeded)?|throttled|too[ _-]many[ _-]requests"
    r"|insufficient[ _-]\w+|out[ _-]of[ _-]stock|sold[ _-]out|not[ _-]available|already[ _-]exists"
    "|fehler|fehlgeschlagen|gescheitert|abgelehnt|erreur|échec|échoué|échouée|refusé|refusée|fallo|fallido|fallida"
    "|fallada|fracasado|rechazado|rechazada|denegado|denegada|erro|falha|falhou|recusado|recusada|errore|fallito"
    "|fallita|rifiutato|rifiutata|fout|mislukt|geweigerd|afgewezen"
)
_BAD_STATUS = re.compile(
    r"invalid\b.*|(?:(?!(?:no|not|non|never|without|0)[ _-])[^\W_]+[ _-]){0,3}"
    rf"(?:{_BAD_WORDS})(?:(?![ _-]free\b)[\W_].*)?"
    r"|[^没沒无無未]{0,9}(?:失敗|エラー|失败|错误|錯誤|실패|오류|에러|拒否|拒绝|拒絕|거부|거절)"
    r"(?:しました|됨|했습니다|되었습니다)?",
    re.DOTALL,
)
_BAD_CODE = re.compile(r"[45]\d\d\b.*")
_BAD_TYPE = re.compile(r"(?i:error|exception|failure)|[\w.#:/]*(?:Error|Exception|Fault)")
_BAD_STATE = re.compile(
    r"(?:[^\W_]+[ _-]){0,3}(?:fail(?:s|ed|ing|ure)?|declined|rejected|refused|denied|aborted|crashed"
    r"|unsuccessful|out[ _-]of[ _-]stock|sold[ _-]out|(?:not[ _-]|un)available|insufficient.*)"
)
"""Of the statuses of failure those that a thing may have, such as a payment that is looked up."""
_RPC_CODES = range(1, 17)


@lru_cache(maxsize=4096)
def plain_key(key: object) -> str:
    """Returns a key without its case and punctuation."""
    return re.sub(r"[\W_]", "", str(key)).lower()


def is_bad_status(text: str) -> bool:
    """Returns whether a text is a status of failure: `failed`, `payment_declined`, `fehlgeschlagen`."""
    return _BAD_STATUS.fullmatch(text.strip().casefold()) is not None


def states_failure(held: JsonObject, given: frozenset[str] = frozenset()) -> bool | None:
    """Returns whether the marks of an object state a failure; None: it has no mark that tells.

    Texts `given` in lower case are no failure as a status, because the call was about them. Without a mark,
    an object may be an error by its type or its code, such as an HTTP status with a message beside it.
    """
    return _marks_failure(held, _read_keys(tuple(held))[1], given, False)


_Marked: TypeAlias = Sequence[tuple[frozenset[str], str]]
_ReadKeys: TypeAlias = tuple[str | None, _Marked, bool, Sequence[str], Sequence[str], str | None]


@lru_cache(maxsize=4096)
def _read_keys(keys: tuple[str, ...]) -> _ReadKeys:
    """Returns a status that alone tells, marks, whether it is a record, and inner, told and metadata keys."""
    plain = {plain_key(key): key for key in keys}  # of equal ones the last counts
    marks = [(_MARKS[name], key) for name, key in plain.items() if name in _MARKS]
    meta = next((key for key in keys if plain_key(key) in ("metadata", "meta")), None)
    holding = [key for name, key in plain.items() if name in _HOLDING_KEYS]
    telling = [key for name, key in plain.items() if name in _TELLING_OF_WRITES]
    is_alone = len(marks) == 1 and marks[0][0] is _STATUS_KEYS and not holding and meta is None
    status = marks[0][1] if is_alone else None
    return status, marks, not plain.keys() <= TELLING_KEYS, holding, telling, meta


def _marks_failure(held: JsonObject, marks: _Marked, given: frozenset[str], is_record: bool) -> bool | None:
    """Returns what marks of `_read_keys` state; the state of a record (a payment declined) states nothing."""
    has_failed: bool | None = None  # one mark of failure outweighs those of success
    for kind, key in marks:
        value, mark = held[key], None
        if kind is _STATUS_KEYS:
            mark = True if isinstance(value, str) and value in _GOOD_STATUS else _status(value)
            if mark is False and isinstance(value, str):
                text = value.strip().casefold()
                mark = None if text in given or (is_record and _BAD_STATE.fullmatch(text)) else False
        elif kind is _SUCCESS_KEYS:
            mark = _is_true(value)
            mark = _status(value) if mark is None else mark
        elif kind is _EXIT_KEYS:
            is_number = not isinstance(value, bool) and re.fullmatch(r"-?\d{1,10}", str(value))
            mark = str(value) == "0" if is_number else None
        elif kind is _FLAG_KEYS:
            mark = False if _is_true(value) is True and not is_record else None
        elif value.strip().lower() not in _NO_ERROR if isinstance(value, str) else value:
            return True
        if mark is not None:
            has_failed = has_failed or not mark
    if has_failed is not None:
        return has_failed
    code, of_type = held.get("code"), held.get("__type", held.get("type"))
    if isinstance(of_type, str) and _BAD_TYPE.fullmatch(of_type) and of_type.lower() not in given:
        return True
    if isinstance(code, str):
        return (is_bad_status(code) and code.strip().casefold() not in given) or None
    is_status = isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600
    texts = map(held.get, ("message", "detail", "msg", "reason"))
    return (is_status and any(isinstance(text, str) for text in texts)) or None


def _is_true(value: JsonValue) -> bool | None:
    if isinstance(value, str):
        text = value.strip().lower()
        return True if text in ("true", "yes", "1") else False if text in ("false", "no", "0") else None
    return bool(value) if isinstance(value, bool | int | float) else None


def _status(value: JsonValue) -> bool | None:
    """Returns whether a status means success; None: neither (`cancelled` is the state of a resource)."""
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):  # {"state": "error"}; Google's Status: {"code": 7, "message": "..."}
        failed = states_failure(value) or ("message" in value and value.get("code") in _RPC_CODES)
        return False if failed or _status(value.get("phase")) is False else None
    text = str(value).strip().lower() if isinstance(value, str | int) else ""
    if text in _GOOD_STATUS:
        return True
    return False if is_bad_status(text) or _BAD_CODE.fullmatch(text) else None
