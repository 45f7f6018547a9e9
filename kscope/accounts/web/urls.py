"""Addresses of the pages of accounts."""

from django.urls import path

from kscope.accounts.web import oidc, views
from kscope.accounts.web.language import language_choose

urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("login/oidc/", oidc.oidc_begin, name="oidc-begin"),
    path("login/oidc/back/", oidc.oidc_back, name="oidc-back"),
    path("logout/", views.Logout.as_view(), name="logout"),
    path("language/", language_choose, name="language"),
    path("account/", views.account, name="account"),
    path("account/password/", views.Password.as_view(), name="password"),
    path("account/tokens/revoke/", views.token_revoke, name="token-revoke"),
]
