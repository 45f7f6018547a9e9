"""Who may send a large body: asked before it is received.

A request that is refused here would be refused with its body as well: each view asks again, with the whole
request at hand. Only what needs no body is looked at: the address, the method, where the request
comes from, the account, the run, the rate and the quota.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.urls import resolve
from django.utils.translation import gettext

from kscope.accounts import limits
from kscope.accounts.access import Visitor
from kscope.accounts.authentication import is_own_origin
from kscope.accounts.limits import upload_limit
from kscope.accounts.sockets import credential_of
from kscope.runs.capacity.askers import address_of, remember
from kscope.runs.capacity.quotas import quotas_foresee
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from kscope.runs.web.contract.problems import is_nothing

_RUN = re.compile(r"/runs/(\d{1,18})/")
Scope = Mapping[str, Any]


def refuse_sender(scope: Scope, *, upload_bytes: int | None = None) -> int:
    """How many bytes the files of an upload may have. Raises ApplicationError if no body is to come.

    *upload_bytes* is the length that was announced of an upload. The words are the second half of a
    sentence; the status is that of the answer.
    """
    _check_address(scope)
    _check_origin(scope)
    visitor = _visitor(scope)
    if not visitor.has_write_scope:
        raise ApplicationError(gettext("this token may only read"), status=403)
    if not visitor.may_create:
        raise ApplicationError(gettext("your account may only read"), status=403)
    wait = limits.foresee("write", limits.visitor_key(visitor, address_of(scope)))
    if wait:
        words = gettext("too many requests; try again in {seconds} s").format(seconds=wait)
        raise ApplicationError(words, status=429, retry_after=wait)
    run = _RUN.search(scope["path"])
    if run and not Run.objects.filter(visitor.readable(), pk=int(run[1])).exists():
        raise ApplicationError(
            gettext("there is no run {number}").format(number=run[1]), status=404
        )
    if upload_bytes is not None:
        quotas_foresee(visitor.account_id, uploads=1, upload_bytes=upload_bytes)
    return upload_limit(visitor)


def _check_address(scope: Scope) -> None:
    if is_nothing(scope["path"]):
        raise ApplicationError(gettext("there is nothing at this address"), status=404)
    view = resolve(scope["path"]).func
    view_class = getattr(view, "cls", None)
    if view_class is not None and not hasattr(view_class, scope["method"].lower()):
        words = gettext("{method} is not allowed at this address").format(method=scope["method"])
        raise ApplicationError(words, status=405)


def _check_origin(scope: Scope) -> None:
    """Browsers name the origin of a page that sends something; other programs name none."""
    headers = dict(scope["headers"])
    origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    if origin and not is_own_origin(origin, host):
        raise ApplicationError(gettext("the request came from a page of another site"), status=403)


def _visitor(scope: Scope) -> Visitor:
    visitor = credential_of(scope).visitor()
    if visitor is None:
        wait = limits.take("login", f"token {address_of(scope)}")
        if wait:
            words = gettext("too many wrong tokens; try again in {seconds} s").format(seconds=wait)
            raise ApplicationError(words, status=429, retry_after=wait)
        raise ApplicationError(gettext("the token is not valid"), status=401)
    if visitor.role is None:
        raise ApplicationError(
            gettext("log in, or send a token: Authorization: Token …"), status=401
        )
    remember(scope, visitor.account_id)
    return visitor
