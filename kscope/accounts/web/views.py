"""Pages of accounts: log in and out, password, quotas, tokens."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from kscope.accounts import limits, services
from kscope.accounts.access import role_of
from kscope.accounts.models import Account, Token
from kscope.accounts.usage import usage_of
from kscope.accounts.web.forms import TokenForm
from kscope.accounts.web.language import with_language_of
from kscope.accounts.web.pages import too_many


class Login(auth.LoginView):
    """Log in. Attempts are limited per address, and per name at an address."""

    template_name = "accounts/login.html"
    http_method_names = ("get", "head", "post", "options")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Check name and password, unless there were too many attempts."""
        wait = _login_wait(request)
        if not wait:
            return super().post(request, *args, **kwargs)
        context = self.get_context_data(form=self.get_form_class()(), wait=wait)
        answer = self.render_to_response(context, status=429)
        answer["Retry-After"] = str(wait)
        return answer

    def form_valid(self, form: Any) -> HttpResponse:
        """Log in, in the language of the account."""
        return with_language_of(form.get_user(), super().form_valid(form))


def _login_wait(request: HttpRequest) -> int:
    address = limits.address_of(request)
    name = request.POST.get("username", "").casefold()
    of_name = limits.take("login", f"name {name} at {address}")
    return max(of_name, limits.take("login_address", address))


class Logout(auth.LogoutView):
    """Log out; sockets of the session are closed within seconds."""

    next_page = "/"


class Password(auth.PasswordChangeView):
    """Change one's password; other sessions and the tokens of the account end."""

    template_name = "accounts/password.html"
    http_method_names = ("get", "head", "post", "options")
    success_url = reverse_lazy("account")

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Change it, unless the old one was tried too often."""
        wait = limits.take("login", f"password of account {request.user.pk}")
        if wait:
            return too_many(request, wait)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Say that it was changed."""
        messages.success(
            self.request,
            gettext(
                "Your password was changed. Your other sessions have ended, your tokens are revoked."
            ),
        )
        return super().form_valid(form)


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """The page of role, quotas and tokens; a POST makes a token and shows its text only once."""
    user = cast("User", request.user)
    form = TokenForm(user, request.POST if request.method == "POST" else None)
    text = ""
    if request.method == "POST" and form.is_valid():
        _, text = services.token_create(user=user, **form.cleaned_data)
        form = TokenForm(user)
    context = {
        "role": role_of(user),
        "usage": usage_of(Account.objects.get_or_create(user=user)[0]),
        "tokens": Token.objects.filter(user=user),
        "form": form,
        "new_token": text,
    }
    return render(request, "accounts/account.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def token_revoke(request: HttpRequest) -> HttpResponse:
    """Revoke one of the user's own tokens; it is refused from now on."""
    name = request.POST.get("name", "").replace("\0", "")
    if Token.objects.filter(user=request.user, name=name).delete()[0]:
        messages.success(request, gettext("Token {name} was revoked.").format(name=name))
    else:
        messages.error(request, gettext("You have no token {name}.").format(name=name))
    return redirect("account")
