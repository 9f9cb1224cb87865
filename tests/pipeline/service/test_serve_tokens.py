"""What a token of the store permits, whose name a change carries, and when it is refused."""

import asyncio
import json
from collections.abc import Callable
from time import sleep, time_ns
from typing import Any

import pytest
from sqlalchemy import select, text, update

from tests.store_rows import put_rows
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.http.token_book import TokenBook
from turnwise.pipeline.service.mcp.tools import TOOLS
from turnwise.pipeline.service.token import OneToken
from turnwise.pipeline.service.users import User
from turnwise.pipeline.store.engine import Store, open_store
from turnwise.pipeline.store.evaluations import read_revisions
from turnwise.pipeline.store.failures import failure_columns
from turnwise.pipeline.store.roles import ROLES, Role
from turnwise.pipeline.store.tables import FAILURE_ROWS, TOKENS
from turnwise.pipeline.store.tokens import add_token, new_token, read_tokens, revoke_token
from turnwise.schemas.failure import Failure
from turnwise.transforms.metrics.rows import failure_rows

APP = "projects/p/locations/l/apps/a"
BASE = f"/v1beta/{APP}/evaluations"
RUN = f"/v1beta/{APP}/evaluationRuns/nightly"
CASE: Any = {"displayName": "Kept", "golden": {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}}
OF_ENVIRONMENT = "a-token-of-the-environment"


def made(store: Store, name: str, role: Role = "read", expires: int | None = None) -> str:
    given, row = new_token(name, role, "tester", time_ns(), expires)
    store.write(lambda connection: add_token(connection, row))
    return given


@pytest.fixture(scope="module")
def tokens() -> dict[str, str]:
    """Returns role -> token of the server."""
    return {}


@pytest.fixture(scope="module")
def guarded(start: Any, tokens: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Returns a server whose store has a token of each role, with one run."""
    url = f"sqlite:///{tmp_path_factory.mktemp('guarded')}/store.db"
    store = open_store(url, create=True)
    tokens.update({role: made(store, f"{role}-user", role) for role in ROLES})
    store.close()
    server = start(store_url=url)
    server.token = tokens["write"]
    assert server.call("POST", f"{BASE}?evaluationId=kept", CASE)[0] == 200
    (row,) = failure_rows(Failure("read", "OSError", "x"), "nightly")
    put_rows(server.store, FAILURE_ROWS, [failure_columns(row, APP, 1)])
    return server


def tool(server: Any, token: str, name: str, /, **arguments: Any) -> Any:
    params = {"name": name, "arguments": arguments} if name else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call" if name else "tools/list", "params": params}
    more = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
    code, answer = server.call("POST", "/mcp", body, **more)
    assert code == 200
    return answer["result"]


ALLOWED = [
    ("GET", f"{BASE}/kept", None, ROLES),
    ("GET", f"{BASE}/-/results", None, ROLES),
    ("GET", RUN, None, ROLES),
    ("GET", "/healthz", None, ROLES),
    ("PATCH", f"{BASE}/kept?updateMask=tags", {"tags": ["x"]}, ("write", "admin")),
    ("POST", BASE, {**CASE, "displayName": "N"}, ("write", "admin")),
]


@pytest.mark.parametrize(("method", "path", "body", "roles"), ALLOWED, ids=lambda value: str(value)[:40])
def test_what_a_role_may(
    guarded: Any, tokens: dict[str, str], method: str, path: str, body: Any, roles: tuple[str, ...]
) -> None:
    for role, token in tokens.items():
        sent = {**body, "displayName": f"New {role}"} if method == "POST" else body
        code, answer = guarded.call(method, path, sent, Authorization=f"Bearer {token}")
        if role in roles:
            assert code == 200, answer
        else:
            assert (code, answer["error"]["status"]) == (403, "PERMISSION_DENIED")
            assert f"has {role}" in answer["error"]["message"]


def test_tools_are_listed_and_called_as_the_role_permits(guarded: Any, tokens: dict[str, str]) -> None:
    reading = sorted(name for name, one in TOOLS.items() if not one.changes)
    for role, token in tokens.items():
        listed = sorted(one["name"] for one in tool(guarded, token, "")["tools"])
        assert listed == (reading if role == "read" else sorted(TOOLS))
        made = tool(guarded, token, "create_evaluation", parent=APP, evaluation={**CASE, "displayName": role})
        if role == "read":
            assert made["isError"] and "PERMISSION_DENIED" in json.dumps(made)
        else:
            assert made["structuredContent"]["createdBy"] == f"{role}-user"
        assert not tool(guarded, token, "get_evaluation", name=f"{APP}/evaluations/kept").get("isError")


def test_changes_carry_the_name_of_the_token(guarded: Any, tokens: dict[str, str]) -> None:
    one, who = f"{BASE}/of-write", {"Authorization": f"Bearer {tokens['admin']}"}
    made = guarded.call("POST", f"{BASE}?evaluationId=of-write", {**CASE, "displayName": "W"})[1]
    assert (made["createdBy"], made["lastUpdatedBy"]) == ("write-user", "write-user")
    new = guarded.call("PATCH", f"{one}?updateMask=tags", {"tags": ["y"]}, **who)[1]
    assert (new["createdBy"], new["lastUpdatedBy"]) == ("write-user", "admin-user")
    history = guarded.store.read(lambda c: read_revisions(c, f"{APP}/evaluations/of-write", None, 9))
    assert [each.actor for each in history] == ["admin-user", "write-user"]


def test_without_a_token_nothing_is_answered_on_loopback_either(guarded: Any) -> None:
    assert "127.0.0.1" in guarded.url
    for path in (f"{BASE}/kept", "/mcp", "/healthz", "/metrics", "/", "/nothing"):
        for sent in ("", "Bearer turnwise_0123456789abcdef_" + "x" * 43, "Bearer x", f"Basic {'x' * 20}"):
            code, answer = guarded.call("GET", path, Authorization=sent)
            assert (code, answer["error"]["status"]) == (401, "UNAUTHENTICATED"), (path, sent)


def test_the_first_token_closes_a_server_and_a_revoked_one_opens_nothing(start: Any, sqlite_url: str) -> None:
    server = start(store_url=sqlite_url)

    def soon(code: int, sent: str) -> bool:
        for _ in range(100):
            if server.call("GET", BASE, Authorization=sent)[0] == code:
                return True
            sleep(0.05)
        return False

    assert server.call("GET", BASE) == (200, {})
    given = made(server.store, "ann", "admin")
    assert soon(401, "") and server.call("GET", BASE, Authorization=f"Bearer {given}") == (200, {})
    server.store.write(lambda connection: revoke_token(connection, "ann", time_ns()))
    # With the last token revoked, the store does not open to everyone.
    assert soon(401, f"Bearer {given}") and server.call("GET", BASE)[0] == 401
    assert given not in server.stop()


def user_of(book: TokenBook, given: str) -> User | str:
    async def asked() -> User:
        user = await book.user_of(given)
        await book.note_uses()
        return user

    try:
        return asyncio.run(asked())
    except ServiceError as error:
        return error.status


def book_of(store: Store, token: str = "", *, needed: bool = False, notes: bool = True) -> TokenBook:
    return TokenBook(store, OneToken("owner", token), needed=needed, notes=notes)


def test_who_a_token_is(store: Store) -> None:
    owner, refused = User("owner", "admin"), "UNAUTHENTICATED"
    assert user_of(book_of(store), "") == owner
    assert user_of(book_of(store), "any") == owner
    assert user_of(book_of(store, needed=True), "") == refused
    assert user_of(book_of(store, OF_ENVIRONMENT), "") == refused
    assert user_of(book_of(store, OF_ENVIRONMENT), OF_ENVIRONMENT) == owner
    given = made(store, "ann", "write")
    assert user_of(book_of(store), given) == User("ann", "write")
    assert user_of(book_of(store, OF_ENVIRONMENT), OF_ENVIRONMENT) == owner
    for wrong in ("", "any", given[:-1], f"{given}x", given.upper(), given.replace("turnwise", "Turnwise")):
        assert user_of(book_of(store), wrong) == refused
    other = made(store, "bob", "read", time_ns() - 1)
    assert user_of(book_of(store), other) == refused
    mixed = given.rsplit("_", 1)[0] + other[other.index("_", 10) :]
    assert user_of(book_of(store), mixed) == refused


def test_the_last_day_of_use_is_written_once_a_day(store: Store) -> None:
    given, unused = made(store, "ann"), made(store, "bob")
    book = book_of(store)
    assert user_of(book, given) == User("ann", "read") and unused
    today = {one.name: one.used_day for one in store.read(read_tokens)}
    assert today["bob"] is None and today["ann"] is not None
    store.write(lambda connection: connection.execute(update(TOKENS).values(used_day="2001-01-01")))
    user_of(book, given)
    assert set(store.read(lambda c: c.execute(select(TOKENS.c.used_day)).scalars())) == {"2001-01-01"}
    user_of(book_of(store, notes=False), given)
    assert set(store.read(lambda c: c.execute(select(TOKENS.c.used_day)).scalars())) == {"2001-01-01"}
    user_of(book_of(store), given)
    assert {one.name: one.used_day for one in store.read(read_tokens)} == {
        "ann": today["ann"],
        "bob": "2001-01-01",
    }


def test_nobody_is_let_in_if_the_tokens_cannot_be_read(store: Store) -> None:
    given = made(store, "ann")
    store.write(lambda connection: connection.execute(text("ALTER TABLE access_tokens RENAME TO gone")))
    for sent in (given, "", "any"):
        assert user_of(book_of(store), sent) == "UNAVAILABLE"
    assert user_of(book_of(store, OF_ENVIRONMENT), OF_ENVIRONMENT) == User("owner", "admin")


def test_a_store_with_tokens_can_be_served_to_other_machines(
    start: Any, turnwise: Callable[..., Any], sqlite_url: str
) -> None:
    added = turnwise("store", "token", "add", "ann", "--role", "read", "--store", sqlite_url)
    server = start("--host", "0.0.0.0", store_url=sqlite_url)
    server.url, server.token = server.url.replace("0.0.0.0", "127.0.0.1"), added.out.strip()
    assert server.call("GET", BASE) == (200, {})
    assert server.call("GET", BASE, Authorization="")[0] == 401
