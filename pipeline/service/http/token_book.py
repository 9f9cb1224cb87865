"""Finds the user of a token."""

import logging
from collections.abc import Mapping
from functools import partial
from time import monotonic, time_ns

from anyio import CapacityLimiter, Lock, fail_after, to_thread

from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.token import OneToken, needs_token
from turnwise.pipeline.service.users import User
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.tokens import StoredToken, is_text_of, note_use, public_part, read_tokens
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.proto.scalars import nanos_timestamp

_LOG = logging.getLogger("turnwise.serve")
_FRESH_SECONDS = 1.0
_READ_SECONDS = 5.0


class TokenBook:
    """The tokens that a server accepts: those of its store, and one of the environment.

    The store's are read again after a second at most, in a thread of their own, so that no request waits for
    others and a revoked token is refused soon. If they cannot be read, requests are refused.
    """

    def __init__(self, store: Store, own: OneToken, *, needed: bool, notes: bool) -> None:
        """Creates the book.

        Args:
            store: The store.
            own: The token of the environment.
            needed: Whether a token is needed also if there is none in the store.
            notes: Whether to write on which day a token was last used.
        """
        self._store, self._own = store, own
        self._needed, self._notes = needed or own.is_set, notes
        self._known: Mapping[str, StoredToken] = {}
        self._read_at = -_FRESH_SECONDS
        self._lock, self._limit, self._writing = Lock(), CapacityLimiter(1), CapacityLimiter(1)
        self._noted: dict[str, str] = {}
        self._unnoted: list[StoredToken] = []

    async def user_of(self, given: str) -> User:
        """Returns the user of a token ("": none was sent).

        Raises:
            ServiceError: A token is needed and this is none, or the store does not answer.
        """
        if self._own.is_it(given):
            return self._own.owner
        known, now = await self._tokens(), time_ns()
        token = known.get(public_part(given))
        if token is not None and is_text_of(token, given) and token.is_valid(now):
            self._remember(token, nanos_timestamp(now)[:10])
            return User(token.name, token.role)
        # A store keeps its revoked tokens: with the last valid one, it must not open to everyone.
        if known or self._needed:
            raise needs_token()
        return self._own.owner

    async def note_uses(self) -> None:
        """Writes which tokens were used on a new day; does not fail."""
        while self._unnoted:
            token = self._unnoted.pop()
            work = partial(note_use, token=token, nanos=time_ns())
            try:
                await to_thread.run_sync(self._store.write, work, limiter=self._writing)
            except StoreError as error:
                _LOG.error("%s", error)

    async def _tokens(self) -> Mapping[str, StoredToken]:
        async with self._lock:
            begun = monotonic()
            if begun - self._read_at >= _FRESH_SECONDS:
                self._known, self._read_at = await self._read(), begun
            return self._known

    async def _read(self) -> Mapping[str, StoredToken]:
        read = partial(self._store.read, read_tokens)
        try:
            with fail_after(_READ_SECONDS):
                tokens = await to_thread.run_sync(read, limiter=self._limit, abandon_on_cancel=True)
        except (StoreError, TimeoutError) as error:
            _LOG.error("%s", str(error) or "the store does not answer")
            raise ServiceError("UNAVAILABLE", "the store does not answer") from None
        return {token.id: token for token in tokens}

    def _remember(self, token: StoredToken, day: str) -> None:
        if self._notes and self._noted.get(token.id) != day:
            self._noted[token.id] = day
            if (token.used_day or "") < day:
                self._unnoted.append(token)
