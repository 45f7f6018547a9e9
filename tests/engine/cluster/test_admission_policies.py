"""Admission policies: which writes they match, what they refuse, and what they change.

Upstream: test/e2e/apimachinery/validatingadmissionpolicy.go, "should validate against a Deployment"
and "should allow expressions to refer variables."; mutatingadmissionpolicy.go, "should mutate a
Deployment"; validating/admission_test.go.
"""

from typing import Any

import pytest

from engine.api_server.admission.permissions import PERMISSIONS
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.objects.objects import Manifest
from tests.builders import node, played, pod, scene
from tests.engine.cluster.test_custom_kinds import definition, told, widget

ADMISSION = "admissionregistration.k8s.io/v1"
DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
WRITTEN = ["CREATE", "UPDATE"]


def policy(*validations: Manifest | str, rule: Manifest = DEPLOYMENTS, **spec: Any) -> Manifest:
    rules = [{"operations": WRITTEN, **rule}]
    match = spec.pop("match", {})
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p.example.com"},
        "spec": {
            "matchConstraints": {"resourceRules": rules, **match},
            "validations": [
                {"expression": one} if isinstance(one, str) else one for one in validations
            ],
            **spec,
        },
    }


def binding(**spec: Any) -> Manifest:
    return {
        "apiVersion": ADMISSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b.example.com"},
        "spec": {"policyName": "p.example.com", "validationActions": ["Deny"], **spec},
    }


def deployment(name: str, replicas: int = 1, namespace: str = "default") -> Manifest:
    labels = {"app": name}
    containers = [{"name": "c", "image": "a:1"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    }


def cluster_under(*made: Manifest, objects: tuple[Manifest, ...] = ()) -> Cluster:
    cluster = played(Cluster.create(scene(node("n"), *objects)))
    for one in made:
        assert told(cluster, verb="create", manifest=one) == ""
    return cluster


def create(cluster: Cluster, manifest: Manifest) -> str:
    return told(cluster, verb="create", manifest=manifest, permission="object")


def denied(name: str, why: str, resource: str = "deployments.apps", reason: str = "Invalid") -> str:
    return (
        f"{reason}: {resource} \"{name}\" is forbidden: ValidatingAdmissionPolicy 'p.example.com' "
        f"with binding 'b.example.com' denied request: {why}"
    )


def test_object_against_a_bound_policy_is_denied() -> None:
    rule = {
        "expression": "object.spec.replicas > 1",
        "messageExpression": "'wants replicas > 1, got ' + string(object.spec.replicas)",
    }
    cluster = cluster_under(policy(rule, "namespaceObject.metadata.name == 'default'"), binding())
    assert create(cluster, deployment("one")) == denied("one", "wants replicas > 1, got 1")
    assert create(cluster, deployment("two", 2)) == ""
    assert create(cluster, {**deployment("three"), "kind": "ReplicaSet"}) == ""


def test_policy_without_binding_denies_nothing() -> None:
    cluster = cluster_under(policy("false"))
    assert create(cluster, deployment("one")) == ""


def test_policy_may_warn_of_what_it_allows() -> None:
    why = {"expression": "object.spec.replicas > 1", "message": "too few"}
    held = policy(why, "object.metadata.name != 'one'")
    cluster = cluster_under(held, binding(validationActions=["Warn"]))
    command = Command(verb="create", manifest=deployment("one"), permission=PERMISSIONS["object"])
    outcome = cluster.apply(command)
    named = "ValidatingAdmissionPolicy 'p.example.com' with binding 'b.example.com'"
    assert outcome.applied
    assert outcome.reason.splitlines() == [
        f"Validation failed for {named}: too few",
        f"Validation failed for {named}: failed expression: object.metadata.name != 'one'",
    ]
    told_next = cluster.apply(Command(verb="create", manifest=pod("p")))
    assert told_next.reason == ""


def reason(cluster: Cluster, manifest: Manifest) -> list[str]:
    """What is kept with the command that creates *manifest*."""
    command = Command(verb="create", manifest=manifest, permission=PERMISSIONS["object"])
    return cluster.apply(command).reason.splitlines()


def test_audited_failures_are_kept_with_the_command() -> None:
    held = policy("object.metadata.name != 'one'", {"expression": "false", "message": "a;b"})
    cluster = cluster_under(held, binding(validationActions=["Audit", "Warn"]))
    failure = '"policy":"p.example.com","binding":"b.example.com","expressionIndex":'
    key = "Audit annotation validation.policy.admission.k8s.io/validation_failure: "
    audited = [line for line in reason(cluster, deployment("one")) if line.startswith("Audit")]
    assert audited == [
        f'{key}[{{"message":"failed expression: object.metadata.name != \'one\'",{failure}0,'
        '"validationActions":["Audit","Warn"]}]',
        f'{key}[{{"message":"a;b",{failure}1,"validationActions":["Audit","Warn"]}}]',
    ]
    # Nobody who denies is asked what to note, and what is allowed has nothing to be noted.
    assert len([line for line in reason(cluster, deployment("two")) if "Audit" in line]) == 1


def test_audit_annotations_have_values_of_each_binding() -> None:
    notes = [
        {"key": "replicas", "valueExpression": "' has ' + string(object.spec.replicas)"},
        {"key": "who", "valueExpression": "params == null ? null : params.data.who"},
        {"key": "none", "valueExpression": "object.metadata.name == 'two' ? 'two' : ''"},
    ]
    held = policy(auditAnnotations=notes, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    names = ("a", "b", "c")
    bindings = [{**binding(paramRef=param(name)), "metadata": {"name": name}} for name in names]
    who = {"a": "ann", "b": "bob", "c": "ann"}
    given = tuple(config(name, who[name]) for name in names)
    cluster = cluster_under(held, *bindings, objects=given)
    assert reason(cluster, deployment("one", 3)) == [
        "Audit annotation p.example.com/replicas: has 3",
        "Audit annotation p.example.com/who: ann, bob",
    ]


def param(name: str) -> Manifest:
    return {"name": name, "namespace": "default", "parameterNotFoundAction": "Deny"}


def config(name: str, who: str) -> Manifest:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"who": who}}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("object.spec.nothing", "resulted in error: no such key: nothing"),
        ("object.spec.replicas", "resulted in unsupported return type: int. Return type must be"),
    ],
)
def test_audit_annotation_without_value_denies(expression: str, why: str) -> None:
    note = {"key": "k", "valueExpression": expression}
    audits = binding(validationActions=["Audit"])
    cluster = cluster_under(policy(auditAnnotations=[note]), audits)
    assert why in create(cluster, deployment("one"))
    cluster = cluster_under(policy(auditAnnotations=[note], failurePolicy="Ignore"), audits)
    assert create(cluster, deployment("one")) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "authorizer.group('apps').resource('deployments').check('delete').allowed()",
        "authorizer.group('').resource('pods').subresource('exec').namespace('a').name('b')"
        ".fieldSelector('x=y').labelSelector('z').check('create').allowed()",
        "authorizer.path('/healthz').check('get').allowed()",
        "authorizer.serviceAccount('default', 'x').requestResource.check('get').reason() == ''",
        "authorizer.requestResource.check('get').error() == ''",
        "!authorizer.requestResource.check('get').errored()",
        # Fields and variables of comprehensions may be called as its functions are.
        "['a'].filter(name, name == 'a').size() == 1 && object.metadata.name == 'one'",
    ],
)
def test_nobody_in_a_run_is_held_to_roles(expression: str) -> None:
    cluster = cluster_under(policy(expression), binding())
    assert create(cluster, deployment("one")) == ""
    cluster = cluster_under(policy(f"!({expression})"), binding())
    assert "denied request: failed expression" in create(cluster, deployment("one"))


@pytest.mark.parametrize(
    "expression",
    [
        "authorizer.check('get').allowed()",
        "authorizer.resource('pods').check('get').allowed()",
        "authorizer.requestResource.allowed()",
        "object.check('get').allowed()",
        "authorizer.path(1).check('get').allowed()",
    ],
)
def test_an_authorizer_is_asked_in_its_order(expression: str) -> None:
    cluster = cluster_under(policy(expression), binding())
    assert "no such overload" in create(cluster, deployment("one"))


def test_update_is_compared_with_the_older_object() -> None:
    rule = "oldObject == null || object.spec.replicas >= oldObject.spec.replicas"
    cluster = cluster_under(policy(rule), binding())
    assert create(cluster, deployment("one", 2)) == ""
    change: Any = {"verb": "patch", "object": "deployment/default/one", "permission": "object"}
    assert told(cluster, **change, patch={"spec": {"replicas": 3}}) == ""
    answer = told(cluster, **change, patch={"spec": {"replicas": 1}})
    assert answer == denied("one", f"failed expression: {rule}")


def test_deletion_is_denied_where_rules_name_it() -> None:
    rule = {**DEPLOYMENTS, "operations": ["DELETE"]}
    held = policy("'free' in oldObject.metadata.labels && object == null", rule=rule)
    cluster = cluster_under(held, binding(), objects=(deployment("one"),))
    reason = told(cluster, verb="delete", object="deployment/default/one")
    assert "resulted in error: no such key: labels" in reason


def test_expressions_refer_to_variables() -> None:
    variables = [
        {"name": "replicas", "expression": "object.spec.replicas"},
        {"name": "odd", "expression": "variables.replicas % 2 == 1"},
        {"name": "broken", "expression": "object.spec.nothing"},
    ]
    made = policy(
        "variables.replicas > 1",
        {"expression": "variables.odd", "message": "even"},
        {"expression": "variables.odd || variables.broken"},
        variables=variables,
    )
    cluster = cluster_under(made, binding())
    assert create(cluster, deployment("one")) == denied(
        "one", "failed expression: variables.replicas > 1"
    )
    assert create(cluster, deployment("two", 2)) == denied("two", "even")
    assert create(cluster, deployment("three", 3)) == ""


def test_failing_variable_is_named() -> None:
    variables = [{"name": "broken", "expression": "object.spec.nothing"}]
    cluster = cluster_under(policy("variables.broken", variables=variables), binding())
    why = (
        "expression 'variables.broken' resulted in error: composited variable \"broken\" fails to "
        "evaluate: expression 'object.spec.nothing' resulted in error: no such key: nothing"
    )
    assert create(cluster, deployment("one")) == denied("one", why)


@pytest.mark.parametrize(("failure", "is_denied"), [("Fail", True), ("Ignore", False)])
def test_failure_policy_decides_about_errors(failure: str, *, is_denied: bool) -> None:
    cluster = cluster_under(policy("object.spec.nothing > 1", failurePolicy=failure), binding())
    assert bool(create(cluster, deployment("one"))) is is_denied


def test_match_conditions_and_request_narrow_a_policy() -> None:
    condition = {"name": "named", "expression": "request.name != 'free'"}
    rule = {"expression": "request.operation != 'CREATE'", "reason": "Forbidden"}
    cluster = cluster_under(policy(rule, matchConditions=[condition]), binding())
    assert create(cluster, deployment("free")) == ""
    assert create(cluster, deployment("one")) == denied(
        "one", f"failed expression: {rule['expression']}", reason="Forbidden"
    )


def test_selectors_narrow_policies_and_bindings() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "held"}}
    namespace["metadata"]["labels"] = {"strict": "yes"}  # type: ignore[index]
    selector = {"namespaceSelector": {"matchLabels": {"strict": "yes"}}}
    cluster = cluster_under(policy("false"), binding(matchResources=selector), objects=(namespace,))
    assert create(cluster, deployment("one")) == ""
    assert create(cluster, deployment("one", namespace="held")).startswith("Invalid: ")
    away = {"excludeResourceRules": [{**DEPLOYMENTS, "operations": ["*"]}]}
    cluster = cluster_under(policy("false", match=away), binding())
    assert create(cluster, deployment("one")) == ""
    labelled = {"objectSelector": {"matchLabels": {"app": "x"}}}
    cluster = cluster_under(policy("false", match=labelled), binding())
    assert create(cluster, deployment("one")) == ""


def test_parameters_are_read_from_their_objects() -> None:
    limits = widget("limits", size=3)
    reference = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}
    made = policy(
        "object.spec.replicas <= params.spec.size",
        paramKind={"apiVersion": "example.com/v1", "kind": "Widget"},
    )
    cluster = cluster_under(definition(), made, binding(paramRef=reference))
    why = (
        "failed to configure binding: no params found for policy binding with `Deny` "
        "parameterNotFoundAction"
    )
    assert create(cluster, deployment("one")) == denied("one", why)
    assert create(cluster, limits) == ""
    assert create(cluster, deployment("one", 3)) == ""
    assert create(cluster, deployment("two", 4)).startswith("Invalid: ")


def test_controllers_are_denied_pods_and_say_so() -> None:
    rule = "has(object.metadata.labels) && 'team' in object.metadata.labels"
    cluster = cluster_under(policy(rule, rule=PODS), binding())
    assert create(cluster, pod("bare")) == denied("bare", f"failed expression: {rule}", "pods")
    assert create(cluster, deployment("one")) == ""
    played(cluster)
    assert not cluster.store.objects("Pod")
    messages = [one.message for one in cluster.recorder.pending if one.kind == "FailedCreate"]
    assert any("ValidatingAdmissionPolicy 'p.example.com'" in one for one in messages)


def kinds_of(cluster: Cluster, *kinds: str) -> list[tuple[str, str]]:
    """What was recorded of these kinds: of what, and the message."""
    return [(one.object, one.message) for one in cluster.untaken if one.kind in kinds]


def scaled_down(*, exempt: str = "false") -> Cluster:
    """Two pods of a Deployment that wants one of them gone, while a policy protects pods."""
    protects = policy(f"{exempt}", rule={**PODS, "operations": ["DELETE"]})
    objects = (deployment("one", 2),)
    cluster = played(cluster_under(protects, binding(), objects=objects))
    change: Any = {"verb": "patch", "object": "deployment/default/one"}
    assert told(cluster, **change, patch={"spec": {"replicas": 1}}) == ""
    return played(cluster)


def test_controllers_are_denied_deletions_and_say_so() -> None:
    cluster = scaled_down()
    assert len(cluster.store.objects("Pod")) == 2
    (entity, refused), *_ = kinds_of(cluster, "WriteRefused")
    assert entity.startswith("pod/default/one-")
    assert refused.startswith("a write of replicaset-controller was refused: pods ")
    # It tries again, and its status says why.
    assert len(kinds_of(cluster, "WriteRefused")) > 5
    [found] = cluster.store.objects("ReplicaSet")
    assert [one["reason"] for one in found.status["conditions"]] == ["FailedDelete"]
    assert any("Error deleting: pods " in one.message for one in cluster.untaken)
    assert not kinds_of(cluster, "ComponentFailed")


def test_policies_may_let_components_of_the_system_pass() -> None:
    user = "system:serviceaccount:kube-system:replicaset-controller"
    cluster = scaled_down(exempt=f"request.userInfo.username == '{user}'")
    assert len(cluster.store.objects("Pod")) == 1
    cluster = scaled_down(exempt="'system:serviceaccounts' in request.userInfo.groups")
    assert len(cluster.store.objects("Pod")) == 1


def test_status_that_a_kubelet_writes_is_judged() -> None:
    status = {**PODS, "resources": ["pods/status"]}
    held = policy("object.status.phase != 'Running' || object.metadata.name != 'p'", rule=status)
    cluster = cluster_under(held, binding())
    for name in ("p", "q"):
        assert create(cluster, pod(name)) == ""
    played(cluster)
    phases = {one.name: one.status["phase"] for one in cluster.store.objects("Pod")}
    assert phases == {"p": "Pending", "q": "Running"}
    assert not kinds_of(cluster, "ComponentFailed")


def test_policies_change_what_controllers_update() -> None:
    rule = {**DEPLOYMENTS, "resources": ["replicasets"], "operations": ["UPDATE"]}
    labels = "Object{metadata: Object.metadata{labels: {'team': 'a'}}}"
    cluster = cluster_under(mutating(labels, rule=rule), bound(), objects=(deployment("one"),))
    played(cluster)
    change: Any = {"verb": "patch", "object": "deployment/default/one"}
    assert told(cluster, **change, patch={"spec": {"replicas": 3}}) == ""
    played(cluster)
    [found] = cluster.store.objects("ReplicaSet")
    assert (found.labels["team"], found.spec["replicas"]) == ("a", 3)


def test_users_who_delete_pods_of_nodes_are_denied() -> None:
    protects = policy("false", rule={**PODS, "operations": ["DELETE"]})
    cluster = played(cluster_under(protects, binding(), objects=(pod("p", nodeName="n"),)))
    assert "denied request" in told(cluster, verb="delete_pods", object="node/n")
    assert told(cluster, verb="evict", object="pod/default/p") == ""


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"validations": [{"expression": "... [] bad"}]}, "spec.validations[0].expression"),
        ({"validations": [{"expression": "self.x"}]}, "undeclared reference to 'self'"),
        ({"validations": []}, "must contain at least one item"),
        ({"matchConstraints": {}}, "spec.matchConstraints: Required value"),
        ({"failurePolicy": "Perhaps"}, 'supported values: "Fail", "Ignore"'),
    ],
)
def test_faulty_policies_are_refused(spec: Manifest, fault: str) -> None:
    cluster = cluster_under()
    made = policy("true")
    made["spec"].update(spec)
    assert fault in told(cluster, verb="create", manifest=made)


def test_policies_do_not_look_at_policies() -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    cluster = cluster_under(policy("false", rule=everything), binding())
    assert create(cluster, deployment("one")) != ""
    assert told(cluster, verb="delete", object="validatingadmissionpolicy/p.example.com") == ""
    assert create(cluster, deployment("one")) == ""


def mutating(*expressions: str, **spec: Any) -> Manifest:
    made = policy(**spec)
    del made["spec"]["validations"]
    made["kind"] = "MutatingAdmissionPolicy"
    made["spec"]["reinvocationPolicy"] = "Never"
    made["spec"]["mutations"] = [
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": one}}
        for one in expressions
    ]
    return made


def bound(**spec: Any) -> Manifest:
    made = binding(**spec)
    del made["spec"]["validationActions"]
    return {**made, "kind": "MutatingAdmissionPolicyBinding"}


def test_policy_changes_what_is_created() -> None:
    made = mutating(
        "Object{spec: Object.spec{replicas: object.spec.replicas > 3 ? 3 : 7}}",
        """Object{metadata: Object.metadata{annotations: {"by": "policy", 'n': request.name}},
            spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
                containers: [Object.spec.template.spec.containers{name: "side", image: "b:1"}]
            }}}}""",
    )
    cluster = cluster_under(made, bound())
    assert create(cluster, deployment("one")) == ""
    found = cluster.store.get("Deployment", "default/one")
    assert (found.spec["replicas"], found.annotations["n"]) == (7, "one")
    containers = found.spec["template"]["spec"]["containers"]
    assert [(one["name"], one["image"]) for one in containers] == [("c", "a:1"), ("side", "b:1")]
    change: Any = {"verb": "patch", "object": "deployment/default/one", "permission": "object"}
    assert told(cluster, **change, patch={"spec": {"replicas": 9}}) == ""
    assert cluster.store.get("Deployment", "default/one").spec["replicas"] == 3


def patching(*expressions: str, **spec: Any) -> Manifest:
    made = mutating(**spec)
    made["spec"]["mutations"] = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": one}} for one in expressions
    ]
    return made


def test_policy_patches_what_is_created() -> None:
    made = patching(
        """[
            JSONPatch{op: "test", path: "/spec/replicas", value: 1},
            JSONPatch{op: "replace", path: "/spec/replicas", value: object.spec.replicas + 4},
            JSONPatch{op: "add", path: "/metadata/annotations", value: {"by": request.name}},
            JSONPatch{op: "add", path: "/metadata/annotations/" +
                jsonpatch.escapeKey("example.com/a~b"), value: "x"},
            JSONPatch{op: "add", path: "/spec/template/spec/containers/-",
                value: Object.spec.template.spec.containers{name: "side", image: "b:1"}},
        ]""",
        """[JSONPatch{op: "test", path: "/spec/replicas", value: 1},
            JSONPatch{op: "remove", path: "/spec/template"}]""",
    )
    cluster = cluster_under(made, bound())
    assert create(cluster, deployment("one")) == ""
    found = cluster.store.get("Deployment", "default/one")
    assert found.spec["replicas"] == 5
    assert found.annotations == {"by": "one", "example.com/a~b": "x"}
    containers = found.spec["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["c", "side"]


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ('[JSONPatch{op: "remove", path: "/spec/no"}]', "JSON Patch: '/spec/no' is not there"),
        ("'a text'", "type mismatch: JSONPatchType.expression should evaluate to array"),
    ],
)
def test_failing_patch_is_denied(expression: str, why: str) -> None:
    cluster = cluster_under(patching(expression), bound())
    assert create(cluster, deployment("one")).endswith(why)
    ignored = cluster_under(patching(expression, failurePolicy="Ignore"), bound())
    assert create(ignored, deployment("one")) == ""


@pytest.mark.parametrize(("again", "replicas"), [("Never", 2), ("IfNeeded", 4)])
def test_policy_may_be_invoked_again(again: str, replicas: int) -> None:
    doubled = "Object{spec: Object.spec{replicas: has(object.metadata.labels) ? 4 : 2}}"
    first, second = (
        mutating(doubled),
        mutating("Object{metadata: Object.metadata{labels: {'a': 'b'}}}"),
    )
    first["spec"]["reinvocationPolicy"] = again
    second["metadata"] = {"name": "q.example.com"}
    other = {**bound(policyName="q.example.com"), "metadata": {"name": "c.example.com"}}
    cluster = cluster_under(first, bound(), second, other)
    assert create(cluster, deployment("one")) == ""
    assert cluster.store.get("Deployment", "default/one").spec["replicas"] == replicas


def test_validating_policies_see_what_was_changed() -> None:
    held = policy("object.spec.replicas > 1")
    changing = mutating("Object{spec: Object.spec{replicas: 2}}")
    cluster = cluster_under(held, binding(), changing, bound())
    assert create(cluster, deployment("one")) == ""


def test_policy_changes_pods_of_controllers() -> None:
    labels = "Object{metadata: Object.metadata{labels: {'team': 'a'}}}"
    cluster = cluster_under(mutating(labels, rule=PODS), bound())
    assert create(cluster, deployment("one")) == ""
    played(cluster)
    [made] = cluster.store.objects("Pod")
    assert made.labels["team"] == "a"


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (
            "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}",
            "may not mutate atomic arrays, maps or structs: .spec.selector",
        ),
        ("Object{spec: Object.spec{replicas: object.spec.no}}", "no such key: no"),
        ("'a text'", "unsupported return type from ApplyConfiguration expression"),
    ],
)
def test_failing_mutation_is_denied(expression: str, why: str) -> None:
    cluster = cluster_under(mutating(expression), bound())
    answer = create(cluster, deployment("one"))
    assert "is forbidden: policy 'p.example.com' with binding 'b.example.com' denied" in answer
    assert answer.endswith(why)


def test_change_that_makes_no_object_is_refused() -> None:
    cluster = cluster_under(mutating("Object{spec: Object.spec{replicas: -1}}"), bound())
    assert "Invalid value: -1" in create(cluster, deployment("one"))


def test_policy_changes_custom_objects() -> None:
    rule = {"apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["widgets"]}
    parts = "[Object.spec.parts{name: 'b', count: 2}]"
    cluster = cluster_under(
        definition(), mutating(f"Object{{spec: Object.spec{{parts: {parts}}}}}", rule=rule), bound()
    )
    assert create(cluster, widget(parts=[{"name": "a"}, {"name": "b"}])) == ""
    found = cluster.store.get("Widget.example.com", "default/one")
    assert found.spec["parts"] == [{"name": "a", "count": 1}, {"name": "b", "count": 2}]
