"""Finds personal data and secrets in texts: what a redacted run replaces by markers.

Formats are those of well-kept libraries (phonenumbers, python-stdnum, detect-secrets), which are imported at
the first text that may hold something. What is unsure counts: written like one, though its check digits are
wrong. A text is searched in a copy in which digits, signs and spaces of all scripts are plain ones.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from pkgutil import iter_modules
from typing import Any, NamedTuple

from turnwise.schemas.config import RedactConfig
from turnwise.transforms.text.patterns import compiled

Finder = Callable[[str], Iterable[tuple[int, int, str]]]


class Finding(NamedTuple):
    """A value in a text: its characters, its kind, and a key that is the same however it is written."""

    start: int
    end: int
    kind: str
    key: str


HINT = (
    r"phone|\btel\b|\btel[.:]|t[ée]l[ée]f|mobil|\bcell|\bfax\b|whatsapp|handy|rufnummer|portable|celular|"
    r"m[óo]vil|num[ée]ro|n[úu]mero|nummer|anruf|appel|llam"
)
"""What says that digits beside it are a phone number."""
_SECRET_WORD = (
    r"pass(?:wor[dt]|wd|phrase|code)s?|pwd|kennwort|passwort|mot de passe|contrase[ñn]a|parola|secret|"
    r"(?:api|access|private|auth|account)[_ -]?key|(?:access|auth|api|bearer|refresh|session)[_ -]?token|"
    r"\btoken\b|authorization|credentials?|\bcv[vc]2?\b|\bpin\b"
)
MAYBE = "|".join(
    (
        r"@|%40|＠|&#(?:64|x40);|://[^/\s]+:|\\u[0-9a-fA-F]{4}",
        r"(?:\p{Nd}[ .()/\x{a0}\x{2010}-\x{2015}\x{202f}+-]{0,3}){6,}\p{Nd}|\p{Nd}{6}[\w+-]",
        r"(?:\p{Nd}{1,3}\.){3}\p{Nd}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2}",
        r"[A-Za-z]{2}\p{Nd}{2}[ -]?\w{4}|[A-Za-z]{6}\p{Nd}{2}[A-Za-z]",
        r"[A-Za-z]{2} ?(?:\p{Nd}{2} ?){3}[A-Da-d]|[\w/+=-]{20}",
        f"(?i:{_SECRET_WORD})",
    )
)
"""In RE2: what a text, or a record in JSON, has if it may hold any value of the kinds. It misses none."""

_FOLDED = re.compile(r"[^\x00-\x7f]")
_DATES = re.compile(
    r"\b(?:(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|3[01])"
    r"|(?:[0-2]?\d|3[01])[-/.](?:[0-2]?\d|3[01])[-/.](?:19|20)\d\d)"
    r"(?:[T ]\d\d?:\d\d(?::\d\d(?:[.,]\d+)?)?)?(?:Z|[+-]\d\d:?\d\d)?\b"
)
_DIGITS = re.compile(r"\d(?:[ ().\-/]{0,3}\d)*")
_GROUP = re.compile(r"\d+")
_SIGN = re.compile(r"[(+][(+ ]{0,2}$")
_EMAIL = re.compile(
    r"(?:[\w.+'%-]{1,64}|\"[^\"\n]{1,64}\")(?:@|%40|&#(?:64|x40);)((?:[\w-]+\.)+[^\W\d_][\w-]*|\[[\d.:a-fA-F]+\])"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30}(?![A-Za-z0-9])")
_IBAN_FORM = re.compile(r"[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_IP4 = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![.]?\d)")
_IP6 = re.compile(
    r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:(?<=:)\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])"
)
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_/+=-]{19,}")
_LONG = re.compile(r"[\w/+=.:@-]{12}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_ASSIGNED = re.compile(
    rf"(?i)\b(?:\w*(?:{_SECRET_WORD})\w*)[\"']?\s*(?:=>|[:=]|\b(?:is|ist|lautet|est|es|war|was)\b)\s*[\"'«“]?"
    r"(?P<value>(?:bearer |basic )?[^\s\"'»”,;<>{}\[\]]{3,200})|\bbearer (?P<bearer>[\w.~+/=-]{8,})"
)
_SECRETS = re.compile(
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[\s\S]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[\s\S]*)"
    r"|\bAIza[\w-]{30,}|\bgithub_pat_\w{20,}|\bsk-[\w-]{16,}|\bhf_[A-Za-z0-9]{20,}|\bglpat-[\w-]{16,}"
    r"|(?<=://)[^\s/:@]+:[^\s/@]+(?=@)"
)
_SECRET_KEY = re.compile(rf"(?i)(?:{_SECRET_WORD})")
_CODES = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)[A-Za-z0-9][A-Za-z0-9+.-]{6,20}[A-Za-z0-9](?![A-Za-z0-9])"
)
_SSN = re.compile(r"(?<!\d)(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?!\d)")
_NINO = re.compile(r"(?<![A-Za-z0-9])[A-CEGHJ-PR-TW-Za-z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-Da-d](?![A-Za-z0-9])")
_NATIONAL = (
    "it.codicefiscale", "es.dni", "es.nie", "fr.nir", "de.idnr", "pl.pesel", "br.cpf", "ch.ssn", "be.nn",
    "mx.curp", "in_.aadhaar", "cn.ric", "fi.hetu", "no.fodselsnummer", "pt.cc", "se.personnummer", "dk.cpr",
)  # fmt: skip
"""Formats of python-stdnum whose check digits tell them from other numbers."""


@lru_cache(maxsize=4096)
def is_secret_key(key: str) -> bool:
    """Returns whether a key of an object says that its value is a secret."""
    return _SECRET_KEY.search(key) is not None


def folded(text: str) -> str:
    """Returns a text of the same length with plain digits, letters of full width, hyphens and spaces."""
    return text if text.isascii() else _FOLDED.sub(lambda match: _plain(match[0]), text)


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    digit = unicodedata.decimal(char, None)
    if digit is not None:
        return str(digit)
    category = unicodedata.category(char)
    if category in ("Zs", "Cf"):
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

    Args:
        text: The text, folded.
        kinds: The kinds that are looked for.
        regions: Countries in whose form phone numbers without a country code may be written.
        hint: Whether the text is known to be a phone number where it can be one; None: it is none.
    """
    for kind, finder in _FINDERS.items():
        if kind in kinds:
            yield from (Finding(start, end, kind.upper(), key) for start, end, key in finder(text))
    if "phone" in kinds and hint is not None:
        yield from _phones(text, tuple(regions), hint)


def _emails(text: str) -> Iterator[tuple[int, int, str]]:
    if "@" in text or "%40" in text or "&#" in text:
        for match in _EMAIL.finditer(text):
            lead = len(match[0]) - len(match[0].lstrip(".'-%+"))
            name = re.split(r"@|%40|&#(?:64|x40);", match[0][lead:].lower(), maxsplit=1)
            yield match.start() + lead, match.end(), "@".join(name)


def _ibans(text: str) -> Iterator[tuple[int, int, str]]:
    from stdnum import iban

    for match in _IBAN.finditer(text):
        start, whole = match.start(), match[0]
        ends = [i + 1 for i, char in enumerate(whole) if char.isalnum()]
        valid = next((end for end in reversed(ends[14:34]) if iban.is_valid(whole[:end])), 0)
        form = None if valid else _IBAN_FORM.match(whole)
        if form is not None and sum(map(str.isdigit, form[0])) >= 10:
            valid = form.end()
        if valid:
            yield start, start + valid, _compact(whole[:valid])


def _addresses(text: str) -> Iterator[tuple[int, int, str]]:
    for pattern in (_IP4, _IP6):
        for match in pattern.finditer(text):
            try:
                address = ip_address(match[0])
            except ValueError:
                continue
            if any(map(str.isalnum, match[0])):
                yield match.start(), match.end(), str(address)


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    is_long = _LONG.search(text) is not None or "PRIVATE KEY" in text
    for pattern in (_SECRETS, *_secret_patterns()) if is_long else ():
        for match in pattern.finditer(text):
            group = 1 if pattern.groups and pattern is not _SECRETS and match[1] and len(match[1]) > 8 else 0
            yield *match.span(group), match[group]
    for match in _ASSIGNED.finditer(text):
        name = "value" if match["value"] else "bearer"
        value = match[name].rstrip(".?)")
        if len(value) > 2 and not value.startswith("<"):
            yield match.start(name), match.start(name) + len(value), value
    for match in _TOKEN.finditer(text):
        parts = (str.isupper, str.islower, str.isdigit)
        is_mixed = all(any(map(part, match[0])) for part in parts) and len(set(match[0])) > 12
        if is_mixed and not _UUID.fullmatch(match[0]):
            yield *match.span(), match[0]


_NOT_TAKEN = ("base", "ip_public", "npm")
"""Modules of detect-secrets: addresses are a kind of their own, and npm's pattern takes quadratic time."""


@cache
def _secret_patterns() -> tuple[re.Pattern[str], ...]:
    """Returns the patterns of detect-secrets for tokens."""
    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    patterns: list[re.Pattern[str]] = []
    for module in iter_modules(plugins.__path__):
        loaded = import_module(f"{plugins.__name__}.{module.name}")
        for kind in vars(loaded).values():
            is_own = isinstance(kind, type) and kind.__module__ == loaded.__name__
            if is_own and issubclass(kind, RegexBasedDetector) and module.name not in _NOT_TAKEN:
                patterns += kind().denylist
    return tuple(patterns)


def _cards(text: str) -> Iterator[tuple[int, int, str]]:
    for start, run in _runs(text, 13):
        groups = list(_GROUP.finditer(run))
        for first, last in _ranges(len(groups)):
            part = run[groups[first].start() : groups[last].end()]
            digits = "".join(group[0] for group in groups[first : last + 1])
            if (
                13 <= len(digits) <= 19
                and "/" not in part
                and "(" not in part
                and _is_card(digits, groups[first : last + 1])
            ):
                yield start + groups[first].start(), start + groups[last].end(), digits
                break


def _is_card(digits: str, groups: Sequence[re.Match[str]]) -> bool:
    """Returns whether digits are written like a card's number, or are one by their check digit."""
    from stdnum import luhn

    lengths = [len(group[0]) for group in groups]
    starts = {13: "4", 14: "3", 15: "3", 16: "23456"}.get(len(digits), "456")
    if digits[0] not in starts:
        return False
    is_written = lengths in ([4, 4, 4, 4], [4, 6, 5], [4, 6, 4])
    is_plain = len(lengths) == 1 and len(digits) in (15, 16) and re.match(r"4|5[1-5]|3[47]|60|65", digits)
    return bool(is_written or is_plain or luhn.is_valid(digits))


def _identities(text: str) -> Iterator[tuple[int, int, str]]:
    for pattern in (_SSN, _NINO):
        for match in pattern.finditer(text):
            yield *match.span(), _compact(match[0])
    for match in _CODES.finditer(text):
        if _is_identity(match[0]):
            yield *match.span(), _compact(match[0])
    for start, run in _runs(text, 11):
        if any(char in " /" for char in run) and "(" not in run and _is_identity(run):
            yield start, start + len(run), _compact(run)


@lru_cache(maxsize=4096)
def _is_identity(code: str) -> bool:
    digits = sum(map(str.isdigit, code))
    if not 7 <= digits <= 18:
        return False
    modules = [import_module(f"stdnum.{name}") for name in _NATIONAL]
    # A dash or letters tell what eleven digits alone do not: whose number it is.
    named = [
        m
        for m, n in zip(modules, _NATIONAL, strict=True)
        if n not in ("se.personnummer", "dk.cpr") or "-" in code
    ]
    return any(module.is_valid(code) for module in named)


def _phones(text: str, regions: tuple[str, ...], hint: bool) -> Iterator[Finding]:
    for start, run in _runs(text, 7):
        sign_found = _SIGN.search(text, max(start - 3, 0), start)
        groups = list(_GROUP.finditer(run))
        is_named = hint or bool(compiled(f"(?i){HINT}").search(text[max(start - 30, 0) : start]))
        for group in groups[:3]:
            sign = sign_found[0] if sign_found and group.start() == 0 else ""
            written = sign + run[group.start() :]
            key = _phone_key(written, regions, is_named)
            if key:
                yield Finding(start + group.start() - len(sign), start + len(run), "PHONE", key)
                break


@lru_cache(maxsize=8192)
def _phone_key(written: str, regions: tuple[str, ...], is_named: bool) -> str:
    """Returns a number in its international form; its digits: it is unsure; "": it is no phone number."""
    import phonenumbers

    digits = "".join(filter(str.isdigit, written))
    if not 7 <= len(digits) <= 15 or re.fullmatch(r"\d+\.\d{1,6}|\d{1,3}(?:\.\d{3})+", written):
        return digits if is_named and 7 <= len(digits) <= 15 else ""
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
    dated = _DATES.sub(lambda match: "#" * len(match[0]), text)
    for match in _DIGITS.finditer(dated):
        before, after = dated[max(match.start() - 2, 0) : match.start()], dated[match.end() : match.end() + 1]
        is_inside = before[-1:].isalpha() or before[-1:] in ("_", "#") or after.isalpha() or after == "_"
        joined = before[-1:] in "-." and before[:1].isalnum() if before else False
        if not is_inside and not joined and sum(map(str.isdigit, match[0])) >= least:
            yield match.start(), match[0]


def _ranges(count: int) -> Iterator[tuple[int, int]]:
    """Yields first and last of groups of digits that may be one number: longer ones first."""
    for length in range(min(count, 10), 0, -1):
        for first in range(count - length + 1):
            yield first, first + length - 1


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

Detector = Callable[[str], Iterator[Finding]]
_PACKAGES = {"presidio": "presidio_analyzer", "google": "google.cloud.dlp_v2"}


def check_backend(config: RedactConfig) -> None:
    """Raises ValueError, in one line, if a backend cannot be used here."""
    package = _PACKAGES.get(config.backend)
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
def _detector(backend: str, project: str) -> Detector:
    if backend == "presidio":
        from presidio_analyzer import AnalyzerEngine

        return presidio_detector(AnalyzerEngine())
    from google.cloud.dlp_v2 import DlpServiceClient

    return google_detector(DlpServiceClient(), project if "/" in project else f"projects/{project}")


def presidio_detector(engine: Any, language: str = "en") -> Detector:
    """Returns a detector that asks an AnalyzerEngine of Presidio for all entities that it knows."""

    def find(text: str) -> Iterator[Finding]:
        for entity in engine.analyze(text=text, language=language):
            yield Finding(entity.start, entity.end, entity.entity_type, text[entity.start : entity.end])

    return find


def google_detector(client: Any, parent: str) -> Detector:
    """Returns a detector that asks a DlpServiceClient, which counts in code points as Python does."""

    def find(text: str) -> Iterator[Finding]:
        config = {"min_likelihood": "POSSIBLE", "limits": {"max_findings_per_request": 0}}
        request = {"parent": parent, "inspect_config": config, "item": {"value": text}}
        for finding in client.inspect_content(request=request).result.findings:
            span = finding.location.codepoint_range
            yield Finding(span.start, span.end, finding.info_type.name, text[span.start : span.end])

    return find
