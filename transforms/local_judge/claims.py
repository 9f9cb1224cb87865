"""Reads a sentence as a claim: its weighted features, and the keys that evidence must hold."""

import re
import unicodedata
from collections.abc import Iterable, Sequence, Set
from itertools import accumulate, chain, combinations
from math import fsum
from operator import itemgetter
from typing import NamedTuple

from turnwise.schemas.jsonio import grouped
from turnwise.transforms.effects.failures import reports_failure
from turnwise.transforms.local_judge.meanings import words
from turnwise.transforms.text.words import Keys, Word, dates_in_words, is_run_of_characters, weigh, word_set

_LIST_MARK = re.compile(r"\W*\d{1,3}[.)](?=\s|$)")
_NAMED = 5


class Claim(NamedTuple):
    """A sentence without the number of a list entry, with the weights of the features of its content words.

    It demands numbers, dates and identifiers: of the keys of each, the evidence must hold one.
    """

    text: str
    words: list[Word]
    content: dict[str, float]
    demands: list[tuple[Word, Keys]]


def read_claim(sentence: str) -> Claim:
    """Reads a sentence."""
    mark = _LIST_MARK.match(sentence)
    text = sentence[mark.end() :] if mark else sentence
    read = words(text)
    content = weigh([word for word in read if word.is_content])
    demands = [(word, keys) for word in read for keys in word.demands]
    return Claim(text, read, content, demands + list(dates_in_words(read)))


PLAIN_NUMBER = re.compile(r"#\d+(?:\.\d+)?")
_FACTORS = frozenset(map(float, range(2, 13)))
_MOST_TERMS = 60


def missing_numbers(claim: Claim, *known: Set[str]) -> list[str]:
    """Returns the numbers, dates and identifiers of a claim that none of some sets of keys holds."""
    missing = (word.lower for word, keys in claim.demands if all(held.isdisjoint(keys) for held in known))
    return [number.rstrip(".,") for number in missing]  # `12.50.` at the end of a sentence


def plain_numbers(claim: Claim, *known: Set[str]) -> dict[float, str]:
    """Returns the missing numbers of a claim that are no identifiers, with their keys, in their order."""
    missing = (keys for _, keys in claim.demands if all(held.isdisjoint(keys) for held in known))
    return {float(key[1:]): key for keys in missing for key in keys if PLAIN_NUMBER.fullmatch(key)}


def computed_numbers(claims: Sequence[Claim], *known: Set[str]) -> set[str]:
    """Returns the keys of numbers of an answer that follow from others of it, which some sets of keys hold.

    They are sums, differences and products of two numbers, and sums of all numbers of a sentence; small
    numbers may be factors wherever they come from.
    """
    computed: set[str] = set()
    open_numbers, factors = dict[float, str](), set[float]()
    for claim in claims:
        values = {float(key[1:]) for _, keys in claim.demands for key in keys if PLAIN_NUMBER.fullmatch(key)}
        factors |= values & _FACTORS
        open_numbers |= plain_numbers(claim, *known)
    lines = _known_numbers(claims, known)
    terms = list(dict.fromkeys(chain.from_iterable(lines)))[:_MOST_TERMS]
    totals = {round(fsum(line), 2) for line in lines}
    totals |= {round(fsum(number for number in line if number not in _FACTORS), 2) for line in lines}
    while open_numbers:
        results = totals | {round(left + right, 2) for left, right in combinations(terms, 2)}
        results |= {round(abs(left - right), 2) for left, right in combinations(terms, 2)}
        results |= {round(term * factor, 2) for term in terms for factor in factors}
        following = [value for value in open_numbers if value in results]
        if not following:
            break
        computed |= {open_numbers.pop(value) for value in following}
        terms = [*terms, *following][:_MOST_TERMS]
        totals = set()
    return computed


def totals_of_lines(claims: Sequence[Claim], *known: Set[str]) -> set[float]:
    """Returns sums of one known number each of sentences one after another, as of the lines of a bill.

    Between those that begin with the same word, such as `Price:`, others may stand.
    """
    numbers = zip(claims, _known_numbers(claims, known), strict=True)
    lines = [(claim.words[0].lower, line) for claim, line in numbers if line][:_MOST_TERMS]
    columns = [[of_line(line) for _, line in lines] for of_line in (max, itemgetter(0), itemgetter(-1))]
    columns += grouped((label, line[-1]) for label, line in lines).values()
    runs = (column[first:] for column in columns for first in range(len(column)))
    return {round(total, 2) for run in runs for total in accumulate(run)}


def _known_numbers(claims: Sequence[Claim], known: Sequence[Set[str]]) -> list[list[float]]:
    return [
        [
            float(key[1:])
            for _, keys in claim.demands
            if any(not held.isdisjoint(keys) for held in known)
            for key in keys
            if PLAIN_NUMBER.fullmatch(key)
        ]
        for claim in claims
    ]


def missing_words(claim: Claim, known: Set[str]) -> list[str]:
    """Returns the content words of a claim of which less than half is known."""
    return [word.lower for word in claim.words if not (word.demands or is_half_known(word, known))]


def is_half_known(word: Word, known: Set[str]) -> bool:
    """Returns whether half of the features of a word, by weight, are known, or it is no content word."""
    if not word.is_content or known.isdisjoint(word.keys):
        return not word.is_content
    return fsum([weight if key in known else -weight for key, weight in word.features]) >= 0


def quoted_names(names: Iterable[str]) -> str:
    """Returns the first five distinct names in quotation marks."""
    shown = [f"“{name}”" for name in dict.fromkeys(names)]
    return ", ".join(shown[:_NAMED]) + (" and more" if len(shown) > _NAMED else "")


# Detects what claims nothing: questions, requests, introductions, courtesies, and talk around a fact.
#
# Patterns of requests and courtesies match a whole sentence in lower case without its final marks. Talk, such
# as `I think that` and `for example`, is removed wherever it stands. What no pattern matches may be a claim.

QUESTION = "A question claims nothing."
NOTHING_SAID = "No word in it claims anything."
REQUEST = "A request to the user or an offer of help claims nothing."
INTRODUCTION = "It only introduces what follows."
COURTESY = "A courtesy claims nothing."

_END = r"[^\w?？!！:：]*$"
_QUESTION = re.compile(rf"(?:[?？⸮؟\u037e՞፧]|(?:です|ます|でしょう|ません)か|까요?|나요){_END}")
_STATED = re.compile(
    r"(?i)[,;–—]\s*(?:(?:is|are|was|were|do|does|did|has|have|had|can|could|will|wo|ca|would|should"
    r"|must)(?:n['’]?t)?\s+(?:i|you|he|she|it|we|they|there|one)(?:\s+not)?|right|correct|no|yes|true|ok"
    r"|okay|(?:did )?you know|nicht(?:\s+wahr)?|oder(?:\s+nicht)?|richtig|stimmt['’]?s|n['’]est-ce\s+pas"
    r"|non|¿?verdad|¿?no)\s*[?？]\W*$|(?:よね|ですね|ますね|でしょう|죠|지요|잖아요)[?？]\W*$|^\W*(?:(?:is"
    r"|are|was|were)(?:n['’]t)? (?:it|that) (?:not )?(?:[a-z]+ )?that|who knew|you do know that|(?:can"
    r"|could) you (?:believe|imagine)|ist es nicht \w+, dass)\b"
)
_DECLARED = re.compile(
    r"(?i)\W*(?:the|a|an|he|she|it|they|this|these|our)\s[^,;:?？]{0,80}"
    r"\s(?:is|are|was|were|has|have|had)\s[^,;:?？]{1,80}\?\W*"
)
_INTRODUCTION = re.compile(rf"[:：]{_END}")
_BREAK = re.compile(r"[,;:，、；：](?=\s|[^\W\d])")
_PREDICATE = re.compile(
    r"(?i)\b(?:is|are|was|were|been|died|ist|sind|war|waren|wurde|wurden|wird)\b(?!\W*$)(?!\s(?:the|your|some"
    r"|a|an|my|what|as follows|ihre?|die|der|das|einige)\b)|(?:니다|어요|です|ます|した)[*\s]*[:：]"
)
_TAIL = 32
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
    r"|으니|때문|므로|니다(?!$)|지만"
)
_HELP = r"(?:help|assist|support)"
_ANYTHING = (
    r"(?:need|want|have|require) (?:(?:any|some|more|further|additional|other) ){0,2}(?:anything|something"
    rf"|{_HELP}(?:ance)?|information|details|questions?)(?: else)?"
)
_FREE = "feel free to (?:ask|contact|reach(?: out)?|write)(?: to)?(?: me| us)?(?: again|(?: at)? ?any ?time)?"
_REQUESTS = re.compile(
    rf"(?:please )?{_FREE}(?: if you {_ANYTHING})?|(?:i|we)(?: can|'ll| will|'d be (?:happy|glad) to| "
    rf"would be (?:happy|glad) to) {_HELP} you(?: with (?:that|this|it|anything(?: else)?|your "
    rf"[a-z]+))?(?: further| today)?|(?:if|should) you {_ANYTHING}(?: or {_ANYTHING})?,? (?:please |just "
    rf")?(?:{_FREE}|let me know|let us know|ask(?: me)?|contact us)|(?:please|kindly) (?:{_ASKED})\b{_SAME}"
    rf"|(?:{_ASKED}) me\b{_SAME} please|let (?:me|us) (?:check|look|see|find out|know){_SAME}|(?:bitte "
    rf")?(?:{_ASKED_IN_GERMAN}) sie (?:mir|uns|bitte|sich|ihre?n?|es)\b{_SAME}|veuillez (?:indiquer|fournir"
    rf"|préciser|confirmer|patienter){_SAME}|{_SAME}(?:{_ASKED_IN_JAPANESE})(?:て|で|し)?(?:ください|下さい"
    rf"|くださいませ)|{_SAME}(?:{_ASKED_IN_KOREAN})\s?주(?:세요|십시오|시기 바랍니다)|(?:gerne )?(?:kann "
    rf"ich|können wir|ich kann|wir können|helfe ich|ich helfe) (?:ihnen|dir)\b{_SAME}(?:helfen|weiter"
    rf"|weiterhelfen)|(?:wenn|falls) sie (?:noch )?(?:weitere |mehr )?(?:fragen|hilfe){_SAME},? (?:melden"
    rf"|fragen){_SAME}"
)

_COURTESIES = re.compile(
    r"(?:hello|hi|hey|dear)\b(?: there| customer| guest)?|(?:sure|great|certainly|absolutely|perfect"
    r"|understood|of course|no problem|sounds good|got it|goodbye|bye|welcome|good (?:morning|afternoon"
    r"|evening|day))(?: thing)?|(?:you'?re|you are) (?:very |most )?welcome|(?:thanks|thank you)(?: so much| "
    r"very much| again)?(?: for (?:your (?:patience|time|message|understanding|question|interest|help|inquiry"
    r"|order)|contacting us|asking|waiting|reaching out|letting (?:me|us) know|your (?:understanding and "
    r"patience|patience and understanding)))?|(?:i )?hope (?:this|that|it) (?:help(?:s|ed)(?: you)?|answers "
    r"your questions?)|have an? (?:nice|great|good|wonderful|lovely|pleasant) (?:day|evening|weekend|trip"
    r"|time|stay|flight|one)(?: ahead)?|(?:i'm|i am|we're|we are|always)? ?(?:happy|glad|here|pleased) to "
    r"(?:help|assist)(?: you)?|(?:(?:i'm|i am|we're|we are) sorry|(?:i|we) apologi[sz]e)(?: for (?:the|any) "
    r"(?:inconvenience|delay|confusion|trouble)(?: this may have caused| caused)?)?|(?:great|good|wonderful) "
    r"(?:news|question|choice)|glad (?:i|we) could (?:help|assist)(?: you)?|(?:i'll|i will|let me|we'll|we "
    r"will) (?:check|look (?:into|up)|verify|do) (?:that|this|it)(?: up)?(?: for you)?(?: now| right away)?"
    r"|(?:just )?(?:one|a) (?:moment|second|minute)(?:,? please)?|(?:please )?(?:hold on|bear with me"
    r"|wait)(?: (?:for )?(?:a|one) (?:moment|second|minute))?(?: while i (?:check|look (?:it|that|this) up"
    r"|look into (?:it|that|this)))?|let me help you(?: with (?:that|this|it))?|(?:sure,? )?here(?: is|'s) "
    r"what i (?:found|have)|(?:i'm |we're )?looking forward to (?:seeing|hearing from) you|(?:einen|nur "
    r"einen) (?:moment|augenblick)(?:,? bitte)?|gute neuigkeiten|(?:bei|für) (?:weiteren |weitere )?fragen "
    r"stehe ich (?:ihnen|dir) (?:jederzeit )?(?:gerne )?zur verfügung|ich (?:schaue|prüfe|sehe) das (?:gerne "
    r")?für (?:sie|dich)(?: nach)?|lassen sie (?:es )?mich wissen, wenn sie noch etwas brauchen|좋은 "
    r"소식입니다|잠시만요|(?:바로 )?확인해 (?:보|드리)겠습니다|またのご利用をお待ちしております"
    r"|確認いたします|ご不明な点がございましたら、お知らせください|safe travels|enjoy(?: your (?:stay|trip"
    r"|day|meal|flight))?|take care|all the best|best regards|good luck|(?:vielen |herzlichen |besten "
    r")?dank(?:e(?: schön| sehr)?)?(?: für (?:ihre|deine|die) (?:geduld|nachricht|anfrage|zeit|frage))?"
    r"|(?:hallo|auf wiedersehen|gern geschehen|sehr gerne|gerne|natürlich|bitte sehr)|(?:ich hoffe,? )?(?:das"
    r"|dies) hilft(?: ihnen| dir)?(?: weiter)?|ich (?:helfe|stehe) (?:ihnen |dir )?gerne(?: weiter| zur "
    r"verfügung)?|(?:ich wünsche ihnen |haben sie )?(?:einen )?(?:schönen|guten) (?:tag|morgen|abend"
    r"|aufenthalt)(?: noch)?|(?:es )?tut mir leid(?: für die (?:unannehmlichkeiten|verzögerung))?|(?:gute"
    r"|schöne) reise|viel (?:erfolg|spaß|glück)|(?:mit )?freundlichen? grüßen?|(?:대단히 |정말 |(?:이용해"
    r"|기다려|문의해|연락해) ?주셔서 )?감사(?:합니다|드립니다|해요)|고맙습니다|안녕하세요|안녕히 계세요"
    r"|죄송합니다|알겠습니다|도움이 (?:되었|됐|되)(?:기를|기|으면|길) (?:바랍니다|바라요|좋겠습니다)"
    r"|(?:즐거운|좋은|행복한) (?:하루|여행|시간|저녁) (?:되세요|보내세요|되십시오)|(?:どうも|(?:ご利用"
    r"|お問い合わせ|ご連絡|お待ち)いただき(?:まして)?、?(?:誠に)?)?ありがとうございま(?:す|した)|こんにちは"
    r"|申し訳(?:ござい|あり)ません|すみません|(?:少しでも)?お役に立て(?:れば|たら|ましたら)(?:幸い|うれしい"
    r"|嬉しい)です|(?:良い|よい)(?:一日|旅|ご旅行)を(?:お過ごしください)?|かしこまりました"
    r"|承知(?:いた)?しました"
)
_VERY = r"(?:(?:really|so|pretty|quite|very|kind of|kinda|just|super|such|wirklich|sehr|echt|ganz|so) )*"
_FEELING = (
    r"(?:interesting|funny|fun|amazing|crazy|cool|fascinating|surprising|incredible|sad|great|nice|good"
    r"|awesome|exciting|delicious|tasty|scary|terrible|awful|horrible|rough|brilliant|adorable|hilarious"
    r"|annoying|frustrating|understandable|a pity|a shame|weird|wild|neat|impressive|wonderful|unbelievable"
    r"|beautiful|cute|true|strange|lovely|right|lustig|süß|verständlich|ärgerlich|schlimm|furchtbar|lecker"
    r"|aufregend|wunderbar|interessant|spannend|erstaunlich|verrückt|schön|toll|cool|schade)"
)
_TOLD = (
    r"(?:(?:do|did) you(?: also| already| even)? know that|(?:did|have) you(?: ever)? (?:hear|heard) that"
    r"|did you know(?! (?:who|what|when|where|why|how|which|whether|if|about|each)\b)|who knew that|you "
    r"know that|would you believe(?: that)?|(?:weißt|wusstest|wussten|wissen|kennst) (?:du|sie|ihr)(?: "
    r"\w+)?,? ?da(?:ss|ß)|(?:saviez|savez)-vous qu(?:e\b|')|(?:sais|savais)-tu qu(?:e\b|')|tu savais "
    r"qu(?:e\b|')|(?:sabías|sabía|sabias|sabia)(?: usted)? que)"
)
_TOLD_IN_CHARACTERS = (
    r"(?:는|은|인|된|한|던) ?(?:거|것을?|걸|사실을?) ?(?:아세요|아시나요|알고 ?계(?:세요|셨나요|신가요))"
    r"|(?:のを?|こと[をは]?|って|と)(?:ご存[じ知](?:です|でした)か|知って(?:い)?(?:ます|ました)か)"
)
_TALK = (
    _TOLD,
    r"you(?: ?'d| may| might| will| would| should| probably| surely)*(?: also| already)? (?:be (?:interested"
    r"|surprised|happy)|like|want|love) to (?:know|hear|learn)(?: that)?|you (?:may|might|should|must"
    r"|probably)(?: already| also)? (?:know|have heard)(?: that)?|i(?: do| also| just| really| actually| "
    r"would| ?'d| did| have| can| ?'ve)* (?:think|thought|believe|guess|suppose|heard|hear|know|knew|feel"
    r"|imagine|assume|remember|recall|understand|figure|mean|say|bet|confirm|see)(?: like| somewhere| "
    r"once)?(?: that)?(?! (?:him|her|them|me|you|how)\b)|i(?: have| ?'ve)?(?: also| just| recently| once)? "
    r"(?:read|saw|seen|learned|found out)(?: somewhere| once)?(?: that|(?= (?:it|he|she|they|there)\b))"
    r"|i(?: ?'m| am) (?:pretty |quite )?(?:sure|certain)(?: that)?"
    rf"|(?:it|that)(?: ?'s| is| was) {_VERY}{_FEELING}(?: to (?:know|note|see|think|hear|learn))?"
    r"(?: that\b| how\b(?! (?:many|much)))|(?:it|that)(?: ?'s| is) (?:worth (?:noting|mentioning|knowing)"
    r"|important to note|said|believed) that|(?:they|people|some) say(?: that)?"
    rf"|(?:(?:a|one|another|the) )?{_VERY}(?:fun|interesting|cool|random|little known) fact(?: ?:| is that)"
    r"|(?:just |please )?(?:keep|bear) in mind(?: that)?|(?:just )?(?:remember|note) that|so you know"
    r"|i(?: ?'m| am) afraid(?: that)?|i(?: ?'m| am) (?:happy|glad|sorry) to (?:say|tell you)(?: that)?"
    r"|(?:the )?(?:good|bad) news(?: is)?(?: that)?|no worries|guess what|believe me|trust me|mind you|if "
    r"you ask me|(?:can|could|would) you (?:believe|imagine) (?:it|that)|(?:then |so )?you(?: ?'d| would"
    r"| ?'ll| will| should| could| can| might| may| must)(?: just| definitely| really| probably| surely| also"
    r"| always| totally| absolutely)* (?:love|like|enjoy|try|check out|consider|have to see|want to see)(?! "
    r"to\b)|i(?: ?'d| would)(?: definitely| probably| really)? (?:suggest|recommend|go (?:with|for))|my "
    r"(?:personal |all time |absolute )?favou?rite(?: one)?(?: ?'s| is| was| would be)|(?:as|so) far as i(?: "
    r"know| can tell| remember| recall| ?'m aware| am aware)|(?:from )?what i(?: have| ?'ve)? (?:know|heard"
    r"|read|understand|remember|can tell|gather|learned)(?: is that)?|if i (?:remember|recall)(?: "
    r"(?:correctly|right|rightly|well))?|if i(?: ?'m| am) not (?:mistaken|wrong)|to (?:be honest|my knowledge"
    r"|tell you the truth)|in my opinion|believe it or not|i'?m told(?: that)?|of course|for (?:example"
    r"|instance)|by the way|as a matter of fact|in fact|let me tell you|speaking of which|in case you "
    r"(?:didn't know|wondered|were wondering|are interested)|(?:kind|sort) of(?= \w)|you know(?=[ ,.!?]*$)"
    r"|actually|apparently|basically|certainly|definitely|frankly|honestly|indeed|interestingly|literally"
    r"|maybe|perhaps|obviously|personally|presumably|probably|really|seemingly|supposedly|surely|surprisingly"
    r"|truly|essentially|totally|absolutely|(?:around|about|nearly|almost)(?= [0-9])|anyway|anyways|though"
    r"|wow|oh|ah|aw|aww|ha|haha|hahaha|lol|yeah|yea|yep|yup|hm|hmm|uh|um|omg|btw|imo|luckily|fortunately"
    r"|unfortunately|sadly|(?:(?:i|we)(?: ?'m| am| ?'re| are) )?(?:so |very |really )?(?:sorry|my apologies"
    r"|apologies|désolée?|malheureusement|lamentablemente|infelizmente|tut mir leid)(?=,)"
    r"|(?:i|we) (?:apologi[sz]e|regret)(?=,)|(?:i|we) regret to (?:say|inform you)(?: that)?"
    r"|roughly|approximately|too|also|well(?! ?-)|ich (?:glaube|denke|meine|finde|vermute"
    r"|schätze|nehme an|weiß|habe (?:mal |schon )?(?:gehört|gelesen)),?(?: da(?:ss|ß))?|(?:glaube|denke|meine"
    r"|finde|schätze) ich|(?:soweit|so weit|soviel|so viel) ich (?:weiß|mich erinnere)|meines (?:wissens"
    r"|erachtens)|meiner meinung nach|zum beispiel|z\. ?b\.|beispielsweise|wenn ich mich (?:recht |richtig "
    r"|nicht )+(?:erinnere|irre|entsinne|täusche)"
    rf"|(?:aber )?vielleicht interessiert (?:dich|sie|euch)(?: ja)?,? da(?:ss|ß)|es ist {_VERY}{_FEELING},? "
    rf"da(?:ss|ß)"
    r"|(?:man sagt|es heißt),?(?: da(?:ss|ß))?|ehrlich gesagt|übrigens|eigentlich|tatsächlich|wirklich|wohl"
    r"|ja|nein|interessanterweise|angeblich|offenbar|natürlich|bestimmt|sicherlich|jedenfalls|vielleicht"
    r"|wahrscheinlich|vermutlich|leider|zum glück|glücklicherweise|oje|ach|ungefähr|etwa|rund|circa|quasi"
    r"|sozusagen|überhaupt|allerdings|ziemlich|immerhin|ich würde(?: ihnen| dir)? (?:vorschlagen|empfehlen)"
    r"|ich empfehle(?: ihnen| dir)?|keine sorge|kein problem|gute nachrichten?|^[^\w]*(?:klar|na klar|stimmt"
    r"|genau|schön|toll|super|cool|great|nice|awesome|exactly|sure|right|okay|ok|congrats)(?=[,!])|je "
    r"(?:pense|crois|suppose|trouve) qu(?:e\b|')|j'ai (?:lu|entendu(?: dire)?) qu(?:e\b|')|il (?:paraît"
    r"|parait) qu(?:e\b|')|à (?:ma connaissance|mon avis)|par exemple|d'ailleurs|en fait|autant que je sache"
    r"|vraiment|apparemment|peut-être|probablement|évidemment|bien sûr|(?:creo|pienso|supongo|opino) que"
    r"|(?:he )?(?:leído|leí|oído|oí) que|dicen que|que yo sepa|hasta donde sé|en mi opinión|por (?:ejemplo"
    r"|cierto|supuesto)|de hecho|en realidad|realmente|probablemente|aparentemente|quizás?",
)
_TALK_IN_CHARACTERS = (
    _TOLD_IN_CHARACTERS,
    r"제 ?생각(?:에는|엔|으로는|에)|(?:제가 ?)?(?:알기로는?|아는 ?한|듣기로는?)|예를 ?들(?:어|면|자면)|참고로"
    r"|혹시|아시다시피|사실은?(?= )|정말로?|아마도?(?= )|(?:다|라)고 ?(?:알고 ?있(?:어요|습니다)|들었(?:어요"
    r"|습니다)|생각(?:해요|합니다)|해요|합니다|하네요|하더라고요|알려져 ?있(?:어요|습니다))|(?:잖아요|거든요"
    r"|답니다|랍니다|래요|대요|다네요|라네요)(?=\W*$)|(?:는 |은 |ㄴ |인 )?것 같(?:아요|습니다)"
    r"|実は|ちなみに|たとえば|例えば|(?:[私僕]の)?知る限り(?:では)?|ご存[じ知]かもしれませんが|確か(?=[、 "
    r"])|たしか|たぶん|多分|おそらく|意外かもしれませんが|(?:だ|だった)?(?:と|って)(?:思い(?:ます|ました)"
    r"|思う|聞(?:いたことがあります|きました|いています)|言われてい(?:ます|る))|(?:な?ん)?(?:だ)?そうです"
    r"|らしいです|(?:な?ん|の)?です(?=[よねが。、!?！？]|$)",
)

_REACTIONS = (
    rf"(?:how |what a |(?:that|this|it|they|those|he|she|you)(?: ?'s| ?'re| is| are| was| sounds?| looks?| "
    rf"must be| seems?)? )?{_VERY}{_FEELING}(?: to (?:me|know|hear))?"
    r"|i (?:love|like|enjoy|hate|adore)(?: (?:it|that|them|this|these|those|him|her))?(?: a lot| very much| "
    r"as well)?|i(?: ?'m| am) a (?:big |huge )?fan|congratulations|congrats|exactly|sometimes|a (?:bit"
    r"|little)|not really|no idea"
    rf"|(?:(?:that|it|this|you) )?(?:must (?:be|have been)|can be) {_VERY}{_FEELING}"
    r"|go for it|well done|way to go|same here|me (?:too|neither)|who doesn't|lucky you|sounds like fun"
    r"|you(?: ?'re| are) not alone|you(?: ?'re| are) (?:so )?right|i (?:sure |certainly |really )?(?:do|did"
    r"|am|have|would)(?: too| as well)?|i (?:don't|didn't|haven't|can't|wouldn't|couldn't)(?: either)?"
    r"|(?:(?:oh )?no,? )?(?:i(?:'m| am) )?(?:so |very |really )?sorry(?: (?:to hear|about) (?:that|it|this))?"
    r"|(?:thanks|thank you) for (?:what you do|sharing(?: that| this)?|letting me know|your service)"
    r"|(?:but )?i(?:'d| would) (?:love|like)(?: to)?(?: (?:try|see|visit|go|have|learn|do))?(?: (?:a|an|one"
    r"|it|that|there))?(?: [a-z]+)?(?: (?:some ?day|one day|too|as well))?|i (?:don't|do not) know|i(?: ?'m| "
    r"am) not sure|i have no idea|i didn't know that|i can imagine|good for you"
    rf"|(?:das|es|die|der|wie)(?: ist| sind| war| klingt)? {_VERY}{_FEELING}|ich auch(?: nicht)?|(?:finde|mag"
    rf"|liebe) ich auch"
    r"|ich (?:mag|liebe) (?:es|das|sie|ihn)|(?:das )?stimmt|genau|(?:na )?klar|noch nicht|manchmal|nicht "
    r"wirklich|süß|ab und zu|(?:ich )?leider nicht|geht mir (?:auch|genauso) so|kann ich verstehen|viel spaß"
    r"|das weiß ich (?:gerade )?nicht|ich weiß (?:es )?nicht|keine ahnung|c'est vrai|j'adore|moi aussi|je ne "
    r"sais pas|qué (?:bien|interesante)|me encanta|yo también|no (?:lo )?sé|(?:네|예|아니요|그럼요|물론이죠"
    r"|맞아요|그렇죠|그러게요|그러네요|저도요|정말요|글쎄요|아직이요)|(?:(?:정말|아주|너무|진짜|저도|가끔"
    r"|자주) )*(?:좋아해요|좋아합니다|좋네요|좋죠|재미있(?:네요|어요)|귀엽(?:네요|죠)|귀여워요|대단(?:하네요"
    r"|해요)|멋지네요|신기하네요|부럽네요|가요|마셔요|봐요|먹어요|읽어요|들어요)|잘 모르겠(?:어요|습니다)|꼭 "
    r"(?:한 ?번 )?(?:가|해|먹어|드셔|타|봐) ?보세요|(?:はい|いいえ|ええ|うん|そう(?:です)?ね|なるほど"
    r"|もちろん|まだ|私も|少しだけ|残念ながら|たまに|時々)(?:です)?|(?:とても|本当に|たまに|よく"
    r"|私も)?(?:いい|かわいい|おいしい|すごい|楽しい|面白い|きれい|うらやましい|(?:大)?好き|聞きます|見ます"
    r"|読みます|飲みます|食べます|行きます)(?:です)?(?:よ|ね)*|(?:よく)?わかりません|知りません(?:でした)?",
)


def _spaced(patterns: Sequence[str]) -> str:
    """Joins patterns in which a space is any white space and an apostrophe has two forms."""
    return "|".join(patterns).replace("'", "['’]").replace(" ?", r"\s?").replace(" ", r"\s+")


_IS_TOLD = re.compile(rf"(?<!\w)(?:{_spaced([_TOLD])})|{_spaced([_TOLD_IN_CHARACTERS])}", re.IGNORECASE)
_SAID_AROUND = re.compile(rf"(?<!\w)(?:{_spaced(_TALK)})(?!\w)", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+")
# Most sentences have no talk. Only one with a word of the patterns that is not a frequent one is searched.
_OF_TALK = frozenset(_LETTERS.findall(" ".join(_TALK))) - word_set("""a i s t m d w b it that is was the one
    an as so from what if have am to in of for by do did can may might would should will be or not and they
    people some he she there this are you me us him her them how who when where why which about das es der die
    ich du sie ihr je qu en no por la les un""")
_SAID_AROUND_IN_CHARACTERS = re.compile(_spaced(_TALK_IN_CHARACTERS))
_REACTION = re.compile(rf"(?:{_spaced(_REACTIONS)})(?:[\s,、.!！。]+(?:{_spaced(_REACTIONS)}))*")


def nothing_claimed(claim: Claim) -> str | None:
    """Returns why a sentence is no claim, independent of the evidence; None: it may be one."""
    if not claim.content:
        return NOTHING_SAID
    text = claim.text
    if not _QUESTION.search(text[-_TAIL:]) or _IS_TOLD.search(text):
        return None
    # A question with a tag, such as `isn't it?`, states something.
    is_stated = _STATED.search(text[:_TAIL]) or _STATED.search(text[-_TAIL:]) or _DECLARED.fullmatch(text)
    return None if is_stated else QUESTION


def without_talk(claim: Claim) -> Claim:
    """Returns a claim without the talk around it, such as `I think that`."""
    text = claim.text if claim.text.isascii() else _SAID_AROUND_IN_CHARACTERS.sub(" ", claim.text)
    if not _OF_TALK.isdisjoint(_LETTERS.findall(text.lower())):
        text = _SAID_AROUND.sub(" ", text)
    return claim if text == claim.text else read_claim(text)


_ABSENT = re.compile(
    r"(?i)\b(?:there(?:['’]s| is| are| was| were)(?: currently| now)? (?:no|not|nothing|none)"
    r"|(?:have|has|had|see|sees|shows?|get|got|finds?|found|return(?:s|ed)) (?:no|none|nothing)"
    r"|(?:no|none|nothing)\b(?: [\w'’-]+){0,6}? (?:is|are|was|were|match\w*|exists?|available|left|came)"
    r"|nothing (?:\w+ )?(?:match\w*|came)|n['’]t (?:any|have|show|contain|include|exist|match|list)"
    r"|(?:not|n['’]t) (?:\w+ )?(?:available|in stock|listed|on file|included|recorded)|unavailable|missing"
    r"|sold out|out of stock|(?:fully|all) booked|(?:is|was|came back|returned) empty|no longer|letting me"
    r"|kein(?:e[nmrs]?)?|nichts|nicht (?:\w+ )?(?:verfügbar|vorhanden|möglich|auffindbar)|ausverkauft"
    r"|ausgebucht|fehl(?:t|en)|aucune?|pas (?:de|d['’]|disponible)|indisponible|complet|no hay|ning[uú]n[ao]?"
    r"|no (?:est[áa]n? )?disponibles?|agotad[oa]s?|nenhuma?|não há|indispon[íi]vel|nessun[oa]?|geen)\b"
    r"|ありません|ございません|ない|없습니다|없어요|没有|沒有|無"
)
OF_ABSENCE = word_set("""find found search searched see look looked lookup locate match matched matching
    result results exist available availability left return returned fail failed failing error unable able
    went go work complete completed process currently moment try tried record records system show
    unfortunately finden gefunden ergebnis ergebnisse verfügbar vorhanden derzeit leider trouvé résultat
    disponible encontré encontrado resultado resultados disponibles""")
"""Words that say that something was looked for or failed, and not of what."""


def says_absence(text: str) -> bool:
    """Returns whether an agent says in a sentence that something failed, is missing or was not found."""
    return _ABSENT.search(text) is not None or reports_failure(text, "")


def why_no_claim(claim: Claim, talkless: str) -> str | None:
    """Returns why an unsupported sentence, also without talk, is no claim; None: it is one."""
    text, plain = claim.text, _normal(claim.text)
    if _INTRODUCTION.search(text[-_TAIL:]) and not (_BREAK.search(text) or _PREDICATE.search(text)):
        return INTRODUCTION
    if plain and _REQUESTS.fullmatch(plain) and not _STATING.search(plain):
        return REQUEST
    if len(claim.words) == 1 and not (claim.demands or is_run_of_characters(claim.words[0].lower)):
        return COURTESY
    texts = {plain, _normal(" ".join(talkless.split()).strip(" ,"))}
    return COURTESY if any(_COURTESIES.fullmatch(t) or _REACTION.fullmatch(t) for t in texts) else None


def _normal(text: str) -> str:
    """Returns a sentence in lower case without final marks; "": it is too long for a request."""
    if len(text) > _LONGEST:
        return ""
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'").strip(_FINAL)
