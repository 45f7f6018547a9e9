"""What clients may not do: refused with the code, the reason and the causes of an API server."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs.models import Run
from tests.kube.server.client import MERGE, STRATEGIC, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
EVICTION = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "web"}}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "app:1"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def _deployment(**labels: str) -> dict[str, Any]:
    template = {"metadata": {"labels": labels}, "spec": _pod("")["spec"]}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": "inv"}, "spec": spec}


async def _budget(kube: Kube, name: str) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    address = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    made = await kube.ask("POST", address, {"metadata": {"name": name}, "spec": spec})
    assert made.status == 201
    labels = {"metadata": {"labels": {"app": "web"}}}
    await kube.ask("PATCH", f"{PODS}/web", labels, content_type=MERGE)


async def test_an_invalid_object_is_refused_with_its_causes(kube: Kube) -> None:
    answer = await kube.ask("POST", DEPLOYMENTS, _deployment(a="c"))
    why = 'Invalid value: {"a":"c"}: `selector` does not match template `labels`'
    field = "spec.template.metadata.labels"
    assert answer.status == 422
    assert answer.json["reason"] == "Invalid"
    assert answer.json["message"] == f'Deployment.apps "inv" is invalid: {field}: {why}'
    assert answer.json["details"] == {
        "name": "inv",
        "group": "apps",
        "kind": "Deployment",
        "causes": [{"reason": "FieldValueInvalid", "message": why, "field": field}],
    }


async def test_an_immutable_field_is_refused(kube: Kube) -> None:
    assert (await kube.ask("POST", DEPLOYMENTS, _deployment(a="b"))).status == 201
    template = {"metadata": {"labels": {"a": "c"}}}
    changed = {"spec": {"selector": {"matchLabels": {"a": "c"}}, "template": template}}
    answer = await kube.ask("PATCH", f"{DEPLOYMENTS}/inv", changed, content_type=MERGE)
    assert answer.status == 422
    assert answer.json["details"]["causes"][0]["field"] == "spec.selector"
    assert answer.json["message"].endswith('{"matchLabels":{"a":"c"}}: field is immutable')


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
async def test_patch_does_not_change_requests_of_a_pod(kube: Kube, query: str) -> None:
    [container] = (await kube.get(f"{PODS}/web")).json["spec"]["containers"]
    asks = {"name": container["name"], "resources": {"requests": {"cpu": "7m"}}}
    answer = await kube.ask(
        "PATCH", f"{PODS}/web{query}", {"spec": {"containers": [asks]}}, content_type=STRATEGIC
    )
    assert answer.status == 422
    [cause] = answer.json["details"]["causes"]
    assert (cause["reason"], cause["field"]) == ("FieldValueForbidden", "spec")
    assert cause["message"].startswith("Forbidden: pod updates may not change fields other than ")
    assert '"cpu": "7m"' in cause["message"]
    assert [container] == (await kube.get(f"{PODS}/web")).json["spec"]["containers"]


async def test_the_image_of_a_pod_may_change(kube: Kube) -> None:
    [container] = (await kube.get(f"{PODS}/web")).json["spec"]["containers"]
    change = {"spec": {"containers": [{"name": container["name"], "image": "app:2"}]}}
    answer = await kube.ask("PATCH", f"{PODS}/web", change, content_type=STRATEGIC)
    assert answer.json["spec"]["containers"][0]["image"] == "app:2"


async def test_pod_is_replaced_by_its_own_file(kube: Kube) -> None:
    pod = _pod("big", nodeSelector={"no": "where"})
    pod["spec"]["containers"][0] |= {"command": ["run"], "env": [{"name": "A", "value": "b"}]}
    assert (await kube.ask("POST", PODS, pod)).status == 201
    pod["metadata"]["labels"] = {"a": "b"}
    answer = await kube.ask("PUT", f"{PODS}/big", pod)
    assert answer.status == 200
    assert answer.json["metadata"]["labels"] == {"a": "b"}


async def test_job_may_be_written_again_with_dropped_fields(kube: Kube) -> None:
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    pod = {"spec": _pod("", restartPolicy="Never")["spec"]}
    pod["spec"]["containers"][0]["command"] = ["run"]
    assert (
        await kube.ask("POST", jobs, {"metadata": {"name": "j"}, "spec": {"template": pod}})
    ).status == 201
    change = {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {"spec": pod["spec"]}}}
    again = await kube.ask("PATCH", f"{jobs}/j", change, content_type=STRATEGIC)
    assert (again.status, again.json["metadata"]["labels"]) == (200, {"a": "b"})
    pod["spec"]["containers"][0]["command"] = ["walk"]
    other = await kube.ask("PATCH", f"{jobs}/j", change, content_type=STRATEGIC)
    assert other.status == 422
    assert other.json["details"]["causes"][0]["field"] == "spec.template"


@pytest.mark.parametrize(
    ("field", "why"),
    [
        ("priorityClassName", "no PriorityClass with name nope was found"),
        ("runtimeClassName", 'pod rejected: RuntimeClass "nope" not found'),
    ],
)
async def test_an_unknown_class_is_forbidden(kube: Kube, field: str, why: str) -> None:
    answer = await kube.ask("POST", PODS, _pod("a", **{field: "nope"}))
    assert answer.status == 403
    assert answer.json["message"] == f'pods "a" is forbidden: {why}'


async def test_a_refused_eviction_names_its_budget(kube: Kube) -> None:
    await _budget(kube, "web")
    await kube.ask("PATCH", f"{PODS}/web", {"metadata": {"labels": {"x": "y"}}}, content_type=MERGE)
    answer = await kube.ask("POST", f"{PODS}/web/eviction", EVICTION)
    assert answer.status == 429
    told = "Cannot evict pod as it would violate the pod's disruption budget."
    assert answer.json["message"] == told
    [cause] = answer.json["details"]["causes"]
    assert cause["reason"] == "DisruptionBudget"
    assert cause["message"].startswith("The disruption budget web ")


async def test_a_pod_of_two_budgets_cannot_be_evicted(kube: Kube) -> None:
    await _budget(kube, "one")
    await _budget(kube, "two")
    answer = await kube.ask("POST", f"{PODS}/web/eviction", EVICTION)
    assert answer.status == 500
    assert answer.json["message"].startswith("This pod has more than one PodDisruptionBudget")
