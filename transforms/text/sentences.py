"""Splits answers into sentences."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import sentencex

from turnwise.transforms.text.cleaning import sanitize
from turnwise.transforms.text.words import word_set, words_by_name

_BULLET = re.compile(r"[ \t]*(?:(?P<sign>[-*+•‣◦·–—]|[#♯]{1,6})|[0-9]{1,3}[.)]|[A-Za-z][.)])[ \t]+")
_END = re.compile(r"[.!?:;。！？：；۔؟।…][\"'”’)\]]*$")

_TAIL = 60
_NUMBER = re.compile(r"(?:^|[^\w.])[0-9]{1,2}\.\s*$")
_DATE = re.compile(
    r"(?<![\w.])(?:0?[1-9]|[12][0-9]|3[01])\.\s{0,2}(?:0?[1-9]|1[0-2])\.\s{0,2}(?:19|20)[0-9]{2}(?!\w)"
)
_SPACED = re.compile(r"(?<=\b[^\W\d_])\.\s+")  # `z. B.` counts as `z.B.`
_LAST = re.compile(r"(?:(?P<before>[^\W\d_]+)[\s,]+)?(?P<last>[^\s(\[\"'„“»«/]+)\.\s*$")
_WORD = re.compile(r"[^\W\d_]+")

MAX_SENTENCES = 300
"""An answer of more sentences, or of more than MAX_SECTION characters, is not judged sentence by sentence."""


class SentenceSpan(NamedTuple):
    """Range of a sentence: half-open code-point offsets."""

    start: int
    end: int


def sentences(text: str, language: str | None) -> list[SentenceSpan]:
    """Splits an answer into its sentences, in any script.

    List entries and headings are separate and may hold several sentences; a table or a fenced block is one
    sentence. Text without a letter or digit is skipped.
    """
    shown = sanitize(text)
    code = language.split("-")[0].lower() if language else guessed_language(shown)
    spans: list[SentenceSpan] = []
    for block in _blocks(shown):
        begin = shown[slice(*block)].lstrip()
        if begin.startswith("```") or _is_row(begin):
            spans.append(block)
            continue
        # A bullet sign is dropped, a list number stays with the first sentence.
        marker = _BULLET.match(shown, block.start, block.end)
        content = end = marker.end() if marker else block.start
        first = block.start if marker and not marker["sign"] else content
        for sentence in sentencex.segment(code or "en", shown[content : block.end]):
            end += len(sentence)
            so_far = shown[max(first, content, end - _TAIL) : end]
            if not _is_open(so_far, shown[end : min(end + _TAIL, block.end)], code):
                spans.append(SentenceSpan(first, end))
                first = end
        if first < end:
            spans.append(SentenceSpan(first, end))
    stripped: list[SentenceSpan] = []
    for span in spans:
        piece = shown[slice(*span)]
        start = span.start + len(piece) - len(piece.lstrip())
        if any(map(str.isalnum, piece)):
            stripped.append(SentenceSpan(start, start + len(piece.strip())))
    return stripped


def _blocks(text: str) -> list[SentenceSpan]:
    """Joins lines that belong together: fenced ones, rows of a table, and sentences broken over lines."""
    blocks, is_fenced, start = list[SentenceSpan](), False, 0
    head = tail = ""  # first and last line of the last block, which may be long
    bars = 0
    for line in text.split("\n"):
        span = SentenceSpan(start, start + len(line))
        start = span.end + 1
        is_fence = line.lstrip().startswith("```")
        is_row, was_row = _is_row(line), head.lstrip().startswith("|") and bars > 1
        if is_fenced or is_fence:
            goes_on = is_fenced
        elif is_row or was_row:
            goes_on = is_row and was_row
        elif not line.strip() or not head.strip() or _BULLET.match(line):
            goes_on = False
        else:
            is_indented_bullet = bool(_BULLET.match(head)) and line[0] in " \t"
            goes_on = is_indented_bullet or (line.lstrip()[0].islower() and not _END.search(tail.rstrip()))
        if goes_on:
            blocks[-1] = SentenceSpan(blocks[-1].start, span.end)
        else:
            blocks.append(span)
            head, bars = line, 0
        tail, bars = line, bars + line.count("|")
        is_fenced ^= is_fence
    return blocks


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") and line.count("|") > 1


def _is_open(sentence: str, rest: str, language: str | None) -> bool:
    """Returns whether a piece ends with the dot of an abbreviation or an ordinal."""
    tail = _SPACED.sub(".", sentence[-_TAIL:])
    last = _LAST.search(tail)
    follows = rest.lstrip()
    if last is None or not follows:
        return False
    if language != "en" and follows[0].isdigit():
        dates = _DATE.finditer(tail + rest)  # a date in digits (`3. 5. 1990`) that continues after the piece
        if any(date.start() < len(tail) < date.end() for date in dates):
            return True
    if _NUMBER.search(tail):
        return _is_ordinal((last["before"] or "").lower(), follows, language)
    word = last["last"].lower()
    known = ANY_ABBREVIATION if language is None else ABBREVIATIONS.get(language, frozenset())
    if word in known or (language != "en" and len(word) == 1 and word.isalpha() and follows[0].islower()):
        return True
    if language is None and follows[0].isdigit() and last["last"] in CAPITAL_ABBREVIATIONS:
        return True
    figures = ABBREVIATIONS_OF_FIGURES.get(language, ABBREVIATIONS_OF_FIGURES[None])
    return (follows[0].isdigit() or follows[0].islower()) and word in figures


def _is_ordinal(before: str, follows: str, language: str | None) -> bool:
    """Returns whether a small number with a dot is an ordinal, by the words around it."""
    word = _WORD.match(follows)
    after = word.group().lower() if word else ""
    if after in GERMAN_MONTHS or (after in SHARED_MONTHS and language != "en"):
        return True
    if language is not None and language not in ORDINAL_DOTS:
        return False
    starts = FUNCTION_WORDS_BY_LANGUAGE.get(language or "de", frozenset())
    is_start = follows[0].isupper() and after in starts
    if is_start or follows[0].islower():
        return not is_start
    if language is None:
        return follows[0].isupper() and before in BEFORE_ORDINALS
    return language != "de" or not before or before in BEFORE_ORDINALS


def single_spaced(text: str, enough: int) -> str:
    """Returns a text with single spaces; of a long one at least `enough` characters and one more."""
    start = text[: enough + 20]
    is_plain = start.isprintable() and "  " not in start
    line = start.strip() if is_plain else " ".join(start.split())
    return line if len(line) > enough or start is text else " ".join(text.split())


_ENGLISH_AM = re.compile(r"(?:\bi|\d)\s*am\b|\bam\s+(?:i|not)\b")

FUNCTION_WORDS_BY_LANGUAGE = words_by_name("""cs: a nebo ale je jsou byl byla není my vy se pro s v na do od
    po to ten že pokud prosím děkuji jste
    da: og eller men er var har ikke jeg vi du din deres for med på af fra til i det den en et som at tak
    de: der die das den dem des ein eine einen einem einer und oder aber ist sind war wird werden wurde hat
    haben habe hatte kann können nicht kein keine keinen ich wir sie ihr ihre ihren ihnen es er mit für auf
    von vom zum zur im am um bei beim aus nach bis auch noch nur wie wenn dann dass bitte danke gern gerne uns
    mir mich so in an zu dieser diese dieses vielen möchten wann was wo alle als ab seit vor gemäß laut siehe
    en: the a an and or but is are was were be been has have had will can could would should not no i we you
    he she it they his her your our their my with for on of from to at by this that these those there what
    when if please thanks thank me us am may do does did in as so then never
    es: el la los las un una y o pero es son fue ha no yo usted ustedes su sus nuestro para con en por de del
    al este esta que si gracias se lo
    fi: ja tai mutta on ovat oli ei minä me te sinun teidän se että jos kiitos kun myös
    fr: le la les des un une et ou mais est sont a ont pas ne je nous vous il elle ils votre vos notre pour
    avec dans sur par de du au aux ce cette que qui si merci
    it: il lo la gli le un una e o ma è sono ha non io noi lei suo sua per con in di del della da al alla
    questo che se grazie si
    nl: de het een en of maar is zijn was heeft niet geen ik wij we u uw je jouw voor met op van naar bij in
    dat die dit als dank ook nog om
    pl: i lub ale jest są nie my pan pani się dla z w na do od po to ten ta że jeśli proszę dziękuję o
    pt: o a os as um uma e ou mas é são foi não eu você seu sua para com em por de do da no na este que se
    ru: и в на не что вы мы для с по от до это если пожалуйста спасибо к о у за из ваш как
    sv: och eller men är var har inte jag vi du ni din er för med på av från till i det den en ett som att""")
"""Language -> frequent function words, in lower case."""

_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _words in FUNCTION_WORDS_BY_LANGUAGE.items():
    for _function_word in _words:
        _LANGUAGES_OF.setdefault(_function_word, []).append(_language)

ABBREVIATIONS = words_by_name("""da: bl.a f.eks inkl ekskl tlf
    de: abs abzgl allg art.-nr aufl bd bes best.-nr bspw bzw ca d.h dipl einschl entspr evtl exkl fa geb gem
    gest ggf hr hrn inkl insb insbes kap kto max mind nr nrn rd sog tel tel.-nr tgl u.a urspr versch vgl
    vorauss z.b zzgl
    en: approx excl incl mr mrs ms
    es: aprox avda núm pág sr sra
    fi: esim klo ks nro puh
    fr: c.-à-d env m mlle mme n° p.ex tél
    it: dott p.es sig sig.ra
    nl: bijv d.w.z dhr evt excl incl mevr o.a tel
    pl: godz m.in mln np tel tj tys tzn ul
    pt: aprox av nº núm p.ex pág sr sra
    ru: т.е им ул тел
    sv: bl.a dvs exkl inkl kl t.ex tel""")
"""Language -> abbreviations that do not end a sentence, in lower case, without their last dot."""

ANY_ABBREVIATION = frozenset().union(*ABBREVIATIONS.values()) - word_set("""abs art av bd env fa gem kap m max
    mind sig""")
"""Abbreviations of all languages, except those that may end an English sentence."""

_HALVES = word_set("a.m max min p.m qty tel")
ABBREVIATIONS_OF_FIGURES: Mapping[str | None, frozenset[str]] = {
    None: _HALVES | word_set("mind"),
    "de": _HALVES | word_set("apr aug dez di do feb fr jan jh mi mo mär nov okt sa sept so std"),
    "en": _HALVES | word_set("apr aug dec est feb hrs jan nov oct sept"),
}
"""Language -> abbreviations that end no sentence before a digit or lower-case letter: months, days, units."""

ORDINAL_DOTS = word_set("bs cs da de et fi fo hr hu is lb lv nb nn no pl sk sl sr")
"""Languages that write ordinals as a number with a dot."""

BEFORE_ORDINALS = word_set("""ab am beim bis das dein deine deinem deinen deiner dem den der des die ein eine
    einem einen einer erste ersten im ihr ihre ihrem ihren ihrer jede jedem jeden jeder jedes mein meine oder
    seit sowie und unser unsere unserem unseren vom vor zum zur zweite zweiten""")
"""German words before an ordinal."""

GERMAN_MONTHS = word_set("januar jänner februar märz mai juni juli oktober dezember")
"""German months that are not English words."""

CAPITAL_ABBREVIATIONS = frozenset(("Abs", "Bd", "Kap"))
"""German abbreviations before a digit that are words of other languages in lower case."""

SHARED_MONTHS = word_set("april august september november")
"""German months that are English words as well."""


def guessed_language(text: str) -> str | None:
    """Returns the language of most function words, English in a tie; None: none, or a tie of others."""
    counts: Counter[str] = Counter()
    lower = text.lower()
    words = _WORD.findall(lower)
    for word in words:
        counts.update(_LANGUAGES_OF.get(word, ()))
    if "am" in words and not _ENGLISH_AM.search(lower):
        counts["en"] -= words.count("am")
    most = max(counts.values(), default=0)
    first = [language for language, count in counts.items() if count == most]
    if "en" in first:
        return "en"
    return first[0] if len(first) == 1 else None


LANGUAGES_READ = word_set("en de fr es ja zh ko KANA CJK HANGUL")
"""Languages and scripts whose function words, endings, months and numbers in words are known."""
_LONGEST_SHOWN, _KANA = 2_000, ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


def shown_language(text: str) -> str | None:
    """Returns the language of a text by its script or its function words; None: they do not show it."""
    beginning = text[:_LONGEST_SHOWN]
    letters = [unicodedata.name(char, "?").split()[0] for char in beginning if char.isalpha()]
    script = Counter("KANA" if name in _KANA else name for name in letters if name != "LATIN")
    if 2 * script.total() <= len(letters):
        return guessed_language(beginning)
    return "KANA" if script["KANA"] else max(script, key=script.__getitem__)
