"""Logging in with an account of an OpenID Connect provider: off unless KSCOPE_OIDC_ISSUER is set.

    /login/oidc/ ─▶ provider ─▶ /login/oidc/back/ ─ code, verifier ─▶ ID token ─▶ identity ─▶ account

`options` reads the settings, `provider` talks to the provider through Authlib, `identities` finds or
makes the account. docs/adr/0033 says why it is as it is.
"""
