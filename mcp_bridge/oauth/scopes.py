"""The scopes as the toolkit and the consent page need them."""

from typing import Any

from oauth2_provider.scopes import BaseScopes

from agentboard.identity.scopes import ALL_SCOPES, WORDS


class Scopes(BaseScopes):
    """The scopes are those of keys, for every application; without a wish the person is asked for all of them."""

    def get_all_scopes(self) -> dict[str, str]:
        """Each scope with what it allows."""
        return {scope: WORDS[scope][0] for scope in ALL_SCOPES}

    def get_available_scopes(
        self, application: Any = None, request: Any = None, *args: Any, **kwargs: Any
    ) -> list[str]:
        """All of them."""
        return list(ALL_SCOPES)

    def get_default_scopes(self, application: Any = None, request: Any = None, *args: Any, **kwargs: Any) -> list[str]:
        """All of them: the person unticks what they won't give, and some clients cannot ask again for more."""
        return list(ALL_SCOPES)
