"""Addresses of the pages of accounts."""

from django.urls import path

from kscope.accounts.web import views

urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("logout/", views.Logout.as_view(), name="logout"),
    path("account/", views.account, name="account"),
    path("account/password/", views.Password.as_view(), name="password"),
    path("account/tokens/revoke/", views.token_revoke, name="token-revoke"),
]
