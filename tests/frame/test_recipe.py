"""The command that prints a cluster: which kinds it asks for, and that documents have the same one."""

import re
from pathlib import Path

import pytest

from engine.api_server.validation.kinds import KINDS
from engine.objects.outside import NAMED, READ
from kscope.recipe import recipe, simple_recipe
from kube.resources import SERVED

ROOT = Path(__file__).resolve().parents[2]


def asked_for() -> re.Pattern[str]:
    """What the names of resources are compared with, as grep -xE does."""
    found = re.search(r"grep -xE '([^']+)'", recipe())
    assert found
    return re.compile(found[1])


def test_every_kind_that_is_played_is_asked_for() -> None:
    names = {one.kind: f"{one.plural}.{one.group}".removesuffix(".") for one in SERVED}
    assert [
        kind for kind in KINDS if kind in names and not asked_for().fullmatch(names[kind])
    ] == []


@pytest.mark.parametrize(
    "name",
    [
        *("events", "leases.coordination.k8s.io", "csinodes.storage.k8s.io"),
        *("volumesnapshots.snapshot.storage.k8s.io", "nodepools.karpenter.sh"),
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "workloads.kueue.x-k8s.io",
    ],
)
def test_evidence_is_asked_for(name: str) -> None:
    assert asked_for().fullmatch(name)


@pytest.mark.parametrize(
    "name",
    # The second and third are other products', and the fourth repeats every Event.
    ["secrets", "deployments.extensions", "podgroups.scheduling.x-k8s.io", "events.events.k8s.io"],
)
def test_data_and_other_products_are_not_asked_for(name: str) -> None:
    assert not asked_for().fullmatch(name)


def test_kinds_of_names_are_printed_by_name_alone() -> None:
    [line] = [each for each in recipe().splitlines() if each.startswith("kubectl get secrets")]
    assert set(line.split()[2].split(",")) == {f"{kind.lower()}s" for kind in NAMED}
    assert "-o go-template=" in line
    assert {*NAMED} < READ


def test_simple_command_leaves_out_what_clusters_may_lack() -> None:
    kinds = simple_recipe().split()[2].split(",")
    assert {"deployments", "poddisruptionbudgets", "storageclasses", "csinodes", "events"} <= {
        *kinds
    }
    assert not {"podgroups", "workloads", "deviceclasses", "secrets"} & {*kinds}


def test_the_documents_have_the_same_command() -> None:
    assert recipe() in (ROOT / "docs" / "scenario-format.md").read_text()
