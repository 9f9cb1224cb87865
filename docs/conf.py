"""Sphinx settings: Markdown pages by MyST. Every warning is an error (`tests/test_docs.py`)."""

from pygments.lexers.data import JsonLexer
from sphinx.application import Sphinx

project = "turnwise"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4
html_theme = "furo"
html_copy_source = False


def setup(app: Sphinx) -> None:
    """Highlights JSON Lines as JSON."""
    app.add_lexer("jsonl", JsonLexer)
