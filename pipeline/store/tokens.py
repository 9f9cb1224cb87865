"""Makes, lists, revokes and finds the tokens of a store.

A token is `turnwise_ID_SECRET`. The store holds the SHA-256 of the whole. A slow hash, as for passwords,
would add nothing: the secret has 256 random bits, so that it cannot be guessed from its digest.
"""

import re
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import NamedTuple

from sqlalchemy import Connection, insert, or_, select, update

from turnwise.pipeline.store.roles import Role
from turnwise.pipeline.store.tables import TOKENS
from turnwise.schemas.proto.scalars import nanos_timestamp

_FORM = re.compile(r"turnwise_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")


class StoredToken(NamedTuple):
    """A token, without its secret.

    Attributes:
        id: Its public part.
        name: Name of its user; of one name, only one token is not revoked.
        role: What it permits.
        digest: SHA-256 of the token, hexadecimal.
        created_by: Who made it.
        create_nanos: When, nanoseconds since 1970; the other times likewise.
        expire_nanos: None: it does not expire.
        revoke_nanos: None: it is not revoked.
        used_day: The last day (UTC) on which a server accepted it, as ISO text. None: none is known.
    """

    id: str
    name: str
    role: Role
    digest: str
    created_by: str
    create_nanos: int
    expire_nanos: int | None = None
    revoke_nanos: int | None = None
    used_day: str | None = None

    def is_valid(self, nanos: int) -> bool:
        """Returns whether it is accepted at a time."""
        return self.revoke_nanos is None and (self.expire_nanos is None or nanos < self.expire_nanos)


def new_token(
    name: str, role: Role, maker: str, nanos: int, expire_nanos: int | None
) -> tuple[str, StoredToken]:
    """Returns a new token and its row, which does not hold it.

    Args:
        name: Name of its user.
        role: What it permits.
        maker: Who makes it.
        nanos: The time, nanoseconds since 1970.
        expire_nanos: When it expires; None: never.
    """
    public = token_hex(8)
    token = f"turnwise_{public}_{token_urlsafe(32)}"
    return token, StoredToken(public, name, role, _digest(token), maker, nanos, expire_nanos)


def add_token(connection: Connection, token: StoredToken) -> None:
    """Adds the row of a token; raises an error of the database if one of its name is not revoked."""
    connection.execute(insert(TOKENS).values(**token._asdict()))


def revoke_token(connection: Connection, name: str, nanos: int) -> int:
    """Revokes the token of a name and returns how many there were: 0 or 1."""
    is_it = TOKENS.c.name == name, TOKENS.c.revoke_nanos.is_(None)
    return connection.execute(update(TOKENS).where(*is_it).values(revoke_nanos=nanos)).rowcount


def read_tokens(connection: Connection) -> list[StoredToken]:
    """Returns all tokens, revoked and expired ones included, by name and time."""
    columns = (TOKENS.c[name] for name in StoredToken._fields)
    query = select(*columns).order_by(TOKENS.c.name, TOKENS.c.create_nanos)
    return [StoredToken(*row) for row in connection.execute(query)]


def note_use(connection: Connection, token: StoredToken, nanos: int) -> None:
    """Writes the day on which a token was used, if it is a later one."""
    day = nanos_timestamp(nanos)[:10]
    is_earlier = or_(TOKENS.c.used_day.is_(None), TOKENS.c.used_day < day)
    connection.execute(update(TOKENS).where(TOKENS.c.id == token.id, is_earlier).values(used_day=day))


def public_part(token: str) -> str:
    """Returns the id in the text of a token; "": it has another form."""
    found = _FORM.fullmatch(token)
    return found[1] if found else ""


def is_text_of(token: StoredToken, text: str) -> bool:
    """Returns whether a text is a token, in a time that does not depend on where they differ."""
    return compare_digest(token.digest, _digest(text))


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()
