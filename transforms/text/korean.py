"""Removes Korean endings of negated and of affirmed verbs, so that both have the same stem."""

import re

_DENIED = re.compile(r"(?<=[가-힣])지(?:는|도|를|가)?\s?(?:않|못)[가-힣]{0,12}")
_PAST = re.compile(r"(?:되었|됐|하였|했|[았었])(?=습니다|어요|다(?![가-힣]))")
_POLITE = re.compile(r"(?<=[가-힣])(?:습니다|어요)(?![가-힣])")
_FORMAL = re.compile(r"([가-힣])니다(?![가-힣])")
_STEMS = {"되었": "되", "됐": "되", "하였": "하", "했": "하", "았": "", "었": ""}
_FIRST_SYLLABLE, _FINALS, _FINAL_B = 0xAC00, 28, 17


def without_korean_endings(text: str) -> str:
    """Reduces `허용되지 않습니다`, `허용되었습니다` and `허용됩니다` to `허용되`."""
    stems = _PAST.sub(lambda found: _STEMS[found[0]], _DENIED.sub("", text))
    return _FORMAL.sub(lambda found: _open(found[1]), _POLITE.sub("", stems))


def _open(syllable: str) -> str:
    """Removes the final ㅂ of a syllable."""
    code = ord(syllable)
    return chr(code - _FINAL_B) if (code - _FIRST_SYLLABLE) % _FINALS == _FINAL_B else syllable
