"""Neutralises control characters, hidden characters and chat markup in judged text."""

import re
from unicodedata import category, normalize

HIDDEN = "\u200b"
"""What `sanitize` writes in the place of a character without width; `visible` leaves it out."""

_KEPT = {*"\t\n\u200c\u200d", *"\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"}
_KEPT |= {"\U000110bd", "\U000110cd"}
"""Of control and format characters: tab, newline, joiners, and the signs of Unicode's property
Prepended_Concatenation_Mark, which are seen."""

_OVERRIDES = frozenset(
    map(chr, [0x180E, *range(0x202A, 0x202F), *range(0x2065, 0x2070), *range(0xFFF0, 0xFFFC)])
)
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")
_VARIATION_SELECTORS = frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))


class _Shown(dict[int, str]):
    """What is shown of a character, found at its first use."""

    def __missing__(self, code: int) -> str:
        self[code] = shown = _shown(chr(code))
        return shown


def _shown(char: str) -> str:
    kind = category(char)
    if char in _KEPT:
        return char
    if char in _FILLERS or char in _VARIATION_SELECTORS:
        return HIDDEN
    if kind in ("Cc", "Cs") or char in _OVERRIDES or "\U000e0000" <= char <= "\U000e0fff":
        return "\ufffd"
    return HIDDEN if kind == "Cf" else char


_SHOWN = _Shown({0x0D: " ", 0x2028: "\n", 0x2029: "\n"})

_JOINING = (
    "\u0600-\u06ff\u0710-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1807\u1820-\u18af"
    "\ufb50-\ufdff\ufe70-\ufefc"
)
"""Scripts whose letters change beside a joiner: Arabic, those of India, Mongolian and others."""

_EMOJI = "\u2190-\u21ff\u2300-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"

_NEEDLESS_JOINERS = re.compile(
    rf"[\u200c\u200d](?:(?<![{_JOINING}].)(?<![{_EMOJI}].)(?<![{_EMOJI}]{HIDDEN}.)"
    rf"|(?<=[{_EMOJI}{HIDDEN}].)(?:(?<=\u200c)|(?![{_EMOJI}])))"
)


class _Folded(dict[int, str]):
    """A character as NFKC writes it, such as a full-width one in ASCII, if that is one character."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = normalize("NFKC", char)
        self[code] = found = folded if len(folded) == 1 else char
        return found


_FOLDED = _Folded(
    {
        **dict.fromkeys(map(ord, "\u2223\u00a6\u2502\u01c0"), "|"),
        **dict(zip(map(ord, "⟨〈⟩〉"), "<<>>", strict=True)),
    }
)

_NAMES = (
    r"(?:start|end)_of_\w+|bos|eos|sop|eop|s|pad|unk|mask|cls|sep"
    "|[be]os_token|pad_token|system|developer|user|human|assistant|model|tool"
    "|think|thinking|tools|tool_calls?|tool_responses?|tool_results?|function|function_calls?"
    "|role|_user|_bot|c_[qa]|available_tools|toolcall|functions|tool_code|tool_outputs?|arg_(?:key|value)"
    r"|unused\d+|reserved_\d+|extra_id_\d+|special_\d+|ctrl\d+|seed:\w+|minimax:\w+|longcat_\w+|fim_\w+"
    r"|(?:start|end)oftext|function=[\w.:-]{1,64}|(?:invoke|parameter) name=[\w.:\"'-]{1,64}"
)
_IN_BRACKETS = (
    "INST|gMASK|CLS|SEP|IMG|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|MODEL_SETTINGS"
    "|(?-i:ARGS|CALL_ID|PREFIX|MIDDLE|SUFFIX)"
)
_HEADINGS = "instructions?|input|output|response|answer|system|user|human|assistant|응답|명령어|指示|応答"
_GAP = r"[^\S\n]{0,3}"
_PIPED = rf"{_GAP}\|{_GAP}[\w▁:-]{{1,40}}{_GAP}\|{_GAP}"
_CLOSED = rf"{_PIPED}|{_GAP}/?{_GAP}(?:{_NAMES}){_GAP}"
_SYS = rf"<{_GAP}/?{_GAP}SYS{_GAP}>{_GAP}"

_MARKERS = re.compile(
    rf"[<>\[\]#](?:(?<=<)(?=\||(?:{_CLOSED}|{_SYS})>)|(?<=\|[>\]])"
    rf"|(?<=\[)(?=\||(?:{_PIPED}|{_GAP}/?{_GAP}(?:{_IN_BRACKETS}){_GAP})\]|e~\[)"
    r"|(?<=\])(?=~!?b[\[\]])|(?<=^\[)(?=[0-9a-f]{8}:)"
    rf"|(?<=#)(?<![#♯]#)(?=#{{1,5}}{_GAP}(?:{_HEADINGS}){_GAP}(?::|$)))",
    re.IGNORECASE | re.MULTILINE,
)
"""Brackets and signs of the role markers of chat templates, and of lines that look like section headings."""

_HARMLESS = {"<": "‹", ">": "›", "[": "⟦", "]": "⟧", "#": "♯"}


def visible(text: str) -> str:
    """Returns a text as a judge is shown it: neutralised, and without characters that have no width."""
    return sanitize(text).replace(HIDDEN, "")


def sanitize(text: str) -> str:
    """Replaces characters that could mislead a judge, one code point by one, so that offsets stay valid.

    Control characters, overrides of the writing direction, invisible tags and lone surrogates become
    U+FFFD. Characters without width become HIDDEN, but joiners stay where they belong to a word or an emoji:
    after a letter of a script that they shape, and between two emoji. The brackets of chat templates' role
    markers, also in full-width forms and with spaces or hidden characters between, and of lines that look
    like section headings, become similar characters, and so does the first `#` of `### Response:` and the
    like. Newline and tab stay.
    """
    shown = _NEEDLESS_JOINERS.sub(HIDDEN, text.translate(_SHOWN))
    found = [(m.start(), m[0]) for m in _MARKERS.finditer(shown.replace(HIDDEN, "").translate(_FOLDED))]
    if not found:
        return shown
    places, chars = visible_places(shown), list(shown)
    for place, char in found:
        chars[places[place]] = _HARMLESS[char]
    return "".join(chars)


def visible_places(text: str) -> list[int]:
    """Returns the offsets of a sanitized text's characters that are not HIDDEN."""
    return [place for place, char in enumerate(text) if char != HIDDEN]
