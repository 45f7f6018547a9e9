"""`kscope rbac`: the rights that kscope needs, as YAML; with --context which of them one has."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from engine.input.formats.collection import Collection, SeenKind
from kscope.program.grammar import Request
from kscope.program.live.files import collection_of
from kscope.program.live.kinds import KINDS, ReadKind, kinds_named
from kscope.program.live.plans import whole_plan
from kscope.program.live.whole import cluster_of, missing_of
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.formats import document, json_lines, written
from kscope.program.speech.paper import Paper
from kscope.program.speech.screen import Screen

NAME: Final = "kscope-reader"
_VERBS: Final = ("get", "list", "watch")
_SUBJECT: Final = re.compile(r"system:serviceaccount:(?P<namespace>[^:]+):(?P<name>[^:]+)")
_PLAIN: Final = re.compile(r"[A-Za-z][\w./-]*")
_API: Final = "rbac.authorization.k8s.io"
_WITHOUT_SECRETS: Final = (
    "# What kscope reads. It never writes. Secrets are left out: the right to list them is the right "
    "to\n# read them. With kscope rbac --secrets, kscope asks for their names only, never for their "
    "data."
)
_WITH_SECRETS: Final = (
    "# What kscope reads. It never writes. It asks for the names of Secrets only, never for their "
    "data,\n# but the right to list them is the right to read them."
)
_WIDTH: Final = 96


def answer_rbac(request: Request, screen: Screen) -> int:
    """Print the rights, or with --context hold them against those that one has."""
    if request.words:
        raise ProgramError(
            f"rbac takes no {request.words[0]}", helps=["kscope rbac --read nodes,pods"]
        )
    kinds = _kinds(request)
    if request["context"]:
        return _held_against(request, screen, kinds)
    found = manifests(kinds, request["user"] or "")
    if request.output in ("", "yaml", "wide"):
        screen.write(rbac_text(found, has_secrets=any(each.kind == "Secret" for each in kinds)))
    elif request.output == "ndjson":
        screen.write(json_lines(found))
    else:
        whole = (
            found[0] if len(found) == 1 else {"apiVersion": "v1", "kind": "List", "items": found}
        )
        screen.write(written(whole, request.output))
    return Status.FINE


def _kinds(request: Request) -> tuple[ReadKind, ...]:
    """Those of --read, else all but Secrets, which --secrets adds."""
    named = kinds_named(request["read"] or "")
    if named:
        return named
    return tuple(each for each in KINDS if each.kind != "Secret" or request["secrets"])


def manifests(kinds: Sequence[ReadKind], user: str) -> list[dict[str, Any]]:
    """The ClusterRole, and with a user the ClusterRoleBinding."""
    role = {
        "apiVersion": f"{_API}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": NAME},
        "rules": list(_rules(kinds)),
    }
    return [role, *([_binding(user)] if user else [])]


def _rules(kinds: Sequence[ReadKind]) -> Iterator[dict[str, Any]]:
    """One for each API group: the resources in it that are read."""
    groups: dict[str, list[str]] = {}
    for each in kinds:
        groups.setdefault(each.group, []).append(each.resource)
    for group, resources in groups.items():
        yield {"apiGroups": [group], "resources": resources, "verbs": list(_VERBS)}


def _binding(user: str) -> dict[str, Any]:
    """For a user, or for a service account: system:serviceaccount:NAMESPACE:NAME."""
    match = _SUBJECT.fullmatch(user)
    subject = {"kind": "User", "name": user, "apiGroup": _API}
    if match:
        subject = {
            "kind": "ServiceAccount",
            "name": match["name"],
            "namespace": match["namespace"],
        }
    return {
        "apiVersion": f"{_API}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": NAME},
        "roleRef": {"apiGroup": _API, "kind": "ClusterRole", "name": NAME},
        "subjects": [subject],
    }


def rbac_text(found: Sequence[dict[str, Any]], *, has_secrets: bool) -> str:
    """The manifests as people write them: lists of words in a line, and a remark before them."""
    lines = [_WITH_SECRETS if has_secrets else _WITHOUT_SECRETS]
    for place, each in enumerate(found):
        lines += ["---"] * bool(place)
        lines += _lines(each)
    return "\n".join(lines) + "\n"


def _lines(part: dict[str, Any], margin: str = "") -> Iterator[str]:
    """A mapping in block style; lists of mappings likewise, lists of words in brackets."""
    for name, value in part.items():
        if isinstance(value, dict):
            yield f"{margin}{name}:"
            yield from _lines(value, f"{margin}  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield f"{margin}{name}:"
            for each in value:
                first, *others = _lines(each)
                yield f"{margin}- {first}"
                yield from (f"{margin}  {line}" for line in others)
        elif isinstance(value, list):
            yield from _words(f"{margin}{name}: ", value)
        else:
            yield f"{margin}{name}: {_scalar(value)}"


def _words(first: str, words: Sequence[str]) -> list[str]:
    text = f"[{', '.join(_scalar(each) for each in words)}]"
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent="  ")


def _scalar(text: str) -> str:
    """A text that YAML reads as one."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


# -- what one may read --------------------------------------------------------------------------------


def _held_against(request: Request, screen: Screen, kinds: Sequence[ReadKind]) -> int:
    """Ask for one object of each kind, which shows whether it may be listed; nothing is posted."""
    cluster = cluster_of(request)
    plan = whole_plan(kinds)

    def tell(number: int, of: int, _: int) -> None:
        screen.progress(f"asking {cluster.connection.context.name}  {number} of {of} kinds")

    picture = cluster.picture(plan, tell, is_probe=True)
    collection = collection_of(cluster, picture)
    served = [each for each in collection.kinds if each.sight != "absent"]
    if request.output in ("", "wide"):
        paper = screen.paper()
        _write(paper, collection, served, is_wide=request.output == "wide")
        screen.show(paper)
    else:
        items = [_right(collection, each) for each in served]
        _print(request, screen, collection, items)
    return Status.UNSEEN if missing_of(collection) or collection.narrowed else Status.FINE


def _print(
    request: Request, screen: Screen, collection: Collection, items: list[dict[str, Any]]
) -> None:
    if request.output == "ndjson":
        screen.write(json_lines(document("Right", **each) for each in items))
        return
    head = {"context": collection.context, "user": collection.user or None}
    screen.write(written(document("Rights", **head, rights=items), request.output))


def _right(collection: Collection, seen: SeenKind) -> dict[str, Any]:
    return {
        "resource": seen.resource,
        "may_list": seen.sight != "none",
        "in_namespace": collection.namespace if seen.sight == "namespace" else None,
        "without_it": None if seen.sight == "all" else f"not known: {seen.tells}",
    }


def _write(
    paper: Paper, collection: Collection, served: Sequence[SeenKind], *, is_wide: bool
) -> None:
    may = sum(each.sight != "none" for each in served)
    style = "bold green" if may == len(served) else "bold yellow"
    paper.paragraph(
        f"You may list {may} of {len(served)} kinds that kscope needs in context "
        f"{collection.context}, namespace {collection.namespace}.",
        style=style,
    )
    paper.line()
    paper.table([["KIND", "YOU MAY", "WITHOUT IT"], *_rows(served, is_wide=is_wide)])
    missing = missing_of(collection)
    if missing:
        paper.line()
        user = f" --user {collection.user}" if collection.user else ""
        paper.line(
            f"{'next':<11}kscope rbac --read {','.join(each.resource for each in missing)}{user}"
        )


_MAY: Final = {"all": "yes", "namespace": "in the namespace", "none": "no"}


def _rows(served: Iterable[SeenKind], *, is_wide: bool) -> Iterator[list[str]]:
    """Those that may be read first; where it is not *is_wide*, together what has the same answer."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in sorted(served, key=lambda one: list(_MAY).index(one.sight)):
        without = "" if each.sight == "all" else f"not known: {each.tells}"
        alone = each.resource if is_wide else ""
        groups.setdefault((alone, _MAY[each.sight], without), []).append(each.resource)
    for (_, may, without), resources in groups.items():
        yield [", ".join(resources), may, without]
