"""The border of the process: what leaves it of a conversation holds markers in place of personal data.

Criteria that measure see the words as they were. Score rows, results, conversations and failures pass
`redact_rows` and `redact_failure` on their way out, and questions to a judge pass `RedactedAsk`. A value has
the same marker (`<EMAIL_1>`) wherever it stands in a conversation, in what was expected as well. Ids, which
join tables, have markers that are the same in all conversations.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from json import JSONDecoder
from math import isfinite
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from turnwise.schemas.config import REDACTED_KINDS, RedactConfig
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json, json_structure, short_repr
from turnwise.schemas.rows import ConversationRow, ResultRow, ScoreRow
from turnwise.schemas.score import KEPT_RECORD_BYTES, Failure
from turnwise.transforms.judging.ask import Ask, JudgeSample, Question, R
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.text import personal
from turnwise.transforms.text.cues import THING
from turnwise.transforms.text.patterns import compiled

REDACTED = "redacted "
"""Start of the names of counts: `redacted KIND`, the values of a kind, each once in a conversation."""

_ADDRESS = re.compile(r"[a-z][\w+]*:")
_OF_DOCUMENT = ("input", "eval_cases", "input_files", "problems", "unread", "no_version")
T = TypeVar("T", bound=msgspec.Struct)
_MARKER = re.compile(r"<[A-Z][A-Z0-9_]*_(?:\d+|[0-9a-f]{12})>")
_SHARE = re.compile(r"(?<![\d.])[01]\.\d*$")
"""What is before digits that are a part of a score."""
_HALVES = re.compile("[\ud800-\udfff]")
_CUED = ("SECRET", "NATIONAL_ID")
"""Kinds of values that are found by a word beside them."""
_BEFORE_SECRET = re.compile(r"(?i)^(?:(?:bearer|basic|token|digest|api-?key) |[^\s:/]{0,64}:)")
_WITHIN = re.compile("[A-Za-z0-9]{2}")
_CUT = re.compile(r"\.\.\.|…|\[")
_PHONE_KEY = (
    r"(?i)phone|mobile|\bfax|whats_?app|(?:^|[_-])tel(?:$|[_-])|t[ée]l[ée]f|handy|msisdn|contact_?(?:number|no)\b|\bcell$"
    r"|m[óo]vil|celular|cellulare|telem[óo]vel|rufnummer|電話|电话|携帯|手机|手機|전화|휴대폰|핸드폰|телефон|мобил"
)
_ESCAPE = re.compile(r"\\u((?!00[01]|[dD][89a-fA-F])[0-9a-fA-F]{4})")
_PAIR = (
    r"""["']([^"'\\]{1,60})\\*["']\s?:\s*\[?\s*(?:"((?:[^"\\]|\\.)*)|'((?:[^'\\]|\\.)*)|\\+"([^"\\]*)"""
    r"""|([^\s"',{}\[\]\\]+))"""
)
"""A key and its value, of JSON or of Python within a text, or of a record that breaks off."""
_HOLDER = re.compile(r"""["']([^"'\\]{1,60})\\*["']\s?:\s*(?=[\[{])""")
_NO_CODE = re.compile(r"-?(?:\d{1,2}|\d+\.\d+)")
"""Numbers that are none of the values that keys tell."""
_SHORTEST_LITERAL, _SHORTEST_PIECE = 4, 4
_SHORTEST, _SHORT = 6, 60
_SHORTEST_SECRET = 2
_SHORTEST_REPEATED = 5
_PIN = re.compile(r"(?!19|20)\d{4}|\d{5,6}")
"""Numbers that stand as well for an amount, or for an order."""
_IN_NUMBER = re.compile(r"(?:\d[.,:/-]|[$€£¥₹#]\s?)$")
_GOES_ON = re.compile(r"[.,:/-]\d")
_LEFT_OF_CUT = 200
_MEMORY = 64 << 20
"""Bytes for the pattern of all kinds; with less, RE2 takes a hundred times as long."""
_PLAIN_COLUMNS = {
    "run_id", "criterion", "outcome", "verdict", "score_id", "case_digest", "case_etag", "name", "severity",
    "severity_reason", "judge", "sampled_out", "ended", "worst_criterion", "stage", "createTime", "startTime",
    "endTime", "evaluationRun", "executionState", "goldenRunMethod", "evaluationStatus",
    "evaluationMetricsThresholds", "error_type",
}  # fmt: skip
"""Columns and fields that hold no words of a conversation."""
_ID_COLUMNS = {
    "conversation_id", "user_id", "eval_id", "eval_set_id", "task", "source", "tags", "conversation",
    "sessionId", "displayName", "language", "event_time",
}  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ][\d:.]{5,20}(?:Z|[+-]\d\d:?\d\d)?")
_OF_VERSION = re.compile(r"[\d._-]+")
"""How versions are written, `1.2.3.4` and `2024-11-29` among them."""
NUMBERED_MARKER = re.compile(r"<([A-Z][A-Z0-9_]*)_\d{1,9}>")

_AS_WRITTEN = ("",)
"""The path of what has no canonical form: a raw record, or JSON in a text."""
_JUDGED_KEYS = {
    *_AS_WRITTEN, "args", "arguments", "response", "result", "differing", "values", "variables", "state",
    "session_state", "final_session_state", "session_input", "payloads", "data", "labels", "meta", "wire",
}  # fmt: skip
"""Keys above numbers of a conversation, which were said, called or expected.

Small numbers elsewhere were measured: scores, counts, places and durations.
"""


class Redactor:
    """Replaces values in the texts of one conversation by markers.

    Attributes:
        counts: Kind -> values that were replaced.
        reached: What of the config the values have: `redact.paths PATH`, `redact.keep PATH`.
        kept: Texts that stay as they are, wherever they stand.
    """

    def __init__(self, config: RedactConfig) -> None:
        self.counts: Counter[str] = Counter()
        self.reached: set[str] = set()
        self._config = config
        self._paths = [tuple(path.split(".")) for path in config.paths]
        self._keep = [tuple(path.split(".")) for path in config.keep]
        self._numbers: Counter[str] = Counter()
        self._foreign: set[str] = set()
        self._markers: dict[tuple[str, str], str] = {}
        self._raw: dict[str, str] = {}
        self._spelled: dict[str, str] = {}
        self._by_head: dict[str, list[tuple[int, str]]] = {}  # values by their first characters, numbered
        self._longest = 0
        self._literals: dict[str, str] = {}
        self._ranks: dict[str, int] = {}
        self._sizes: set[int] = set()
        self._repeated: set[str] = set()
        self._phones: set[str] = set()
        self.kept: set[str] = set()
        self._shortest = 1 if config.patterns or config.backend != "builtin" else _SHORTEST
        self._texts: dict[tuple[str, bool | None, str], str] = {}
        self._names: dict[str, str] = {}
        self._cut_texts: list[tuple[str, str, bool]] | None = None
        self._findings: dict[Hashable, tuple[personal.Finding, ...]] = {}

    def learn(self, values: Iterable[JsonValue], path: tuple[str, ...] = ()) -> None:
        """Gives the values of objects their markers: those of paths first, then in order."""
        built = [msgspec.to_builtins(value, enc_hook=str) for value in values]
        self._foreign.update(_MARKER.findall(str(built)))
        for value in built:
            self._learn_paths(value, path)
        self._cut_texts = []
        for value in built:
            self.redact(value, path)
        cut_texts, self._cut_texts = self._cut_texts, None
        for text in cut_texts:
            self.text(*text)

    def _learn_paths(self, value: JsonValue, path: tuple[str, ...], name: str = "") -> None:
        for key, paths in (("paths", self._paths), ("keep", self._keep)):
            for stated in paths:
                if _ends(path, [stated]):
                    self.reached.add(f"redact.{key} {'.'.join(stated)}")
        if self._keep and _ends(path, self._keep):
            self.kept.update(str(leaf) for leaf in _leaves(value))
        elif self._paths and _ends(path, self._paths):
            self._at_path(value, path)
        elif isinstance(value, dict):
            for key, item in value.items():
                is_wrapped = len(value) == 1 and key in _VALUE_KEYS
                self._learn_paths(item, (*path, key), name if is_wrapped else _name_of(value, key, path))
        elif isinstance(value, list):
            for item in value:
                self._learn_paths(item, path, name)
                if pair := _pair(item):
                    self._learn_paths(pair[1], path, pair[0])
        elif name and _says_kind(name):
            kind = self._kind_of(name, value)
            if kind and len(str(value)) > _SHORTEST_SECRET:
                self.literal(value, kind)

    def _at_path(self, value: JsonValue, path: tuple[str, ...]) -> JsonValue:
        """Returns what stands at a path of the config, with markers; what was measured stays."""
        is_judged = not _JUDGED_KEYS.isdisjoint(path)
        return _mapped(
            value, lambda leaf: self.literal(leaf, path[-1]) if is_judged or isinstance(leaf, str) else leaf
        )

    def _kind_of(self, key: str, value: JsonValue) -> str | None:
        is_word = isinstance(value, str) and value != "" and not _MARKER.fullmatch(value)
        if not is_word and not (isinstance(value, int) and not isinstance(value, bool) and value > 99):
            return None
        if "secret" in self._config.kinds and personal.is_secret_key(key):
            return None if personal.is_no_secret(key, str(value)) else "secret"
        kind = personal.kind_of_key(key)
        return kind if kind in self._config.kinds and any(map(str.isdigit, str(value))) else None

    def _keyed(self, key: str, value: JsonValue) -> JsonValue:
        """Returns a value with the marker that its key gives it; as it is: its key gives none."""
        if not _says_kind(key):
            return value
        if isinstance(value, list):
            return [self._keyed(key, item) for item in value]
        if isinstance(value, dict):  # {"stringValue": "x"}
            is_wrapped = len(value) == 1 and value.keys() <= _VALUE_KEYS
            return {inner: self._keyed(key, item) for inner, item in value.items()} if is_wrapped else value
        kind, plain = self._kind_of(key, value), str(value)
        if plain in self.kept:
            return value
        if kind is not None:
            is_short = len(plain) <= _SHORTEST_SECRET  # elsewhere it is a word like others
            return self._marker(kind.upper(), plain, plain) if is_short else self.literal(value, kind)
        is_number = _is_number(value)
        if not _says_phone(key) or not (is_number or isinstance(value, str)):
            return value
        text = _text_of(value)
        done = self.text(text, key, is_number)
        if done == text:
            return value
        if text not in self._literals and _MARKER.fullmatch(done):  # then it is one wherever it stands
            self._add_literal(text, done)
            self._phones.add(text)
        return done

    def literal(self, value: JsonValue, name: str) -> str:
        """Returns the marker of a whole value, which is replaced wherever it stands."""
        text = _text_of(value)
        known = self._literals.get(text)
        if known is None:
            kind = re.sub(r"\W", "_", name.upper(), flags=re.ASCII) or "VALUE"
            known = self._marker(kind if kind[0].isalpha() else "VALUE", text, text)
            self._add_literal(text, known)
            if _PIN.fullmatch(text) and name in self._config.kinds:
                self._repeated.add(text)
        return known

    def _add_literal(self, text: str, marker: str) -> None:
        """Replaces a text from now on wherever it stands."""
        self._literals[text] = marker
        self._ranks.setdefault(text, len(self._ranks))
        self._sizes.add(len(text))
        self._texts.clear()
        self._names.clear()

    def _whole(self, text: str, cue: str) -> str | None:
        """Returns the marker of a text that is a value; None: it is none, or the number of a thing."""
        is_other = cue != "" and text in self._repeated and _PIN.fullmatch(text)
        return None if is_other else self._literals.get(text)

    def redact(self, value: JsonValue, path: tuple[str, ...] = ()) -> JsonValue:
        """Returns a JSON value, keys included, with markers."""
        key = path[-1] if path else ""
        if path and self._paths and _ends(path, self._paths):
            return self._at_path(value, path)
        if isinstance(value, str):
            return self.text(value, key)
        if isinstance(value, dict):
            done: dict[str, JsonValue] = {}
            for name, item in value.items():
                marked = self.text(name) if len(name) > 5 or name in self._literals else name
                while marked in done:  # two keys with one marker
                    marked += "'"
                is_path = self._paths and _ends((*path, name), self._paths)
                keyed = item if is_path else self._keyed(_name_of(value, name, path), item)
                is_kept = self.kept and keyed == item and str(item) in self.kept
                done[marked] = item if is_kept else self.redact(keyed, (*path, name))
            return done
        if isinstance(value, list):
            pairs = [(_pair(item), item) for item in value]
            items = [[pair[0], self._keyed(*pair)] if pair else item for pair, item in pairs]
            return self._parts([self.redact(item, path) for item in items])
        if not isinstance(value, int | float) or not _is_number(value):
            return value
        is_small, text = abs(value) < 1e6, _text_of(value)
        if is_small and text not in self._literals and not self._config.patterns:
            return value
        if _JUDGED_KEYS.isdisjoint(path) and (is_small or "details" not in path):
            return value
        # Numbers are times, amounts and places more often than phone numbers.
        redacted_text = self.text(text, key, is_number=True)
        return value if redacted_text == text else redacted_text

    def _parts(self, items: list[JsonValue]) -> list[JsonValue]:
        """Replaces values that begin in one part of a text and end in the next one."""
        texts = [item.get("text") if isinstance(item, dict) else item for item in items]
        for index in range(len(items) - 1):
            first, second = texts[index], texts[index + 1]
            if not isinstance(first, str) or not isinstance(second, str):
                continue
            tail, head = first[-80:], second[:80]
            whole = tail + head
            spans = [span for span in self._spans(whole, False) if span[0] < len(tail) < span[1]]
            for start, end, marker in spans[:1]:
                texts[index] = first[: len(first) - len(tail)] + tail[:start] + marker
                texts[index + 1] = second[end - len(tail) :]
        return [
            (item | {"text": text} if "text" in item else item) if isinstance(item, dict) else text
            for item, text in zip(items, texts, strict=True)
        ]

    def text(self, text: str, key: str = "", is_number: bool = False) -> str:
        """Returns a text with markers, of a value under a key."""
        cue = _cue_of(key) if key else ""
        if len(text) < self._shortest:
            return self._whole(text, cue) or text
        if self._cut_texts is not None and _CUT.search(text):  # what it shortens may come later
            self._cut_texts.append((text, key, is_number))
            return text
        hint = (bool(key) and _says_phone(key)) or (None if is_number else False)
        done = self._texts.get((text, hint, cue))
        if done is None:
            waiting = len(self._cut_texts or ())
            done = self._redacted(text, hint, cue)
            if len(self._cut_texts or ()) == waiting:  # else a text within it comes later
                self._texts[text, hint, cue] = done
        return done

    def _redacted(self, text: str, hint: bool | None, cue: str) -> str:
        if text in self.kept:
            return text
        if whole := self._whole(text, cue):
            return whole
        structure = json_structure(text) if text[:200].lstrip()[:1] in ("{", "[") else None
        if structure is not None:
            done = self.redact(structure, _AS_WRITTEN)
            if done != structure:
                return dump_json(done).decode()
        known = len(self._literals)
        spans = self._spans(text, hint, cue=cue)
        if len(self._literals) > known:  # what the text names may stand in it a second time
            spans = self._spans(text, hint, cue=cue)
        text = _replaced(text, spans)
        # What is left of values where a text was cut.
        is_cut = self._spelled and ("…" in text or "..." in text or "[" in text)
        for match in reversed(list(_CUT.finditer(text))[:20] if is_cut else []):
            before, after = text[: match.start()], text[match.end() :]
            places = range(max(0, len(before) - self._longest), len(before) - _SHORTEST_PIECE + 1)
            starts = ((number, at, raw) for at in places for number, raw in self._begun_by(before[at:]))
            if first := min(starts, default=None):
                text = f"{before[: first[1]]}{self._spelled[first[2]]}{match[0]}{after}"
        return text

    def _spans(
        self, text: str, hint: bool | None, is_id: bool = False, cue: str = ""
    ) -> list[tuple[int, int, str]]:
        """Returns the places of values and their markers, in order; `cue`: words before the text.

        In ids (`is_id`) values have the markers that are the same in all conversations.
        """
        plain = personal.folded(text)
        taken, spans = bytearray(len(text)), list[tuple[int, int, str]]()
        for match in _MARKER.finditer(text) if "<" in text else ():
            taken[match.start() : match.end()] = b"\1" * len(match[0])
        kept = [span for value in self.kept for span in _places(text, value)]
        known: Iterable[str] = self._literals
        if len(text) * len(self._sizes) < len(self._ranks):  # one look at each of its pieces takes less
            pieces = {text[at : at + size] for size in self._sizes for at in range(len(text) - size + 1)}
            known = sorted(pieces & self._ranks.keys(), key=self._ranks.__getitem__)
        for literal in known:
            if literal not in text:
                continue
            marker = self._literals[literal]
            is_word = literal in self._repeated
            if is_id:
                if not self._is_value(literal):
                    continue
                marker = _lasting(marker, literal)
            for start, end in _places(text, literal):
                # A number, or what may be a word, is apart from others.
                is_apart = is_word or literal.isdigit()
                if is_apart and any(at and _WITHIN.match(text, at - 1) for at in (start, end)):
                    continue
                if not is_word or _is_alone(cue + text, len(cue) + start, len(cue) + end):
                    spans += [(*ends, marker) for ends in _take(taken, start, end)]
        for start, end, kind, key in self._detected(text, plain, cue, hint):
            if any(a <= start and end <= b for a, b in kept) or not (places := _take(taken, start, end)):
                continue
            part, number = text[start:end], plain[start:end]
            if is_id:
                spans += [(*ends, _lasting_marker(kind, key)) for ends in places]
                continue
            marker = ""
            if _CUT.match(text, end) and part not in self._spelled:  # a longer value may be shortened here
                longer = (self._spelled[raw] for _, raw in self._begun_by(part))
                marker = next((name for name in longer if name[1:].rpartition("_")[0] == kind), "")
            marker = marker or self._marker(kind, key, part)
            spans += [(*ends, marker) for ends in places]
            # A phone number may be one only by the word beside it.
            is_cued = kind in _CUED or (
                kind == "PHONE"
                and number not in self._literals
                and not any(personal.find(number, ("phone",), self._config.regions))
            )
            if is_cued and places == [(start, end)]:
                self._repeat(part, marker)
        return sorted(spans)

    def _detected(self, text: str, plain: str, cue: str, hint: bool | None) -> list[personal.Finding]:
        """Returns what patterns, detectors (in the folded text) and a service see; what is cut, last."""
        findings: list[personal.Finding] = []
        readable = text if text.isascii() else _HALVES.sub("?", text)
        for name, pattern in self._config.patterns.items():
            for match in compiled(pattern).finditer(readable):
                if match[0].isdigit() and _SHARE.search(text[max(match.start() - 20, 0) : match.start()]):
                    continue
                findings.append(personal.Finding(match.start(), match.end(), name, match[0]))
        has_pairs = any(sign in text for sign in ('":', '" :', "':", "' :"))
        for key, start, end, is_bare in _pairs_in(readable) if has_pairs else ():
            value = text[start:end]
            is_number = is_bare and _NO_CODE.fullmatch(value)
            if not is_number and (kind := self._kind_of(key, value)):
                findings.append(personal.Finding(start, end, kind.upper(), value))
        # The detectors are asked once, whatever is learnt later.
        options = (plain, cue, self._config.kinds, self._config.regions, hint)
        if len(plain) > _SHORT and options not in self._findings:
            self._findings[options] = _findings(*options)
        findings += _short_findings(*options) if len(plain) <= _SHORT else self._findings[options]
        findings += personal.service_findings(self._config, text)
        return sorted(findings, key=lambda finding: _CUT.match(text, finding.end) is not None)

    def _repeat(self, value: str, marker: str) -> None:
        """Gives a value its marker where it stands without the word that says what it is."""
        digits = "".join(filter(str.isdigit, value)) if marker.startswith("<PHONE_") else value
        for part in dict.fromkeys((value, _BEFORE_SECRET.sub("", value, count=1), digits)):
            is_plain = part.isalpha() and (part.islower() or part.istitle() or part.isupper())
            is_short = len(part) < _SHORTEST_REPEATED and not _PIN.fullmatch(part)
            if is_short or is_plain or not self._literals.get(part, "<PHONE_").startswith("<PHONE_"):
                continue
            self._add_literal(part, marker)
            self._repeated.add(part)
            other = self._spelled.get(part, marker)
            if other != marker:  # a text before took it for something else
                self.counts[other[1:].rpartition("_")[0]] -= 1
                self._markers = {key: name for key, name in self._markers.items() if name != other}
                self._spelled[part] = marker

    def _marker(self, kind: str, key: str, raw: str) -> str:
        marker = self._markers.get((kind, key))
        if marker is None:
            self.counts[kind] += 1
            self._numbers[kind] += 1
            while f"<{kind}_{self._numbers[kind]}>" in self._foreign:  # a log has words like a marker
                self._numbers[kind] += 1
            marker = self._markers[kind, key] = f"<{kind}_{self._numbers[kind]}>"
            self._raw[marker] = raw
        if raw not in self._spelled:
            self._by_head.setdefault(raw[:_SHORTEST_PIECE], []).append((len(self._spelled), raw))
            self._longest = max(self._longest, len(raw))
            self._spelled[raw] = marker
        return marker

    def _begun_by(self, start: str) -> Iterator[tuple[int, str]]:
        """Yields the values that begin with a text, in order, each with its number."""
        known: Iterable[tuple[int, str]] = self._by_head.get(start[:_SHORTEST_PIECE], ())
        if len(start) < _SHORTEST_PIECE:
            known = sorted(chain.from_iterable(self._by_head.values()))
        return (value for value in known if value[1].startswith(start))

    def identity(self, text: str) -> str:
        """Returns an id with markers that are the same in all conversations, so that tables can be joined."""
        done = self._names.get(text)
        if done is None:
            whole = _lasting(self._literals[text], text) if self._is_value(text) else None
            done = self._names[text] = whole or _replaced(text, self._spans(text, False, is_id=True))
        return done

    def _is_value(self, name: str) -> bool:
        """Returns whether an id is a value of its own, and not a word that another one is beside."""
        return name in self._literals and name not in self._repeated and name not in self._phones

    def version(self, text: str) -> str:
        """Returns an app version with the markers of ids; numbers that versions are written as stay."""
        if self._is_value(text):
            return self.identity(text)
        spans = [
            (start, end, marker)
            for start, end, marker in self._spans(text, False, is_id=True)
            if marker[1:].rpartition("_")[0].lower() not in REDACTED_KINDS
            or not _OF_VERSION.fullmatch(text, start, end)
        ]
        return _replaced(text, spans)

    def name_ids(self, ids: Iterable[str | None]) -> None:
        """Gives ids that are personal data their markers, for wherever they stand."""
        for name in filter(None, ids):
            marker = self.identity(name)
            if marker != name:
                self._add_literal(name, marker)

    def row(self, row: Any) -> Any:
        """Returns a row, or the message of a result, with markers."""
        return {
            name: value
            if name in _PLAIN_COLUMNS
            or value is None
            or _is_number(value)
            or (name == "event_time" and _TIME.fullmatch(value))
            else _mapped(value, lambda leaf: self.identity(leaf) if isinstance(leaf, str) else leaf)
            if name in _ID_COLUMNS
            else self.version(value)
            if name in ("app_version", "appVersion")
            else self.row(value)
            if name == "result"
            else self.redact(value, (name,))
            for name, value in row.items()
        }

    def restore(self, value: JsonValue) -> JsonValue:
        """Returns a value with the words in place of their markers, for what stays in this process."""
        if isinstance(value, str) and "<" in value:
            return _MARKER.sub(lambda match: self._raw.get(match[0], match[0]), value)
        if isinstance(value, dict):
            return {self.restore(key): self.restore(item) for key, item in value.items()}
        return [self.restore(item) for item in value] if isinstance(value, list | tuple) else value

    def has_values(self, source: str) -> bool:
        """Returns whether anything is to be replaced in what was learnt, or in a name of a file."""
        return bool(self._markers or self._literals or self.identity(source) != source)

    def known(self, text: str) -> str:
        """Returns a text of the config with markers for the values of the conversation alone."""
        for raw, marker in self._spelled.items():
            if len(raw) > _SHORTEST_LITERAL and raw in text:
                text = text.replace(raw, marker)
        return text


def _pairs_in(text: str, at: int = 0) -> Iterator[tuple[str, int, int, bool]]:
    """Yields keys, places of their values, and whether these have no quotes, those within values as well."""
    for match in compiled(_PAIR).finditer(text):
        start, end = match.span(match.lastindex)
        yield match[1], at + start, at + end, match.lastindex == 5
        if match.lastindex < 4 and ":" in match[match.lastindex]:
            yield from _pairs_in(text[start:end], at + start)


def _held_in(text: str, keys: Sequence[str]) -> Iterator[tuple[int, int, str, JsonValue]]:
    """Yields places, keys and values of what is under `keys`, or holds a secret, in a broken record."""
    last = 0
    for match in _HOLDER.finditer(text):
        start, key = match.end(), match[1]
        if start < last or not (key in keys or _says_kind(key)):
            continue
        try:
            value, last = JSONDecoder().raw_decode(text, start)
        except (ValueError, RecursionError):
            if key not in keys:
                continue
            value, last = text[start:], len(text)
        yield start, last, key, value
    yield from ((start, end, key, text[start:end]) for key, start, end, _ in _pairs_in(text) if key in keys)


def _places(text: str, value: str) -> Iterator[tuple[int, int]]:
    at = text.find(value) if len(value) >= _SHORTEST_LITERAL else -1
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + len(value))


def _is_alone(text: str, start: int, end: int) -> bool:
    """Returns whether a number of few digits is no part of an amount or a time, and not that of a thing."""
    if not _PIN.fullmatch(text, start, end):
        return True
    before = text[max(start - 40, 0) : start]
    after = personal.UNIT.match(text, end) or _GOES_ON.match(text, end)
    return not (after or _IN_NUMBER.search(before) or compiled(THING).search(before))


def _take(taken: bytearray, start: int, end: int) -> list[tuple[int, int]]:
    """Marks a range as taken; returns the parts of it that were not."""
    free: list[tuple[int, int]] = []
    at = taken.find(0, start, end)
    while at >= 0:
        last = taken.find(1, at, end)
        last = end if last < 0 else last
        free.append((at, last))
        at = taken.find(0, last, end)
    taken[start:end] = b"\1" * (end - start)
    return free


def _replaced(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    pieces, last = [], 0
    for start, end, marker in spans:
        pieces += [text[last:start], marker]
        last = end
    return f"{''.join(pieces)}{text[last:]}" if pieces else text


def _lasting_marker(kind: str, key: str) -> str:
    return f"<{kind}_{blake2b(key.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}>"


def _lasting(marker: str, raw: str) -> str:
    """Returns the marker that a value has in ids, in place of that of a conversation."""
    numbered = NUMBERED_MARKER.fullmatch(marker)
    return _lasting_marker(numbered[1], raw) if numbered else marker


def _ends(path: tuple[str, ...], paths: Sequence[tuple[str, ...]]) -> bool:
    return any(path[-len(ending) :] == ending for ending in paths)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _text_of(value: JsonValue) -> str:
    """Returns a value as it is looked up; a number without decimals is the same as a whole one."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif value is not None and value != "" and not (isinstance(value, str) and _MARKER.fullmatch(value)):
        yield value


def _mapped(value: JsonValue, marker: Callable[[JsonValue], JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _mapped(item, marker) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, marker) for item in value]
    return next(map(marker, _leaves(value)), value)


_NAME_KEYS = ("key", "name", "header", "field", "param")
_VALUE_KEYS = frozenset(("value", "val", "values", "stringValue", "string_value"))
_IDENTIFIER = re.compile(r"[\w.-]{1,60}")
_is_bag = lru_cache(maxsize=4096)(re.compile("(?i)(?:set[-_]?)?cookies?|secrets").fullmatch)


def _name_of(holder: JsonObject, key: str, path: tuple[str, ...]) -> str:
    """Returns what a value is called: by its key, or beside it: `{"key": "authorization", "value": ...}`."""
    if path and _is_bag(path[-1]):
        return path[-1]
    if key not in _VALUE_KEYS:
        return key
    names = (holder.get(name) for name in _NAME_KEYS)
    beside = next((name for name in names if isinstance(name, str) and _IDENTIFIER.fullmatch(name)), None)
    return beside or (path[-1] if path else "") or key


def _pair(item: JsonValue) -> tuple[str, str] | None:
    """Returns the name and value of a header that is a list: `["authorization", "Bearer ..."]`."""
    if not isinstance(item, list) or len(item) != 2:
        return None
    name, value = item
    is_pair = isinstance(name, str) and isinstance(value, str) and _IDENTIFIER.fullmatch(name)
    return (name, value) if is_pair and personal.is_secret_key(name) else None


@lru_cache(maxsize=4096)
def _cue_of(key: str) -> str:
    """Returns the words of a key that says what a number is of: `order id: `."""
    words = f"{re.sub('(?<=[a-z])(?=[A-Z])|[_-]', ' ', key)}: "
    return words if compiled(THING).search(words) else ""


@lru_cache(maxsize=4096)
def _says_kind(key: str) -> bool:
    return bool(personal.is_secret_key(key) or personal.kind_of_key(key) or _says_phone(key))


@lru_cache(maxsize=4096)
def _says_phone(key: str) -> bool:
    return compiled(_PHONE_KEY).search(key) is not None


def _findings(
    text: str, cue: str, kinds: tuple[str, ...], regions: tuple[str, ...], hint: bool | None
) -> tuple[personal.Finding, ...]:
    """Returns the values in a folded text, which stands after the words of `cue`."""
    if not any(pattern.search(text) for pattern in _candidates((), ())):
        return ()
    moved = (
        finding._replace(start=finding.start - len(cue), end=finding.end - len(cue))
        for finding in personal.find(cue + text, kinds, regions, hint)
    )
    return tuple(finding for finding in moved if finding.start >= 0)


_short_findings = lru_cache(maxsize=16384)(_findings)
"""Keys and names are the same in many conversations."""


_PLAIN_PATTERN = re.compile(r"(?:\\[bd]|\[[\w-]+\]|\{[\d,]+\}|[\w ()?:|+*/@#-])+")
"""Patterns that match the same in a text and in JSON, where line breaks and quotes are escaped."""


@cache
def _candidates(patterns: tuple[str, ...], keys: tuple[str, ...]) -> tuple[Any, Any]:
    """Returns patterns of which anything in JSON that may hold a value has one."""
    forms = (personal.MAYBE_FORM, *(f"(?:{pattern})" for pattern in patterns))
    words = (personal.MAYBE_WORD, *(f'"{re.escape(key)}"' for key in keys))
    return tuple(compiled(personal.in_json("|".join(parts)), _MEMORY) for parts in (forms, words))


def redactor_of(config: RedactConfig, sample: Sample, scored: JsonValue = None) -> Redactor | None:
    """Returns the redactor of a conversation; None: it, its case and its scores hold no value and no path.

    Most conversations are searched once, as JSON, and that is all.
    """
    conversation, case = sample.conversation, sample.eval_case
    keys = tuple(path.rpartition(".")[2] for path in (*config.paths, *config.keep))
    patterns = tuple(config.patterns.values())
    parts = (conversation, case, sample.record.source, scored)
    if config.backend == "builtin" and all(map(_PLAIN_PATTERN.fullmatch, patterns)):
        try:
            data = msgspec.json.encode(parts)
            # Scores are nobody's numbers.
            candidates = _candidates(patterns, keys)
            if all(match[0][:2] == b"0." for pattern in candidates for match in pattern.finditer(data)):
                return None
        except (TypeError, ValueError, OverflowError):  # what JSON has no room for: every text is searched
            pass
    redactor = Redactor(config)
    ids = (case.eval_id, case.eval_set_id) if case else ()
    redactor.name_ids((conversation.conversation_id, *ids))
    redactor.learn([conversation, *([case] if case else []), {"details": scored}])
    return redactor if redactor.has_values(sample.record.source) or redactor.reached else None


def redacted(value: T, config: RedactConfig, ids: Iterable[str | None] = ()) -> T:
    """Returns a conversation, a case, or what files hold, with markers; `ids` keep theirs everywhere."""
    redactor = Redactor(config)
    redactor.name_ids(ids)
    redactor.learn([value])
    return msgspec.convert(redactor.redact(msgspec.to_builtins(value)), type(value))


def check_redaction(config: RedactConfig | None) -> None:
    """Raises ValueError, in one line, for a pattern that is none, or a backend that cannot be used."""
    if config is None:
        return
    personal.check_backend(config)
    for name, paths in (("paths", config.paths), ("keep", config.keep)):
        wrong = next((path for path in paths if re.search(r"[*\[\]]", path) or "" in path.split(".")), None)
        if wrong is not None:
            raise ValueError(
                f"redact: {name}: {short_repr(wrong)}: names between dots, such as tool_calls.args.x; "
                "indices of lists are left out"
            )
    # Imported late: it takes time, which only a redacted run has to wait for.
    from phonenumbers import SUPPORTED_REGIONS

    if unknown := sorted(set(config.regions) - set(SUPPORTED_REGIONS)):
        raise ValueError(f"redact: regions: {', '.join(unknown)}: no country that has phone numbers")
    for name, pattern in config.patterns.items():
        try:
            matches_nothing = compiled(pattern).search("") is not None
        except ValueError as error:
            raise ValueError(f"redact: patterns.{name}: {error}") from None
        if matches_nothing:
            raise ValueError(f"redact: patterns.{name}: matches an empty text")


class RedactedAsk:
    """A judge that reads markers in place of values; its replies are returned with the values."""

    def __init__(self, ask: Ask, redactor: Redactor) -> None:
        self._ask, self._redactor = ask, redactor

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks; see Ask."""
        prompt, redactor = question.prompt, self._redactor
        shown = replace(
            prompt, instructions=redactor.known(prompt.instructions), evidence=redactor.text(prompt.evidence)
        )
        given = []
        for sample in await self._ask(replace(question, prompt=shown), samples):
            reply = sample.reply
            if reply is not None and _MARKER.search(reply.model_dump_json()):
                words = redactor.restore(reply.model_dump(by_alias=True))
                sample = replace(sample, reply=type(reply).model_validate(words))
            given.append(sample)
        return given


def redact_rows(
    redactor: Redactor,
    scores: Sequence[ScoreRow],
    results: Sequence[ResultRow],
    conversations: Sequence[ConversationRow],
) -> tuple[list[ScoreRow], list[ResultRow], list[ConversationRow]]:
    """Returns the rows of a conversation with markers."""
    given: list[Any] = [*scores]
    rows = [replace(row, **redactor.row(msgspec.structs.asdict(row))) for row in given]
    kept: list[Any] = []
    for result in results:
        eval_id = result["eval_id"]
        message = redactor.row(result)
        if eval_id and message["eval_id"] != eval_id:
            marked = re.sub("[<>]", "", message["eval_id"])
            message["name"] = result["name"].replace(eval_id, marked)
            message["result"]["name"] = message["name"]
        kept.append(message)
    return rows, kept, [redactor.row(row) for row in conversations]


def redact_failure(failure: Failure, config: RedactConfig, redactor: Redactor | None = None) -> Counter[str]:
    """Replaces values in a failure, its raw record included; returns their number by kind.

    A record of any form is searched, so a path counts wherever its last key stands.
    """
    keys = [path.rpartition(".")[2] for path in config.paths]
    redactor = redactor or Redactor(config.model_copy(update={"paths": (*config.paths, *keys)}))
    record = failure.record
    redactor.name_ids([failure.conversation_id])
    if record is not None:
        if len(record.encode("utf-8", "replace")) >= KEPT_RECORD_BYTES:
            record = record[:-_LEFT_OF_CUT]  # a value that is cut there has no form to tell it by
        structure = json_structure(record)
        if structure is not None:
            holder = structure if isinstance(structure, dict) else {}
            ids = (holder.get("eval_id"), holder.get("eval_set_id"))
            redactor.name_ids(name for name in ids if isinstance(name, str))
            redactor.learn([structure], _AS_WRITTEN)
            done = redactor.redact(structure, _AS_WRITTEN)
            record = record if done == structure else dump_json(done).decode()
        else:
            record = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), record)
            taken, spans = bytearray(len(record)), list[tuple[int, int, str]]()
            for start, end, key, value in _held_in(record, keys):
                redactor.learn([{key: value}])
                if key in keys:
                    marker = redactor.literal(record[start:end], key)
                    spans += [(*ends, marker) for ends in _take(taken, start, end)]
            record = redactor.text(_replaced(record, sorted(spans)))
        failure.record = record
    # Messages of matching name cases and sets.
    message = redactor.identity(failure.message) if failure.stage == "match" else failure.message
    failure.message = redactor.text(message)
    failure.conversation_id = failure.conversation_id and redactor.identity(failure.conversation_id)
    failure.app_version = failure.app_version and redactor.version(failure.app_version)
    failure.source = failure.source and redactor.identity(failure.source)
    return redactor.counts


def redact_document(document: JsonObject, config: RedactConfig | None) -> JsonObject:
    """Returns a `run.json` whose names of files and cases, and texts about them, have markers."""
    if config is None:
        return document
    redactor = Redactor(config)
    for address in document.values():
        if isinstance(address, str) and _ADDRESS.match(address):  # where the tables go, as the user typed it
            redactor.kept.add(address)
            redactor.kept.add(urlsplit(address).hostname or re.sub("^//+", "/", urlsplit(address).path))
    # Of plain digits in its own sentences, counts are no phone numbers; names are rarely as small.
    most = sum(number for number in _leaves(document.get("counts", {})) if isinstance(number, int))
    for digits in re.findall(r"\(?\d{7,15}", str(document.get("problems", ""))):
        if int(digits.strip("(")) <= most:
            redactor.kept.add(digits)
    texts = {key: document[key] for key in _OF_DOCUMENT if document.get(key)}
    marked = _mapped(texts, lambda leaf: redactor.identity(leaf) if isinstance(leaf, str) else leaf)
    return document | marked
