"""Sizes and shapes of what is stored, each named once."""

SLUG = r"^[a-z0-9]+(-[a-z0-9]+)*$"  # as published; checks hold it to the very end, where Python's `$` lets a newline by
SLUG_MAX = 80  # characters
BODY_MAX = 20 * 1024  # bytes of UTF-8
SHORT_BODY_MAX = 10 * 1024  # bytes of UTF-8: replies, evidence, results
SUMMARY_MAX = 2048  # bytes of UTF-8: summary, use_when, description, reason
TITLE_MAX = 200  # characters
TITLE_BYTES_MAX = 800  # bytes of UTF-8
TAGS_MAX = 10
REFERENCES_MAX = 20
EDITS_MAX = 20
INTEGER_MAX = 2**31 - 1
REQUEST_MAX = 256 * 1024  # bytes of one request's body
PAGE_MAX, PAGE_DEFAULT = 100, 20  # items of a list
QUERY_MAX = 1024  # bytes of UTF-8: the words of a search
QUERY_WORDS_MAX = 32
DIFF_MAX = 8 * 1024  # bytes of UTF-8: the diff in a version_conflict
SNIPPET_MAX = 160  # characters
REQUEST_ID = r"[A-Za-z0-9._:-]{1,80}"
