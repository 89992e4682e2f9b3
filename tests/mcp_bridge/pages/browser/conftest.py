"""The browser and the person of /account."""

from tests.web.account.browser.conftest import board, browser, opens, vera

__all__ = ["board", "browser", "opens", "vera"]
