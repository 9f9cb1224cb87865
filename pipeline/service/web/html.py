"""Makes HTML in which every text is escaped, and pages under a content-security policy without scripts."""

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from starlette.responses import HTMLResponse

_STYLE = (files("turnwise.pipeline.service") / "style.css").read_text(encoding="utf-8")
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_VOID = ("meta",)
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Html(str):
    """Markup; other texts are escaped where they meet it."""

    __slots__ = ()


def el(tag: str, *children: str, **attributes: str) -> Html:
    """Returns an element.

    Args:
        tag: Its name.
        *children: Markup, or texts to escape.
        **attributes: Its attributes; a trailing underscore is dropped, the others become hyphens.
    """
    named = (f' {name.rstrip("_").replace("_", "-")}="{_text(value)}"' for name, value in attributes.items())
    start = f"<{tag}{''.join(named)}>"
    return Html(start if tag in _VOID else f"{start}{joined(*children)}</{tag}>")


def joined(*parts: str) -> Html:
    """Returns markup and escaped texts one after the other."""
    return Html("".join(part if isinstance(part, Html) else _text(part) for part in parts))


def page(title: str, *content: str, code: int = 200) -> HTMLResponse:
    """Returns a page as an answer."""
    head = joined(
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", f"{title} - turnwise"),
        Html(f"<style>{_STYLE}</style>"),
    )
    body = el("body", el("main", el("h1", title), *content))
    document = f"<!doctype html>\n{el('html', el('head', head), body, lang='en')}\n"
    return HTMLResponse(document, code, {**HEADERS, "Content-Security-Policy": _POLICY})


def _text(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode())
