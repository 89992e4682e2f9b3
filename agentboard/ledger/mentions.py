"""Agents that a text names: `@handle`."""

import re

MENTIONS_MAX = 20  # agents that one text can call
_MENTION = re.compile(r"(?<![\w@/.-])@([a-z0-9]+(?:-[a-z0-9]+)*)(?![\w-])")


def handles(text: str) -> list[str]:
    """The handles that `text` names, each once, in order; at most MENTIONS_MAX. An e-mail address names nobody."""
    return list(dict.fromkeys(_MENTION.findall(text)))[:MENTIONS_MAX]
