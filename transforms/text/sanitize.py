"""Neutralises control characters, hidden characters and chat markup in judged text."""

import re

HIDDEN = "\u200b"
"""What `sanitize` writes in the place of a character without width; `visible` leaves it out."""

_CONTROLS = [*range(0x00, 0x20), *range(0x7F, 0xA0), 0x180E, *range(0x202A, 0x202F), *range(0x2065, 0x2070)]
_CONTROLS += [*range(0xD800, 0xE000), *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080)]

_WITHOUT_WIDTH = [0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x180E), 0x180F]
_WITHOUT_WIDTH += [0x200B, 0x200E, 0x200F, *range(0x2060, 0x2065), 0x3164, *range(0xFE00, 0xFE10), 0xFEFF]
_WITHOUT_WIDTH += [0xFFA0, *range(0xE0100, 0xE01F0)]
"""Soft hyphens, zero-width spaces, marks of the writing direction, fillers, variation selectors."""

_SHOWN = {
    **dict.fromkeys(_CONTROLS, "\ufffd"),
    **dict.fromkeys(_WITHOUT_WIDTH, HIDDEN),
    **{0x09: "\t", 0x0A: "\n", 0x0D: " ", 0x2028: "\n", 0x2029: "\n"},
}

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

_FOLDED = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_FOLDED |= {0xFE64: "<", 0xFE65: ">", 0xFFE8: "|"}
"""Full-width and small forms of ASCII characters, each as that character."""

_NAMES = (
    "start_of_turn|end_of_turn|start_of_image|end_of_image|bos|eos|sop|eop|s|pad|unk|mask|cls|sep"
    "|[be]os_token|pad_token|system|developer|user|human|assistant|model|tool"
    "|think|thinking|tools|tool_calls?|tool_responses?|tool_results?|function|function_calls?"
    r"|unused\d+|reserved_\d+|extra_id_\d+|special_\d+|seed:\w+"
)
_IN_BRACKETS = (
    "INST|gMASK|CLS|SEP|IMG|THINK|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT"
)

_MARKERS = re.compile(
    rf"[<>\[\]](?:(?<=<)(?=\||/?(?:{_NAMES})>|</?SYS>>)|(?<=\|[>\]])"
    rf"|(?<=\[)(?=\||/?(?:{_IN_BRACKETS})\]|e~\[)|(?<=\])(?=~!?b[\[\]])|(?<=^\[)(?=[0-9a-f]{{8}}:))",
    re.IGNORECASE | re.MULTILINE,
)
"""Brackets of the role markers of models' chat templates, and of lines that look like section headings."""

_HARMLESS = {"<": "‹", ">": "›", "[": "⟦", "]": "⟧"}


def visible(text: str) -> str:
    """Returns a text as a judge is shown it: neutralised, and without characters that have no width."""
    return sanitize(text).replace(HIDDEN, "")


def sanitize(text: str) -> str:
    """Replaces characters that could mislead a judge, one code point by one, so that offsets stay valid.

    Control characters, overrides of the writing direction, invisible tags and lone surrogates become
    U+FFFD. Characters without width become HIDDEN, but joiners stay where they belong to a word or an emoji:
    after a letter of a script that they shape, and between two emoji. The brackets of chat templates' role
    markers, also in full-width forms and with hidden characters between, and of lines that look like section
    headings, become similar characters. Newline and tab stay.
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
