"""The names by which clients manage fields."""

from kube.resources import Resource
from kube.status import invalid

LONGEST = 128


def manager_of(given: str, user_agent: str) -> str:
    """The name that a client gives, or what its User-Agent begins with.

    Upstream: apiserver/pkg/endpoints/handlers, managerOrUserAgent() and prefixFromUserAgent().
    """
    if given:
        return given
    prefix = user_agent.partition("/")[0]
    shown = "".join(one for one in prefix if one.isprintable())[:LONGEST]
    return shown or "unknown"


def check_options(kind: str, given: str, *, is_apply: bool, is_forced: bool) -> None:
    """Raises ApiError when a client may not have that name, or force what it does.

    *kind* is that of the options: CreateOptions, UpdateOptions, PatchOptions.

    Upstream: apimachinery/pkg/apis/meta/v1/validation, ValidatePatchOptions().
    """
    causes: list[tuple[str, str, str]] = []
    if is_apply and not given:
        message = "Required value: is required for apply patch"
        causes.append(("FieldValueRequired", message, "fieldManager"))
    if is_forced and not is_apply:
        message = "Forbidden: may not be specified for non-apply patch"
        causes.append(("FieldValueForbidden", message, "force"))
    if len(given.encode()) > LONGEST:
        message = f"Too long: may not be more than {LONGEST} bytes"
        causes.append(("FieldValueTooLong", message, "fieldManager"))
    for place, one in enumerate(given):
        if not one.isprintable():
            message = (
                f'Invalid value: "{given}": invalid character U+{ord(one):04X} (at position '
                f"{len(given[:place].encode())})"
            )
            causes.append(("FieldValueInvalid", message, "fieldManager"))
    if causes:
        raise invalid(_options(kind), "", causes)


def _options(kind: str) -> Resource:
    return Resource("meta.k8s.io", "v1", kind, "", namespaced=False)
