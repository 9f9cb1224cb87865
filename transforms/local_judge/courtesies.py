"""Closed lists of requests to the user, of courtesies, and of words in requests and introductions.

All patterns match a whole sentence in lower case without its final marks. What no pattern matches may be a
claim.
"""

import re
import unicodedata
from collections.abc import Set

from turnwise.transforms.text.features import is_run_of_characters
from turnwise.transforms.text.function_words import word_set
from turnwise.transforms.text.words import weigh, words

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

_WORDS = weigh(
    words(
        "agent back class cost down encounter everything feedback human"
        " accept account action additional address adjust alternative answer ask assist assistance"
        " available begin book booking breakdown cancel cancellation card change check choose clarify"
        " clear code confirm confirmation contact continue correct current customer date describe detail"
        " different dob document else email enter error exact explain fine find flight following form"
        " free format full further get give go happen happy help hold id identify idea information issue"
        " item itinerary know leg let like list look make mean message method minute modify moment name"
        " necessary need new next note number okay option order original passenger payment people phone"
        " photo please policy possible prefer prepare problem proceed process product profile provide"
        " purchase question reach ready reason receipt refer rephrase reply request require reservation"
        " respond result return right second section see select send service share specific specify"
        " start status step still sure summary take tell thing third time total transfer travel trip try"
        " type understand update upgrade upload use user verify wait want way wish work write angaben"
        " antwort art auswahl bestätigen bestellung bestellnummer beschreiben buchung datum details"
        " einzelheiten folgende fragen genau genaue geben gewünschte gewünschten hilfe informationen"
        " kontakt kontaktieren kundennummer melden mitteilen möchten namen nennen nummer optionen sagen"
        " schicken senden teilen uhrzeit versuchen wählen warten weitere wenden wünschen wissen zeit"
        " zusammenfassung änderung änderungen helfen weiter weiterhelfen gerne bitte"
    )
)
_OF_THE_USER = re.compile(
    r"\b(?:your|ihr(?:e[nmrs]?)?|dein(?:e[nmrs]?)?|euer|eure[nmrs]?|vos|votre|su)((?: [\w'-]+){1,2})",
    re.IGNORECASE,
)
_ON = word_set("in on at of for from with about while to mit im am von für bei zu und and is are has")
_OFFERS = re.compile(
    rf"(?:please )?{_FREE}(?: if you {_ANYTHING})?"
    rf"|(?:i|we)(?: can|'ll| will|'d be (?:happy|glad) to| would be (?:happy|glad) to) {_HELP} you{_WITH}"
    rf"(?: further| today)?"
    rf"|(?:if|should) you {_ANYTHING},? (?:please )?"
    rf"(?:{_FREE}|let me know|let us know|just ask|ask me|contact us)"
    rf"|(?:please )?let (?:me|us) know if you {_ANYTHING}"
    rf"|(?:please )?let me know if there(?: is|'s) anything else"
    rf" (?:i can (?:do|help|assist)|you need)(?: (?:you )?(?:with|for you))?"
)
_REQUESTS = re.compile(
    rf"(?:please|kindly) (?:{_ASKED})\b{_SAME}|(?:{_ASKED}) me\b{_SAME} please"
    rf"|let me (?:check|look|see|find out|know){_SAME}"
    rf"|(?:bitte )?(?:{_ASKED_IN_GERMAN}) sie (?:mir|uns|bitte|sich|ihre?n?|es)\b{_SAME}"
    rf"|veuillez (?:indiquer|fournir|préciser|confirmer|patienter){_SAME}"
    rf"|{_SAME}(?:{_ASKED_IN_JAPANESE})(?:て|で|し)?(?:ください|下さい|くださいませ)"
    rf"|{_SAME}(?:{_ASKED_IN_KOREAN})\s?주(?:세요|십시오|시기 바랍니다)"
    rf"|(?:gerne )?(?:kann ich|können wir|ich kann|wir können|helfe ich|ich helfe) (?:ihnen|dir)\b{_SAME}"
    rf"(?:helfen|weiter|weiterhelfen)"
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
    r"|contacting us|asking|waiting|reaching out|letting (?:me|us) know"
    r"|your (?:understanding and patience|patience and understanding)))?"
    r"|(?:i )?hope (?:this|that|it) (?:helps|helped)(?: you)?"
    r"|have an? (?:nice|great|good|wonderful|lovely|pleasant) (?:day|evening"
    r"|weekend|trip|time|stay|flight|one)(?: ahead)?"
    r"|(?:i'm|i am|we're|we are|always)? ?(?:happy|glad|here|pleased) to (?:help|assist)(?: you)?"
    r"|(?:i'm|i am|we're|we are) sorry(?: for the (?:inconvenience|delay|confusion|trouble))?"
    r"|(?:i|we) apologi[sz]e(?: for the (?:inconvenience|delay|confusion|trouble))?"
    r"|(?:great|good|wonderful) (?:news|question|choice)|glad (?:i|we) could (?:help|assist)(?: you)?"
    r"|(?:i'll|i will|let me|we'll|we will) (?:check|look (?:into|up)|verify|do) (?:that|this|it)(?: up)?"
    r"(?: for you)?(?: now| right away)?"
    r"|(?:just )?(?:one|a) (?:moment|second|minute)(?:,? please)?"
    r"|(?:please )?(?:hold on|bear with me|wait)(?: (?:for )?(?:a|one) (?:moment|second|minute))?"
    r"(?: while i (?:check|look (?:it|that|this) up"
    r"|look into (?:it|that|this)))?"
    r"|let me help you(?: with (?:that|this|it))?"
    r"|(?:sure,? )?here(?: is|'s) what i (?:found|have)"
    r"|i hope (?:that|this) answers your questions?"
    r"|(?:i'm |we're )?looking forward to (?:seeing|hearing from) you"
    r"|if you have any (?:more|other|further) questions"
    r"(?: or need (?:any )?(?:further |more )?(?:help|assistance))?,?"
    r" (?:please )?(?:feel free to ask|let me know|just ask)"
    r"|(?:i|we) apologi[sz]e for (?:the|any) (?:inconvenience|delay|confusion|trouble)"
    r"(?: this may have caused| caused)?"
    r"|(?:einen|nur einen) (?:moment|augenblick)(?:,? bitte)?|schönen aufenthalt|gute neuigkeiten"
    r"|(?:bei|für) (?:weiteren |weitere )?fragen stehe ich (?:ihnen|dir) (?:jederzeit )?"
    r"(?:gerne )?zur verfügung"
    r"|ich (?:schaue|prüfe|sehe) das (?:gerne )?für (?:sie|dich)(?: nach)?"
    r"|lassen sie (?:es )?mich wissen, wenn sie noch etwas brauchen"
    r"|(?:es )?tut mir leid für die (?:unannehmlichkeiten|verzögerung)"
    r"|좋은 소식입니다|잠시만 기다려 주(?:세요|십시오)|잠시만요|이용해 ?주셔서 감사(?:합니다|드립니다)"
    r"|확인해 보겠습니다|바로 확인해 드리겠습니다"
    r"|(?:ご利用|お問い合わせ|ご連絡)いただき(?:まして)?、?(?:誠に)?ありがとうございます|少々お待ちください"
    r"|またのご利用をお待ちしております|確認いたします|ご不明な点がございましたら、お知らせください"
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


def asks_or_offers_help(text: str, known: Set[str]) -> bool:
    """Returns whether a sentence only asks the user for something, or offers help.

    Args:
        text: The sentence.
        known: Keys of the words that the evidence or the user said.
    """
    said = _normal(text)
    if not said or _STATING.search(said):
        return False
    return bool(_OFFERS.fullmatch(said) or (_REQUESTS.fullmatch(said) and adds_nothing(said, known)))


def adds_nothing(text: str, known: Set[str]) -> bool:
    """Returns whether a request or an introduction has no content word that is its own.

    Words of the closed list, words of the evidence or the user, and what belongs to the user, as in `your
    suitcase`, add nothing. Words in Han, Kana and Hangul are not listed.
    """
    rest = _OF_THE_USER.sub(lambda owned: " ".join(_after_a_preposition(owned[1].split())), text)
    return all(
        is_run_of_characters(word.lower) or not (_WORDS.keys() | known).isdisjoint(word.keys)
        for word in words(rest)
        if word.is_content
    )


def _after_a_preposition(owned: list[str]) -> list[str]:
    """Returns the words from the first one that no longer belongs to the name of a thing."""
    places = [place for place, word in enumerate(owned) if word.lower() in _ON]
    return owned[places[0] :] if places else []


def is_courtesy(text: str) -> bool:
    """Returns whether a sentence is a courtesy, such as thanks or a wish."""
    return _COURTESIES.fullmatch(_normal(text)) is not None


def _normal(text: str) -> str:
    """Returns a sentence in lower case without final marks; "": it is too long for a request or courtesy."""
    if len(text) > _LONGEST:
        return ""
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'").strip(_FINAL)
