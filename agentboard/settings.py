"""Settings. The only reader of the environment: what can be set is the first block, with its default and its unit."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp.constants import NONE, SELF

from agentboard.datafolder import open_folder, private_file
from agentboard.environment import Environment, bracketed, reached_at, refused_in_one_sentence

BASE_DIR = Path(__file__).resolve().parent.parent

with refused_in_one_sentence():
    env = Environment(os.environ)

    HOST = env.host("HOST", "127.0.0.1")
    PORT = env.number("PORT", 8000, 1, 65535)
    WORKERS = env.number("WORKERS", 1, 1, 64)  # processes
    THREADS = env.number("AGENTBOARD_THREADS", 8, 1, 64)  # per process, each with its own database connection
    DATA_FOLDER = env.folder("AGENTBOARD_DATA", BASE_DIR / "data")
    PUBLIC_URL = env.origin("AGENTBOARD_URL", f"http://{bracketed(reached_at(HOST))}:{PORT}")
    ORIGINS = env.origins("AGENTBOARD_ORIGINS")  # beside our own: whose pages may call /mcp with a credential
    database = env.database("DATABASE_URL", sqlite_at=DATA_FOLDER / "agentboard.sqlite3")
    REDIS_URL = env.redis("REDIS_URL")
    mail = env.mail("EMAIL_URL")
    MAIL_FROM = env.address("AGENTBOARD_MAIL_FROM", f"agentboard@{urlsplit(PUBLIC_URL).hostname}")
    SIGN_UP = env.choice("AGENTBOARD_SIGN_UP", "OPEN", ("OPEN", "CLOSED"))
    sqlite_synchronous = env.choice("AGENTBOARD_SQLITE_SYNCHRONOUS", "NORMAL", ("NORMAL", "FULL"))
    log_level = env.choice("AGENTBOARD_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))

    # How much one agent may call: calls a minute over all doors together, and how many of them at once.
    CALLS_PER_MINUTE = env.number("AGENTBOARD_CALLS_PER_MINUTE", 6_000, 1, 10_000_000)
    CALLS_BURST = env.number("AGENTBOARD_CALLS_BURST", 600, 1, 1_000_000)
    # The same for one network address: failed credentials, registrations and pages without a session.
    ADDRESS_CALLS_PER_MINUTE = env.number("AGENTBOARD_ADDRESS_CALLS_PER_MINUTE", 600, 1, 10_000_000)
    ADDRESS_CALLS_BURST = env.number("AGENTBOARD_ADDRESS_CALLS_BURST", 300, 1, 1_000_000)
    # How many OAuth applications one address may register.
    REGISTRATIONS_PER_HOUR = env.number("AGENTBOARD_REGISTRATIONS_PER_HOUR", 20, 1, 1_000_000)

    NOTES_PER_AGENT = env.number("AGENTBOARD_NOTES_PER_AGENT", 10_000, 1, 10_000_000)
    # Retained revisions of one resource: the newest, and all younger than so many days, but never more than the last.
    REVISIONS_KEPT = env.number("AGENTBOARD_REVISIONS_KEPT", 50, 1, 100_000)
    REVISION_DAYS = env.number("AGENTBOARD_REVISION_DAYS", 30, 0, 36_500)
    REVISIONS_MAX = env.number("AGENTBOARD_REVISIONS_MAX", 1_000, REVISIONS_KEPT, 1_000_000)
    RECEIPT_DAYS = env.number("AGENTBOARD_RECEIPT_DAYS", 30, 1, 36_500)
    EVENT_DAYS = env.number("AGENTBOARD_EVENT_DAYS", 90, 1, 36_500)
    AUDIT_DAYS = env.number("AGENTBOARD_AUDIT_DAYS", max(365, EVENT_DAYS), EVENT_DAYS, 36_500)  # events, for operators
    SEARCH_MIB = env.number("AGENTBOARD_SEARCH_MIB", 64, 1, 65_536)  # memory for search indexes, per process

    env.refuse_unknown()
    kept = open_folder(DATA_FOLDER)
    on_sqlite = database["ENGINE"].endswith("sqlite3")
    if on_sqlite:
        private_file("DATABASE_URL", database["NAME"])

SECRET_KEY = kept.secret_key
FIELD_ENCRYPTION_KEY = list(kept.encryption_keys)  # the first writes, all read
ENCRYPTION_KEYS_FILE = kept.encryption_keys_file

# Apps and doors

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "channels",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "agentboard",
    "agentboard.encryption",
    "agentboard.identity",
    "agentboard.ledger",
    "memory",
    "spaces",
    "posts",
    "agentboard.web",
    "mcp_bridge.doctor",
    "oauth2_provider",
    "mcp_bridge.oauth",
]
MIDDLEWARE = [  # for pages only: the API doors have none of it
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "agentboard.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "agentboard.web.account.presence.Presence",
]
ROOT_URLCONF = "agentboard.urls"
ASGI_APPLICATION = "agentboard.asgi.application"
APPEND_SLASH = False
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["agentboard.web.templatetags.board"],
        },
    }
]

# Database and channel layer

SQLITE: dict[str, Any] = {
    "transaction_mode": "IMMEDIATE",  # deferred, two writers that read first fail as locked
    "timeout": 20,  # seconds
    "init_command": "PRAGMA journal_mode=WAL;"
    f"PRAGMA synchronous={sqlite_synchronous};"
    "PRAGMA mmap_size=268435456;"
    "PRAGMA cache_size=-8192;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA journal_size_limit=67108864",
}
POSTGRES: dict[str, Any] = {
    "server_side_binding": True,
    "prepare_threshold": 2,  # executions; the hot statements are then planned once a connection
    "connect_timeout": 5,  # seconds
    "tcp_user_timeout": 20_000,  # milliseconds; a host that went silent is noticed in the middle of a statement
}
DATABASES = {
    "default": {
        **database,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": False,  # a SELECT 1 a request; the doors poll the socket instead
        "ATOMIC_REQUESTS": False,
        "OPTIONS": (SQLITE if on_sqlite else POSTGRES) | database.get("OPTIONS", {}),
    }
}
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "agentboard"},
    }
    if REDIS_URL
    else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}

# Sign-in and what a browser may do

AUTH_USER_MODEL = "identity.Person"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
LOGIN_URL = "/account/sign-in"
LOGIN_REDIRECT_URL = "/account"
LOGOUT_REDIRECT_URL = LOGIN_URL
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
ACCOUNT_ADAPTER = "agentboard.web.account.adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "agentboard.web.account.forms.SignInForm",
    "signup": "agentboard.web.account.forms.SignUpForm",
    "reauthenticate": "agentboard.web.account.forms.ConfirmForm",
    "change_password": "agentboard.web.account.forms.ChangePasswordForm",
    "add_email": "agentboard.web.account.forms.AddEmailForm",
    "reset_password": "agentboard.web.account.forms.ResetForm",
    "reset_password_from_key": "agentboard.web.account.forms.NewPasswordForm",
}
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*"] if mail else ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "optional" if mail else "none"
ACCOUNT_EMAIL_NOTIFICATIONS = bool(mail)  # of changes to the account, to its verified address
ACCOUNT_EMAIL_SUBJECT_PREFIX = "AgentBoard: "
ACCOUNT_PREVENT_ENUMERATION = "strict"  # an unverified address may stand at several accounts, a verified one at one
ACCOUNT_MAX_EMAIL_ADDRESSES = 5
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_METHODS = ["password", "mfa"]
ACCOUNT_REAUTHENTICATION_TIMEOUT = 900  # seconds
ACCOUNT_SESSION_REMEMBER = True  # for SESSION_COOKIE_AGE; the sessions page ends one from anywhere
MFA_ADAPTER = "agentboard.web.account.adapter.SecondFactorAdapter"
MFA_FORMS = {
    "authenticate": "agentboard.web.account.forms.CodeForm",
    "reauthenticate": "agentboard.web.account.forms.ConfirmCodeForm",
    "activate_totp": "agentboard.web.account.forms.ActivateAppForm",
    "login_webauthn": "agentboard.web.account.forms.SignInByPasskeyForm",
    "authenticate_webauthn": "agentboard.web.account.forms.ShowPasskeyForm",
    "reauthenticate_webauthn": "agentboard.web.account.forms.ConfirmByPasskeyForm",
    "add_webauthn": "agentboard.web.account.forms.AddPasskeyForm",
    "edit_webauthn": "agentboard.web.account.forms.RenamePasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "AgentBoard"
MFA_TOTP_TOLERANCE = 1  # 30-second steps a telephone's clock may be off
MFA_ALLOW_UNVERIFIED_EMAIL = True  # an address gives nobody a way in here before it is verified
DEFAULT_FROM_EMAIL = SERVER_EMAIL = MAIL_FROM
MAIL_IS_SENT = mail is not None
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
EMAIL_TIMEOUT = 10  # seconds
globals().update(mail or {})  # EMAIL_HOST and the rest, as EMAIL_URL gives them
CACHES = {  # how often somebody tried to sign in, and which codes were used; without Redis each worker counts by itself
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL, "KEY_PREFIX": "web"}
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}
DEBUG = False
public_host = bracketed(urlsplit(PUBLIC_URL).hostname or "")
ALLOWED_HOSTS = [public_host, bracketed(HOST), "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
CSRF_FAILURE_VIEW = "agentboard.web.workspace.acting.csrf_failure"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PUBLIC_URL.startswith("https:")
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# OAuth for MCP clients: django-oauth-toolkit with models, grants and endpoints of our own

OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth.Application"
OAUTH2_PROVIDER_GRANT_MODEL = "oauth.Grant"
OAUTH2_PROVIDER_ACCESS_TOKEN_MODEL = "oauth.AccessToken"
OAUTH2_PROVIDER_REFRESH_TOKEN_MODEL = "oauth.RefreshToken"
OAUTH2_PROVIDER_ID_TOKEN_MODEL = "oauth.IDToken"
OAUTH2_PROVIDER: dict[str, Any] = {
    "OAUTH2_SERVER_CLASS": "mcp_bridge.oauth.server.Server",
    "OAUTH2_VALIDATOR_CLASS": "mcp_bridge.oauth.validator.Validator",
    "SCOPES_BACKEND_CLASS": "mcp_bridge.oauth.scopes.Scopes",
    "ACCESS_TOKEN_GENERATOR": "mcp_bridge.oauth.tokens.access_token",
    "REFRESH_TOKEN_GENERATOR": "mcp_bridge.oauth.tokens.refresh_token",
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 60,
    "ACCESS_TOKEN_EXPIRE_SECONDS": 3_600,
    "REFRESH_TOKEN_EXPIRE_SECONDS": 30 * 86_400,  # from the last rotation; clearing old tokens needs it too
    "REFRESH_TOKEN_REUSE_PROTECTION": True,  # replaced tokens are kept while they would be valid, to tell a replay
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", "cursor", "vscode", "vscode-insiders", "windsurf"],
    "ALLOW_LOCALHOST_LOOPBACK": True,  # many clients register localhost and then take a free port
    "COMPLIANT_BCP_RFC9700_IMPLICIT_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PASSWORD_GRANT": True,
    "COMPLIANT_BCP_RFC9700_PKCE_METHOD": True,
    "COMPLIANT_BCP_RFC9700_ACCESS_TOKEN_TRANSPORT": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "COMPLIANT_BCP_RFC9700_TOKEN_STORAGE": True,
    "CIMD_ENABLED": True,
    "CIMD_METADATA_FETCHER": "mcp_bridge.oauth.documents.Fetcher",
    "CIMD_FETCH_TIMEOUT_SECONDS": 5,
    "CIMD_MAX_CONCURRENT_FETCHES": 2,  # a process; each holds one of its threads for pages
    "APPLICATION_ADMIN_CLASS": "mcp_bridge.oauth.admin.ApplicationAdmin",
    "GRANT_ADMIN_CLASS": "mcp_bridge.oauth.admin.GrantAdmin",
    "ACCESS_TOKEN_ADMIN_CLASS": "mcp_bridge.oauth.admin.AccessTokenAdmin",
    "REFRESH_TOKEN_ADMIN_CLASS": "mcp_bridge.oauth.admin.RefreshTokenAdmin",
    "ID_TOKEN_ADMIN_CLASS": "mcp_bridge.oauth.admin.HiddenAdmin",
}

# Pages

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "agentboard.static_files.NamedByContent"},
}
WHITENOISE_USE_FINDERS = True  # no collectstatic: the files are served from where they lie
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_MAX_AGE = 3_600  # seconds, for what is asked for by its plain name: fonts above all

# Logs: one JSON object a line on standard error (see logs.py). The level is for our own loggers: what libraries say
# below a warning holds frames, tokens and query strings.

LIBRARY_LEVEL = "ERROR" if log_level == "ERROR" else "WARNING"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": "agentboard.logs.JsonLines"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": LIBRARY_LEVEL},
    "loggers": {
        **{name: {"level": log_level} for name in ("agentboard", "memory", "spaces", "posts", "mcp_bridge")},
        "django": {"handlers": [], "level": LIBRARY_LEVEL, "propagate": True},  # takes Django's mail_admins away
        "django.server": {"handlers": [], "propagate": False},  # runserver's access log
        "uvicorn.error": {"level": LIBRARY_LEVEL},  # its notes on websockets hold query strings
        "uvicorn.access": {"handlers": [], "propagate": False},
    },
}
