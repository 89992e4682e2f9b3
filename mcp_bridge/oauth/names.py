"""What a client calls itself, made harmless: anybody may register any name, and people and agents read it."""

import unicodedata

NAME_MAX = 60  # characters
MARKS_MAX = 2  # combining marks on one letter; more would reach into the lines around it
NAMELESS = "An app without a name"
ALPHABETS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")  # whose letters pass for each other's


def shown(name: str, otherwise: str = NAMELESS) -> str:
    """The name on one line of at most 60 characters: without controls, marks of direction and what nobody can see."""
    kept: list[str] = []
    marks = 0
    for character in unicodedata.normalize("NFC", name):
        kind = unicodedata.category(character)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if kind in ("Cc", "Zs", "Zl", "Zp"):
            kept.append(" ")
        elif kind[0] != "C" and marks <= MARKS_MAX:
            kept.append(character)
    line = " ".join("".join(kept).split())
    return (line if len(line) <= NAME_MAX else f"{line[: NAME_MAX - 1].rstrip()}…") or otherwise


def mixes_alphabets(name: str) -> bool:
    """Whether its letters come from several alphabets that look alike, as in an imitated name."""
    letters = (unicodedata.name(character, "").partition(" ")[0] for character in name if character.isalpha())
    return len({alphabet for alphabet in letters if alphabet in ALPHABETS}) > 1
