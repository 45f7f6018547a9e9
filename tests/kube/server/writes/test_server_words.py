"""Refusals name every fault in upstream's words, and what upstream refuses is refused."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs.models import Run
from tests.kube.server.client import Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
NO_SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters"
NO_KEY = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def test_each_fault_is_a_cause(kube: Kube) -> None:
    container = {"name": "c", "image": "a:1", "ports": [{"containerPort": 80, "protocol": "X"}]}
    spec = {"containers": [container], "activeDeadlineSeconds": 0, "restartPolicy": "Maybe"}
    refused = await kube.ask("POST", PODS, {"metadata": {"name": "Bad_Name"}, "spec": spec})
    assert (refused.status, refused.json["reason"]) == (422, "Invalid")
    causes = {one["field"]: one for one in refused.json["details"]["causes"]}
    assert causes["metadata.name"]["message"].startswith(
        f'Invalid value: "Bad_Name": {NO_SUBDOMAIN}'
    )
    assert causes["spec.activeDeadlineSeconds"]["reason"] == "FieldValueInvalid"
    restart = causes["spec.restartPolicy"]
    assert restart["reason"] == "FieldValueNotSupported"
    assert restart["message"].startswith('Unsupported value: "Maybe": supported values: "Always"')
    text = refused.json["message"]
    assert text.startswith('Pod "Bad_Name" is invalid: [metadata.name: Invalid value: "Bad_Name": ')


async def test_a_number_is_refused_with_its_bounds(kube: Kube) -> None:
    container = {"name": "c", "image": "a:1"}
    spec = {"containers": [container], "activeDeadlineSeconds": 0}
    refused = await kube.ask("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    assert "Invalid value: 0: must be greater than or equal to 1" in refused.json["message"]


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        (MAPS, {"metadata": {"name": "D1_bad"}}, NO_SUBDOMAIN),
        (MAPS, {"metadata": {"name": "a"}, "data": {"": "b"}}, NO_KEY),
        (MAPS, {"metadata": {"name": "a"}, "data": {"..b": "c"}}, "must not start with '..'"),
        (SECRETS, {"metadata": {"name": "a"}, "stringData": {"": "b"}}, NO_KEY),
        (SECRETS, {"metadata": {"name": "a"}, "data": {"": "Yg=="}}, NO_KEY),
    ],
)
async def test_names_and_keys_that_none_can_have(
    kube: Kube, path: str, body: dict[str, Any], said: str
) -> None:
    refused = await kube.ask("POST", path, body)
    assert (refused.status, said in refused.json["message"]) == (422, True)


async def test_a_field_that_comes_twice_in_json(kube: Kube) -> None:
    twice = b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
    strict = await kube.ask("POST", f"{MAPS}?fieldValidation=Strict", twice)
    assert (
        strict.status,
        'strict decoding error: duplicate field "data.k"' in str(strict.json),
    ) == (
        400,
        True,
    )
    warned = await kube.ask("POST", MAPS, twice)
    assert (warned.status, warned.json["data"]) == (201, {"k": "2"})
    assert 'duplicate field \\"data.k\\"' in warned.headers["warning"]


async def test_a_timeout_has_to_be_a_duration(kube: Kube) -> None:
    refused = await kube.get(f"{PODS}?timeout=invalid")
    assert (
        refused.status,
        "invalid timeout specified in the request URL" in str(refused.json),
    ) == (
        400,
        True,
    )
    for given in ("0s", "1m30.5s", "400h"):
        assert (await kube.get(f"{PODS}?timeout={given}")).status == 200


async def test_a_pod_of_an_unknown_runtime_is_forbidden(kube: Kube) -> None:
    spec = {"containers": [{"name": "c", "image": "a:1"}], "runtimeClassName": "none"}
    refused = await kube.ask("POST", PODS, {"metadata": {"name": "p"}, "spec": spec})
    assert (refused.status, refused.json["reason"]) == (403, "Forbidden")
    assert 'pod rejected: RuntimeClass "none" not found' in refused.json["message"]


YAML = b"""
apiVersion: apps/v1
kind: Deployment
metadata: {name: twice}
spec:
  odd: 1
  replicas: 2
  replicas: 3
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: a}]}}
"""


async def test_keys_that_yaml_has_twice_are_told(kube: Kube) -> None:
    """Upstream: test/e2e/apimachinery/field_validation.go, "should detect duplicates in a CR"."""
    line = 'line 8: key "replicas" already set in map'
    apply = {"content_type": "application/apply-patch+yaml"}
    path = f"{DEPLOYMENTS}/twice?fieldManager=me"
    refused = await kube.ask("PATCH", f"{path}&fieldValidation=Strict", YAML, **apply)
    assert refused.status == 400
    assert refused.json["message"] == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  "
        + line
    )
    strict = f"{DEPLOYMENTS}?fieldValidation=Strict"
    refused = await kube.ask("POST", strict, YAML, content_type="application/yaml")
    assert refused.json["message"] == (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: '
        f'yaml: unmarshal errors:\n  {line}, unknown field "spec.odd"'
    )
    made = await kube.ask("POST", DEPLOYMENTS, YAML, content_type="application/yaml")
    assert (made.status, made.json["spec"]["replicas"]) == (201, 3)
    assert line.replace('"', '\\"') in made.headers["warning"]


async def test_a_part_without_processes_is_not_allowed(kube: Kube) -> None:
    for part in ("exec", "attach", "portforward"):
        assert (await kube.get(f"{PODS}/web/{part}")).status == 405


async def test_a_review_is_no_table(kube: Kube) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = {"spec": {"resourceAttributes": {"verb": "get"}}}
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    assert (await kube.ask("POST", path, review, accept=accept)).status == 406


async def test_managed_fields_come_in_upstreams_order(kube: Kube) -> None:
    spec = {"containers": [{"name": "test-container", "image": "nginx"}]}
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    made = await kube.ask(
        "PATCH",
        f"{PODS}/p?fieldManager=me",
        config,
        content_type="application/apply-patch+yaml",
    )
    assert made.status == 201
    found = (await kube.get(f"{PODS}/p")).json["metadata"]["managedFields"]
    [containers] = [one["fieldsV1"]["f:spec"]["f:containers"] for one in found]
    [fields] = containers.values()
    assert [*fields] == [".", "f:image", "f:name"]


async def test_a_job_shows_its_generated_selector(kube: Kube) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a"}]}}
    path = "/apis/batch/v1/namespaces/default/jobs"
    made = await kube.ask("POST", path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    job = made.json
    uid = job["metadata"]["uid"]
    named = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "j"}
    labels = job["spec"]["template"]["metadata"]["labels"]
    assert labels == {**named, "controller-uid": uid, "job-name": "j"}
    assert job["spec"]["selector"]["matchLabels"] == {"batch.kubernetes.io/controller-uid": uid}
    assert (await kube.ask("PUT", f"{path}/j", {**job, "metadata": {"name": "j"}})).status == 200


async def test_health_names_each_check_when_asked(kube: Kube) -> None:
    for name in ("healthz", "livez", "readyz"):
        assert (await kube.get(f"/{name}")).body == b"ok"
        told = (await kube.get(f"/{name}?verbose=1")).body.decode()
        assert told == f"[+]ping ok\n[+]etcd ok\n{name} check passed\n"
    told = (await kube.get("/livez?verbose&exclude=etcd")).body.decode()
    assert told == "[+]ping ok\nlivez check passed\n"
