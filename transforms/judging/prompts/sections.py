"""Builds prompts with evidence in delimited sections that their texts cannot close.

A section opens with a line `[CODE: name]` and ends where the next such line begins. The code is made from
all the texts and occurs in none of them, so no text can open or close a section; equal texts get an equal
code, so that answers can be cached.
"""

from collections.abc import Sequence
from hashlib import sha256
from itertools import count
from typing import NamedTuple

from msgspec.structs import replace

from turnwise.schemas.config import PromptGeneration
from turnwise.transforms.judging.ask import Prompt
from turnwise.transforms.judging.prompts.wordings import wording
from turnwise.transforms.text.cleaning import visible

MAX_SECTION = 20_000
"""Maximum characters of a section; the middle of a longer one is replaced by a mark with its length."""
MAX_EVIDENCE = 200_000
"""Characters of all sections together; beyond it, the limit of each section is halved until they fit."""
_LEAST_SECTION = 200


class Section(NamedTuple):
    """A piece of evidence.

    Attributes:
        name: Kind of the section; only fixed words and numbers, no judged text.
        text: The judged text.

    >>> import turnwise
    >>> turnwise.Section("answer", "It arrives on Monday.").name
    'answer'
    """

    name: str
    text: str


class JudgedSection(Section):
    """A text to be judged; omitting a part of it could change the verdict."""


def fill(version: str, task: str, sections: Sequence[Section]) -> Prompt:
    """Returns a prompt.

    Args:
        version: Name and version of the task's wording.
        task: Task of the judge; the rules for reading the sections are appended.
        sections: The evidence.

    >>> import turnwise
    >>> prompt = turnwise.fill("tone/1", "Grade the tone.", [turnwise.Section("answer", "Hello")])
    >>> print(prompt.evidence)
    [...: answer]
    Hello
    [...: end]
    """
    return _filled(version, task, wording("rules", "second"), sections)


def fill_task(
    version: str, generation: PromptGeneration, sections: Sequence[Section], words: str = ""
) -> Prompt:
    """Returns the prompt of a task of turnwise's own.

    Args:
        version: Name and version of the second prompt; the first one's version is one less.
        generation: Which prompt.
        sections: The evidence.
        words: Name of its wording, if that is not the prompt's name.
    """
    name, _, number = version.rpartition("/")
    is_first = generation == "first"
    task, rules = wording(words or name, generation), wording("rules", generation)
    prompt = _filled(f"{name}/{int(number) - is_first}", task, rules, sections)
    return replace(prompt, wants_analysis=not is_first)


def _filled(version: str, task: str, rules: str, sections: Sequence[Section]) -> Prompt:
    texts = [visible(section.text) for section in sections]
    limit = _section_limit([len(text) for text in texts])
    shown = [_cut(text, limit) for text in texts]
    code = _code(shown)
    parts = [f"[{code}: {section.name}]\n{text}\n" for section, text in zip(sections, shown, strict=True)]
    cuts = [max(0, len(text) - limit) for text in texts]
    unread = sum(
        cut for section, cut in zip(sections, cuts, strict=True) if isinstance(section, JudgedSection)
    )
    instructions = f"{task.strip()}\n\n{rules}"
    return Prompt(version, instructions, "".join(parts) + f"[{code}: end]", sum(cuts), unread)


def _section_limit(lengths: Sequence[int]) -> int:
    limit = MAX_SECTION
    while limit > _LEAST_SECTION and sum(min(length, limit) for length in lengths) > MAX_EVIDENCE:
        limit //= 2
    return limit


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[len(text) - limit + head :]}"


def _code(texts: Sequence[str]) -> str:
    """Returns 8 hexadecimal digits that follow from the texts and occur in none of them."""
    joined = "\0".join(texts)
    codes = (sha256(f"{i}{joined}".encode()).hexdigest()[:8] for i in count())
    return next(code for code in codes if code not in joined)
