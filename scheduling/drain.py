"""A preview of what draining a node would do now, for the user who asks to confirm it."""

from typing import Any, cast

from django.utils.translation import gettext

from engine.api_server.admission.eviction import is_counted, is_exempt, selects
from engine.objects.objects import ApiObject, from_manifest
from engine.objects.objects import Pod as ApiPod
from kscope.runs.errors import ApplicationError
from kscope.runs.models import OtherObject, Run
from kscope.runs.services import rows_wait
from scheduling.models import Node, Pod


def drain_preview(run: Run, node: str) -> dict[str, Any]:
    """How many pods a drain of *node* evicts, how many stay, and which disruption budgets hold some.

    Raises ApplicationError when the run has no such node now; see also `rows_wait`.
    """
    rows_wait(run.pk)
    if not Node.objects.filter(run_id=run.pk, key=node).exists():
        raise ApplicationError(
            gettext("node/{node} does not exist now").format(node=node), status=404
        )
    rows = Pod.objects.filter(run_id=run.pk, node_name=node)
    pods = [cast("ApiPod", from_manifest(row.manifest)) for row in rows.order_by("key")]
    evicted = [pod for pod in pods if not _is_of_daemon_set(pod)]
    return {
        "evicted": len(evicted),
        "daemon": len(pods) - len(evicted),
        "budgets": [shown for budget in _budgets(run) if (shown := _held(budget, evicted))],
    }


def _is_of_daemon_set(pod: ApiPod) -> bool:
    return any(owner.get("kind") == "DaemonSet" for owner in pod.owner_references)


def _budgets(run: Run) -> list[ApiObject]:
    rows = OtherObject.objects.filter(run_id=run.pk, kind="PodDisruptionBudget")
    return [from_manifest(row.manifest) for row in rows.order_by("key")]


def _held(budget: ApiObject, evicted: list[ApiPod]) -> dict[str, Any] | None:
    """How many of the evicted pods the budget covers, and allows now; None if it covers none."""
    covered = [pod for pod in evicted if not is_exempt(pod) and selects(budget, pod)]
    if not covered:
        return None
    allowed = budget.status.get("disruptionsAllowed") or 0 if is_counted(budget) else 0
    return {"name": budget.key, "pods": len(covered), "allowed": allowed}
