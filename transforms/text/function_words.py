"""Function words, negations, number words and months.

Covers English, German, French, Spanish, Japanese and Korean, and negations of a few more languages. In other
languages all words have the weights of content words.
"""

import re


def word_set(*texts: str) -> frozenset[str]:
    """Returns the words of texts, split at white space."""
    return frozenset(word for text in texts for word in text.split())


def _by_place(*lists: str) -> dict[str, int]:
    """Maps the words of each list to their index; `-` skips an index."""
    places = {word: place for words in lists for place, word in enumerate(words.split())}
    return {word: place for word, place in places.items() if word != "-"}


_ENGLISH = """
    a an the this that these those there here it its he him his she her hers they them their theirs who whom
    whose which what when where why how i me my mine we us our ours you your yours myself yourself himself
    herself itself themselves ourselves one ones some any each every all both either such same other others
    another am is are was were be been being do does did done doing have has had having will would shall
    should can could may might must of in on at by to from for with about as into onto upon over under between
    through during before after against since until than then so if or and but because while although though
    whether up down out off again also too very just only even more most much many still yet now ever quite
    rather really well yes yeah oh ok okay please hello hi hey let lets im ive ll ve re
"""
_GERMAN = """
    der die das den dem des ein eine einen einem einer eines ich mich mir mein meine du dich dir dein deine er
    ihn ihm sein seine sie ihr ihre ihrer ihren ihrem es wir uns unser unsere ihnen wer wen wem was welche
    welcher welches dieser diese dieses diesen diesem jene wo wann warum wie bin bist ist sind seid war waren
    wurde wurden worden gewesen habe hast hat haben hatte hatten werde wird werden kann können konnte könnte
    muss müssen soll sollen sollte wollen darf dürfen mag möchte von vom zu zum zur mit bei beim nach aus auf
    an am im ins für über unter vor zwischen durch gegen um bis seit während wegen als wenn weil dass daß ob
    und oder aber denn doch sondern auch nur noch schon sehr mehr so da dort hier ja bitte man sich
"""
_FRENCH = """
    le la les un une des du de au aux ce cet cette ces je me moi mon ma mes tu te toi ton ta tes il elle lui
    on nous notre nos vous votre vos ils elles leur leurs se son sa ses qui que quoi dont où quand comment
    pourquoi quel quelle quels quelles suis es est sommes êtes sont était étaient été être ai as avons avez
    ont avait avoir sera seront dans sur sous avec par pour vers chez entre depuis pendant comme si et ou mais
    donc aussi très plus y en oui cela ça
"""
_SPANISH = """
    el los las lo una unos unas del al este esta estos estas ese esa eso aquel yo mí mi mis tú ti él ella
    nosotros nuestro nuestra usted ustedes ellos ellas su sus les quién cuál cuándo dónde cómo por qué soy
    eres somos son era eran fue fueron sido ser estoy está están estaba estar he ha hemos han había haber con
    para sobre desde hasta hacia según cuando donde porque pero o u e también muy más ya sí
"""
FUNCTION_WORDS = word_set(_ENGLISH, _GERMAN, _FRENCH, _SPANISH)

KOREAN_GRAMMAR = frozenset(
    "은는이가을를에서로의도만와과하고니다요세습했었였입있합수것들지면아어여해게으시네겠던든셨씀님"
)
"""Syllables of particles and endings."""

NEGATIONS = word_set(
    "no not never none nothing nobody nowhere neither nor cannot cant wont dont doesnt didnt isnt arent",
    "non não niet geen wasnt werent without unable nicht kein keine keinen keinem keiner keines nie niemals",
    "nichts niemand ohne weder ne pas jamais rien aucun aucune sans nunca jamás nada nadie ningún ninguno",
    "ninguna sin tampoco 안 못 не нет ни нельзя без لا لم لن ليس ليست لست غير بدون לא אין בלי",
)
NEGATING = re.compile(
    "ません|ない|なかった|なく|なし|無し|不|没有|沒有|未|않|못[하했합한해]|없|아니|아닙|안돼|안됩|안했|말고|마세|불(?=가능)"
)
"""Negations inside words."""

NUMBER_WORDS = _by_place(
    "zero - two three four five six seven eight nine ten eleven twelve",
    "- eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "zéro - deux trois quatre cinq six sept huit neuf dix onze douze",
    "cero - dos tres cuatro cinco seis siete ocho nueve diez - doce",
    "- 하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열",
    "- 한 두 세 네",
    "- first second third fourth fifth",
) | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "thousand": 1000}

MONTHS = _by_place(
    "- january february march april may june july august september october november december",
    "- jan feb mar apr - jun jul aug sep oct nov dec",
    "- januar februar märz - mai juni juli - - oktober - dezember",
    "- jänner - mrz - - - - - sept okt - dez",
    "- janvier février mars avril - juin juillet août septembre octobre novembre décembre",
    "- enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "- gennaio febbraio - aprile maggio giugno luglio - settembre ottobre - dicembre",
    "- janeiro fevereiro março - maio junho julho - setembro outubro novembro dezembro",
    "- januari februari maart - mei - - augustus - - - -",
)
