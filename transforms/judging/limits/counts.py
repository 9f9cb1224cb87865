"""Counts calls, samples and tokens of a judge, and their cost."""

from collections import Counter
from collections.abc import Mapping, Sequence
from threading import Lock

from msgspec import Struct, field

from turnwise.schemas.config import TokenPrices
from turnwise.transforms.judging.ask import known_sum
from turnwise.transforms.judging.backends.base import FaultKind, RawReply


class JudgeUsage(Struct):
    """Usage of one model.

    Attributes:
        calls: Finished calls, successful or not; one call may yield several samples.
        retries: Requests beyond the first one of each call.
        asked_again: Samples that were requested again because the first reply was unusable.
        latency_ms: Total milliseconds of all calls, with retries.
        tokens_in: Prompt tokens.
        tokens_out: Answer tokens, including thoughts.
        samples: Returned samples, usable or not.
        cached: Samples without a call: from the cache, or shared with a call in flight.
        tokens_saved: Tokens saved by cached samples.
        uncounted: Calls whose tokens the API did not state; they are in no other figure of tokens.
        unusable: Kind of fault -> samples.
    """

    calls: int = 0
    retries: int = 0
    asked_again: int = 0
    latency_ms: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    samples: int = 0
    cached: int = 0
    tokens_saved: int = 0
    uncounted: int = 0
    unusable: Counter[FaultKind] = field(default_factory=Counter)

    def figures(self) -> dict[str, int]:
        """Returns all but `unusable` by name."""
        return {name: getattr(self, name) for name in self.__struct_fields__ if name != "unusable"}

    def add(self, other: "JudgeUsage") -> None:
        """Adds other usage."""
        for name, number in other.figures().items():
            setattr(self, name, getattr(self, name) + number)
        self.unusable.update(other.unusable)

    def cost(self, prices: TokenPrices) -> float:
        """Returns the cost of the counted tokens in the currency of the prices."""
        return (self.tokens_in * prices.input_per_million + self.tokens_out * prices.output_per_million) / 1e6


class JudgeCounts:
    """Usage by requested model; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._usage: dict[str, JudgeUsage] = {}

    def take(self) -> dict[str, JudgeUsage]:
        """Returns the usage since the last call."""
        with self._lock:
            taken, self._usage = self._usage, {}
        return taken

    def add_retry(self, model: str) -> None:
        """Counts a request that was sent again."""
        with self._lock:
            self._of(model).retries += 1

    def add_asked_again(self, model: str) -> None:
        """Counts a sample that was asked for once more."""
        with self._lock:
            self._of(model).asked_again += 1

    def add_call(self, model: str, seconds: float, tokens: tuple[int, int] | None) -> None:
        """Counts a call that ended.

        Args:
            model: Requested model.
            seconds: Duration of the call, with retries.
            tokens: Prompt tokens, and answer tokens including thoughts; None: unknown.
        """
        with self._lock:
            usage = self._of(model)
            usage.calls += 1
            usage.latency_ms += round(seconds * 1000)
            usage.uncounted += tokens is None
            tokens_in, tokens_out = tokens or (0, 0)
            usage.tokens_in += tokens_in
            usage.tokens_out += tokens_out

    def add_estimate(self, model: str, calls: int, samples: int, tokens_in: int, tokens_out: int) -> None:
        """Counts an estimate of a question.

        Args:
            model: Requested model.
            calls: Minimum number of calls.
            samples: Maximum number of samples.
            tokens_in: Prompt tokens of the calls.
            tokens_out: Answer tokens of the calls.
        """
        with self._lock:
            usage = self._of(model)
            usage.calls += calls
            usage.samples += samples
            usage.tokens_in += tokens_in
            usage.tokens_out += tokens_out

    def add_sample(self, model: str, fault: FaultKind | None, saved: int | None) -> None:
        """Counts a sample that was given; `saved` are the tokens it had cost if it was cached, else None."""
        with self._lock:
            usage = self._of(model)
            usage.samples += 1
            if fault:
                usage.unusable[fault] += 1
            if saved is not None:
                usage.cached += 1
                usage.tokens_saved += saved

    def _of(self, model: str) -> JudgeUsage:
        return self._usage.setdefault(model, JudgeUsage())


def total_cost(usage: Mapping[str, JudgeUsage], prices: Mapping[str, TokenPrices]) -> float | None:
    """Returns the total cost; None: a used model has no price, or did not state its tokens."""
    used = {model: each for model, each in usage.items() if each.calls}
    if any(model not in prices or each.uncounted for model, each in used.items()):
        return None
    return sum(each.cost(prices[model]) for model, each in used.items())


def tokens_of(replies: Sequence[RawReply]) -> tuple[int, int] | None:
    """Returns the tokens of a call; None: the API does not state them."""
    tokens_in = known_sum([reply.tokens_in for reply in replies])
    tokens_out = known_sum([reply.tokens_out for reply in replies])
    return None if tokens_in is None or tokens_out is None else (tokens_in, tokens_out)
