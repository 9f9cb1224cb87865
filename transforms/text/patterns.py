"""Regular expressions and globs that users write.

They run on RE2, whose time is linear in the text: no pattern can stop a run. None of them reaches `re`.
Syntax: https://github.com/google/re2/wiki/Syntax (no look-around, no back-references).
"""

import re
from functools import lru_cache
from typing import Any

from turnwise.schemas.jsonio import short_repr

_MOST_MEMORY = 1 << 20
"""Bytes for a compiled pattern; RE2 refuses larger ones, such as nested repetitions of many characters."""
_PATTERNS_SHOWN = 100
_GLOB_PART = re.compile(r"\*+|\[(?P<chars>!.[^\]]*|[^!][^\]]*)\]|.", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ANY = ".*"


def checked_pattern(pattern: str) -> str:
    """Returns a pattern; raises ValueError, in one line, for what is no regular expression of RE2."""
    compiled(pattern)
    return pattern


def pattern_found(pattern: str, text: str) -> bool:
    """Returns whether a regular expression of RE2 matches anywhere in a text; raises ValueError, one line."""
    return compiled(pattern).search(encodable(text)) is not None


def check_glob(glob: str) -> None:
    """Raises ValueError, in one line, for a glob with a wrong range of characters (`[z-a]`)."""
    _compiled_glob(glob, _ANY)


def glob_matches(glob: str, name: str) -> bool:
    """Returns whether a glob (`*`, `?`, `[ab]`, `[!ab]`) matches a name with its case; raises ValueError."""
    return _compiled_glob(glob, _ANY).search(encodable(name)) is not None


def path_glob_matches(glob: str, path: str) -> bool:
    """Returns whether a glob matches a path, in which only `**` crosses directories; raises ValueError."""
    return _compiled_glob(glob, r"[^/\\]*").search(encodable(path)) is not None


@lru_cache(maxsize=1024)
def compiled(pattern: str, memory: int = _MOST_MEMORY, longest: bool = False) -> Any:
    """Returns a regular expression of RE2, of `longest` or first matches; raises ValueError, in one line."""
    import re2  # only runs with patterns need it

    options = re2.Options()
    options.log_errors, options.max_mem, options.longest_match = False, memory, longest
    try:
        return re2.compile(encodable(pattern), options)
    except re2.error as error:
        (reason, *_) = error.args or ("",)
        why = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        shown = f"{short_repr(pattern, _PATTERNS_SHOWN)} ({why[:_PATTERNS_SHOWN]})"
        raise ValueError(f"not a regular expression of RE2: {shown}") from None


@lru_cache(maxsize=1024)
def _compiled_glob(glob: str, one_name: str) -> Any:
    """Compiles a glob in which `*` stands for `one_name`, and `**` for any text."""
    parts = []
    for match in _GLOB_PART.finditer(glob):
        text, chars = match[0], match["chars"]
        if chars is not None:
            negated = chars[0] == "!"
            inner = re.sub(r"([\\\[^])", r"\\\1", chars[1:] if negated else chars)
            parts.append(f"[^{inner}]" if negated else f"[{inner}]")
        elif text[0] == "*":
            parts.append(one_name if len(text) == 1 else _ANY)
        else:
            parts.append("." if text == "?" else re.escape(text) if text.isascii() else text)
    try:
        return compiled(rf"(?s)\A{''.join(parts)}\z")
    except ValueError:
        shown = short_repr(glob, _PATTERNS_SHOWN)
        raise ValueError(f"not a glob: {shown} (a wrong range, or too large)") from None


def encodable(text: str) -> str:
    """Returns a text without lone surrogates, which stand for bytes of file names that are not UTF-8."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub(lambda match: chr(0x10F000 + ord(match[0]) - 0xD800), text)
