"""The predicates that GeneralPredicates combines, each on its own: a Policy can name them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.plugins.general_predicates.plugin import GeneralPredicates
from engine.plugins.node_affinity.changes import selector_changes
from engine.plugins.node_affinity.facts import explain_selector
from engine.plugins.node_ports.facts import explain_port
from engine.plugins.node_resources_fit.changes import room_changes
from engine.plugins.node_resources_fit.facts import explain_resources


class _PartOfGeneral(GeneralPredicates):
    """One of the predicates that GeneralPredicates combines, on its own."""

    kept: ClassVar[int] = 0

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Those bits that are this predicate's."""
        return super().filter(state, rows) & self.kept

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """None: the fixes of an attempt are part of a run's history, and runs had none here."""
        return None


class PodFitsResources(_PartOfGeneral):
    """Room for the requests, and for one more pod."""

    name: ClassVar[str] = names.POD_FITS_RESOURCES
    family: ClassVar[str] = "resources"
    # The pod count and every bit from the first resource on.
    kept: ClassVar[int] = ~0xE

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_resources(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return room_changes(refusals)


class HostName(_PartOfGeneral):
    """The node that the pod names."""

    name: ClassVar[str] = names.HOST_NAME
    kept: ClassVar[int] = 0x2

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_selector(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """None: another one of the four proposes changes."""
        return iter(())


class PodFitsHostPorts(_PartOfGeneral):
    """Host ports that are taken."""

    name: ClassVar[str] = names.POD_FITS_HOST_PORTS
    family: ClassVar[str] = "port"
    kept: ClassVar[int] = 0x4

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_port(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """None: another one of the four proposes changes."""
        return iter(())


class MatchNodeSelector(_PartOfGeneral):
    """nodeSelector and required node affinity."""

    name: ClassVar[str] = names.MATCH_NODE_SELECTOR
    family: ClassVar[str] = "selector"
    kept: ClassVar[int] = 0x8

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_selector(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return selector_changes(refusals, {})
