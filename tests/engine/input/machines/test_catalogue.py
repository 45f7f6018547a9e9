"""The catalogue of instance types: each figure follows from what its provider publishes.

The rules stand here as the providers write them down, apart from the code that has them for users.
"""

import re
from collections.abc import Iterator
from fractions import Fraction

import pytest

from engine.input.machines.catalogue import InstanceType, instance_types

TYPES = [*instance_types().values()]
_ADDRESS = re.compile(r"https://[^ ]+")
# Of https://github.com/awslabs/amazon-eks-ami, templates/shared/runtime/eni-max-pods.txt.
PODS_OF_EKS = {
    "t3.medium": 17,
    "t3.large": 35,
    "t3.xlarge": 58,
    "t3.2xlarge": 58,
    "m5.large": 29,
    "m5.xlarge": 58,
    "m5.4xlarge": 234,
    "m5.16xlarge": 737,
    "m5.24xlarge": 737,
    "c5.9xlarge": 234,
    "g4dn.xlarge": 29,
    "g4dn.12xlarge": 234,
    "g5.xlarge": 58,
}
# The rows of tables of https://learn.microsoft.com/azure/aks/node-resource-reservations.
CPU_OF_AKS = {1: 60, 2: 100, 4: 140, 8: 180, 16: 260, 32: 420, 64: 740}


def of(provider: str) -> list[InstanceType]:
    found = [one for one in TYPES if one.provider == provider]
    assert found
    return found


def parts(size: int, steps: tuple[tuple[int, Fraction], ...], rest: Fraction) -> Fraction:
    """So much of the first, of the next, …, and of the rest."""
    kept, left = Fraction(0), size
    for step, part in steps:
        kept, left = kept + min(step, left) * part, max(left - step, 0)
    return kept + left * rest


def cpu_kept(cpu: int) -> Fraction:
    """6 % of the first CPU, 1 % of the next, 0.5 % of the next two, 0.25 % of the rest: EKS and GKE."""
    steps = ((1_000, Fraction(6, 100)), (1_000, Fraction(1, 100)), (2_000, Fraction(5, 1_000)))
    return parts(cpu, steps, Fraction(25, 10_000))


def texts() -> Iterator[tuple[str, str]]:
    for one in TYPES:
        yield from one.sources.items()


def test_every_figure_has_its_source() -> None:
    for one in TYPES:
        needed = {"types", "pods"} | ({"reserved", "volumes"} if one.driver else set())
        assert needed <= one.sources.keys(), one.name
        assert one.family
    for name, text in texts():
        assert name == "machine" or _ADDRESS.match(text), text


def test_each_family_has_its_own_source() -> None:
    by_source: dict[str, set[str]] = {}
    for one in TYPES:
        by_source.setdefault(one.sources["types"], set()).add(one.family)
    assert all(len(families) == 1 for families in by_source.values()), by_source


@pytest.mark.parametrize("name", PODS_OF_EKS)
def test_pods_of_eks_follow_from_its_interfaces(name: str) -> None:
    assert instance_types()[name].pods == PODS_OF_EKS[name]


def test_eks_keeps_what_its_images_keep() -> None:
    for one in of("aws"):
        assert one.cpu - one.allocatable_cpu == int(cpu_kept(one.cpu)), one.name
        assert one.memory - one.allocatable_memory == 11 * one.pods + 255 + 100, one.name


def test_gke_keeps_what_its_page_says() -> None:
    quarter, fifth, tenth = Fraction(1, 4), Fraction(1, 5), Fraction(1, 10)
    gib = 1_024
    steps = ((4 * gib, quarter), (4 * gib, fifth), (8 * gib, tenth), (112 * gib, Fraction(6, 100)))
    for one in of("gcp"):
        kept = parts(one.memory, steps, Fraction(2, 100)) + 100
        assert one.cpu - one.allocatable_cpu == int(cpu_kept(one.cpu)), one.name
        # Parts of a MiB are left to pods or not, by a part each.
        assert abs(one.memory - one.allocatable_memory - kept) < 5, one.name
        assert one.pods == 110


def test_aks_keeps_what_its_page_says() -> None:
    for one in of("azure"):
        assert one.cpu - one.allocatable_cpu == CPU_OF_AKS[one.cpu // 1_000], one.name
        kept = min(20 * one.pods + 50, one.memory // 4) + 100
        assert one.memory - one.allocatable_memory == kept, one.name
        assert one.pods == 110


def test_local_clusters_keep_nothing() -> None:
    for one in (*of("kind"), *of("k3s")):
        assert (one.allocatable_cpu, one.allocatable_memory) == (one.cpu, one.memory)
        assert (one.pods, one.volumes, one.driver) == (110, 0, "")


def test_volumes_are_those_that_drivers_allow() -> None:
    told = {one.name: one.volumes for one in TYPES}
    # With one interface, and without the root volume.
    assert {told[name] for name in ("m5.large", "t3.medium", "c5.9xlarge", "m6g.large")} == {26}
    assert [told[name] for name in ("m7i.large", "g4dn.xlarge", "g4dn.12xlarge")] == [31, 24, 21]
    assert {one.volumes for one in of("gcp")} == {127}
    # Azure's sizes take two disks for each CPU, and at most 32; DSv2 takes four for each.
    for one in of("azure"):
        each = 4 if one.family == "DSv2" else 2
        most = 32 if one.name != "Standard_B2s" else 4
        assert one.volumes == min(each * one.cpu // 1_000, most), one.name


def test_machines_have_memory_by_their_family() -> None:
    ratios = {
        **dict.fromkeys(("m5", "m6i", "m7i", "m6g", "g4dn", "g5"), {4}),
        "t3": {2, 4},
        "c5": {2},
        "r5": {8},
        "e2": {4},
        "n2d": {4},
        "c2": {4},
        "n1": {Fraction(15, 4)},
        "n2": {1, 4, 8},
        "a2": {Fraction(85, 12)},
        "Bs": {2, 4},
        "DSv2": {Fraction(7, 2)},
        "Dsv3": {4},
        "Dsv5": {4},
        "Esv5": {8},
        "Fsv2": {2},
        "NCasT4_v3": {7},
    }
    for one in TYPES:
        # Of EKS the catalogue has what is left when 7.5 % are taken for firmware and kernel.
        gib = Fraction(one.memory, 1_024) / (Fraction(925, 1_000) if one.provider == "aws" else 1)
        ratio = gib / Fraction(one.cpu, 1_000)
        near = ratios.get(one.family, {ratio})
        assert min(abs(ratio - each) for each in near) < Fraction(1, 100), (one.name, float(ratio))
