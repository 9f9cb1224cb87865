"""Reads words by what they mean: synonyms, irregular forms and derivations are one word.

A claim and its evidence are read in the same way. Words of alphabets lose the endings that derive words in
English, German, French and Spanish, so that `inventor` and `invented` are equal; what endings do not show
(`wrote` and `author`) stands in short lists of common words. In Han, Kana and Hangul a synonym is replaced
wherever it stands.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache

from turnwise.transforms.text.cleaning import Remembered
from turnwise.transforms.text.rouge import stem
from turnwise.transforms.text.words import (
    Word,
    is_run_of_characters,
    read_words,
    tokenize,
    without_accents,
    without_clitic,
    word_set,
)

# One meaning a line, or between two bars. A word may stand in several; the first line counts.
_ENGLISH = """
begin began begun start commence | end finish conclude | death dead die died dying deceased
bear born birth | make made create creation produce production | build built construct erect
write wrote written author writer | found founder establish establishment | movie film flick
star starring cast feature | actor actress act | win won winner victory
big bigger biggest large huge giant size | small smaller tiny little | people person human | men guy
woman women | child children kid | call name known refer dub | locate location situate site spot
sell sold sale | buy bought purchase | hold held | take took taken | give gave given | go went gone
come came | see saw seen view | keep kept | lead led | lose lost loss | meet met | run ran
sing sang sung singer vocalist | speak spoke spoken | teach taught teacher | bring brought | catch caught
choose chose chosen choice select pick | draw drew drawn | drink drank drunk consume consumption
drive drove driven | eat ate eaten | fall fell fallen | fight fought | fly flew flown flight
grow grew grown growth | hear heard | know knew knowledge | pay paid payment | rise rose risen | send sent
shoot shot | sleep slept asleep | spend spent | steal stole stolen | throw threw thrown | wear wore worn
feel felt | become became | break broke broken | get got gotten receive obtain | use utilize usage
help assist aid | need require necessary | want wish desire | show display demonstrate | allow permit
tell told | ban prohibit forbid | ask request | answer reply respond | try attempt
release launch unveil publish | say said | reject refuse decline | important significant crucial essential
famous popular renowned | fast quick rapid | hard difficult | easy simple | whole entire
typical common usual normal general | often frequent | close near | main major primary chief
different various | company firm business corporation | job work occupation profession
car automobile vehicle | country nation | city town | house home | store shop | photo picture image
song track tune | band group | album record | team club | test exam | contain include comprise consist
lot many | kind type sort form variety | part portion piece | way manner method | novel book | story tale
year yr | king monarch reign rule ruler | happen occur | combine together | leave left depart | stand stood
television tv | usa america american | britain british uk | germany german | france french | spain spanish
portugal portuguese | italy italian | greece greek | china chinese | japan japanese | rome roman
europe european | travel trip journey | price cost fee | beautiful pretty lovely | smart clever
sick ill illness | doctor physician | lawyer attorney | cop police | food meal dish | student pupil
metre meter | kilometre kilometer | centimetre centimeter | centre center | colour color
favourite favorite | theatre theater | perform performance play | last final | elderly old older oldest
recommend suggest | odds chance probability | stay remain continue | rent hire | friend buddy | money cash
repair fix | error mistake | vacation holiday | autumn fall | apartment flat | elevator lift
soccer football | amount quantity | destroy damage | injure injury hurt wound | kill murder | quit resign
cure heal | discover discovery | describe explain | own possess owner | length long lengthy longer longest
height high tall higher highest | depth deep | width wide broad | strength strong | weigh weight heavy
danger dangerous risk | health healthy | success successful succeed | inspire inspiration
compete competition | decide decision | describe description | marry marriage wed | paint painter painting
invent inventor invention | attract attraction | music musician | dad father | mom mother | battle war
ocean sea | stone rock | forest wood
"""
_GERMAN = """
beginnen begann begonnen anfangen fing starten beginn anfang | enden ende endete beenden schluss
sterben starb gestorben tod tot verstorben | geboren geburt
bauen gebaut baut bau erbaut errichtet errichten | gründen gegründet gründung gründer | leben lebt
kommen kam gekommen stammen stammt | gehen ging gegangen | geben gab gegeben gibt | nehmen nahm genommen
finden fand gefunden | sehen sah gesehen | sprechen sprach gesprochen
schreiben schrieb geschrieben autor autorin verfasser | sing singen gesungen sänger sängerin
trinken trank getrunken | essen aß gegessen | fliegen flog geflogen flug | fahren fuhr gefahren fahrt
laufen lief gelaufen | schlafen schlief schlaf | gewinnen gewann gewonnen sieg sieger
verlieren verlor verloren | halten hielt | heißen heißt hieß nennen nannte genannt name | wissen wusste
denken dachte | bringen brachte | kennen kannte bekannt | liegen lag gelegen | stehen stand gestanden
ziehen zog gezogen | fließen floss fließt münden mündet | brechen brach bruch
erfinden erfand erfunden erfinder erfindung | regie regisseur regisseurin inszenieren
rolle spielen spielt gespielt darsteller darstellerin schauspieler hauptrolle | groß größer größte riesig
klein kleiner kleinste winzig | hoch hohe höher höchste höhe | alt älter älteste | lang länger länge
gut besser beste | viel viele zahlreich | fast beinahe nahezu | ganz gesamt vollständig völlig komplett
sorte art | schweiz schweizer | deutschland deutsch | frankreich französisch | italien italienisch
england englisch | film streifen | kaufen kauf erwerben | verkaufen verkauf | kosten preis gebühr
benutzen nutzen verwenden gebrauchen | wichtig bedeutend | berühmt beliebt | schnell rasch
auto wagen fahrzeug | firma unternehmen betrieb | beruf arbeit job | haus gebäude | geschäft laden
bild foto | lied song | gruppe band | buch roman | kind kinder | mensch menschen leute person
veröffentlichen erscheinen erschien erschienen | erlauben gestatten erlaubt | verbieten verboten untersagt
rad räder
"""
_GRAMMAR = """
der die das den dem des | ein eine einen einem einer eines | dieser diese dieses diesen diesem
er ihn ihm sein seine | sie ihr ihre ihrer ihren ihrem
ist sind war waren wird werden wurde wurden worden gewesen | hat haben hatte hatten habe
kann können konnte könnte | in im ins | zu zum zur | von vom | bei beim | le la les l | un une
es son era eran | el los las lo una unos unas
"""
_CHARACTERS = """
제일 가장 | 창제 만들 만드 제작 제조 | 가운데 중앙 | 처음 최초 첫 | 영화 작품 | 받았 수상 | 되었 됐
시작 개시 | 태어 출생 탄생 | 죽었 사망 | 유명 알려 | 이루어 구성 되어 | 나라 국가 | 크기 규모
지었 건설 건축 | 찾는 방문 | 사람 인간 | 우리나라 한국 | 一番 最も いちばん
作ら 作り 作る 作っ 造 製造 製作 | 始ま 始め 開始 創業 | 百貨店 デパート | 建て直 再建 | 焼け 焼失
開かれ 開催 行われ | 違 異な | 考え出 考案 | 言われ 呼ばれ | 亡くな 死去 死亡 | 有名 知られ | 生まれ 誕生
建て 建設 建築 | 広ま 広め 普及 | 映画 作品 | 待っ 待ち | チョコレート チョコ | キロメートル キロ
センチメートル センチ | 売 販売 | 買 購入
"""
# Words of which other words can take the place, and units, beside which the number decides.
LIGHT = word_set("""get got gets take took taken make made makes go went gone going come came put set give
    gave given let say said tell told see saw look looked find think use used want need seem become became
    happen happened mean means thing things stuff way lot lots bit kind sort type part time place one new able
    around back sometimes usually often actually together already early later first last next called named
    name started start began show work consider considered include included including especially mostly mainly
    today nowadays feel try almost nearly located simply hold held stand stands stood spend spends spent cost
    costs bring brought keep kept several times machen gemacht gibt geben geht gehen gegangen kommen kommt kam
    sagen sagt nennen nennt heißt liegen liegt steht stehen ganz oft manchmal damals heute erst schon etwa
    fast ungefähr rund besonders zuerst oben unten dort bekommen bekommt kosten kostet lassen lässt bringen
    bringt dürfen durfte durften sache sachen ding dinge mehrere einige faire fait font aller va vont venir
    vient mettre mis trouver trouve dire dit chose choses souvent environ presque encore toujours quelques
    plusieurs coûte coûtent hacer hace hacen hizo ir van tener tiene tienen poner pone dar da dan decir dice
    encontrar encuentra cosa cosas siempre casi algunos varios cuesta cuestan euro euros dollar dollars yen
    pound pounds percent prozent""")
"""Words that weigh half, and nothing where evidence lacks them."""
_LIGHT_SHARE = 0.5
_ENDINGS = re.compile(
    r"(?<=.{4})(?:ations?|ators?|ions?|ings?|ed|e?rs?|ors?|ments?|ness|it(?:y|ies)|i?al|ical|ic|ists?|ism"
    r"|ians?|ive|ous|[ai]ble|ly|[ae]nce|ful|y|ies|e[sdn]?|s|ese|ish|est|ung(?:en)?|heit|keit|lich"
    r"|ische?[rns]?|em|ern?|n|ten?|iert)$|(?<=.{5})t$"
)
_SHORTEST_ROOT = 5
_PLURAL = re.compile(r"(?<=.{3}[^sui])s$")
_PARTICIPLE = re.compile(r"ge(.{3,})(?:t|en)")


def _meanings(*lists: str) -> dict[str, str]:
    """Returns the first word of each line for all its words, and for their stems."""
    first_words: dict[str, str] = {}
    for row in [row.split() for words in lists for row in re.split(r"[|\n]", words)]:
        for word in row:
            for form in (word, *_roots(word)):
                first_words.setdefault(form, row[0])
    return first_words


def _roots(word: str) -> Iterator[str]:
    """Yields a word without endings: by Porter's rules for English, and by those of several languages."""
    if word.isascii():
        yield stem(word)
    plain = _PLURAL.sub("", without_accents(word))
    participle = _PARTICIPLE.fullmatch(plain)
    root = _ENDINGS.sub("", plain)
    # `flower` is no form of `flown`, nor `listen` of `list`.
    yield participle[1] if participle else root if len(root) >= _SHORTEST_ROOT else plain


@cache
def _of_words() -> dict[str, str]:
    return _meanings(_ENGLISH, _GERMAN)


_OF_CHARACTERS = _meanings(_CHARACTERS)
_OF_GRAMMAR = {word: row.split()[0] for row in re.split(r"[|\n]", _GRAMMAR) for word in row.split()}
_IN_CHARACTERS = re.compile("|".join(sorted(_OF_CHARACTERS, key=len, reverse=True)))


def _meant(token: str) -> Word:
    (word,) = read_words([token])
    if word.is_content and not (word.demands or word.month or word.keys[0][0] == "#"):
        bare, meaning = without_clitic(word.lower), word.lower
        if is_run_of_characters(word.lower):
            meaning = _IN_CHARACTERS.sub(lambda match: _OF_CHARACTERS[match[0]], word.lower)
        elif bare.isalpha():
            forms, of_words = [bare, *_roots(bare)], _of_words()
            meaning = next((of_words[form] for form in forms if form in of_words), forms[-1])
        (meant,) = read_words([meaning])
        if meant.is_content:
            word = meant._replace(lower=word.lower, is_negation=word.is_negation)
        if word.lower in LIGHT:
            halved = ((key, weight * _LIGHT_SHARE) for key, weight in word.features)
            word = word._replace(features=tuple(halved))
    elif word.lower in _OF_GRAMMAR:
        (meant,) = read_words([_OF_GRAMMAR[word.lower]])
        word = meant._replace(lower=word.lower)
    return word


_WORDS = Remembered(_meant, 20_000)


def meant_words(tokens: Iterable[str]) -> list[Word]:
    """Returns the words of tokens; those with the same meaning have the same features, keys and units."""
    return list(map(_WORDS.__getitem__, tokens))


def words(text: str) -> list[Word]:
    """Returns the words and numbers of a text, in order, by what they mean."""
    return meant_words(tokenize(text))
