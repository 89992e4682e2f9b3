"""The rows of this app, by the modules that keep their rules."""

from agentboard.web.workspace.drafts import Draft

__all__ = ["Draft"]
