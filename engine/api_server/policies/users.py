"""Who writes, as policies see it: the user of a component, and those whose writes are judged elsewhere.

Upstream: cmd/kube-controller-manager/app, each controller with a ServiceAccount of its own
(--use-service-account-credentials); plugin/pkg/auth/authorizer/rbac/bootstrappolicy.
"""

from collections.abc import Mapping
from typing import Any, Final

# What carries commands out asks policies itself, and knows more of the request. Faults stand for what
# no API server hears of, and what the API server writes itself passes no admission.
JUDGED_ELSEWHERE: Final = frozenset(("command", "scenario", "fault", "apiserver"))
_AUTHENTICATED: Final = "system:authenticated"
# As kscope's clients have no names in a run.
CLIENT: Final[Mapping[str, Any]] = {"username": "kscope", "groups": [_AUTHENTICATED]}
_IN: Final = "kube-system"
# Components that are called otherwise here than their accounts are.
_ACCOUNTS: Final[Mapping[str, str]] = {
    "attach-detach": "attachdetach-controller",
    "garbage-collector": "generic-garbage-collector",
    "pv-controller": "persistent-volume-binder",
    "pv-protection": "pv-protection-controller",
    "pvc-protection": "pvc-protection-controller",
    "taint-controller": "node-controller",
}
_BUILT_IN: Final[Mapping[str, str]] = {
    "scheduler": "system:kube-scheduler",
    "customresourcedefinition-finalizer": "system:apiserver",
}


def user_of(by: str, node: str = "") -> Mapping[str, Any]:
    """The variable `request.userInfo` for a write of component *by*; *node* is that of a kubelet."""
    if not by or by in JUDGED_ELSEWHERE:
        return CLIENT
    if by == "kubelet":
        return {"username": f"system:node:{node}", "groups": ["system:nodes", _AUTHENTICATED]}
    if by in _BUILT_IN:
        return {"username": _BUILT_IN[by], "groups": [_AUTHENTICATED]}
    account = _ACCOUNTS.get(by, by)
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{_IN}", _AUTHENTICATED]
    return {"username": f"system:serviceaccount:{_IN}:{account}", "groups": groups}
