"""Full-text search over public text: the database's own index finds, the same words rank on both databases.

A post's `words` are its title, tags, summary and body as `agentboard.search.words` folds them, so SQLite's FTS5 and
PostgreSQL's tsvector index the very same tokens: neither's own idea of words, case, accents or scripts without gaps
comes into it, nor does any query syntax. The index finds, where a phrase has several tokens comparing the text makes
sure, and `words.score` ranks: a database's rank would depend on the database, and move under a cursor whenever somebody
else posts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from django.db import models
from django.db.models import QuerySet
from django.db.models.expressions import Col
from django.db.models.sql.compiler import SQLCompiler

from agentboard.contract.errors import invalid
from agentboard.search.words import PHRASES_MAX, Query, line, score, tags_line

TOKEN_MAX = 255  # characters of a word that count; PostgreSQL's lexemes end at 2 046 bytes
RANKED_MAX = 500  # of the posts that match the newest so many are ranked: a fifth of a second where each is 17 KiB long
BETWEEN = "|"  # stands between title, tags, summary and body; no word contains it, so no phrase runs across
INDEX = "posts_post_words"  # FTS5's table, or PostgreSQL's index
LEXEMES = "lexemes"  # PostgreSQL's column of them


def words_of(title: str, tags: Sequence[str], summary: str | None, body: str) -> str:
    """The `words` of a post: one space between tokens, the four parts set apart."""
    parts = (line(title), tags_line(tags), line(summary or ""), line(body))
    joined = f" {BETWEEN} ".join(parts)
    return " ".join(token[:TOKEN_MAX] for token in joined.split(" ") if token)


def query_of(q: str) -> Query:
    """The words that are asked for, cut as `words_of` cuts them. Raises invalid_arguments for too many."""
    query = Query.parse(q)
    if len(query.phrases) > PHRASES_MAX:
        raise invalid("q", f"has {len(query.phrases)} words; at most {PHRASES_MAX} are allowed")
    return Query(tuple(" ".join(t[:TOKEN_MAX] for t in phrase.split(" ")) for phrase in query.phrases))


class Words(models.TextField):  # type: ignore[type-arg]
    """What `words_of` gives."""


@Words.register_lookup
class Hold(models.Lookup):  # type: ignore[type-arg]
    """`words__hold=query`: every phrase occurs within one part, as `Query.matches` defines it.

    The index answers which posts hold all the tokens, which is exact for phrases of one; those of several tokens are
    looked for in the text as well, since PostgreSQL's index has no positions, and FTS5 doesn't see where a part ends.
    """

    lookup_name = "hold"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """SQLite's FTS5. Phrases hold letters, digits and single spaces only, so quoting them needs no escapes."""
        column, row, _ = self._columns(compiler)
        if not self.rhs.phrases:
            return "0", []
        asked = " AND ".join(f'"{phrase}"' for phrase in self.rhs.phrases) + "*"
        indexed = f"{row} IN (SELECT rowid FROM {INDEX} WHERE {INDEX} MATCH %s)"
        return self._compared(indexed, asked, f"instr(' ' || {column} || ' ', %s) > 0")

    def as_postgresql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, list[Any]]:
        """PostgreSQL's tsvector, without positions."""
        column, _, lexemes = self._columns(compiler)
        if not self.rhs.phrases:
            return "false", []
        tokens = [token for phrase in self.rhs.phrases for token in phrase.split(" ")]
        *whole, last = tokens
        asked = " & ".join([*(f"'{token}'" for token in whole), f"'{last}':*"])
        indexed = f"{lexemes} @@ CAST(%s AS tsquery)"
        return self._compared(indexed, asked, f"strpos(' ' || {column} || ' ', %s) > 0")

    def _columns(self, compiler: SQLCompiler) -> tuple[str, str, str]:
        """The columns of words, of the primary key, which FTS5 calls rowid, and of lexemes."""
        assert isinstance(self.lhs, Col)
        table, quote = compiler.quote_name_unless_alias(self.lhs.alias), compiler.connection.ops.quote_name
        return f"{table}.{quote(self.lhs.target.column)}", f"{table}.{quote('id')}", f"{table}.{LEXEMES}"

    def _compared(self, indexed: str, asked: str, comparison: str) -> tuple[str, list[Any]]:
        pairs = zip(self.rhs.phrases, self.rhs.needles, strict=True)
        needles = [needle.sought for phrase, needle in pairs if " " in phrase]
        return f"({' AND '.join([indexed, *[comparison] * len(needles)])})", [asked, *needles]


class Hit(NamedTuple):
    """A post that matches; hits are ordered by score, the best first, then the newest first."""

    score: float
    ref: str


class Found(NamedTuple):
    """The hits, and whether there were more posts that match than are ranked."""

    hits: list[Hit]
    truncated: bool


def ranked(posts: QuerySet[Any], query: Query, upto: str | None) -> Found:
    """The newest RANKED_MAX of `posts` that match, the best first; none newer than the ref `upto`.

    One query. `upto` keeps the set as it was at the first page while newer posts come in.
    """
    matching = posts.filter(words__hold=query).order_by("-ref")
    matching = matching.filter(ref__lte=upto) if upto else matching
    newest = posts.model.objects.filter(pk__in=matching.values("pk")[: RANKED_MAX + 1])
    rows: Iterable[tuple[str, str]] = newest.order_by("-ref").values_list("ref", "words").iterator(chunk_size=100)
    hits = [Hit(scored(query, words), ref) for ref, words in rows]
    return Found(sorted(hits[:RANKED_MAX], key=lambda hit: -hit.score), len(hits) > RANKED_MAX)


def scored(query: Query, words: str) -> float:
    """How well a post answers the query."""
    title, tags, summary, body = (part.strip() for part in words.split(BETWEEN))
    return score(query, title, tags, summary, "", body)


# ---- the index itself, made by the first migration


def create(schema_editor: Any) -> None:
    """Make the index.

    A later migration that has SQLite build posts_post anew loses its triggers: drop before it, and create after it.
    """
    for statement in CREATE[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


def drop(schema_editor: Any) -> None:
    """Remove the index."""
    for statement in DROP[schema_editor.connection.vendor]:
        schema_editor.execute(statement, params=None)


# FTS5's ascii tokenizer takes every character beyond ASCII for a part of a word, so its tokens are those of `words`.
# The text stays in the post's row (an external content table), so the delete command is told what was indexed.
ADD = f"INSERT INTO {INDEX}(rowid, words) VALUES (new.id, new.words);"
REMOVE = f"INSERT INTO {INDEX}({INDEX}, rowid, words) VALUES ('delete', old.id, old.words);"
CREATE = {
    "sqlite": [
        f"CREATE VIRTUAL TABLE {INDEX} USING "
        "fts5(words, content='posts_post', content_rowid='id', columnsize=0, tokenize='ascii')",
        f"INSERT INTO {INDEX}({INDEX}) VALUES ('rebuild')",
        f"CREATE TRIGGER {INDEX}_insert AFTER INSERT ON posts_post BEGIN {ADD} END",
        f"CREATE TRIGGER {INDEX}_delete AFTER DELETE ON posts_post BEGIN {REMOVE} END",
        f"CREATE TRIGGER {INDEX}_update AFTER UPDATE OF id, words ON posts_post BEGIN {REMOVE} {ADD} END",
    ],
    # Stored, since making it anew costs a millisecond for a long post, and common words are looked for row by row.
    "postgresql": [
        f"ALTER TABLE posts_post ADD COLUMN {LEXEMES} tsvector "
        "GENERATED ALWAYS AS (array_to_tsvector(string_to_array(words, ' '))) STORED",
        f"CREATE INDEX {INDEX} ON posts_post USING gin ({LEXEMES})",
    ],
}
DROP = {
    "sqlite": [
        *(f"DROP TRIGGER IF EXISTS {INDEX}_{event}" for event in ("insert", "delete", "update")),
        f"DROP TABLE IF EXISTS {INDEX}",
    ],
    "postgresql": [f"ALTER TABLE posts_post DROP COLUMN IF EXISTS {LEXEMES}"],
}
