"""Kinds of which a run only keeps the data are served like any other."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs.models import Run
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

IN = "/apis/{}/namespaces/default/{}"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
RBAC = "rbac.authorization.k8s.io/v1"
FLOW = "flowcontrol.apiserver.k8s.io/v1"
REFERENCE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
SUBJECT = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "me"}
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
CONTAINERS = {"spec": {"containers": [{"name": "c", "image": "a:1"}]}}
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MATCH = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["deployments"],
}
HOOK = {
    "name": "hook.example.com",
    "admissionReviewVersions": ["v1"],
    "clientConfig": {"service": {"namespace": "default", "name": "hook"}},
    "sideEffects": "None",
    "rules": [MATCH],
}
PATCH = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
POLICY = {
    "matchConstraints": {"resourceRules": [MATCH]},
    "validations": [{"expression": "object.spec.replicas > 1", "message": "too few"}],
}
BINDING = {"policyName": "mine", "validationActions": ["Deny"]}
KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "Endpoints": (
        "/api/v1/namespaces/default/endpoints",
        {"subsets": [{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]},
        "10.0.0.1:80",
    ),
    "PodTemplate": ("/api/v1/namespaces/default/podtemplates", {"template": CONTAINERS}, "a:1"),
    "EndpointSlice": (
        IN.format("discovery.k8s.io/v1", "endpointslices"),
        {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.2"]}], "ports": [{"port": 8}]},
        "10.0.0.2",
    ),
    "Ingress": (
        IN.format("networking.k8s.io/v1", "ingresses"),
        {"spec": {"ingressClassName": "nginx", "rules": [{"host": "a.example"}]}},
        "a.example",
    ),
    "IngressClass": (
        "/apis/networking.k8s.io/v1/ingressclasses",
        {"spec": {"controller": "example.com/c"}},
        "example.com/c",
    ),
    "NetworkPolicy": (
        IN.format("networking.k8s.io/v1", "networkpolicies"),
        {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}},
        "a=b",
    ),
    "Role": (IN.format(RBAC, "roles"), {"rules": [RULE]}, "mine"),
    "RoleBinding": (
        IN.format(RBAC, "rolebindings"),
        {"roleRef": REFERENCE, "subjects": [SUBJECT]},
        "Role/r",
    ),
    "ClusterRole": (f"/apis/{RBAC}/clusterroles", {"rules": [RULE]}, "mine"),
    "ClusterRoleBinding": (
        f"/apis/{RBAC}/clusterrolebindings",
        {"roleRef": {**REFERENCE, "kind": "ClusterRole"}},
        "ClusterRole/r",
    ),
    "PriorityLevelConfiguration": (
        f"/apis/{FLOW}/prioritylevelconfigurations",
        {"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 4}}},
        "Limited",
    ),
    "FlowSchema": (
        f"/apis/{FLOW}/flowschemas",
        {"spec": {"priorityLevelConfiguration": {"name": "global"}, "matchingPrecedence": 9}},
        "global",
    ),
    "CertificateSigningRequest": (
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        {"spec": {"signerName": "a.example/b", "request": "YQ==", "usages": ["client auth"]}},
        "Pending",
    ),
    "APIService": (
        "/apis/apiregistration.k8s.io/v1/apiservices",
        {
            "spec": {
                "group": "a.example",
                "version": "v1",
                "service": {"namespace": "n", "name": "s"},
            }
        },
        "n/s",
    ),
    "MutatingWebhookConfiguration": (
        f"{ADMISSION}/mutatingwebhookconfigurations",
        {"webhooks": [HOOK]},
        "1",
    ),
    "ValidatingWebhookConfiguration": (
        f"{ADMISSION}/validatingwebhookconfigurations",
        {"webhooks": [HOOK]},
        "1",
    ),
    "MutatingAdmissionPolicy": (
        f"{ADMISSION}/mutatingadmissionpolicies",
        {
            "spec": {
                "matchConstraints": {"resourceRules": [MATCH]},
                "mutations": [PATCH],
                "reinvocationPolicy": "Never",
            }
        },
        "<unset>",
    ),
    "MutatingAdmissionPolicyBinding": (
        f"{ADMISSION}/mutatingadmissionpolicybindings",
        {"spec": {"policyName": "mine"}},
        "mine",
    ),
    "ValidatingAdmissionPolicy": (
        f"{ADMISSION}/validatingadmissionpolicies",
        {"spec": POLICY},
        "<unset>",
    ),
    "ValidatingAdmissionPolicyBinding": (
        f"{ADMISSION}/validatingadmissionpolicybindings",
        {"spec": BINDING},
        "mine",
    ),
}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def test_each_is_made_listed_changed_and_deleted(kube: Kube) -> None:
    for kind, (path, parts, cell) in KINDS.items():
        made = await kube.ask("POST", path, {"metadata": {"name": "mine"}, **parts})
        assert made.status == 201, (kind, made.json)
        found = (await kube.get(f"{path}/mine")).json
        assert (found["kind"], found["metadata"]["uid"]) == (kind, made.json["metadata"]["uid"])
        assert "mine" in (await kube.get(path)).names
        table = (await kube.get(path, accept=TABLE)).json
        assert cell in str([row["cells"] for row in table["rows"]]), kind
        labels = {"metadata": {"labels": {"a": "b"}}}
        patched = await kube.ask("PATCH", f"{path}/mine", labels, content_type=MERGE)
        assert patched.json["metadata"]["labels"] == {"a": "b"}
        assert (await kube.ask("DELETE", f"{path}/mine")).status == 200
        assert (await kube.get(f"{path}/mine")).status == 404


async def test_a_signing_request_is_approved_at_its_address(kube: Kube) -> None:
    path, parts, _ = KINDS["CertificateSigningRequest"]
    await kube.ask("POST", path, {"metadata": {"name": "mine"}, **parts})
    conditions = [{"type": "Approved", "status": "True", "reason": "E2E", "message": "yes"}]
    patch = {"status": {"conditions": conditions}}
    approved = await kube.ask("PATCH", f"{path}/mine/approval", patch, content_type=MERGE)
    assert (approved.status, approved.json["status"]["conditions"][0]["type"]) == (200, "Approved")


async def test_defaults_are_filled_in(kube: Kube) -> None:
    path, parts, _ = KINDS["NetworkPolicy"]
    made = await kube.ask("POST", path, {"metadata": {"name": "mine"}, **parts})
    assert made.json["spec"]["policyTypes"] == ["Ingress"]
    path, parts, _ = KINDS["PodTemplate"]
    made = await kube.ask("POST", path, {"metadata": {"name": "mine"}, **parts})
    assert made.json["template"]["spec"]["restartPolicy"] == "Always"


async def test_webhooks_are_kept_with_a_warning_and_defaults(kube: Kube) -> None:
    path, parts, _ = KINDS["MutatingWebhookConfiguration"]
    made = await kube.ask("POST", path, {"metadata": {"name": "mine"}, **parts})
    assert "kscope calls no webhook" in made.headers["warning"]
    hook = made.json["webhooks"][0]
    assert (hook["failurePolicy"], hook["timeoutSeconds"], hook["rules"][0]["scope"]) == (
        "Fail",
        10,
        "*",
    )
    assert hook["clientConfig"]["service"]["port"] == 443


@pytest.mark.parametrize("kind", ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])
async def test_webhooks_with_faulty_conditions_are_refused(kube: Kube, kind: str) -> None:
    """Upstream: test/e2e/apimachinery/webhook.go, "should reject … with invalid match conditions"."""
    hook = {**HOOK, "matchConditions": [{"name": "c", "expression": "... [] bad expression"}]}
    body = {"metadata": {"name": "mine"}, "webhooks": [hook]}
    answer = await kube.ask("POST", KINDS[kind][0], body)
    assert (answer.status, answer.json["reason"]) == (422, "Invalid")
    assert "compilation failed" in answer.json["message"]


async def test_client_is_told_what_a_policy_denies(kube: Kube) -> None:
    """Upstream: test/e2e/apimachinery/validatingadmissionpolicy.go, apierrors.IsInvalid()."""
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        path, parts, _ = KINDS[kind]
        made = await kube.ask("POST", path, {"metadata": {"name": "mine"}, **parts})
        assert (made.status, "warning" in made.headers) == (201, False), made.json
    body = {
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, **CONTAINERS},
        },
    }
    answer = await kube.ask("POST", IN.format("apps/v1", "deployments"), body)
    why = "ValidatingAdmissionPolicy 'mine' with binding 'mine' denied request: too few"
    assert (answer.status, answer.json["reason"]) == (422, "Invalid")
    assert answer.json["message"] == f'deployments.apps "d" is forbidden: {why}'
    assert answer.json["details"]["causes"] == [{"message": why}]
    body["spec"]["replicas"] = 2
    assert (await kube.ask("POST", IN.format("apps/v1", "deployments"), body)).status == 201


async def test_client_is_warned_by_a_policy(kube: Kube) -> None:
    """Upstream: apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, AddWarning()."""
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        path, parts, _ = KINDS[kind]
        spec = {**parts["spec"]}
        if "validationActions" in spec:
            spec["validationActions"] = ["Warn"]
        made = await kube.ask("POST", path, {"metadata": {"name": "mine"}, "spec": spec})
        assert (made.status, "warning" in made.headers) == (201, False), made.json
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}}
    template = {"metadata": {"labels": {"a": "b"}}, **CONTAINERS}
    body = {"metadata": {"name": "d"}, "spec": {**spec, "template": template}}
    answer = await kube.ask("POST", IN.format("apps/v1", "deployments"), body)
    named = "ValidatingAdmissionPolicy 'mine' with binding 'mine'"
    warned = f'299 - "Validation failed for {named}: too few"'
    assert (answer.status, answer.headers["warning"]) == (201, warned)
