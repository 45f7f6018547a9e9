"""Controllers that a scenario leaves to a client of the Kubernetes API."""

from collections.abc import Iterable
from typing import Any, Final, cast

from engine.api_server.validation.report import Report
from engine.kernel.sentences import enumerated, say
from engine.objects.documents import Path
from engine.objects.values.shown import shown

EXTERNAL_CONTROLLERS: Final = (
    "cronjob",
    "daemonset",
    "deployment",
    "ephemeral-volume",
    "job",
    "namespace",
    "replicaset",
    "replicationcontroller",
    "resourceclaim",
    "resourcequota",
    "statefulset",
    "ttl-after-finished",
)
"""What a client can run in the place of a run, by the names that kube-controller-manager has for
`--controllers`, without "-controller" at their ends.

Upstream: cmd/kube-controller-manager/names/controller_names.go.
"""
_ENDING: Final = "-controller"


def left_together(*parts: Iterable[str]) -> list[str]:
    """The controllers of all *parts*, each once, in the order of EXTERNAL_CONTROLLERS."""
    left = {name for part in parts for name in part}
    return [name for name in EXTERNAL_CONTROLLERS if name in left]


def parse_external(value: Any, path: Path, report: Report) -> list[str]:
    """The controllers of the list *value*, each once, in the order of EXTERNAL_CONTROLLERS."""
    if value is None:
        return []
    if not isinstance(value, list):
        report.add(path, value, say("expected a list, found {found}", found=shown(value)))
        return []
    found: set[str] = set()
    for place, each in enumerate(cast("list[Any]", value)):
        name = each.removesuffix(_ENDING) if isinstance(each, str) else ""
        if name in EXTERNAL_CONTROLLERS:
            found.add(name)
            continue
        problem = say(
            "{found} is no controller that can be left to a client; these are {list}",
            found=shown(each),
            list=enumerated(EXTERNAL_CONTROLLERS),
        )
        report.add((*path, place), each, problem)
    return left_together(found)
