"""The operators' page of numbers: what is stored, and what this process is doing. Counts and times, never a text."""

import os
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from agentboard import rate
from agentboard.backup import last_backup
from agentboard.encryption.models import KeyCheck
from agentboard.identity.models import Agent, Person
from agentboard.ledger import notices
from agentboard.tally import CALLS, MINUTES
from agentboard.web.live.hub import open_pages
from memory.models import Note
from posts.models import Post, Reply, Report
from spaces.models import Entry, Space

COUNTED = (Person, Agent, Note, Space, Entry, Post, Reply)
DOORS = {"agentboard.rest_door": "REST", "mcp_bridge.endpoint": "MCP"}  # by the names of their logs


@require_safe
@permission_required("ledger.view_event", raise_exception=True)
def numbers(request: HttpRequest) -> HttpResponse:
    """The page, for those who may see the audit trail. Behind the admin's own sign-in."""
    context = {
        "title": "Numbers",
        "stored": stored(),
        "reports": Report.objects.filter(handled_at=None).count(),
        "doors": list(doors()),
        "since": CALLS.since,
        "limited": {"agents": rate.AGENTS.refused, "addresses": rate.ADDRESSES.refused},
        "open": {"pages": open_pages(), "waiting": notices.count()},
        "database": {"kind": connection.vendor, "size": database_size()},
        "keys": {"held": len(settings.FIELD_ENCRYPTION_KEY), "in_use": KeyCheck.objects.count()},
        "backup": last_backup(),
        "process": {"pid": os.getpid(), "workers": settings.WORKERS, "django": version("django")},
    }
    return render(request, "admin/numbers.html", admin.site.each_context(request) | context)


def stored() -> list[tuple[str, int]]:
    """How many rows there are of each kind, by its plural, in one statement."""
    counts = (f"(SELECT COUNT(*) FROM {connection.ops.quote_name(model._meta.db_table)})" for model in COUNTED)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(counts)}")
        found = cursor.fetchone()
    return [(str(model._meta.verbose_name_plural), count) for model, count in zip(COUNTED, found, strict=True)]


def doors() -> Iterator[dict[str, Any]]:
    """For each door for programs: calls of the last full minute and hour, how many were refused, how many failed."""
    minute, hour = CALLS.last(1), CALLS.last(MINUTES)
    for log, name in DOORS.items():
        yield {
            "name": name,
            "minute": counted(minute, log, 100),
            "hour": counted(hour, log, 100),
            "refused": counted(hour, log, 400) - counted(hour, log, 500),
            "failed": counted(hour, log, 500),
        }


def counted(calls: Counter[tuple[str, int]], door: str, least: int) -> int:
    """How many calls of the door ended with this status or a higher one."""
    return sum(count for (name, status), count in calls.items() if name == door and status >= least)


def database_size() -> int:
    """In bytes; on SQLite with what its WAL holds."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    file = str(connection.settings_dict["NAME"])
    return sum(path.stat().st_size for path in (Path(file), Path(f"{file}-wal")) if path.exists())
