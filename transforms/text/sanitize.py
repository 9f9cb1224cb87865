"""Neutralises control characters and chat markup in judged text."""

import re

_HIDDEN = [*range(0x00, 0x20), *range(0x7F, 0xA0), 0x180E, *range(0x202A, 0x202F), *range(0x2060, 0x2070)]

_HIDDEN += [*range(0xD800, 0xE000), 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080)]

_SHOWN = dict.fromkeys(_HIDDEN, "\ufffd") | {0x09: "\t", 0x0A: "\n", 0x0D: " ", 0x2028: "\n", 0x2029: "\n"}

_ROLES = "start_of_turn|end_of_turn|bos|eos|s|system|developer|user|human|assistant|model|tool"

_MARKERS = re.compile(
    rf"<(?=\||/?(?:{_ROLES})>|</?SYS>>)|(?<=\|)>|\[(?=/?INST\])|^\[(?=[0-9a-f]{{8}}:)",
    re.IGNORECASE | re.MULTILINE,
)

_HARMLESS = {"<": "‹", ">": "›", "[": "⟦"}


def sanitize(text: str) -> str:
    """Replaces characters that could mislead a judge, one code point by one, so that offsets stay valid.

    Control characters, overrides of the writing direction, invisible tags and lone surrogates become
    U+FFFD; the brackets of chat templates' role markers, and of lines that look like section headings,
    become similar characters. Newline and tab stay.
    """
    return _MARKERS.sub(lambda match: _HARMLESS[match[0]], text.translate(_SHOWN))
