"""No surface uses a word that the design rules out: pages, help texts, messages, page sources, tools."""

import ast
import re

from tests.documentation import PAGES, ROOT
from turnwise.pipeline.service.mcp import TOOLS

RULED_OUT = {
    "verdict": r"evaluation[ _]?status",
    "no verdict": r"undecided|not decided",
    "no score": r"unscored|not scored",
    "n/a": r"\b(?:does|do|did) not apply|applie[sd] to nothing",
    "baseline and candidate": r"\b(?-i:A (?:and|or) B|(?:in|of|from|for) [AB]|[AB] alone|B less A|[AB]'s)\b",
    "inconclusive": r"cannot tell (?:whether|if)|\bcannot tell[`,.:]",
    "regressed and fixed": r"\bgained\b|\bfixed (?:and|or) (?:lost|rejected)\b",
    "rejected": r"\blost (?:records?|conversations?|cases?|turns?)\b|\d lost\b",
    "severity": r"[`\"]harm|\bgreatest harm",
    "problem type": r"same kind of problem|[`\"]cluster|\bclusters? of (?:conversations|problems|failures)",
    "scoring settings": r"\bruler\b",
    "early result, final result, late update": r"\bpanes?\b",
}
EXCEPTIONS = (
    r"HARM_CATEGORY_\w*",  # categories of Gemini
    r"evaluation_?status",  # CES's field: of results, of filters, of the store's tables
    r"Undecided",  # the label of a hallucination that CES's documents show as not judged
    r"`pane`|^pane$|--pane_every|window_end pane revision",  # Beam's word: a column and an option
    r"king monarch reign rule ruler",  # words of a language, not of a text for people
)


def prose_of_the_code():
    """Yields every text of the code but docstrings, which are not shown, and the tables of the store."""
    for layer in ("schemas", "transforms", "pipeline"):
        for path in (ROOT / layer).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            unseen = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unseen:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def surfaces():
    yield from PAGES.items()
    yield "CHANGELOG.md", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    yield from prose_of_the_code()
    yield from ((name, str(tool)) for name, tool in TOOLS.items())
    for path in (ROOT / "pipeline/report/page").glob("*.*"):
        yield path.name, path.read_text(encoding="utf-8")


def test_no_surface_uses_a_word_that_is_ruled_out():
    allowed = re.compile("|".join(EXCEPTIONS), re.IGNORECASE)
    found = [
        f"{place}: {use[0]!r}, not {word!r}: {text[max(0, use.start() - 40) : use.end() + 40]!r}"
        for place, text in ((place, allowed.sub("", text)) for place, text in surfaces())
        for word, pattern in RULED_OUT.items()
        for use in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert found == []
