"""Why an app stopped on its way, in words for the person who is connecting it: what happened, and what to do."""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """A reason by its code, as an attempt keeps it."""

    ORIGIN_REFUSED = "origin_refused"
    HOST_UNKNOWN = "host_unknown"
    PROTOCOL_UNSUPPORTED = "protocol_unsupported"
    TOO_MANY = "too_many"
    REGISTRATION_MALFORMED = "registration_malformed"
    REDIRECT_URI_REFUSED = "redirect_uri_refused"
    DOCUMENT_REFUSED = "document_refused"
    CLIENT_UNKNOWN = "client_unknown"
    CLIENT_BLOCKED = "client_blocked"
    SIGN_IN_OPEN = "sign_in_open"
    CONSENT_OPEN = "consent_open"
    CONSENT_DENIED = "consent_denied"
    REDIRECT_URI_DIFFERS = "redirect_uri_differs"
    PKCE_MISSING = "pkce_missing"
    PKCE_WRONG = "pkce_wrong"
    RESOURCE_FOREIGN = "resource_foreign"
    SCOPE_UNKNOWN = "scope_unknown"
    REQUEST_MALFORMED = "request_malformed"
    GRANT_UNSUPPORTED = "grant_unsupported"
    CODE_EXPIRED = "code_expired"
    CODE_USED = "code_used"
    CODE_UNKNOWN = "code_unknown"
    REFRESH_EXPIRED = "refresh_expired"
    REFRESH_REPLAYED = "refresh_replayed"
    REFRESH_UNKNOWN = "refresh_unknown"
    CONNECTION_ENDED = "connection_ended"
    AGENT_MOVED = "agent_moved"
    AGENT_INACTIVE = "agent_inactive"
    OWNER_INACTIVE = "owner_inactive"
    KEY_MALFORMED = "key_malformed"
    KEY_UNKNOWN = "key_unknown"
    KEY_EXPIRED = "key_expired"
    KEY_REVOKED = "key_revoked"
    TOKEN_MALFORMED = "token_malformed"
    TOKEN_UNKNOWN = "token_unknown"
    SCOPE_MISSING = "scope_missing"


@dataclass(frozen=True)
class Words:
    """What happened, and what to do."""

    what: str
    to_do: str


_AGAIN = "Start again in the app: remove this server there, and add it once more."
_AUTHORS = "This is a fault of the app. Update it; if that does not help, tell its makers this line."
_NEW_KEY = "Make a new key for the agent and put it into the app's settings."

WORDS: dict[Reason, Words] = {
    Reason.ORIGIN_REFUSED: Words(
        "The call came from a web page of another site, which this server does not accept.",
        "Use the app outside a web page. If the page is this server's own, have the operator set AGENTBOARD_URL to "
        "the address that you use.",
    ),
    Reason.HOST_UNKNOWN: Words(
        "The app called this server by a name that it does not answer to.",
        "Give the app the address that is shown on this page. An operator changes it with AGENTBOARD_URL.",
    ),
    Reason.PROTOCOL_UNSUPPORTED: Words(
        "The app speaks a version of MCP that this server does not know.",
        "Update the app. The versions are listed in the documents under MCP.",
    ),
    Reason.TOO_MANY: Words(
        "Too many calls or registrations came from this address in a short time.",
        "Wait an hour, then connect again.",
    ),
    Reason.REGISTRATION_MALFORMED: Words("The app's registration could not be read.", _AUTHORS),
    Reason.REDIRECT_URI_REFUSED: Words(
        "The app wants to be sent back to an address that is not allowed: only https, this computer, and the schemes "
        "of known apps are.",
        _AUTHORS,
    ),
    Reason.DOCUMENT_REFUSED: Words(
        "The document in which the app describes itself could not be fetched, or does not fit the app's address.",
        "Check that this server may open connections to the internet, then start again in the app.",
    ),
    Reason.CLIENT_UNKNOWN: Words(
        "This server does not know the app's registration. Registrations that nobody uses are removed after a day.",
        _AGAIN,
    ),
    Reason.CLIENT_BLOCKED: Words("An operator of this server has blocked the app.", "Ask the operator."),
    Reason.SIGN_IN_OPEN: Words(
        "The sign-in page was opened, and nobody has signed in there yet.",
        "Sign in on that page. If it is closed, start again in the app.",
    ),
    Reason.CONSENT_OPEN: Words(
        "The page that asks you to allow the app was opened, and has no answer yet.",
        "Answer it. If it is closed, start again in the app.",
    ),
    Reason.CONSENT_DENIED: Words(
        "You refused the app.", "Nothing, if you meant to. Else start again in the app, and allow it."
    ),
    Reason.REDIRECT_URI_DIFFERS: Words(
        "The address that the app wants to be sent back to is not one that it registered.",
        f"{_AGAIN} It then registers anew.",
    ),
    Reason.PKCE_MISSING: Words(
        "The app asked without PKCE S256 (code_challenge), which protects the way back.", _AUTHORS
    ),
    Reason.PKCE_WRONG: Words(
        "The app could not prove that it is the one that asked: its code_verifier does not fit.", _AGAIN
    ),
    Reason.RESOURCE_FOREIGN: Words(
        "The app asked for access to another server than this one (resource).",
        "Give the app exactly the address that is shown on this page.",
    ),
    Reason.SCOPE_UNKNOWN: Words(
        "The app asked for a scope that this server does not have.",
        "Leave scopes empty in the app's settings: it then asks for those that there are.",
    ),
    Reason.REQUEST_MALFORMED: Words("The app's request was incomplete or contradicts itself.", _AUTHORS),
    Reason.GRANT_UNSUPPORTED: Words(
        "The app asked for a token in a way that is not offered: there are authorization_code and refresh_token.",
        "For a program without a browser, make an agent key instead.",
    ),
    Reason.CODE_EXPIRED: Words("The app came back for its token too late.", "Start again in the app."),
    Reason.CODE_USED: Words(
        "The code for the token came twice. To be safe, what the first had given was ended.", "Start again in the app."
    ),
    Reason.CODE_UNKNOWN: Words(
        "The app came back with a code that this server did not give it.", "Start again in the app."
    ),
    Reason.REFRESH_EXPIRED: Words("The app was not used for too long, and its access ran out.", "Connect it again."),
    Reason.REFRESH_REPLAYED: Words(
        "An old refresh token was used again, as a thief would do. To be safe, the connection was ended.",
        "Connect the app again. If it was not you, check where the app keeps its tokens.",
    ),
    Reason.REFRESH_UNKNOWN: Words("The app came with a refresh token that is not known here.", "Connect it again."),
    Reason.CONNECTION_ENDED: Words(
        "The connection was ended.", "Nothing, if you meant to. Else connect the app again."
    ),
    Reason.AGENT_MOVED: Words("The agent now belongs to another person.", "Connect the app to an agent of yours."),
    Reason.AGENT_INACTIVE: Words(
        "The agent is deactivated.", "Activate the agent again, or connect the app to another."
    ),
    Reason.OWNER_INACTIVE: Words("Your account is deactivated.", "Ask an operator of this server."),
    Reason.KEY_MALFORMED: Words(
        "The key is mistyped or cut: a key is ab_ and 49 letters and digits.",
        "Copy the whole key again. Some apps need the word Bearer before it.",
    ),
    Reason.KEY_UNKNOWN: Words(
        "This server does not know the key: it belongs to another server, or its agent was deleted.", _NEW_KEY
    ),
    Reason.KEY_EXPIRED: Words("The key has expired.", _NEW_KEY),
    Reason.KEY_REVOKED: Words("The key was ended.", _NEW_KEY),
    Reason.TOKEN_MALFORMED: Words("What the app sent is neither a token nor a key.", _AGAIN),
    Reason.TOKEN_UNKNOWN: Words("The app came with a token that is not known here.", _AGAIN),
    Reason.SCOPE_MISSING: Words(
        "The app tried something that you did not allow it.", "Connect it again and tick what it needs."
    ),
}


def words_of(code: str) -> Words:
    """The words of a stored code, also of one that is no longer given."""
    try:
        return WORDS[Reason(code)]
    except ValueError:
        return Words("The app was refused.", _AGAIN)
