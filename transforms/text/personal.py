"""Finds personal data and secrets in texts: what a redacted run replaces by markers.

Formats are those of well-kept libraries (phonenumbers, python-stdnum, detect-secrets), which are imported at
the first text that may hold something. What is unsure counts: written like one, though its check digits are
wrong. A text is searched in a copy in which digits, signs and spaces of all scripts are plain ones.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from itertools import pairwise
from pkgutil import iter_modules
from typing import Any, NamedTuple

from turnwise.schemas.config import RedactConfig
from turnwise.transforms.text import cues
from turnwise.transforms.text.cues import cells_of, without_markup
from turnwise.transforms.text.patterns import compiled

Finder = Callable[[str], Iterable[tuple[int, int, str]]]


class Finding(NamedTuple):
    """A value in a text: its characters, its kind, and a key that is the same however it is written."""

    start: int
    end: int
    kind: str
    key: str


def in_json(pattern: str) -> str:
    r"""Returns a pattern that finds the edge of a word in JSON too, after an escape: `\nPIN 4921`."""
    return pattern.replace(r"\b", r"(?:\b|\\[bfnrt])")


MAYBE_FORM = "|".join(
    (
        r"@|%40|＠|&#(?:64|x40);|://[^/\s]+:|\\u[0-9a-fA-F]{4}",
        r"(?:\p{Nd}(?:[ .()/\p{Pd}\p{Zs}\p{Cf}\n+]|\\n){0,3}){6,}\p{Nd}|\p{Nd}{6}[\w+-]",
        r"(?:\p{Nd}{1,3}\.){3}\p{Nd}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2}",
        r"[A-Za-z]{2}\p{Nd}{2}[ .\p{Cf}\p{Zs}-]?\w{4}|[A-Za-z]{6}\p{Nd}{2}[A-Za-z]",
        r"[A-Za-z]{2}[ -]?(?:\p{Nd}{2}[ -]?){3}[A-Da-d]|[\w/+=-]{20}|\bxox[a-z]-",
        r"\p{Nd}{4}(?:\\t|[\t_,;:|]) ?\p{Nd}{4,6}(?:\\t|[\t_,;:|]) ?\p{Nd}{4}",
    )
)
MAYBE_WORD = "".join(
    (
        f"(?i:{cues.SECRET}|{cues.CLIENT}|{cues.EASTERN}|cookie|\\b(?:pass|pw)\\b.{{0,3}}[:=]|(?:pass|pw|otp|pin|cv[vc]2?|tan|token|jwt|bearer)(?:[_-]|(?-i:[A-Z])|\\\\*[\"'])"
        f"|[\"'](?:auth|session|\\w*(?:{cues.KIND_KEY}))[\"']"
        rf"|{cues.PHRASE}|{cues.IDENTITY}|[?&;](?:{cues.IN_QUERY})=|"
        rf"sess(?:ion)?_?id=|thin:[^\s/@]+/|[\[({{<] ?(?:{cues.AT_WORDS}) ?[\])}}>]"
        rf"|\b(?:{cues.RARE_AT_WORDS})\b"
        r"| (?:dot|punkt|punto|ponto|punt|kropka) [a-z]"
        r"| (?:at|ät) [\w-]+(?:\.[\w-]+)*(?:\.| point )[a-z])|-u |--user",
    )
)
"""In RE2: what a text, or a record in JSON, has if it may hold any value of the kinds. They miss none.

They are two, because RE2 builds a state for each length of a word that comes up, and for each of its letters:
of both at once there are ever more.
"""

_SAYS_SECRET = (
    rf"(?i){cues.SECRET}|{cues.EASTERN}|\bpass\b|\bpw\b|bearer|cookie|-u|--user|[?&;](?:{cues.IN_QUERY})="
    rf"|sess(?:ion)?_?id=|thin:|signature=|{cues.CLIENT}"
)
_MEMORY = 8 << 20
_NO_WIDTH = "\u200b"
_ESCAPED = re.compile(r"\\+(?:[nr]|t(?!oken|an\b))(?=\w)")
_FOLDED = re.compile(r"[^\x00-\x7f]")
_DATES = re.compile(
    r"(?=[\dI])(?:\b(?:(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|3[01])"
    r"|(?:[0-2]?\d|3[01])[-/.](?:[0-2]?\d|3[01])[-/.](?:19|20)\d\d)"
    r"(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?\b"
    r"|\b(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:T?(?:[01]\d|2[0-3])(?:[0-5]\d){1,2}Z?)?\b"
    r"|\bISBN(?:-1[03])?:? ?\d[\d -]{8,15}[\dX]\b|\b97[89]-\d{1,5}-\d{1,7}-\d{1,7}-\d\b"
    r"|(?<![\d+-])(?<!\d[ ./(])(?:19|20)\d\d[-/](?:19|20)\d\d(?![ ./-]?\d)"
    r"|\b(?:(?:19|20)\d\d[ ,\n]{1,2}){2,20}(?:19|20)\d\d\b|(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}/\d{1,2}\b)",
    re.ASCII,  # a letter of an alphabet without spaces may stand beside it
)
_SEVEN_DIGITS = r"\d(?:[ ().\-/\n]{0,3}\d){6}"
_DIGITS = re.compile(r"\d(?:(?:[ ).\-/]|\((?=[\d ./-]{1,12}\))){0,3}\d)*")  # not `1189 (147 of them)`
_DIGIT = tuple("0123456789")
_GROUP = re.compile(r"\d+")
_SIGN = re.compile(r"[(+][(+ ]{0,2}$")
_EMAIL = re.compile(
    r"(?:[\w.+'%-]{1,64}|\"[^\"\n]{1,64}\")(?:@|%40|&#(?:64|x40);|\\{1,2}u0040)((?:[\w-]+\.)+[^\W\d_][\w-]*|\[[\d.:a-fA-F]+\])"
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af"
)
"""Letters of languages that write no space between a word and what stands beside it."""
_GLUED = re.compile(rf"(?<=[A-Za-z])[{_UNSPACED}].*")
_GLUED_BEFORE = re.compile(rf"^.*[{_UNSPACED}](?=[!-~]*[A-Za-z0-9][!-~]*(?:@|%40|&#|u0040))")
_SPOKEN_DOT = rf"(?:\s?[\[({{<]\s?(?:{cues.DOT_WORDS}|\.)\s?[\])}}>]\s?|\s(?:{cues.DOT_WORDS})\s|\.)"
_SPOKEN_EMAIL = re.compile(
    rf"(?i)(?<![\w.])(?P<name>[\w+-]+(?:(?:{_SPOKEN_DOT}|\s(?:underscore|unterstrich|dash|minus|plus|bindestrich|guion"
    rf"|tiret|trattino)\s)[\w+-]+){{0,4}})(?P<at>\s?[\[({{<]\s?(?:{cues.AT_WORDS}|@)\s?[\])}}>]\s?"
    rf"|\s(?:{cues.AT_WORDS})\s)"
    rf"(?P<domain>[\w-]{{2,}}(?:{_SPOKEN_DOT}[\w-]{{2,20}}){{0,2}}{_SPOKEN_DOT}[a-z]{{2,10}})(?![\w-])"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ .-]?[A-Za-z0-9]){11,30}(?![A-Za-z0-9])")
_IBAN_FORM = re.compile(r"[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_IP4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![.]?\d)")
_IP6 = re.compile(
    r"(?<![A-Za-zÀ-ɏ0-9_:.])[0-9A-Fa-f]{0,4}(?:(?::[0-9A-Fa-f]{0,4}){1,6}:(?:\d{1,3}\.){3}\d{1,3}"
    r"|(?::[0-9A-Fa-f]{0,4}){2,7})(?![A-Za-zÀ-ɏ0-9_:])"
)
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/+=-]{19,}")
_REST = re.compile(r"\w{0,200}", re.ASCII)
_NO_VALUE = re.compile(r"(?i)none|nothing|null|nil|true|false|n/a|undefined|redacted|hidden|\W+")
_LONG = re.compile(r"[\w/+=.:@-]{12}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OF = r"\s(?:for|of|to|für|vom|zum|de|du|del|della|di|da|do|per|para|pour|voor|van|na)"
_NAMED = re.compile(
    rf"(?i)(?P<word>(?P<password>{cues.PASSWORD})|{cues.SECRET}|(?P<short>\b(?:pass|pw)\b))"
    r"(?P<rest>\w{0,20})(?:\\?[\"'”»])?"
    rf"(?P<link>(?P<of>{_OF} [^\n.:=,;]{{1,40}}?)?\s{{0,3}}(?:\b(?:{cues.IS})\b)?\s?(?:=>|->|→|[:=])"
    rf"|(?:{_OF} [^\n.:=]{{1,40}}?)?\s{{1,3}}(?:{cues.IS})(?: now)?(?=\s)"
    r"|\s{1,3}(?:(?:was|is|has been) )?(?:re)?(?:set|changed|updated) (?:to|from)\b"
    r"|\s{1,3}(?:to|of)\b)?\s{0,3}"
)
_SHOWN = re.compile(
    rf"(?i)(?:{cues.EASTERN}|(?<![A-Za-z])(?:pin|otp|pass(?:word|code)|token|(?:api|access|secret)[ _-]?key)"
    rf"(?:コード|番号|码|碼|번호)?(?=\s?(?:{cues.EASTERN_IS})))\s{{0,2}}"
    rf"(?P<link>(?:{cues.EASTERN_IS})?\s{{0,2}}[:=]?)\s{{0,2}}[「『\"']?"
    r"(?P<value>[!-~]{3,200})|\bbearer (?P<bearer>[\w.~+/=-]{8,})"
    r"|(?<!\S)(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:(?P<user>[^\s\"']{1,200})"
    r"|\bcookie\"?[:=] ?\"?(?P<cookie>[^\s\"'][^\n\"']{2,2000})"
    rf"|[?&;](?:{cues.IN_QUERY})=(?P<query>[^\s&#\"'<>;,)\]}}]{{4,2000}})"
    r"|[\"'](?:cookies?|secrets)\\*[\"']\s?:\s?\{(?P<bag>[^{}]{3,2000})"
    r"|sess(?:ion)?_?id=(?P<session>[^\s;&\"',]{6,500})|\bsignature=(?P<signature>[\w/+=%-]{16,})"
    rf"|(?:<|&lt;)[\w:.-]{{0,30}}(?:{cues.SECRET})[\w-]{{0,20}}(?:>|&gt;)\s?(?P<element>[^<>&\s][^<>&]{{0,200}})(?:<|&lt;)/"
    r"|\b(?:mysql|mariadb)[\w-]{0,10} (?:[^\n|;&]{0,200}? )?(?-i:-p)(?P<option>[^\s\"'][^\s]{1,200})"
    r"|\bsshpass (?-i:-p) ?[\"']?(?P<login>[^\s\"']{2,200})"
    r"|\bthin:[^\s/@:]{1,64}/(?P<thin>[^\s@]{1,200})@"
    r"|\\*[\"'](?:key|name|header|field|param)\\*[\"']\s?:\s?\\*[\"']"
    rf"[\w-]{{0,30}}(?:{cues.SECRET}|cookie)[\w-]{{0,30}}\\*[\"']\s?,\s?\\*[\"']val(?:ue)?\\*[\"']\s?:\s?"
    r"\\*[\"'](?P<pair>[^\"'\n]{1,2000}?)\\*[\"']"
)
_QUOTED = re.compile(
    r"\\?(?:\"(?P<a>[^\"\n]{1,200})\"|'(?P<b>[^'\n]{1,200})'|[«“„](?P<c>[^»”“\n]{1,200})[»”“])"
)
_VALUE = re.compile(
    r"[\"'«“]?(?P<value>(?:(?:[Bb]earer|[Bb]asic|[Tt]oken|[Aa]pi-?[Kk]ey|Digest) )?"
    r"[^\s\"'»”,;<>{}\[\]]{1,200})"
)
_MIXED = r"(?=[^\s\d]*\d)(?=[^\sA-Za-z]*[A-Za-z])[A-Za-zÀ-ɏ\d_!@#$%^*+=?-]{5,60}"
_LISTED = re.compile(
    rf"(?:\slist[ae]?)?(?:[\s\"'“«:=,(\[{{|*•–-]|(?<=\s)\d{{1,2}}[.)](?=\s)){{1,12}}(?P<value>{_MIXED})"
)
"""What stands in a list after a word for a password, or after a comma or a dash."""
_NEXT_VALUE = re.compile(
    r"[\"'”»]?(?:\n\s{0,8}(?:[*•–-]|\d{1,2}[.)])(?=\s)|"
    rf"\s?[,;/|&(]|\b(?:\s[^\W\d_]{{2,14}}){{0,2}}[,;](?=\s(?:{cues.AGAIN}|{cues.AND})\b))?"
    rf"(?:\s?\b(?:{cues.AND}|{cues.AGAIN})\b:?){{0,3}}\s{{0,2}}(?<!\w)[\"'“«]?"
    rf"(?P<value>{_MIXED}"
    r"|\d{4,8}(?![\w$€%]|[.,:/-]\d))"
)
_INSTEAD = re.compile(
    r"(?P<first>[^\n,;]{0,200}?)[\"'»”]?\s?\binstead of [\"'«“]?(?P<value>[^\s\"'»”,;<>{}\[\]]{1,200})"
)
_WORDS = re.compile(r"[^\W\d_]+(?: [^\W\d_]+){0,9}(?![\w@#$%&*+=/-])")
_SECRETS = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?=(?:\\+[nr]|\s)*[\w+/:=-]{9})"
    r"(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)"
    r"|\bnpm_\w{20,}|\bwhsec_[\w+/=]{12,}|\bdop_v1_\w{16,}|\bxox[a-z]-[\w-]{8,}|(?<!\w)1//0[\w-]{16,}"
    r"|\bAIza[\w-]{30,}|\bgithub_pat_\w{20,}|\bsk-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}|\bglpat-[\w-]{16,}"
    r"|\b(?:gsk_|xai-|nvapi-|pplx-|xapp-|dckr_pat_|GOCSPX-|shp[a-z]{2}_|lin_api_|hvs\.|tskey-|sbp_)[\w.-]{16,}"
    r"|(?<=://)[^\s/:@<>]*:(?!\d+[/?#])[^\s\"'<>]{1,500}(?=@[\w.\[-])|(?<=://)[\w.~-]{16,}(?=@)"
    r"|\beyJ[\w=-]{8,}\.[\w=-]{4,}(?:\.[\w=-]*){0,3}",
    re.ASCII,
)
_HEX_KEY = re.compile(
    r"(?i)(?<![\w])0x[0-9a-f]{64}(?!\w)|(?<!\w)(?:[0-9a-f]{32}|[0-9a-f]{48}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})(?!\w)"
)
_SAYS_KEY = re.compile(
    r"(?i)(?:(?<![^\W_])key|secret|\bseed|schl[üu]ssel|\bcl[ée]|\bclave|\bchiave|\bchave|klucz|sleutel|ключ|密钥|鍵|키)\b[^\n]{0,24}$"
)
_SAYS_HASH = re.compile(
    r"(?i)(?:hash|\btx|transaction|transa\w+|block|commit|digest|sha-?\d+|topic|root)\W[^\n]{0,16}$"
)
_NUMBERED = r"(?:\d{1,2}[.):]\s?)?[^\W\d_]{3,10}"
_PHRASE_WORDS = re.compile(rf"(?:{_NUMBERED}(?:\s{{1,2}}|,\s?)){{11,23}}{_NUMBERED}(?![^\W\d_])")
_LINK = re.compile(rf"(?i)\s{{0,3}}(?:{cues.IS})?\b\s{{0,3}}[:=]?")
_SECRET_KEY = re.compile(
    rf"(?i)(?:{cues.SECRET}|{cues.EASTERN}|{cues.PHRASE})|(?:^|[_-])(?:pass|pw|otp|pin|cv[vc]2?|m?tan|cookies?|bearer|jwt"
    r"|sig)(?:$|[_-])|(?:^|[_-])(?<!page[_-])(?<!next[_-])(?<!max[_-])token$"
    r"|^(?:auth|session)$"
)
_ABOUT_SECRET = re.compile(
    r"(?i)[_-](?:counts?|expires?|expiry|expiration|type|length|policy|required|id|name|url|uri|changed|enabled|min|max|at|in"
    r"|attempts|tries|message|error|format)$"
)
"""Ends of a key of what is said about a secret: `token_type`, `password_changed_at`."""
_HOW_SECRET = re.compile(r"(?i)[_-]?(?:status|state|valid|verified|sent|set|result|method)$")
"""Ends of a key of how a secret is, in words, or of the secret itself: `password_result`."""
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")
_KIND_KEY = re.compile(rf"(?i)(?:\w+_)?(?:{cues.KIND_KEY})")
_CODES = re.compile(
    r"(?<![A-Za-z0-9])(?<![A-Za-z]-)(?=[A-Za-z]*\d)[A-Za-z0-9][A-Za-z0-9+.-]{6,20}[A-Za-z0-9](?![A-Za-z0-9])"
)
_SSN = re.compile(r"(?<!\d)(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?!\d)")
_BY_FORM = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:[A-CEGHJ-PR-TW-Za-z]{2}|QQ)[ -]?\d{2}[ -]?\d{2}[ -]?\d{2}[ -]?[A-Da-d]"
    r"|[STFGM]\d{7}[A-Z]|(?:\d{1,2}\.\d{3}\.\d{3}|\d{8})-[A-Z]|[XYZ]-\d{7}-[A-Z]"
    r"|\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-8]\d{6})(?![A-Za-z0-9])"
)
_SPACED_DNI = re.compile(r"(?<![A-Za-z0-9])(?:\d{8}|[XYZ] ?\d{7}) [A-Z](?![A-Za-z0-9])")
_KOREAN = re.compile(r"(?:주민(?:등록)?번호)\D{0,5}(?P<value>\d{6}[ -]?\d{7})")
_NATIONAL = {
    9: "es.dni es.nie",
    10: "fi.hetu se.personnummer- dk.cpr- cz.rc- is_.kennitala-",
    11: "de.idnr pl.pesel br.cpf be.nn no.fodselsnummer ee.ik lt.asmens gr.amka tr.tckimlik",
    12: "in_.aadhaar- pt.cc- se.personnummer my.nric-",
    13: "ch.ssn ro.cnp si.emso za.idnr th.pin- pk.cnic- kr.rrn-",
    15: "fr.nir",
    16: "it.codicefiscale",
    18: "mx.curp cn.ric",
}
"""Length -> formats of python-stdnum whose check digits tell them from other numbers; `-`: only with what
is no digit."""


@lru_cache(maxsize=4096)
def is_secret_key(key: str) -> bool:
    """Returns whether a key of an object says that its value is a secret."""
    words = _HUMP.sub("_", key)
    return _SECRET_KEY.search(words) is not None and _ABOUT_SECRET.search(words) is None


def is_no_secret(key: str, value: str) -> bool:
    """Returns whether words under a key of a secret say how it is: `{"otp": "sent"}`."""
    words = value.lower().split()
    is_status = cues.ORDINARY.issuperset(words) and not cues.STATUS.isdisjoint(words)
    is_other = _HOW_SECRET.search(key) is not None and not any(map(str.isdigit, value))
    return is_status or is_other or _NO_VALUE.fullmatch(value) is not None


@lru_cache(maxsize=4096)
def kind_of_key(key: str) -> str | None:
    """Returns the kind that the values of a key of an object are, if its name says so."""
    name = _HUMP.sub("_", key).lower()
    if _KIND_KEY.fullmatch(name) is None:
        return None
    is_card = "card" in name and not re.search("id_?card", name)
    return "iban" if name.endswith("iban") else "card" if is_card else "national_id"


def folded(text: str) -> str:
    """Returns a text of the same length in plain characters; those without a width are all U+200B."""
    return text if text.isascii() else _FOLDED.sub(lambda match: _plain(match[0]), text)


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    category = unicodedata.category(char)
    if category == "Cf":
        return _NO_WIDTH
    if category == "Zs":
        return " "
    if category == "Cs":  # of a file name that is not UTF-8
        return "?"
    if category == "Pd" or char == "\u2212":
        return "-"
    plain = unicodedata.normalize("NFKC", char)
    return plain if len(plain) == 1 and plain.isascii() else char


def find(
    text: str, kinds: Sequence[str], regions: Sequence[str], hint: bool | None = False
) -> Iterator[Finding]:
    """Yields the values of the kinds in a folded text, those of the more certain kinds first.

    Phone numbers without a country code may be written in the form of `regions`; `hint`: whether the text is
    known to be a phone number where it can be one; None: it is none.
    """
    if "\\" in text:  # JSON within a text, or that breaks off
        text = _ESCAPED.sub(lambda match: "\n".rjust(len(match[0])), text)
    text = without_markup(text, _NO_WIDTH)
    if _NO_WIDTH in text:
        at = [index for index, char in enumerate(text) if char != _NO_WIDTH]
        for finding in find(text.replace(_NO_WIDTH, ""), kinds, regions, hint):
            yield finding._replace(start=at[finding.start], end=at[finding.end - 1] + 1)
        return
    for start, header, cell in cells_of(text, _says_value):
        by = start - len(header) - 2
        for finding in find(f"{header}: {cell}", kinds, regions, hint):
            moved = finding._replace(start=finding.start + by, end=finding.end + by)
            if moved.start == start and finding.kind == "SECRET":  # it may hold spaces and commas
                moved = moved._replace(end=start + len(cell), key=cell)
            if moved.start >= start:
                yield moved
    for kind, finder in _FINDERS.items():
        if kind in kinds:
            yield from (Finding(start, end, kind.upper(), key) for start, end, key in finder(text))
    if "phone" in kinds and hint is not None:
        yield from _phones(text, tuple(regions), hint)


@lru_cache(maxsize=4096)
def _says_value(name: str) -> bool:
    """Returns whether the name of a column says that it holds personal data or secrets."""
    if len(name) > 60:  # a sentence
        return False
    key = re.sub(r"\W+", "_", name.strip())
    says = compiled(f"(?i){cues.IDENTITY}|{cues.PHONE}", _MEMORY)
    return is_secret_key(key) or kind_of_key(key) is not None or says.search(name) is not None


def _emails(text: str) -> Iterator[tuple[int, int, str]]:
    if "@" in text or "%40" in text or "&#" in text or "u0040" in text:
        match = _EMAIL.search(text)
        while match is not None:
            address = _GLUED.sub("", match[0])
            end = match.end() - len(match[0]) + len(address)
            address = _GLUED_BEFORE.sub("", address).lstrip(".'-%+")
            name = re.split(r"@|%40|&#(?:64|x40);|\\{1,2}u0040", address.lower(), maxsplit=1)
            yield end - len(address), end, "@".join(name)
            match = _EMAIL.search(text, end)
    for match in _SPOKEN_EMAIL.finditer(text) if compiled(cues.AT).search(text) is not None else ():
        is_plain = match["at"].strip().lower() == "at" and "." not in match["name"]
        is_sure = not is_plain or " " in match["domain"].strip()
        if is_sure or compiled(cues.MAIL).search(text[max(match.start() - 40, 0) : match.start()]):
            yield *match.span(), re.sub(_SPOKEN_DOT, ".", f"{match['name']}@{match['domain']}".lower())


def _ibans(text: str) -> Iterator[tuple[int, int, str]]:
    from stdnum import iban

    match = _IBAN.search(text)
    while match is not None:
        start, whole = match.start(), match[0]
        ends = [i + 1 for i, char in enumerate(whole) if char.isalnum()]
        valid = next((end for end in reversed(ends[14:34]) if iban.is_valid(whole[:end])), 0)
        form = None if valid else _IBAN_FORM.match(whole)
        if form is not None and sum(map(str.isdigit, form[0])) >= 10:
            valid = form.end()
        if valid:
            yield start, start + valid, _compact(whole[:valid])
        match = _IBAN.search(text, start + max(valid, 4))  # another one may stand beside it


def _addresses(text: str) -> Iterator[tuple[int, int, str]]:
    for pattern in (_IP6, _IP4):
        for match in pattern.finditer(text):
            try:
                address = ip_address(match[0])
            except ValueError:
                continue
            length, hosts = re.compile(r"/\d{1,3}").match(text, match.end()), 1
            with suppress(ValueError):  # `192.168.17.0/24` is the name of a whole network
                hosts = ip_network(match[0] + length[0]).num_addresses if length else 1
            if any(map(str.isalnum, match[0])) and hosts == 1:
                yield match.start(), match.end(), str(getattr(address, "ipv4_mapped", None) or address)


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    is_long = _LONG.search(text) is not None or "PRIVATE KEY" in text
    for pattern in (_SECRETS, *_secret_patterns()) if is_long else ():
        for match in pattern.finditer(text):
            group = 1 if pattern.groups and pattern is not _SECRETS and match[1] and len(match[1]) > 8 else 0
            start, end = match.span(group)
            if text[end - 1].isalnum():  # some patterns know one length alone
                end = _REST.match(text, end).end()  # type: ignore[union-attr]
            yield start, end, text[start:end]
    has_words = compiled(_SAYS_SECRET, _MEMORY).search(text) is not None  # sooner than the patterns know it
    for match in _NAMED.finditer(text) if has_words else ():
        start, end = _named_value(text, match)
        rest = match.end("rest")
        before = text[max(match.start() - 1, 0) : match.start()]
        is_id = text.startswith("-", rest) and re.match(r"\w", before)  # `reset_password-2b`
        if start == end and match["password"] and not is_id and (listed := _LISTED.match(text, rest)):
            start, end = listed.span("value")
        other = _INSTEAD.match(text, end)
        value = other["value"].rstrip(".?)") if other else ""
        is_value = any(map(str.isdigit, value)) or (start < end and other is not None and not other["first"])
        if other and len(value) > 2 and is_value and not _NO_VALUE.fullmatch(value):
            yield other.start("value"), other.start("value") + len(value), value
        while start < end:
            yield start, end, text[start:end]
            beside = _NEXT_VALUE.match(text, end) if match["password"] else None
            if beside and beside["value"].isdigit():  # of two PINs, which are as long
                is_pin = text[start:end].isdigit() and len(beside["value"]) == end - start
                beside = beside if is_pin else None
            start, end = beside.span("value") if beside else (end, end)
    for match in _SHOWN.finditer(text) if has_words else ():
        name = match.lastgroup or "value"
        value = match[name].rstrip(".,?)\"'\\")
        is_value = match["link"] != "" or name in ("bag", "pair") or any(map(str.isdigit, value))
        if name == "query":  # `?code=SUMMER10` lets nobody in
            before = text[max(match.start(name) - 8, 0) : match.start(name)].lower()
            is_value = len(value) > 15 or not re.search("[?&;](?:code|key|ticket|auth)=$", before)
        if len(value) > 2 and is_value:
            yield match.start(name), match.start(name) + len(value), value
    for match in _HEX_KEY.finditer(text) if is_long else ():
        before = text[max(match.start() - 50, 0) : match.start()]
        is_key = match[0][:2] in ("0x", "0X") and not _SAYS_HASH.search(before)
        if is_key or _SAYS_KEY.search(before):
            yield *match.span(), match[0]
    for cue in compiled(f"(?i){cues.PHRASE}").finditer(text):
        after = _LINK.match(text, cue.end())
        first = _PHRASE_WORDS.search(text, after.end() if after else cue.end(), cue.end() + 400)
        words = list(re.finditer(r"[^\W\d_]+", first[0])) if first and first.start() - cue.end() < 60 else []
        count = next((i for i, word in enumerate(words) if word[0] in cues.NO_PHRASE), len(words))
        if first and count >= 12:  # the shortest phrase of a wallet
            yield first.start(), first.start() + words[count - 1].end(), first[0][: words[count - 1].end()]
    for match in _TOKEN.finditer(text):
        token = match[0][match[0].rstrip("=").rfind("=") + 1 :]  # without the name of a parameter
        start = match.end() - len(token)
        is_token = len(token) >= 20 and _is_random(token)
        if is_token and not _IS_NO_TOKEN.search(text[max(start - 9, 0) : match.end()]):
            yield start, match.end(), token


_IS_NO_TOKEN = re.compile(
    r"(?i)^.{0,9}?(?:call|toolu|tooluse|msg|chatcmpl|resp|run|thread|asst|req|fc|rs|item|step|srvtoolu)[_-]\w+$|sha(?:1|256|384|512)[-:]"
)
"""Ids that providers give to calls and messages, and digests."""


def _is_random(token: str) -> bool:
    """Returns whether letters and digits are mixed as in no name: `aB3dE6gH9`, not `GetOrderStatusV2`."""
    parts = (str.isupper, str.islower, str.isdigit)
    is_mixed = all(any(map(part, token)) for part in parts) and len(set(token)) > 12
    if not is_mixed or _UUID.fullmatch(token):
        return False
    pieces = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", token)
    return sum(map(len, pieces)) < 2.9 * len(pieces)  # words are longer


def _named_value(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Returns the place of the value after a word for a secret; an empty one: there is none."""
    at, link = match.end(), (match["link"] or "").strip()
    before = text[max(match.start() - 2, 0) : match.start()]
    is_symbol = link[-1:] in ("=", ">", ":", "→") and link != ""
    is_sentence = link != "" and link.lower() not in ("to", "of")
    is_option = before == "--" and not link
    if quoted := _QUOTED.match(text, at):
        start, end = quoted.span(quoted.lastgroup or 0)
        end -= text[end - 1] == "\\"
        is_value = is_sentence or (match["password"] and end - start > 2 and match["rest"] == "")
        is_named = not match["short"] or (is_symbol and any(map(str.isdigit, text[start:end])))
        return (start, end) if is_value and is_named and not text.startswith("<", start) else (at, at)
    value_match = _VALUE.match(text, at)
    value = value_match["value"].rstrip(".?)") if value_match else ""
    if value_match is None or _NO_VALUE.fullmatch(value) or (not link and not text[at - 1].isspace()):
        return at, at
    if before[-1:] in ("?", "&"):  # the next parameter of an address
        value = value.partition("&")[0]
    start, end = value_match.start("value"), value_match.start("value") + len(value)
    has_digit = any(map(str.isdigit, value))
    is_mixed = has_digit and any(map(str.isalpha, value))
    if match["short"]:
        return (start, end) if is_symbol and is_mixed else (at, at)
    if match["of"] and not match["password"]:  # `the secret of success: hard work`
        return (start, end) if is_mixed and len(value) > 7 else (at, at)
    if not is_sentence and not is_option:  # `password hunter4`
        return (start, end) if has_digit and len(value) > (2 if match["password"] else 15) else (at, at)
    words = _WORDS.match(text, start)
    if words and words.end() >= end and (value.islower() or value.istitle()):
        if not is_symbol and _A_SECRET.search(text[max(match.start() - 6, 0) : match.end()]):
            return at, at
        parts = words[0].split(" ")
        plain = [word.lower() for word in parts]
        is_ordinary = [word in cues.ORDINARY or word.endswith(("ed", "ing")) for word in plain]
        is_sure = (is_symbol or is_option) and plain[0] not in cues.STATUS
        count = next((index for index, ordinary in enumerate(is_ordinary) if ordinary), len(parts))
        if len(parts) > 3 and is_ordinary[0] and sum(is_ordinary) == 1:  # "correct horse battery staple"
            count = len(parts)
        if all(is_ordinary) and not is_sure and match["password"]:  # `password: set to hunter2`
            beside = _NEXT_VALUE.match(text, words.end())
            return beside.span("value") if beside else (at, at)
        end = start + len(" ".join(parts[: max(count, int(is_sure))]))
    return (start, end) if end - start > 2 else (at, at)


_A_SECRET = re.compile(r"(?i)\b(?:the|a|real|big|best|only) secret (?:is|was) $")
"""Words of one who tells how something is done, not of one who tells a password."""


@cache
def _secret_patterns() -> tuple[re.Pattern[str], ...]:
    """Returns the patterns of detect-secrets for tokens."""
    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    # Addresses are a kind of their own; the patterns of npm and jwt take quadratic time.
    left_out = ("base", "ip_public", "npm", "private_key", "basic_auth", "jwt")
    names = [module.name for module in iter_modules(plugins.__path__) if module.name not in left_out]
    modules = [import_module(f"{plugins.__name__}.{name}") for name in names]
    held = ((module.__name__, kind) for module in modules for kind in vars(module).values())
    kinds = [kind for name, kind in held if isinstance(kind, type) and kind.__module__ == name]
    patterns = [p for kind in kinds if issubclass(kind, RegexBasedDetector) for p in kind().denylist]
    return tuple(re.compile(p.pattern, p.flags & ~re.UNICODE | re.ASCII) for p in patterns)


def _cards(text: str) -> Iterator[tuple[int, int, str]]:
    if "\n" in text:
        yield from _cards_in(text.replace("\n", " "), text)
    yield from _cards_in(text)
    for match in _CARD_FORM.finditer(text):
        digits = "".join(filter(str.isdigit, match[0]))
        after = re.compile(r"\w{0,199}\d", re.ASCII).match(text, match.end())
        is_inside = text[match.start() - 1 : match.start()].isalnum() and after
        if not is_inside and _luhn(digits):
            yield *match.span(), digits


_CARD_FORM = re.compile(
    r"(?<!\d)(?<!\d\.)(?:[2-6]\d{3}(?P<between>\t{1,3}|\s?[_/,;:|.]\s?)\d{4}(?:(?P=between)\d{4}){2}"
    r"|3[47]\d\d(?P<sign>\t{1,3}|\s?[_/,;:|.]\s?)\d{6}(?P=sign)\d{5}|(?:4\d|5[1-5]|6[05])\d{14}|3[47]\d{13})(?!\d)"
)
"""Numbers of cards between which and whose groups other signs stand than in a phone number, or letters."""


def _cards_in(text: str, lines: str = "") -> Iterator[tuple[int, int, str]]:
    """Yields numbers of cards; with `lines`, only those that a break of a line divides."""
    for start, run in _runs(text, 13):
        groups, taken = list(_GROUP.finditer(run)), set[int]()
        # Digits one by one, or up to ten groups, the longer ones first.
        count = len(groups)
        sizes = [*([count] if 10 < count < 20 else []), *range(min(count, 10), 0, -1)]
        for first, last in ((i, i + size - 1) for size in sizes for i in range(count - size + 1)):
            pieces = [group[0] for group in groups[first : last + 1]]
            is_written = list(map(len, pieces)) in ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4])
            # Of a table of numbers one in ten has a right check digit.
            if taken and not ((first == last or is_written) and taken.isdisjoint((first, last))):
                continue
            begin, end = groups[first].start(), groups[last].end()
            part, digits = run[begin:end], "".join(pieces)
            if not 13 <= len(digits) <= 19 or "/" in part or "(" in part:
                continue
            starts = {13: "4", 14: "3", 15: "3", 16: "23456"}.get(len(digits), "456")
            are_years = all(re.fullmatch("(?:19|20)\\d\\d", piece) for piece in pieces)
            is_whole, is_valid = len(digits) in (15, 16), _luhn(digits)
            is_divided = is_whole and is_valid and "\n" in lines[start + begin : start + end]
            if digits[0] not in starts or are_years or (lines and not is_divided):
                continue
            is_plain = first == last and is_whole and re.match(r"4|5[1-5]|3[47]|60|65", digits)
            is_formed = is_written or bool(is_plain)
            is_other = first == 0 and _is_other(text, start)
            if (is_formed and is_valid) if is_other else (is_formed or is_valid):
                yield start + begin, start + end, digits
                taken.update(range(first, last + 1))


def _is_other(text: str, start: int) -> bool:
    """Returns whether the words before a number say that it is that of a thing."""
    return compiled(cues.THING).search(text[max(start - 40, 0) : start]) is not None


def _luhn(digits: str) -> bool:
    from stdnum import luhn

    return bool(luhn.is_valid(digits))


def _identities(text: str) -> Iterator[tuple[int, int, str]]:
    for cue in compiled(f"(?i){cues.IDENTITY}", _MEMORY).finditer(text):
        # Of many countries the check digits are weak or there are none: the word beside it decides.
        named = _AFTER_CUE.match(_without_dates(text), cue.end())
        digits = sum(map(str.isdigit, named["value"])) if named else 0
        is_code = 6 <= digits <= 18 or (named is not None and digits > 3 and len(named["value"]) > 7)
        if named and is_code and not _is_other(text, named.start("value")):
            yield *named.span("value"), _compact(named["value"])
    for pattern in (_SSN, _BY_FORM):
        for match in pattern.finditer(text):
            if not _is_other(text, match.start()):
                yield *match.span(), _compact(match[0])
    for match in _KOREAN.finditer(text) if not text.isascii() else ():
        yield *match.span("value"), _compact(match["value"])
    for pattern in (_SPACED_DNI, _CODES):
        for match in pattern.finditer(text):
            if _is_identity(match[0]) and not _is_other(text, match.start()):
                yield *match.span(), _compact(match[0])
    for start, run in _runs(text, 10):
        is_spaced = any(char in " /" for char in run) and "(" not in run
        is_phones = compiled(f"(?i){cues.PHONE}").search(text[max(start - 30, 0) : start]) is not None
        is_spaced = is_spaced and text[start - 1 : start] != "+" and not is_phones
        if is_spaced and _is_identity(run) and not _is_other(text, start):
            yield start, start + len(run), _compact(run)


_AFTER_CUE = re.compile(
    r"[^\n\d,;!?]{0,25}?(?<![A-Za-z0-9])"
    r"(?P<value>(?=[A-Za-z]{0,6}\d|[A-Z]{1,3}[ -]\d)[A-Za-z0-9]{1,18}"
    r"(?:[ ./-]{1,2}(?=[A-Z]{0,4}\d|[A-Z]\b)[A-Z0-9]{1,14}){0,6})(?![A-Za-z0-9])"
)


@lru_cache(maxsize=4096)
def _is_identity(code: str) -> bool:
    if not 7 <= sum(map(str.isdigit, code)) <= 18:
        return False
    names = _NATIONAL.get(len(_compact(code)), "").split()
    is_divided = not code.isdigit()
    modules = [import_module(f"stdnum.{name.rstrip('-')}") for name in names if is_divided or name[-1] != "-"]
    try:
        return any(module.is_valid(code) for module in modules)
    except LookupError:  # stdnum.cn.ric, of a right check digit and a county that it does not know
        return True


def _phones(text: str, regions: tuple[str, ...], hint: bool) -> Iterator[Finding]:
    text = _POSTAL.sub(lambda match: " " * len(match[0]), text)
    if "\n" in text and "+" in text:
        for start, run in _runs(text.replace("\n", " "), 7):
            lines, plus = text[start : start + len(run)], _SIGN.search(text, max(start - 3, 0), start)
            if plus and "+" in plus[0] and "\n" in lines and _is_divided_phone(run, lines):
                key = _phone_key(f"+{run}", (), False)
                yield Finding(start - len(plus[0]), start + len(run), "PHONE", key)
    for start, run in _runs(text, 7):
        sign_found = _SIGN.search(text, max(start - 3, 0), start)
        is_other = _is_other(text, start) or UNIT.match(text, start + len(run)) or _VERSION.fullmatch(run)
        if not sign_found and not hint and is_other:
            continue
        is_named = hint or bool(compiled(f"(?i){cues.PHONE}").search(text[max(start - 30, 0) : start]))
        is_place = _DEGREES.fullmatch(run) and not sign_found
        is_path = run.isdigit() and _PATH.search(text[max(start - 200, 0) : start])
        if not is_named and (is_place or is_path):
            continue
        for at, part in _side_by_side(run, sign_found[0] if sign_found else "", regions):
            begin, end = start + at, start + at + len(part)
            for group in list(_GROUP.finditer(part))[:3]:
                sign_found = _SIGN.search(text, max(begin - 3, 0), begin) if group.start() == 0 else None
                sign = sign_found[0] if sign_found else ""
                key = _phone_key(sign + part[group.start() :], regions, is_named)
                if key:
                    yield Finding(begin + group.start() - len(sign), end, "PHONE", key)
                    break


_BESIDE = re.compile(r" [/-] ")


def _side_by_side(run: str, sign: str, regions: tuple[str, ...]) -> Sequence[tuple[int, str]]:
    """Returns the parts of digits, with places: all valid phone numbers, or else those between lone signs."""

    def is_valid(first: int, last: int) -> bool:
        piece = run[groups[first].start() : groups[last].end()]
        is_long = 8 <= sum(map(str.isdigit, piece)) <= 15
        if not is_long or _phone_key(piece if first else sign + piece, regions, False)[:1] != "+":
            return False
        between = [run[a.end() : b.start()] for a, b in pairwise(groups[first : last + 2])]
        has_end = last + 1 == len(groups) or between[-1] not in between[:-1]
        return has_end or (groups[last + 1][0][0] == "0" and (sign + piece)[0] in "0+(")

    groups = list(_GROUP.finditer(run))
    count, last = sum(len(group[0]) for group in groups), len(groups) - 1
    if count < 14 or is_valid(0, last):
        return [(0, run)]
    # What is unlike two numbers, and the parts from a group on; the least unlike ones are kept.
    parts: dict[int, tuple[int, list[tuple[int, str]]]] = {len(groups): (0, [])}
    for first in range(last, -1, -1) if count <= 150 else ():  # digits: of more, no parts are told apart
        start = groups[first].start()
        for end in range(first, min(first + 8, len(groups))):
            if end + 1 in parts and is_valid(first, end):
                piece = run[start : groups[end].end()]
                cost = parts[end + 1][0] + 3 * len(_BESIDE.findall(piece)) + (piece[0] != "0")
                if first not in parts or cost <= parts[first][0]:
                    parts[first] = cost, [(start, piece), *parts[end + 1][1]]
    breaks = [match.span() for match in _BESIDE.finditer(run)]
    between = zip([0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(run)], strict=True)
    return parts[0][1] if 0 in parts else [(start, run[start:end]) for start, end in between]


UNIT = re.compile(
    r"(?i)\s?(?:[€$£¥₹%]|(?:eur|usd|gbp|euros?|dollars?|pesos?|reais|zł|złotych|tokens?|bytes|ms|items?|units?|"
    r"kg|km)\b)"
)
_DEGREES = re.compile(r"(?:\d|[1-9]\d|1[0-8]\d)\.\d{7,}")
_PATH = re.compile(r"(?i)(?:\bhttps?://(?!wa\.me|t\.me)[^\s\"'<>]*|(?<![\w/.])(?:/[a-z][\w-]*)+)/$")
_VERSION = re.compile(r"(?=.*(?<!\d)\d(?!\d))\d+(?:\.\d+){2,}")
_POSTAL = re.compile(
    r"(?i)\b(?:zip\+4(?: codes?)?[\s:#=]{0,3}\d{5}[ -]?\d{4}|cp[\s:#=]{0,3}\d{5}-?\d{3})(?![\d-])"
)
_NO_PHONE = re.compile(
    r"1[5-9]\d{8}|(?:19|20)\d\d[-/]\d{2,5}|[1-9]\d{0,4}/(?:19|20)\d\d|0{3}\d+|00\d{5,6}|\d{5}-\d{3}"
    r"|[1-9]\d{4}-\d{4}"
)
"""Seconds since 1970, numbers after or before a year, numbers with zeros before them, and postal codes."""


def _is_divided_phone(run: str, lines: str) -> bool:
    """Returns whether digits over several lines are one valid number, and the first line is none."""
    import phonenumbers

    def is_valid(written: str) -> bool:
        try:
            return bool(phonenumbers.is_valid_number(phonenumbers.parse(f"+{written}")))
        except phonenumbers.NumberParseException:
            return False

    return is_valid(run) and not is_valid(lines.partition("\n")[0])


@lru_cache(maxsize=8192)
def _phone_key(written: str, regions: tuple[str, ...], is_named: bool) -> str:
    """Returns a number in its international form; its digits: it is unsure; "": it is no phone number."""
    import phonenumbers

    digits = "".join(filter(str.isdigit, written))
    if not 7 <= len(digits) <= 15 or re.fullmatch(r"\d+\.\d{1,6}|\d{1,3}(?:\.\d{3})+", written):
        return digits if is_named and 7 <= len(digits) <= 15 else ""
    if _NO_PHONE.fullmatch(written) and not is_named:
        return ""
    is_international = "+" in written or digits.startswith("00")
    text = f"+{digits.removeprefix('00')}" if is_international else written
    for region in ("ZZ",) if is_international else regions:
        try:
            number = phonenumbers.parse(text, region)
        except phonenumbers.NumberParseException:
            continue
        is_known = phonenumbers.is_possible_number if is_international else phonenumbers.is_valid_number
        if is_known(number):
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    is_written = len(digits) >= 8 and digits[0] == "0" and not written.isdigit()
    return digits if is_international or is_named or is_written or "(" in written else ""


def _runs(text: str, least: int) -> Iterator[tuple[int, str]]:
    """Yields the place and text of digits that belong together, but for dates and times."""
    if compiled(_SEVEN_DIGITS).search(text) is None:
        return
    dated = _without_dates(text)
    for match in _DIGITS.finditer(dated):
        before, after = dated[max(match.start() - 2, 0) : match.start()], dated[match.end() : match.end() + 1]
        is_inside = _is_cased(before[-1:]) or before[-1:] in ("_", "#") or _is_cased(after) or after == "_"
        joined = before[-1:] in "-." and (before[:1].isdigit() or _is_cased(before[:1])) if before else False
        count = sum(map(str.isdigit, match[0]))
        # What has its form by itself may be glued to a word.
        is_alone = not _is_cased(before[:-1]) and before[:1] not in _DIGIT
        is_signed = "+" in before and before[-1:] in "+( " and is_alone
        is_clear = is_signed or (" " in match[0] and count >= 13)
        if not joined and (is_clear or not is_inside) and count >= least:
            yield match.start(), match[0]


@lru_cache(maxsize=16)
def _without_dates(text: str) -> str:
    return _DATES.sub(lambda match: "#" * len(match[0]), text)


def _is_cased(char: str) -> bool:
    """Returns whether a character is a letter of an alphabet whose words have spaces between them."""
    return char.isalpha() and char.lower() != char.upper()


def _compact(text: str) -> str:
    return "".join(filter(str.isalnum, text)).upper()


_FINDERS: dict[str, Finder] = {
    "secret": _secrets,
    "email": _emails,
    "iban": _ibans,
    "ip": _addresses,
    "card": _cards,
    "national_id": _identities,
}


# Detectors beside the built-in one, with one interface: Presidio, and Google's Sensitive Data Protection.
#
# They add kinds of their own, such as names of persons. Both see the words as they are; Google's is a
# service.


def check_backend(config: RedactConfig) -> None:
    """Raises ValueError, in one line, if a backend cannot be used here."""
    package = {"presidio": "presidio_analyzer", "google": "google.cloud.dlp_v2"}.get(config.backend)
    try:
        is_there = package is None or find_spec(package) is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there:
        name = "turnwise[gcp]" if config.backend == "google" else "presidio-analyzer and a model of spaCy"
        raise ValueError(f"redact: backend {config.backend}: needs {name}, which is not installed")
    if config.backend == "google" and not config.project:
        raise ValueError("redact: backend google: needs `project`")


def service_findings(config: RedactConfig, text: str) -> Iterator[Finding]:
    """Yields what the backend of a config finds in a text; nothing for the built-in one."""
    if config.backend != "builtin":
        yield from _detector(config.backend, config.project or "")(text)


@cache
def _detector(backend: str, project: str) -> Callable[[str], Iterator[Finding]]:
    if backend == "presidio":
        from presidio_analyzer import AnalyzerEngine

        return partial(presidio_findings, AnalyzerEngine())
    from google.cloud.dlp_v2 import DlpServiceClient

    parent = project if "/" in project else f"projects/{project}"
    return partial(google_findings, DlpServiceClient(), parent)


def presidio_findings(engine: Any, text: str) -> Iterator[Finding]:
    """Yields all entities that an AnalyzerEngine of Presidio knows."""
    for entity in engine.analyze(text=text, language="en"):
        yield Finding(entity.start, entity.end, entity.entity_type, text[entity.start : entity.end])


def google_findings(client: Any, parent: str, text: str) -> Iterator[Finding]:
    """Yields what a DlpServiceClient finds, which counts in code points as Python does."""
    config = {"min_likelihood": "POSSIBLE", "limits": {"max_findings_per_request": 0}}
    request = {"parent": parent, "inspect_config": config, "item": {"value": text}}
    for finding in client.inspect_content(request=request).result.findings:
        span = finding.location.codepoint_range
        yield Finding(span.start, span.end, finding.info_type.name, text[span.start : span.end])
