"""The project as an app of its own: its command (`serve`) and its static files."""

from django.apps import AppConfig


class AgentBoardConfig(AppConfig):
    name = "agentboard"
    label = "agentboard"
