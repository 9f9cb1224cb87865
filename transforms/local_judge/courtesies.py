"""Closed lists of requests to the user and of courtesies, by pattern.

All patterns match a whole sentence in lower case without its final marks. What no pattern matches may be a
claim.
"""

import re
import unicodedata

_LONGEST = 160
_FINAL = " \t\n.!。！…*_\"'”“()~🙂😊👍"
_SAME = r"[^,.;:!?、，。]{0,80}"
_ASKED = (
    "tell|let|provide|share|give|send|confirm|specify|enter|choose|select|wait|hold|reply|respond|contact|ask"
    "|type|describe|clarify|upload|try|rephrase|repeat|answer"
)
_ASKED_IN_GERMAN = (
    "nennen|teilen|geben|sagen|senden|schicken|bestätigen|wählen|warten|melden|kontaktieren|beschreiben"
    "|versuchen|wenden|antworten"
)
_ASKED_IN_JAPANESE = "教え|知らせ|聞かせ|連絡|伝え|入力|待ち|選び|選択|確認|問い合わせ|申し付け"
_ASKED_IN_KOREAN = "알려|말씀해|입력해|선택해|기다려|확인해|연락해|제공해|보내|문의해"
_STATING = re.compile(
    r"\b(?:that(?! for\b|$)|who|whose|because|since|as|although|while|dass|daß|weil|da"
    r"|obwohl|qui|que|parce)\b|ので|ため|から、"
    "|으니|때문|므로|니다(?!$)|지만"
)
_HELP = r"(?:help|assist|support)"
_ANYTHING = (
    r"(?:need|want|have|require) (?:anything|something|(?:any |some )?(?:more |further |additional |other )?"
    r"(?:help|assistance|support|information|details|questions?))(?: else)?"
)
_ANY_TIME = r"(?: again| anytime| at any time)?"
_FREE = rf"feel free to (?:ask|contact|reach(?: out)?|write)(?: to)?(?: me| us)?{_ANY_TIME}"
_WITH = r"(?: with (?:that|this|it|anything(?: else)?|your [a-z]+))?"

_REQUESTS = re.compile(
    rf"(?:please|kindly) (?:{_ASKED})\b{_SAME}|(?:{_ASKED}) me\b{_SAME} please"
    rf"|let me (?:check|look|see|find out|know){_SAME}|(?:please )?{_FREE}(?: if you {_ANYTHING})?"
    rf"|(?:bitte )?(?:{_ASKED_IN_GERMAN}) sie (?:mir|uns|bitte|sich|ihre?n?|es)\b{_SAME}"
    rf"|veuillez (?:indiquer|fournir|préciser|confirmer|patienter){_SAME}"
    rf"|{_SAME}(?:{_ASKED_IN_JAPANESE})(?:て|で|し)?(?:ください|下さい|くださいませ)"
    rf"|{_SAME}(?:{_ASKED_IN_KOREAN})\s?주(?:세요|십시오|시기 바랍니다)"
    rf"|(?:i|we)(?: can|'ll| will|'d be (?:happy|glad) to| would be (?:happy|glad) to) {_HELP} you{_WITH}"
    rf"(?: further| today)?"
    rf"|(?:gerne )?(?:kann ich|können wir|ich kann|wir können|helfe ich|ich helfe) (?:ihnen|dir)\b{_SAME}"
    rf"(?:helfen|weiter|weiterhelfen)"
    rf"|(?:if|should) you {_ANYTHING},? (?:please )?"
    rf"(?:{_FREE}|let me know|let us know|just ask|ask me|contact us)"
    rf"|(?:wenn|falls) sie (?:noch )?(?:weitere |mehr )?(?:fragen|hilfe){_SAME},? (?:melden|fragen){_SAME}"
)

_COURTESIES = re.compile(
    r"(?:hello|hi|hey|dear)\b(?: there| customer| guest)?"
    r"|(?:sure|great|certainly|absolutely|perfect|understood|of course"
    r"|no problem|sounds good|got it|goodbye|bye"
    r"|welcome|good (?:morning|afternoon|evening|day))(?: thing)?"
    r"|(?:you'?re|you are) (?:very |most )?welcome"
    r"|(?:thanks|thank you)(?: so much| very much| again)?"
    r"(?: for (?:your (?:patience|time|message|understanding|question|interest|help|inquiry|order)"
    r"|contacting us|asking|waiting|reaching out|letting (?:me|us) know))?"
    r"|(?:i )?hope (?:this|that|it) (?:helps|helped)(?: you)?"
    r"|have an? (?:nice|great|good|wonderful|lovely|pleasant) (?:day|evening"
    r"|weekend|trip|time|stay|flight|one)"
    r"|(?:i'm|i am|we're|we are|always)? ?(?:happy|glad|here|pleased) to (?:help|assist)(?: you)?"
    r"|(?:i'm|i am|we're|we are) sorry(?: for the (?:inconvenience|delay|confusion|trouble))?"
    r"|(?:i|we) apologi[sz]e(?: for the (?:inconvenience|delay|confusion|trouble))?"
    r"|safe travels|enjoy(?: your (?:stay|trip|day|meal|flight))?|take care"
    r"|all the best|best regards|good luck"
    r"|(?:vielen |herzlichen |besten )?dank(?:e| für (?:ihre|deine"
    r"|die) (?:geduld|nachricht|anfrage|zeit|frage))?"
    r"|danke(?: schön| sehr| für (?:ihre|deine) (?:geduld|nachricht|anfrage|zeit|frage))?"
    r"|(?:hallo|guten (?:tag|morgen|abend)|auf wiedersehen|gern geschehen"
    r"|sehr gerne|gerne|natürlich|bitte sehr)"
    r"|(?:ich hoffe,? )?(?:das|dies) hilft(?: ihnen| dir)?(?: weiter)?"
    r"|ich (?:helfe|stehe) (?:ihnen |dir )?gerne(?: weiter| zur verfügung)?"
    r"|(?:ich wünsche ihnen |haben sie )?(?:einen )?(?:schönen|guten) (?:tag|abend)(?: noch)?"
    r"|(?:es tut mir|tut mir) leid|gute reise|schöne reise|viel (?:erfolg|spaß|glück)"
    r"|(?:mit )?freundlichen? grüßen?"
    r"|(?:대단히 |정말 )?감사(?:합니다|드립니다|해요)|고맙습니다|안녕하세요"
    r"|안녕히 계세요|죄송합니다|네|알겠습니다"
    r"|(?:기다려|문의해|연락해) ?주셔서 감사(?:합니다|드립니다)"
    r"|도움이 (?:되었|됐|되)(?:기를|기|으면|길) (?:바랍니다|바라요|좋겠습니다)"
    r"|(?:즐거운|좋은|행복한) (?:하루|여행|시간|저녁) (?:되세요|보내세요|되십시오)"
    r"|(?:どうも)?ありがとうございま(?:す|した)|こんにちは|申し訳ございません|申し訳ありません|すみません"
    r"|(?:少しでも)?お役に立て(?:れば|たら|ましたら)(?:幸い|うれしい|嬉しい)です"
    r"|(?:良い|よい)(?:一日|旅|ご旅行)を(?:お過ごしください)?|かしこまりました|承知しました|承知いたしました"
    r"|お待ちいただき(?:まして)?、?ありがとうございます"
)


def asks_or_offers_help(text: str) -> bool:
    """Returns whether a sentence only asks the user for something, or offers help."""
    said = _normal(text)
    return bool(said) and _REQUESTS.fullmatch(said) is not None and _STATING.search(said) is None


def is_courtesy(text: str) -> bool:
    """Returns whether a sentence is a courtesy, such as thanks or a wish."""
    return _COURTESIES.fullmatch(_normal(text)) is not None


def _normal(text: str) -> str:
    """Returns a sentence in lower case without final marks; "": it is too long for a request or courtesy."""
    if len(text) > _LONGEST:
        return ""
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'").strip(_FINAL)
