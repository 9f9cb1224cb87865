"""English text with the statistics of real answers: ranks by Zipf's law over the forms of plain words.

The constants are fitted to the agents' answers in public recordings of eight kinds, 61,000 words: as many
distinct words among the first 1,000, 5,000, ... 60,000, of the same length, the same share of the top 100.
"""

import random
import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, product

_GRAMMAR = """the to you your and i a is for of in have be this can that it with on not will are if or would
we as please was by from at but has an any our do so there which all been my no they when more how these one
what about like also here were their up only may then out other some after before just however both each than
while over until since because where who should could must between within again them us its me without through
during once very still too either already now soon let every such same those never always under via yes next
first second two three per does did had being yet unless although instead"""
_VERBS = """help confirm order change cancel book provide need pay know check travel process return proceed
update request include contact charge wish assist ask deliver ship refund receive use want find add apply work
call select choose require offer review show track enable resolve issue arrive allow complete connect support
create make explain report follow start stop turn restart reply answer place move remove send transfer keep
claim insure consider expect mention pack print drop collect schedule visit inspect repair replace exchange
expire renew accept reject approve decline verify access open close load test view manage adjust enter record
post credit debit save search list note remind learn handle treat serve state suggest recommend estimate limit
reduce raise lower prefer attach forward escalate notify inform describe discuss agree refer direct point
cover protect secure lock sign register activate validate calculate generate indicate operate communicate
coordinate investigate authorize anticipate appreciate accommodate terminate duplicate negotiate compensate
allocate evaluate relocate rotate carry apologize realize finalize organize prioritize customize summarize
utilize clarify specify modify notice identify qualify satisfy simplify deny supply rely try copy study delay
enjoy employ display survey stay play wait talk think walk watch wash wrap wonder train touch trust thank
taste switch subscribe suffer store sort solve skip shop shift share separate seem scan rush rent remain reach
prove produce press prepare predict plan pick permit perform observe obtain number name miss merge measure
match mark mail look log link lift lease lead land label join invite invest interrupt install inquire import
impact hope hold guess guide guarantee group grant gather function fund form force fold fit fix finish file
fill fail face extend export experience exist examine ensure earn download divide distribute dispatch depend
define decide damage correct convert control continue consult construct conduct compare combine collapse clean
click classify charter cause catch cater cash calm bundle build browse block bill benefit belong balance avoid
attend assume assign arrange aim advise advance admit adapt"""
_NOUNS = """flight reservation account item card payment date option service time day detail customer user
policy address product bag seat passenger fee price amount information phone email code message device data
line network package case agent ticket system step method certificate hour minute week month year business
cabin class airport city country gift total cost reason question problem status mode signal roaming website
page screen button setting application version image document team manager person member family guest driver
courier carrier partner supplier vendor bank branch office desk centre warehouse shelf box invoice receipt
contract agreement term condition rule law right duty risk rate percentage discount coupon voucher reward
level tier size colour weight length model brand part piece battery cable charger adapter camera speaker
keyboard printer router modem tablet laptop television fridge oven kettle lamp chair table sofa bed mattress
carpet curtain shirt jacket shoe dress coat glove hat scarf ring necklace perfume cream soap towel magazine
newspaper toy game puzzle ball bike helmet tent boat engine tyre garage road street bridge station platform
bus taxi ferry hotel room floor door window key kitchen bathroom pool garden beach mountain river lake forest
island village market restaurant menu meal breakfast lunch dinner coffee tea water milk bread cheese fruit
apple orange vegetable meat fish rice sugar salt doctor nurse hospital patient medicine dose pain fever
insurance school teacher student lesson course exam degree library paper pen letter story poem song film
theatre museum artist player coach goal score winner holiday festival birthday wedding party present surprise
child parent mother father brother sister friend neighbour colleague"""
_QUALITIES = """available new original current different sure free full final eligible additional valid clear
quick large small great good early late easy hard high low long short main major minor basic economy last
previous recent usual normal special certain possible necessary important helpful useful sorry happy glad kind
polite fair honest careful safe private public personal individual general specific single double annual
monthly weekly daily regular frequent rare common typical unusual strange local national international
domestic foreign digital electric automatic manual technical medical legal financial commercial industrial
natural chemical physical historical political social cultural practical active passive expensive cheap
wealthy poor strong weak heavy light dark bright warm cold dry wet dirty fresh old modern soft smooth rough
flat round square narrow wide deep shallow thick thin tight loose quiet loud busy slow fast exact precise
accurate partial entire temporary permanent primary secondary complex simple comfortable convenient suitable
reasonable acceptable flexible reliable responsible sensible visible reversible"""
_PREFIXES = ("", "re", "un", "pre")
_SUFFIXES = {
    _VERBS: ("", "s", "ed", "ing", "er", "able", "ers"),
    _NOUNS: ("", "s", "less", "like"),
    _QUALITIES: ("", "ly", "ness", "er", "est"),
}
_SHIFT, _POWER = 16, 1.45
_FACT_SHARE, _OTHER_FORM_SHARE = 0.6, 0.2


def _written(word: str, suffix: str) -> str:
    """Returns a word with a suffix in English spelling: `stopping`, `arrived`, `supplies`, `boxes`."""
    if suffix == "s" and re.search(r"(s|x|ch|sh)$", word):
        return f"{word}es"
    if suffix == "ly" and word.endswith("le"):
        return f"{word[:-1]}y"
    if suffix and suffix != "ing" and re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}{'ies' if suffix == 's' else 'i' + suffix}"
    if suffix[:1] in ("a", "e", "i"):
        if word.endswith("e"):
            return word[:-1] + suffix
        if len(word) < 5 and re.search(r"[^aeiou][aeiou][bdgmnpt]$", word):
            return word + word[-1] + suffix
    return word + suffix


def _families() -> Iterator[tuple[int, list[str]]]:
    """Yields the forms of each plain word, and how rare the word is."""
    for words, suffixes in _SUFFIXES.items():
        prefixes = _PREFIXES if words is _VERBS else _PREFIXES[:1]
        for place, word in enumerate(words.split()):
            yield place + 20, [_written(prefix + word, end) for prefix, end in product(prefixes, suffixes)]


def _forms() -> dict[str, list[str]]:
    """Returns all words, the most frequent first, each with the forms of its family."""
    ranked = [
        (rarity * number, form, family)
        for rarity, family in _families()
        for number, form in enumerate(family, 1)
    ]
    return {word: [word] for word in _GRAMMAR.split()} | {form: family for _, form, family in sorted(ranked)}


_FORMS = _forms()
_WORDS = list(_FORMS)
_WEIGHTS = list(accumulate((rank + _SHIFT) ** -_POWER for rank in range(len(_WORDS))))


def sentence(rng: random.Random, facts: Sequence[str]) -> list[str]:
    """Returns the words of a sentence, most often with one of the facts; the last word is no abbreviation."""
    words = rng.choices(_WORDS, cum_weights=_WEIGHTS, k=rng.randrange(11, 18))
    words.append(words.pop(words.index(max(words, key=len))))
    if rng.random() < _FACT_SHARE:
        words.insert(rng.randrange(1, len(words)), rng.choice(facts))
    return words


def reworded(rng: random.Random, words: Sequence[str]) -> list[str]:
    """Returns the same sentence with some words in other forms."""
    return [
        rng.choice(_FORMS.get(word, [word])[:8]) if rng.random() < _OTHER_FORM_SHARE else word
        for word in words
    ]


def text(sentences: Sequence[Sequence[str]], end: str = ".") -> str:
    """Returns sentences as text."""
    return " ".join(f"{first.capitalize()} {' '.join(others)}{end}" for first, *others in sentences)
