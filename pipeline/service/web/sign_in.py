"""Signs a browser in: a form that sends the token, and a cookie that holds it."""

from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from turnwise.pipeline.service.errors import HTTP_CODES, ServiceError
from turnwise.pipeline.service.http.auth import Tokens
from turnwise.pipeline.service.web.html import el, page

ROOT = "/ui"
SIGN_IN, SIGN_OUT = f"{ROOT}/sign_in", f"{ROOT}/sign_out"
_COOKIE = "turnwise_token"
_MOST_BYTES = 4096
_SECONDS = 12 * 3600


class WebDoor:
    """What is different for a browser: where its token is, and what it sees without one."""

    def covers(self, scope: Scope) -> bool:
        """Returns whether a request is for the web view."""
        path = scope["path"]
        return path == ROOT or path.startswith(f"{ROOT}/")

    def is_open(self, scope: Scope) -> bool:
        """Returns whether a request needs no token: it brings or drops one."""
        return scope["path"] in (SIGN_IN, SIGN_OUT)

    def token(self, scope: Scope) -> str:
        """Returns the token in the cookie; "": there is none."""
        given = [value.decode("latin-1") for key, value in scope["headers"] if key == b"cookie"]
        try:
            found = SimpleCookie("; ".join(given)).get(_COOKIE)
        except CookieError:
            return ""
        return found.value if found is not None and found.value.isascii() else ""

    def refused(self, refusal: ServiceError) -> Response:
        """Returns the form if a token is missing, otherwise why the request is refused."""
        if refusal.status == "UNAUTHENTICATED":
            return sign_in_page()
        return page("Refused", el("p", refusal.message), code=HTTP_CODES[refusal.status])


def sign_in_page(note: str = "") -> Response:
    """Returns the form."""
    field = el("input", type="password", name="token", id="token", autocomplete="off", required="")
    label = el("label", "Token: ", for_="token")
    form = el("form", el("p", label, field, " ", el("button", "Sign in")), method="post", action=SIGN_IN)
    return page("Sign in", *([el("p", note, class_="bad")] if note else []), form, code=401)


class SignIn:
    """Answers the forms."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def enter(self, request: Request) -> Response:
        """Sets the cookie if the token is accepted."""
        given = await _given(request)
        try:
            await self._tokens.user_of(given)
        except ServiceError as error:
            refused = error.status == "UNAUTHENTICATED"
            return sign_in_page("The token is not accepted." if refused else error.message)
        answer = RedirectResponse(ROOT, 303)
        is_https = request.headers.get("origin", "").startswith("https://")
        answer.set_cookie(
            _COOKIE, given, max_age=_SECONDS, path=ROOT, secure=is_https, httponly=True, samesite="strict"
        )
        return answer

    async def leave(self, request: Request) -> Response:
        """Removes the cookie."""
        answer = RedirectResponse(SIGN_IN, 303)
        answer.delete_cookie(_COOKIE, path=ROOT, httponly=True, samesite="strict")
        return answer

    async def ask(self, request: Request) -> Response:
        """Shows the form."""
        return sign_in_page()


async def _given(request: Request) -> str:
    """Returns the token of a form; "": there is none, or the form is too long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BYTES:
            return ""
    found = parse_qs(body.decode("latin-1")).get("token", [])
    return found[0].strip() if len(found) == 1 and found[0].isascii() else ""
