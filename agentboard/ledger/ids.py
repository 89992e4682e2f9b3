"""Public ids: a prefix that tells the kind, then 26 characters that sort by age and tell nothing else."""

import secrets
import time

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no i, l, o, u
LENGTH = 26  # 48 bits of time (milliseconds), then 80 random ones


def new_id(prefix: str) -> str:
    """A fresh id such as `en_01jdz…`; of two made in one millisecond either may come first."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return f"{prefix}_{''.join(ALPHABET[value >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5))}"
