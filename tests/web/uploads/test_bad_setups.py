"""A scheduler's configuration that cannot be used is refused when it is uploaded, with its place."""

from dataclasses import dataclass
from tempfile import NamedTemporaryFile

import pytest

from engine.cluster.cluster import Cluster
from kscope.accounts.access import Role, Visitor
from kscope.runs import services
from kscope.runs.aside import Question
from kscope.runs.contents import loaded_of
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, Scenario
from kscope.runs.web.spool import SpooledFile
from kscope.runs.web.upload_report import UploadReport
from kscope.runs.web.uploads import upload_ask

pytestmark = pytest.mark.django_db

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '2'}}\n"
MODERN = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
"""
HEADER = "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: mine}\n"


@dataclass
class Upload:
    """What came of an upload."""

    report: UploadReport
    scenario: Scenario | None


def upload(*texts: str) -> Upload:
    """What an engine process makes of the files."""
    with NamedTemporaryFile() as spool:
        files: list[SpooledFile] = []
        for place, text in enumerate(texts):
            piece = (spool.name, spool.tell(), len(text.encode()))
            spool.write(text.encode())
            files.append(SpooledFile(spool, f"{place}.yaml", piece))
        spool.flush()
        question = upload_ask(files, Visitor(role=Role.EDITOR))
        assert isinstance(question, Question)
        *_, told = question.function(**question.arguments)
    report = UploadReport.from_dict(told["report"])
    return Upload(report, Scenario.objects.filter(pk=told["scenario"]).first())


@pytest.mark.parametrize(
    ("setup", "field", "line", "value", "message"),
    [
        (
            MODERN + "profiles:\n- plugins:\n    filter:\n      enabled:\n      - name: NodeNam\n",
            "profiles[0].plugins.filter.enabled[0].name",
            8,
            '"NodeNam"',
            "there is no plugin 'NodeNam' in v1.36",
        ),
        (
            MODERN + "podInitialBackoffSeconds: 0\n",
            "podInitialBackoffSeconds",
            4,
            "0",
            "0 is out of range",
        ),
        (
            MODERN
            + "profiles:\n- pluginConfig:\n  - name: InterPodAffinity\n    args:\n"
            + "      hardPodAffinityWeight: 101\n",
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight",
            8,
            "101",
            "101 is out of range",
        ),
        (
            "kind: Policy\napiVersion: v1\npredicates:\n- name: HostName\n- name: Nope\n",
            "predicates[1].name",
            6,
            '"Nope"',
            "Invalid configuration: Predicate type not found for Nope",
        ),
        (
            HEADER + "spec:\n  schedulers:\n  - name: a\n    replicas: 77\n",
            "spec.schedulers[0].replicas",
            8,
            "77",
            "77 is out of range",
        ),
        (
            HEADER
            + "spec:\n  schedulers:\n  - configuration:\n      kind: KubeSchedulerConfiguration\n"
            + "      apiVersion: kubescheduler.config.k8s.io/v1\n      podMaxBackoffSeconds: soon\n",
            "spec.schedulers[0].configuration.podMaxBackoffSeconds",
            10,
            '"soon"',
            "expected an integer",
        ),
    ],
)
def test_a_bad_setup_is_reported_with_its_place(
    setup: str, field: str, line: int, value: str, message: str
) -> None:
    taken = upload(NODE, f"---\n{setup}")
    assert taken.scenario is None
    assert not Scenario.objects.exists()
    (problem,) = [one for file in taken.report.files for one in file.problems]
    assert (problem.file, problem.document, problem.line) == ("1.yaml", 1, line)
    assert (problem.field, problem.value) == (field, value)
    assert problem.message.startswith(message)


def test_the_message_names_the_document_among_several() -> None:
    taken = upload(f"{NODE}---\n{MODERN}percentageOfNodesToScore: 300\n")
    (problem,) = taken.report.files[0].problems
    assert (problem.document, problem.line) == (2, 8)


def test_a_configuration_of_another_profile_is_refused() -> None:
    taken = upload(NODE, HEADER + "spec: {profile: v1.16}\n", MODERN)
    (problem,) = [one for file in taken.report.files for one in file.problems]
    assert (problem.file, problem.field) == ("2.yaml", "apiVersion")
    assert "the scheduler's profile is v1.16" in problem.message


def test_a_policy_sets_the_profile_it_belongs_to() -> None:
    taken = upload(NODE, "kind: Policy\napiVersion: v1\npredicates: [{name: HostName, order: 1}]\n")
    assert taken.scenario is not None
    assert taken.scenario.header["profile"] == "v1.16"
    assert taken.report.warnings == [
        'predicates[0].order: ignored, there is no field "order"',
        "runs under profile v1.16, which its configuration is for",
    ]


def test_a_configuration_for_another_profile_makes_no_run() -> None:
    taken = upload(NODE, MODERN)
    assert taken.scenario is not None
    with pytest.raises(
        ApplicationError,
        match=r"configuration\.apiVersion: .* served by Kubernetes 1\.25 and later",
    ):
        services.run_create(scenario=taken.scenario, profile="v1.16")
    assert not Run.objects.exists()


def test_a_good_setup_is_taken() -> None:
    taken = upload(NODE, MODERN + "percentageOfNodesToScore: 30\n")
    assert taken.scenario is not None
    assert services.run_create(scenario=taken.scenario).profile == "v1.36"


POD = """---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {FIELD: nope, containers: [{name: c, image: x}]}
"""


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("priorityClassName", "no PriorityClass with name nope was found"),
        ("runtimeClassName", 'pod rejected: RuntimeClass "nope" not found'),
    ],
)
def test_a_pod_with_a_missing_class_is_reported(field: str, message: str) -> None:
    taken = upload(NODE + POD.replace("FIELD", field))
    assert taken.scenario is None
    (problem,) = taken.report.files[0].problems
    assert (problem.document, problem.line) == (2, 6)
    assert (problem.field, problem.value) == (f"spec.{field}", '"nope"')
    assert problem.message == message


@pytest.mark.parametrize("field", ["priorityClassName", "runtimeClassName"])
@pytest.mark.parametrize("sign", ["status: {phase: Pending}", "spec: {nodeName: n1, FIELD: nope,"])
def test_a_pod_that_its_cluster_admitted_is_kept(field: str, sign: str) -> None:
    old = POD.replace("spec: {FIELD: nope,", sign) if "FIELD" in sign else f"{POD}{sign}\n"
    taken = upload(NODE + old.replace("FIELD", field))
    told = [*taken.report.warnings, *(each["sentence"] for each in taken.report.placeholders)]
    assert len(told) == 1
    assert any(
        words in told[0]
        for words in (
            "PriorityClass nope is not among the files; 1 pod that a cluster has admitted",
            "RuntimeClass nope is not in these files; it is assumed to have no overhead",
        )
    )
    assert taken.scenario is not None
    cluster = Cluster.create(loaded_of(taken.scenario))
    assert cluster.store.get("Pod", "default/p").spec[field] == "nope"


def test_a_pod_with_an_existing_class_is_accepted() -> None:
    text = "---\nkind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {name: nope}\n"
    given = POD.replace("FIELD", "priorityClassName")
    system = given.replace("nope", "system-node-critical").replace("name: p", "name: q")
    assert upload(NODE + given + system + text + "value: 5\n").scenario is not None


def test_objects_in_a_terminating_namespace_are_accepted() -> None:
    """A file may be a picture of a cluster at such a moment."""
    text = (
        "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: default, "
        "deletionTimestamp: '2024-01-01T00:00:00Z'}\nspec: {finalizers: [kubernetes]}\n"
    )
    taken = upload(NODE + text + POD.replace("FIELD: nope, ", ""))
    assert taken.scenario is not None
    cluster = Cluster.create(loaded_of(taken.scenario))
    assert cluster.store.find("Pod", "default/p") is not None
