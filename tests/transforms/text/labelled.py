"""Counts what is found in labelled texts: `«email:jo@example.org»` is a value, all else is none.

Usage: python -m tests.transforms.text.labelled [FILE]
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

from turnwise.schemas.config import REDACTED_KINDS, RedactConfig
from turnwise.transforms.text.patterns import compiled
from turnwise.transforms.text.personal import MAYBE_FORM, MAYBE_WORD, find, folded, in_json

LABELLED = Path(__file__).parent / "labelled.jsonl"
_LABEL = re.compile("«(\\w+):([^»]*)»")
Places = set[tuple[int, int, str]]


def labelled(path):
    """Yields language, text and values of the texts of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        values, text, last = Places(), "", 0
        for label in _LABEL.finditer(record["text"]):
            text += record["text"][last : label.start()]
            values.add((len(text), len(text) + len(label[2]), label[1].upper()))
            text, last = text + label[2], label.end()
        yield record["language"], text + record["text"][last:], values


def replaced(text):
    """Returns the parts of a text that a run replaces."""
    taken = []
    # What a run asks of a whole record first.
    record = json.dumps([text], ensure_ascii=False)
    if any(compiled(in_json(pattern), 64 << 20).search(record) for pattern in (MAYBE_FORM, MAYBE_WORD)):
        for one in find(folded(text), REDACTED_KINDS, RedactConfig().regions):
            if all(one.end <= start or end <= one.start for start, end, _ in taken):
                taken.append((one.start, one.end, one.kind))
    return taken


def figures(path=LABELLED):
    """Returns kind or language -> texts, values that are found and missed, and what is wrong.

    A value is found if all of it is replaced, under whatever kind.
    """
    counts = {}
    for language, text, wanted in labelled(path):
        counts.setdefault(language, Counter())["texts"] += 1
        taken = replaced(text)
        covered = {(s, e, k) for s, e, k in wanted if any(a <= s and e <= b for a, b, _ in taken)}
        wrong = [span for span in taken if not any(span[0] < e and s < span[1] for s, e, _ in wanted)]
        for name, sort in (("found", covered), ("missed", wanted - covered), ("wrong", wrong)):
            for _, _, kind in sort:
                for key in (kind, language):
                    counts.setdefault(key, Counter())[name] += 1
    return counts


def table(path=LABELLED):
    """Returns the figures as a table of Markdown: kinds, then languages."""
    lines = ["| | texts | found | missed | wrong | recall | precision |", "|---|---|---|---|---|---|---|"]
    counts = figures(path)
    kinds = [kind.upper() for kind in REDACTED_KINDS]
    total = sum((counts[key] for key in counts if key not in kinds), Counter[str]())
    languages = sorted(counts.keys() - set(kinds) - {"other"}) + ["other"] * ("other" in counts)
    for key in (*kinds, *languages, "all"):
        count = total if key == "all" else counts.get(key, Counter())
        found, missed, wrong = count["found"], count["missed"], count["wrong"]
        shares = [f"{found / (found + bad):.1%}" if found + bad else "" for bad in (missed, wrong)]
        cells = (key.lower(), count["texts"] or "", found, missed, wrong, *shares)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(*map(Path, sys.argv[1:])))
