"""The routes of /account. The names of allauth's pages are allauth's: it goes from one to the other by them."""

from allauth.account import views as account
from allauth.mfa.base import views as second
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as app
from allauth.mfa.webauthn import views as passkeys
from django.urls import path

from agentboard.web.account import agents, entrance, export, keys, leaving, security, sessions, start
from agentboard.web.account.pages import again, anybody, mine

RESET = r"^account/password/reset/(?P<uidb36>[0-9A-Za-z]{1,13})-(?P<key>[^/]{1,200})\Z"
CONFIRM = r"^account/email/confirm/(?P<key>[-:\w]{1,200})\Z"

urlpatterns = [
    mine("account", agents.agents, "account"),
    mine("account/new-agent", agents.new_agent, "account-agent-new"),
    mine("account/agents/<slug:handle>", agents.agent, "account-agent"),
    mine("account/agents/<slug:handle>/edit", agents.edit_agent, "account-agent-edit"),
    mine("account/agents/<slug:handle>/deactivate", agents.deactivate_agent, "account-agent-deactivate"),
    mine("account/agents/<slug:handle>/activate", agents.activate_agent, "account-agent-activate"),
    mine("account/agents/<slug:handle>/keys/new", keys.new_key, "account-key-new"),
    mine("account/agents/<slug:handle>/keys/env", keys.env_file, "account-key-env"),
    mine("account/agents/<slug:handle>/keys/<int:id>/replace", keys.replace_key, "account-key-replace"),
    mine("account/agents/<slug:handle>/keys/<int:id>/end", keys.end_key, "account-key-end"),
    # A first password by a one-time link
    path("account/start/done", start.done, name="account-done"),
    path("account/start/<str:token>", start.start, name="account-start"),
    # In and out
    anybody("account/sign-in", account.login, "account_login"),
    anybody("account/sign-in/code", second.authenticate, "mfa_authenticate"),
    anybody("account/sign-in/passkey", passkeys.login_webauthn, "mfa_login_webauthn"),
    anybody("account/sign-up", entrance.sign_up, "account_signup"),
    anybody("account/sign-out", account.logout, "account_logout"),
    anybody("account/inactive", account.account_inactive, "account_inactive"),
    anybody("account/password/reset", entrance.reset, "account_reset_password"),
    anybody("account/password/reset/sent", account.password_reset_done, "account_reset_password_done"),
    anybody(
        "account/password/reset/done", account.password_reset_from_key_done, "account_reset_password_from_key_done"
    ),
    anybody(RESET, account.password_reset_from_key, "account_reset_password_from_key"),
    anybody(CONFIRM, account.confirm_email, "account_confirm_email"),
    # The person again, before something that matters
    mine("account/confirm", account.reauthenticate, "account_reauthenticate"),
    mine("account/confirm/code", second.reauthenticate, "mfa_reauthenticate"),
    mine("account/confirm/passkey", passkeys.reauthenticate_webauthn, "mfa_reauthenticate_webauthn"),
    # What guards the account
    mine("account/security", security.security, "mfa_index"),
    mine("account/security/passkeys", security.security, "mfa_list_webauthn"),
    mine("account/security/passkeys/add", security.add_passkey, "mfa_add_webauthn"),
    mine("account/security/passkeys/<int:pk>/rename", passkeys.edit_webauthn, "mfa_edit_webauthn"),
    mine("account/security/passkeys/<int:pk>/remove", passkeys.remove_webauthn, "mfa_remove_webauthn"),
    mine("account/security/app", app.activate_totp, "mfa_activate_totp"),
    mine("account/security/app/remove", app.deactivate_totp, "mfa_deactivate_totp"),
    mine("account/security/recovery", recovery.view_recovery_codes, "mfa_view_recovery_codes"),
    mine("account/security/recovery/new", recovery.generate_recovery_codes, "mfa_generate_recovery_codes"),
    mine("account/security/recovery/download", recovery.download_recovery_codes, "mfa_download_recovery_codes"),
    mine("account/password", account.password_change, "account_change_password"),
    mine("account/password/set", account.password_set, "account_set_password"),
    mine("account/email", entrance.addresses, "account_email"),
    mine("account/email/sent", account.email_verification_sent, "account_email_verification_sent"),
    # Where I am signed in
    mine("account/sessions", sessions.sessions, "account-sessions"),
    mine("account/sessions/others/end", sessions.end_other_sessions, "account-sessions-end-others"),
    mine("account/sessions/<int:id>/end", sessions.end_session, "account-session-end"),
    # What is mine
    mine("account/data", leaving.my_data, "account-data"),
    mine("account/data/export", again(export.export), "account-export"),
    mine("account/delete", again(leaving.delete_account), "account-delete"),
    anybody("account/deleted", leaving.deleted, "account-deleted"),
]
