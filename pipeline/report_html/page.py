"""Makes the page: markup, styles, scripts and data in one file, under a content-security policy."""

import gzip
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path

import msgspec

from turnwise.pipeline.report_html.modules import join_modules
from turnwise.schemas.report import Report
from turnwise.transforms.decisions.report.collect import exact_json

_FRONT_END = files("turnwise.pipeline.report") / "page"
_START = "main"
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src data:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types report"
)


_TITLE = "turnwise report: "
_MARK = f"<title>{_TITLE}".encode()
_HEAD = 4096


def is_report(path: Path) -> bool:
    """Returns whether a file is a page of `turnwise report`, by its beginning; False: it cannot be read."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return _MARK in file.read(_HEAD)
    except OSError:
        return False


def packed(text: str) -> str:
    """Returns a text compressed by gzip, in base64, which no markup can be in."""
    return b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def page(report: Report, chunks: Sequence[str], names: str) -> str:
    """Returns the page as HTML.

    Args:
        report: The report.
        chunks: The packed chunks that the page itself holds.
        names: Names of the versions, for the title.
    """
    scripts = [_text("vendor/uplot.js"), join_modules(lambda name: _text(f"{name}.js"), _START)]
    styles = [_text("vendor/uplot.css"), _text("page.css")]
    loads = " 'strict-dynamic'" if report.chunks > report.inline_chunks else ""
    policy = _POLICY.format(scripts=_hashes(scripts) + loads, styles=_hashes(styles))
    data = packed(exact_json(msgspec.to_builtins(report)))
    return _text("page.html").format(
        policy=escape(policy),
        title=escape(f"{_TITLE}{names}".encode("utf-8", "replace").decode()),
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        data="\n".join(
            [_data("report", data), *(_data(f"chunk-{i}", chunk) for i, chunk in enumerate(chunks))]
        ),
        library=f"<script>{scripts[0]}</script>",
        script=f'<script type="module">{scripts[1]}</script>',
    )


def chunk_script(report_id: str, number: int, chunk: str) -> str:
    """Returns a file beside the page that gives a chunk to it."""
    return f'reportChunk("{report_id}", {number}, "{chunk}");\n'


def _data(name: str, content: str) -> str:
    return f'<script type="application/octet-stream" id="{name}">{content}</script>'


def _text(name: str) -> str:
    return (_FRONT_END / name).read_text(encoding="utf-8")


def _hashes(texts: Sequence[str]) -> str:
    return " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)
