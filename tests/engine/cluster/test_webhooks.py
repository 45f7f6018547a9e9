"""Webhooks whose servers a script answers for: which are called, what they deny and change.

Upstream: test/e2e/apimachinery/webhook.go; apiserver/pkg/admission/plugin/webhook, testing/testcase.go.
"""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.objects.documents import Path
from engine.objects.objects import Manifest
from engine.objects.scripts.reading import read_annotation, read_scripts
from tests.builders import node, played, pod, scene
from tests.engine.cluster.test_admission_policies import (
    binding,
    create,
    deployment,
    policy,
)
from tests.engine.cluster.test_custom_kinds import definition, told, widget

CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
NAME = "hook.example.com"
DENIED = f'admission webhook "{NAME}" denied the request: '
ALWAYS = {"path": "/deny", "deny": "no"}


def post(path: str, seconds: int = 10, port: int = 443) -> str:
    return f'Post "https://hooks.default.svc:{port}{path}?timeout={seconds}s": '


def failed(why: str, name: str = NAME) -> str:
    called = f'failed calling webhook "{name}": failed to call webhook: {why}'
    return f"InternalError: Internal error occurred: {called}"


def hook(path: str = "/deny", rule: Manifest = CONFIG_MAPS, **fields: Any) -> Manifest:
    service = {"namespace": "default", "name": "hooks", "path": path}
    rules = [{"operations": ["*"], **rule}]
    client = {"service": {**service, **fields.pop("service", {})}, "caBundle": "Q0E="}
    return {
        "name": NAME,
        "rules": rules,
        "clientConfig": client,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }


def configuration(*hooks: Manifest, name: str = "c", kind: str = "Validating") -> Manifest:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }


def mutating(*hooks: Manifest, name: str = "c") -> Manifest:
    return configuration(*hooks, name=name, kind="Mutating")


def service(**spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "hooks", "namespace": "default"},
        "spec": {"selector": {"app": "hooks"}, "ports": [{"port": 443}], **spec},
    }


def config_map(name: str = "m", namespace: str = "default", **data: str) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def server(**metadata: Any) -> Manifest:
    return pod("server", labels={"app": "hooks"}, **metadata)


def cluster_of(*answers: Manifest, made: tuple[Manifest, ...], **parts: Any) -> Cluster:
    """One with a server of webhooks that answers so, and what is *made* after it is ready."""
    entry = {"labels": {"app": "hooks"}, "webhooks": list(answers), **parts.pop("entry", {})}
    objects = parts.pop("objects", (service(), server()))
    cluster = played(Cluster.create(scene(node("n"), *objects, containers=(entry,))))
    for one in made:
        assert told(cluster, verb="create", manifest=one) == ""
    return cluster


def data_of(cluster: Cluster, name: str = "m") -> Manifest:
    return cluster.store.get("ConfigMap", f"default/{name}").raw["data"]


def test_server_that_denies_all_refuses_creations() -> None:
    cluster = cluster_of(ALWAYS, made=(configuration(hook()),))
    assert create(cluster, config_map()) == f"Forbidden: {DENIED}no"
    assert create(cluster, pod("p")) == ""


@pytest.mark.parametrize(
    ("code", "reason"), [(400, "BadRequest"), (422, "Invalid"), (503, "InternalError")]
)
def test_code_of_a_denial_is_the_servers(code: int, reason: str) -> None:
    cluster = cluster_of({**ALWAYS, "code": code}, made=(configuration(hook()),))
    assert create(cluster, config_map()) == f"{reason}: {DENIED}no"


def test_validations_see_what_is_updated_and_deleted() -> None:
    kept = "request.operation != 'DELETE' || !has(oldObject.data.keep)"
    answer = {
        "path": "/data",
        "variables": [{"name": "now", "expression": "object == null ? oldObject : object"}],
        "validations": [
            {"expression": "!has(variables.now.data.bad)", "message": "bad"},
            {"expression": kept, "messageExpression": "request.name + ' stays'"},
        ],
    }
    cluster = cluster_of(answer, made=(configuration(hook("/data")),))
    assert create(cluster, config_map(keep="yes")) == ""
    assert create(cluster, config_map("n", bad="yes")) == f"Forbidden: {DENIED}bad"
    change = {"data": {"bad": "yes"}}
    name = "configmap/default/m"
    assert told(cluster, verb="patch", object=name, patch=change) == f"Forbidden: {DENIED}bad"
    assert told(cluster, verb="delete", object=name) == f"Forbidden: {DENIED}m stays"


def test_all_that_does_not_hold_is_said() -> None:
    rules = [{"expression": "false", "message": one} for one in ("first", "second")]
    cluster = cluster_of({"path": "/deny", "validations": rules}, made=(configuration(hook()),))
    assert create(cluster, config_map()) == f"Forbidden: {DENIED}first; second"


def test_first_answer_about_a_request_counts() -> None:
    about = [{"expression": "object.metadata.name == 'slow'"}]
    slow = {"path": "/d*", "matchConditions": about, "latency": "forever"}
    other = {**slow, "matchConditions": [{"expression": "object.metadata.name == 'm'"}]}
    cluster = cluster_of(
        slow, {**other, "latency": "0s", "deny": "m"}, made=(configuration(hook()),)
    )
    assert create(cluster, config_map("slow")) == failed(
        post("/deny") + "context deadline exceeded"
    )
    assert create(cluster, config_map()) == f"Forbidden: {DENIED}m"
    assert create(cluster, config_map("other")) == ""


@pytest.mark.parametrize(("seconds", "is_late"), [(1, True), (5, False)])
def test_answer_after_the_timeout_is_a_failure(seconds: int, *, is_late: bool) -> None:
    held = configuration(hook("/slow", timeoutSeconds=seconds))
    cluster = cluster_of({"path": "/slow", "latency": "5s"}, made=(held,))
    late = failed(post("/slow", seconds) + "context deadline exceeded")
    assert create(cluster, config_map()) == (late if is_late else "")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"path": "/none"}, "the server could not find the requested resource"),
        (
            {"service": {"port": 9443}},
            post("/deny", port=9443) + 'no service port 9443 found for service "hooks"',
        ),
        (
            {
                "clientConfig": {
                    "service": {"namespace": "default", "name": "hooks", "path": "/deny"}
                }
            },
            post("/deny")
            + "tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
    ],
)
def test_failed_call_refuses_unless_it_is_ignored(fields: Manifest, why: str) -> None:
    cluster = cluster_of(ALWAYS, made=(configuration(hook(**fields)),))
    assert create(cluster, config_map()) == failed(why)
    held = configuration(hook(**fields, failurePolicy="Ignore"))
    cluster = cluster_of(ALWAYS, made=(held,))
    key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0"
    assert create(cluster, config_map()) == f"Audit annotation {key}: {NAME}"


def test_service_without_ready_pods_fails_calls() -> None:
    why = failed(post("/deny") + 'no endpoints available for service "hooks"')
    entry = {"readiness": "10m=pass"}
    probed = server(containers=[{"name": "c", "image": "a:1", "readinessProbe": {"exec": {}}}])
    held = configuration(hook())
    cluster = cluster_of(ALWAYS, made=(held,), objects=(service(), probed), entry=entry)
    assert create(cluster, config_map()) == why
    assert create(played(cluster, 600), config_map()) == f"Forbidden: {DENIED}no"
    gone = cluster_of(ALWAYS, made=(held,), objects=(service(), deployment("hooks", 0)))
    assert create(gone, config_map()) == why


@pytest.mark.parametrize(
    "objects",
    [
        (server(),),
        (service(selector={"app": "other"}), server()),
        (service(), pod("server", labels={"app": "other"})),
    ],
)
def test_webhook_without_a_scripted_server_is_not_called(objects: tuple[Manifest, ...]) -> None:
    cluster = cluster_of(ALWAYS, made=(configuration(hook()),), objects=objects)
    assert create(cluster, config_map()) == ""


def test_webhook_of_an_address_is_not_called() -> None:
    held = hook(clientConfig={"url": "https://example.com/deny", "caBundle": "Q0E="})
    assert create(cluster_of(ALWAYS, made=(configuration(held),)), config_map()) == ""


@pytest.mark.parametrize(
    "fields",
    [
        {"rule": {**CONFIG_MAPS, "resources": ["secrets"]}},
        {"rule": {**CONFIG_MAPS, "operations": ["DELETE"]}},
        {"rule": {**CONFIG_MAPS, "scope": "Cluster"}},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}},
        {"objectSelector": {"matchLabels": {"a": "b"}}},
        {"matchConditions": [{"name": "c", "expression": "object.metadata.name == 'other'"}]},
    ],
)
def test_rules_selectors_and_conditions_narrow_a_webhook(fields: Manifest) -> None:
    assert create(cluster_of(ALWAYS, made=(configuration(hook(**fields)),)), config_map()) == ""


def test_failing_match_condition_is_forbidden_unless_ignored() -> None:
    conditions = [{"name": "c", "expression": "object.spec.x"}]
    held = configuration(hook(matchConditions=conditions))
    said = create(cluster_of(ALWAYS, made=(held,)), config_map())
    assert said.startswith('Forbidden: configmaps "m" is forbidden: ')
    assert "no such key: spec" in said
    held = configuration(hook(matchConditions=conditions, failurePolicy="Ignore"))
    assert create(cluster_of(ALWAYS, made=(held,)), config_map()) == ""


def test_equivalent_versions_match_unless_exact() -> None:
    rule = {"apiGroups": ["apps"], "apiVersions": ["v1beta1"], "resources": ["deployments"]}
    for match, said in (("Equivalent", f"Forbidden: {DENIED}no"), ("Exact", "")):
        held = configuration(hook(rule=rule, matchPolicy=match))
        assert create(cluster_of(ALWAYS, made=(held,)), deployment("d")) == said


def test_webhooks_do_not_look_at_webhooks() -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    held = hook(rule=everything)
    cluster = cluster_of(ALWAYS, made=(configuration(held), mutating(held)))
    assert create(cluster, configuration(held, name="other")) == ""
    name = "validatingwebhookconfiguration/other"
    assert told(cluster, verb="delete", object=name) == ""
    assert create(cluster, config_map()) == f"Forbidden: {DENIED}no"


def test_warnings_of_webhooks_are_kept() -> None:
    answer = {"path": "/warn", "warnings": ["one", "two\nlines"]}
    cluster = cluster_of(answer, made=(configuration(hook("/warn")),))
    assert create(cluster, config_map()).splitlines() == [
        "Warning of a webhook: one",
        "Warning of a webhook: two lines",
    ]


def test_broken_script_is_a_failed_call() -> None:
    answer = {"path": "/deny", "validations": [{"expression": "object.spec.x == 1"}]}
    said = create(cluster_of(answer, made=(configuration(hook()),)), config_map())
    assert said.startswith(failed('an error on the server ("expression'))
    assert said.endswith('no such key: spec") has prevented the request from succeeding')


def test_controllers_are_denied_pods_by_webhooks() -> None:
    cluster = cluster_of(ALWAYS, made=(configuration(hook(rule=PODS)),))
    assert create(cluster, deployment("d", 2)) == ""
    played(cluster, 2)
    assert [one.name for one in cluster.store.objects("Pod")] == ["server"]
    messages = [one.message for one in cluster.recorder.pending if one.kind == "FailedCreate"]
    assert any(f"Error creating: {DENIED}no" in one for one in messages)


def test_only_entries_of_scenarios_answer_webhooks() -> None:
    noted: list[str] = []
    text = '{"webhooks": [{"deny": "no"}]}'
    read_annotation(text, (), lambda path, value, said: noted.append(f"{path} {said}"))
    assert noted == ["(0, 'webhooks') only entries of the scenario can answer webhooks"]


@pytest.mark.parametrize(
    ("answer", "place", "why"),
    [
        ({"deny": 1}, ("deny",), "expected a text, found 1"),
        ({"code": 200}, ("code",), "expected an integer from 400 to 599, found 200"),
        ({"latency": "soon"}, ("latency",), ""),
        ({"validations": [{"expression": "1 +"}]}, ("validations", 0, "expression"), "of CEL"),
        ({"mutations": [{}]}, ("mutations", 0), "expected one of jsonPatch, applyConfiguration"),
        ({"other": 1}, ("other",), "unknown field"),
    ],
)
def test_faults_of_answers_have_their_place(answer: Manifest, place: Path, why: str) -> None:
    noted: list[tuple[Path, str]] = []
    read_scripts(
        [{"webhooks": [answer]}], (), lambda path, _, said: noted.append((path, str(said)))
    )
    assert [path for path, _ in noted] == [(0, "webhooks", 0, *place)]
    assert why in noted[0][1]


def adding(key: str, *, where: str = "true", path: str = "/add") -> Manifest:
    """An answer that adds a key to the data of what has them."""
    expression = f"[JSONPatch{{op: 'add', path: '/data/{key}', value: 'yes'}}]"
    return {
        "path": path,
        "matchConditions": [{"expression": where}],
        "mutations": [{"jsonPatch": {"expression": expression}}],
    }


def test_webhooks_change_in_the_order_of_their_names() -> None:
    first = adding("first", where="!has(object.data.first)")
    second = adding("second", where="has(object.data.first)")
    names = ("b.example.com", "a.example.com")
    held = (mutating(hook("/add", name=names[0]), name="a"), mutating(hook("/add"), name="b"))
    cluster = cluster_of(first, second, made=held)
    assert create(cluster, config_map(start="yes")) == ""
    assert data_of(cluster) == {"start": "yes", "first": "yes", "second": "yes"}


def test_updates_are_changed_and_then_validated() -> None:
    deny = {"path": "/deny", "validations": [{"expression": "!has(object.data.first)"}]}
    held = (mutating(hook("/add")), configuration(hook()))
    cluster = cluster_of(adding("first", where="has(object.data.start)"), deny, made=held)
    assert create(cluster, config_map(other="yes")) == ""
    change = {"data": {"start": "yes"}}
    said = told(cluster, verb="patch", object="configmap/default/m", patch=change)
    assert said == f"Forbidden: {DENIED}failed expression: !has(object.data.first)"


def test_mutating_webhooks_may_deny_or_fail() -> None:
    missing = adding("first", path="/missing")
    missing["mutations"][0]["jsonPatch"]["expression"] = "[JSONPatch{op: 'remove', path: '/x'}]"
    cluster = cluster_of(ALWAYS, missing, made=(mutating(hook()),))
    assert create(cluster, config_map()) == f"Forbidden: {DENIED}no"
    held = mutating(hook("/missing", failurePolicy="Ignore"))
    said = create(cluster_of(ALWAYS, missing, made=(held,)), config_map())
    assert said.startswith("InternalError: Internal error occurred: JSON Patch: ")


def test_deletion_can_be_denied_but_not_changed() -> None:
    rule = {**CONFIG_MAPS, "operations": ["DELETE"]}
    cluster = cluster_of(ALWAYS, made=(mutating(hook(rule=rule)),))
    assert create(cluster, config_map()) == ""
    name = "configmap/default/m"
    assert told(cluster, verb="delete", object=name) == f"Forbidden: {DENIED}no"
    changing = cluster_of(adding("first"), made=(mutating(hook("/add", rule)),))
    assert create(changing, config_map()) == ""
    said = told(changing, verb="delete", object=name)
    assert said.endswith(
        "attempted to modify the object, which is not supported for this operation"
    )


@pytest.mark.parametrize(("again", "count"), [("Never", "1"), ("IfNeeded", "2")])
def test_webhook_may_be_invoked_again(again: str, count: str) -> None:
    value = "has(object.data.n) ? '2' : '1'"
    counting = adding("n", path="/count")
    expression = f"[JSONPatch{{op: 'add', path: '/data/n', value: {value}}}]"
    counting["mutations"][0]["jsonPatch"]["expression"] = expression
    held = mutating(hook("/count", reinvocationPolicy=again), hook("/add", name="z.example.com"))
    cluster = cluster_of(counting, adding("first"), made=(held,))
    assert create(cluster, config_map(start="yes")) == ""
    assert data_of(cluster)["n"] == count
    alone = cluster_of(counting, made=(mutating(hook("/count", reinvocationPolicy=again)),))
    assert create(alone, config_map(start="yes")) == ""
    assert data_of(alone)["n"] == "1"


def test_policies_and_webhooks_invoke_each_other_again() -> None:
    count = "[JSONPatch{op: 'add', path: '/data/p', value: has(object.data.p) ? '2' : '1'}]"
    changing = policy(rule=CONFIG_MAPS, reinvocationPolicy="IfNeeded")
    changing["kind"] = "MutatingAdmissionPolicy"
    del changing["spec"]["validations"]
    changing["spec"]["mutations"] = [{"patchType": "JSONPatch", "jsonPatch": {"expression": count}}]
    bound = binding()
    bound["kind"] = "MutatingAdmissionPolicyBinding"
    del bound["spec"]["validationActions"]
    copying = adding("seen")
    copied = "[JSONPatch{op: 'add', path: '/data/seen', value: object.data.p}]"
    copying["mutations"][0]["jsonPatch"]["expression"] = copied
    held = (changing, bound, mutating(hook("/add", reinvocationPolicy="IfNeeded")))
    cluster = cluster_of(copying, made=held)
    assert create(cluster, config_map(start="yes")) == ""
    assert data_of(cluster) == {"start": "yes", "p": "2", "seen": "2"}


def test_webhooks_change_pods_of_controllers_with_defaults() -> None:
    init = "{'name': 'added', 'image': 'a:1'}"
    expression = f"[JSONPatch{{op: 'add', path: '/spec/initContainers', value: [{init}]}}]"
    answer = {"path": "/pods", "mutations": [{"jsonPatch": {"expression": expression}}]}
    seen = "object.spec.initContainers.all(c, c.terminationMessagePolicy == 'File')"
    check = {"path": "/seen", "validations": [{"expression": seen, "message": "no defaults"}]}
    rule = {**PODS, "operations": ["CREATE"]}
    held = (mutating(hook("/pods", rule)), configuration(hook("/seen", rule)))
    cluster = cluster_of(answer, check, made=held)
    assert create(cluster, deployment("d")) == ""
    played(cluster)
    names = {one.name: one.spec.get("initContainers") for one in cluster.store.objects("Pod")}
    assert [one[0]["name"] for one in names.values() if one] == ["added"]


def test_configurations_are_applied_as_by_policies() -> None:
    expression = "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}"
    answer = {"path": "/a", "mutations": [{"applyConfiguration": {"expression": expression}}]}
    cluster = cluster_of(answer, made=(mutating(hook("/a")),))
    assert create(cluster, config_map()) == ""
    assert cluster.store.get("ConfigMap", "default/m").labels == {"seen": "yes"}


@pytest.mark.parametrize("kind", ["Widget", "e2e-crd"])
def test_custom_objects_are_pruned_after_a_change(kind: str) -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"]}
    expression = (
        "[JSONPatch{op: 'add', path: '/spec/size', value: 2}, "
        "JSONPatch{op: 'add', path: '/spec/unknown', value: 'x'}]"
    )
    answer = {"path": "/w", "mutations": [{"jsonPatch": {"expression": expression}}]}
    cluster = cluster_of(answer, made=(definition(kind), mutating(hook("/w", rule))))
    assert create(cluster, widget(kind=kind)) == ""
    stored = cluster.store.get(f"{kind}.example.com", "default/one")
    assert stored.spec["size"] == 2
    assert "unknown" not in stored.spec


def test_change_against_the_schema_is_invalid() -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["*"]}
    expression = "[JSONPatch{op: 'add', path: '/spec/size', value: 'x'}]"
    answer = {"path": "/w", "mutations": [{"jsonPatch": {"expression": expression}}]}
    cluster = cluster_of(answer, made=(definition(), mutating(hook("/w", rule))))
    assert create(cluster, widget()).startswith('Invalid: Widget.example.com "one" is invalid: ')
