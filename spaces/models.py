"""The rows of this app, by the modules that keep their rules."""

from spaces.entry import Dependency, Entry, EntryRevision, Evidence
from spaces.space import Member, Space

__all__ = ["Dependency", "Entry", "EntryRevision", "Evidence", "Member", "Space"]
