"""How many calls an agent or an address may make: a token bucket for each, shared by all doors of the process.

With several workers each has its share of the rate (rate ÷ workers): a shared count would cost a round trip a call.
"""

import math
import threading
import time
from dataclasses import dataclass

from django.conf import settings

from agentboard.contract.errors import Refusal
from agentboard.identity.caller import Caller

BUCKETS_MAX = 20_000  # then full buckets are forgotten


@dataclass(frozen=True)
class Budget:
    """What is left of a bucket: whole calls, and seconds until it is full again."""

    name: str
    per_minute: float
    remaining: int
    reset_seconds: int


class Buckets:
    """Token buckets by key. `burst` tokens at most, refilled at `per_minute`, both for the whole service."""

    def __init__(self, name: str, per_minute: float, burst: int, workers: int) -> None:
        self.name, self.per_minute = name, per_minute
        self._rate = per_minute / 60 / workers  # tokens a second
        self._burst = max(burst / workers, 1)
        self.refused = 0  # calls since the start, of this process
        self._held: dict[int | str, tuple[float, float]] = {}  # key → tokens, at (monotonic seconds)
        self._lock = threading.Lock()

    def take(self, key: int | str) -> Budget:
        """Take one token, or raise rate_limited with the seconds until there is one."""
        with self._lock:
            tokens, now = self._tokens(key)
            if tokens < 1:
                self.refused += 1
                raise self._refusal(math.ceil((1 - tokens) / self._rate))
            self._held[key] = (tokens - 1, now)
            if len(self._held) > BUCKETS_MAX:
                self._forget_full(now)
        return self._budget(tokens - 1)

    def look(self, key: int | str) -> Budget:
        """What is left for `key`."""
        return self._budget(self._tokens(key)[0])

    def _tokens(self, key: int | str) -> tuple[float, float]:
        now = time.monotonic()
        tokens, at = self._held.get(key, (self._burst, now))
        return min(self._burst, tokens + (now - at) * self._rate), now

    def _budget(self, tokens: float) -> Budget:
        return Budget(self.name, self.per_minute, int(tokens), math.ceil((self._burst - tokens) / self._rate))

    def _refusal(self, wait: int) -> Refusal:
        whose = "This agent" if self.name == "agent" else "This address"
        return Refusal(
            "rate_limited",
            f"{whose} may make {self.per_minute} calls a minute, and has used them up.",
            retry_after_seconds=wait,
        )

    def _forget_full(self, now: float) -> None:
        self._held = {
            key: (tokens, at)
            for key, (tokens, at) in self._held.items()
            if tokens + (now - at) * self._rate < self._burst
        }


AGENTS = Buckets("agent", settings.CALLS_PER_MINUTE, settings.CALLS_BURST, settings.WORKERS)
ADDRESSES = Buckets("address", settings.ADDRESS_CALLS_PER_MINUTE, settings.ADDRESS_CALLS_BURST, settings.WORKERS)


def spend(caller: Caller) -> Budget:
    """Take one call from the agent's budget. Raises rate_limited."""
    return AGENTS.take(caller.agent_id)


def spend_address(address: str) -> Budget:
    """Take one anonymous call or failed credential from the address's budget. Raises rate_limited."""
    return ADDRESSES.take(address)
