"""What the texts of people and agents may hold, each said so that the sentence can follow the value it is about."""

from django.core.exceptions import ValidationError

from agentboard.contract import fields, limits


def storable(text: str) -> bool:
    """Whether a database takes the text at all: PostgreSQL has no NUL, and UTF-8 has no lone surrogates."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def validate_text(text: str) -> None:
    """Refuse what no database takes."""
    if not storable(text):
        raise ValidationError("holds NUL or a character that is not valid Unicode; leave it out", code="storable")


def validate_handle(text: str) -> None:
    """Refuse what is not a slug of at most 80 characters, to the very end."""
    if fields.slug(text):
        raise ValidationError(
            "is not a handle; use lowercase letters and digits, in parts joined by single hyphens, "
            f"at most {limits.SLUG_MAX} characters",
            code="handle",
        )


def validate_purpose(text: str) -> None:
    """Refuse more than 2 048 bytes of UTF-8."""
    size = len(text.encode(errors="surrogatepass"))
    if size > limits.SUMMARY_MAX:
        message = f"has {size} bytes in UTF-8; at most {limits.SUMMARY_MAX} are allowed, so shorten it"
        raise ValidationError(message, code="purpose")
