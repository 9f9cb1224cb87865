"""Tokens of a store are made, listed and revoked; the store does not hold them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update

from turnwise.pipeline.store.engine import Store, open_store
from turnwise.pipeline.store.tables import METADATA, TOKENS
from turnwise.pipeline.store.tokens import is_text_of, public_part, read_tokens

Run = Callable[..., Any]


def add(turnwise: Run, url: str, name: str, role: str, *more: str) -> str:
    done = turnwise("store", "token", "add", name, "--role", role, "--store", url, *more)
    assert done.status == 0, done.err
    return str(done.out.strip())


def everything(store: Store) -> str:
    """Returns all that the tables hold, as text."""
    query = [text(f"SELECT * FROM {name}") for name in METADATA.tables]
    return store.read(lambda c: str([c.execute(one).all() for one in query]))


def test_a_token_is_shown_once_and_kept_as_a_digest(turnwise: Run, store_url: str) -> None:
    tokens = {name: add(turnwise, store_url, name, role) for name, role in (("ci", "write"), ("ann", "read"))}
    assert all(re.fullmatch(r"turnwise_[0-9a-f]{16}_[\w-]{43}", one) for one in tokens.values())
    store = open_store(store_url)
    held = everything(store)
    for name, given in tokens.items():
        (row,) = [one for one in store.read(read_tokens) if one.name == name]
        assert row.id == public_part(given) and is_text_of(row, given)
        assert not is_text_of(row, f"{given[:-1]}{'a' if given[-1] != 'a' else 'b'}")
        assert given not in held and given.split("_", 2)[-1] not in held
    store.close()
    listed = turnwise("store", "token", "list", "--store", store_url)
    assert listed.status == 0
    assert re.fullmatch(r"ann: read, made 20\d\d-\d\d-\d\d by \S+\nci: write, made .*\n", listed.out)
    assert not any(given in listed.out + listed.err for given in tokens.values())


def test_a_name_has_one_token_until_it_is_revoked(turnwise: Run, store_url: str) -> None:
    first = add(turnwise, store_url, "ci", "write", "--days", "7")
    again = turnwise("store", "token", "add", "ci", "--role", "read", "--store", store_url)
    assert (again.status, again.out) == (2, "") and "has a token already" in again.err
    done = turnwise("store", "token", "revoke", "ci", "--store", store_url)
    assert (done.status, done.out) == (0, "the token of ci is revoked\n")
    twice = turnwise("store", "token", "revoke", "ci", "--store", store_url)
    assert twice.status == 2 and "revoked already" in twice.err
    assert add(turnwise, store_url, "ci", "read") != first
    told = turnwise("store", "token", "list", "--store", store_url).out.splitlines()
    assert [re.sub(r"\d{4}-\d\d-\d\d( by \S+)?(?=,|$)", "D", one) for one in told] == [
        "ci: write, made D, revoked D",
        "ci: read, made D",
    ]


def test_an_expired_token_is_told_as_such(turnwise: Run, store_url: str) -> None:
    add(turnwise, store_url, "ci", "write", "--days", "1")
    assert ", expires 20" in turnwise("store", "token", "list", "--store", store_url).out
    store = open_store(store_url)
    store.write(lambda connection: connection.execute(update(TOKENS).values(expire_nanos=1)))
    store.close()
    assert ", expired 1970-01-01" in turnwise("store", "token", "list", "--store", store_url).out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["add", "ci"], "--role is missing"),
        (["add", "ci", "--role", "owner"], "--role"),
        (["add", "--role", "read"], "NAME is missing"),
        (["revoke"], "NAME is missing"),
        (["list", "ci"], "without a name"),
        (["remove", "ci"], "invalid choice"),
        (["add", "two words", "--role", "read"], "a name has"),
        (["add", "-x", "--role", "read"], ""),
        (["add", "a\nb", "--role", "read"], "a name has"),
        (["add", "a" * 101, "--role", "read"], "a name has"),
        (["add", "ci", "--role", "read", "--days", "0"], "--days"),
        (["add", "ci", "--role", "read", "--days", "1000000"], "--days"),
        (["revoke", "ci", "--role", "read"], "are for token add"),
        (["list", "--days", "2"], "are for token add"),
    ],
    ids=str,
)
def test_wrong_options(turnwise: Run, sqlite_url: str, arguments: list[str], why: str) -> None:
    done = turnwise("store", "token", *arguments, "--store", sqlite_url)
    assert (done.status, done.out) == (2, "") and why in done.err and done.err.count("\n") == 1
    assert not Path(sqlite_url.removeprefix("sqlite:///")).exists()


@pytest.mark.parametrize("arguments", [["list"], ["revoke", "ci"]], ids=str)
def test_only_a_new_token_makes_a_store(turnwise: Run, sqlite_url: str, arguments: list[str]) -> None:
    done = turnwise("store", "token", *arguments, "--store", sqlite_url)
    assert done.status == 2 and "no such store" in done.err


def test_a_store_without_tokens_says_so(turnwise: Run, store: Store, store_url: str) -> None:
    done = turnwise("store", "token", "list", "--store", store_url)
    assert (done.status, done.out) == (0, "") and "has no tokens" in done.err
