"""Policies are asked about requests that are only tried, and nothing is written."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs.models import Command, Run
from tests.engine.cluster.test_admission_policies import DEPLOYMENTS, binding, deployment, policy
from tests.engine.cluster.test_custom_kinds import definition, widget
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

GROUP = "/apis/admissionregistration.k8s.io/v1"
PATH = "/apis/apps/v1/namespaces/default/deployments"
TRY = "dryRun=All"
EACH = {**DEPLOYMENTS, "operations": ["*"]}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def under(kube: Kube, *made: dict[str, Any]) -> None:
    """Have the run hold policies and bindings, and what they are given."""
    for one in made:
        plural = {"ConfigMap": "/api/v1/namespaces/default/configmaps"}.get(one["kind"])
        path = plural or f"{GROUP}/{one['kind'].lower().replace('policy', 'policies')}"
        path = f"{GROUP}/{one['kind'].lower()}s" if one["kind"].endswith("Binding") else path
        answer = await kube.ask("POST", path, one)
        assert answer.status == 201, answer.json


async def test_tried_writes_are_denied_as_real_ones(kube: Kube) -> None:
    rule = {
        "expression": "request.operation != 'DELETE' && object.spec.replicas < 3",
        "message": "no",
    }
    await under(kube, policy(rule, rule=EACH), binding())
    few = await kube.ask("POST", f"{PATH}?{TRY}", deployment("few"))
    assert few.status == 201, few.json
    many = await kube.ask("POST", f"{PATH}?{TRY}", deployment("many", 3))
    assert (many.status, many.json["reason"]) == (422, "Invalid")
    named = "ValidatingAdmissionPolicy 'p.example.com' with binding 'b.example.com'"
    assert many.json["message"] == (
        f'deployments.apps "many" is forbidden: {named} denied request: no'
    )
    assert (await kube.ask("POST", PATH, deployment("few"))).status == 201
    change = {"spec": {"replicas": 5}}
    tried = await kube.ask("PATCH", f"{PATH}/few?{TRY}", change, content_type=MERGE)
    real = await kube.ask("PATCH", f"{PATH}/few", change, content_type=MERGE)
    assert (tried.status, tried.json) == (real.status, real.json)
    assert tried.status == 422
    gone = await kube.ask("DELETE", f"{PATH}/few?{TRY}")
    assert gone.status == 422
    assert "denied request: no" in gone.json["message"]
    all_gone = await kube.ask("DELETE", f"{PATH}?{TRY}")
    assert all_gone.status == 422
    assert (await kube.get(f"{PATH}/few")).json["spec"]["replicas"] == 1


async def test_tried_writes_are_changed_and_warned_of(kube: Kube) -> None:
    mutation = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {
            "expression": "Object{metadata: Object.metadata{labels: {'seen': params.data.as}}}"
        },
    }
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    changing = policy(rule=DEPLOYMENTS)
    changing["kind"] = "MutatingAdmissionPolicy"
    del changing["spec"]["validations"]
    changing["spec"] |= {"mutations": [mutation], "paramKind": kind, "reinvocationPolicy": "Never"}
    given = {"name": "given", "namespace": "default", "parameterNotFoundAction": "Deny"}
    bound = binding(paramRef=given)
    bound["kind"] = "MutatingAdmissionPolicyBinding"
    del bound["spec"]["validationActions"]
    config = {**kind, "metadata": {"name": "given"}, "data": {"as": "tried"}}
    warns = {
        "expression": "!has(object.metadata.labels)",
        "messageExpression": "'has labels, ' + (request.dryRun ? 'tried' : 'real')",
    }
    audits = binding(validationActions=["Warn", "Audit"])
    await under(kube, config, changing, bound, policy(warns), audits)
    before = await Command.objects.acount()
    tried = await kube.ask("POST", f"{PATH}?{TRY}", deployment("one"))
    assert (tried.status, tried.json["metadata"]["labels"]) == (201, {"seen": "tried"})
    assert "has labels, tried" in tried.headers["warning"]
    assert "Audit annotation" not in tried.headers["warning"]
    assert await Command.objects.acount() == before
    assert (await kube.get(f"{PATH}/one")).status == 404
    made = await kube.ask("POST", PATH, deployment("one"))
    assert (made.status, made.json["metadata"]["labels"]) == (201, {"seen": "tried"})
    assert "has labels, real" in made.headers["warning"]
    assert "Audit annotation" not in made.headers["warning"]
    kept = await Command.objects.alatest("pk")
    assert "Audit annotation validation.policy.admission.k8s.io/" in kept.reason


async def test_tried_custom_objects_are_shown_to_policies(kube: Kube) -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"]}
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    held = policy("object.spec.size < params.spec.size", rule=rule, paramKind=kind)
    given = {"name": "most", "namespace": "default", "parameterNotFoundAction": "Deny"}
    made = await kube.ask(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()
    )
    assert made.status == 201
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    most = await kube.ask("POST", widgets, widget("most", size=5))
    assert most.status == 201, most.json
    await under(kube, held, binding(paramRef=given))
    assert (await kube.ask("POST", f"{widgets}?{TRY}", widget("four", size=4))).status == 201
    refused = await kube.ask("POST", f"{widgets}?{TRY}", widget("six", size=6))
    assert refused.status == 422
    assert "denied request: failed expression" in refused.json["message"]
