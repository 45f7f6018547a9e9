"""The choice from what is kept per template, where no node has to be evaluated."""

from __future__ import annotations

from engine.framework.columns.cells import Ties
from engine.framework.columns.fast_path import FastPath
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework
from engine.framework.scoring import ScoringFailed
from engine.plugins.dynamic_resources.protocol import AllocatesDevices
from engine.scheduler.configuration.profiles import Profile


class QuickChoices:
    """The fast path of one profile, where it may be taken.

    With *may_fail* some plugin may answer with an error, which ends the attempt.
    """

    def __init__(
        self,
        framework: Framework,
        profile: Profile,
        nominated: Nominated,
        fast: FastPath,
        devices: AllocatesDevices | None,
        *,
        may_fail: bool,
    ) -> None:
        self._framework = framework
        self._uses_predicates = profile.rules.uses_predicates
        self._nominated = nominated
        self.fast = fast
        self._devices = devices
        self._may_fail = may_fail
        # The fast path takes a total below zero for a node that does not fit.
        self._may_be_negative = any(weight < 0 for _, weight in profile.scores)

    def choose(
        self, pod: PodInfo, rows: IntArray, wanted: int
    ) -> tuple[CycleState, IntArray | Ties, int, int] | None:
        """The state, the tied rows, how many fit, and how many were evaluated until *wanted* fitted.

        None if every node must be evaluated. Nothing is chosen among the tied yet.
        """
        if self._may_fail and (not self._uses_predicates or pod.pod.claim_names):
            return None  # An error on any node fails the attempt.
        nominated, devices = self._nominated, self._devices
        if self._may_be_negative or (nominated.by_node and nominated.concern(pod)):
            return None
        state = self._framework.new_state(pod)
        if state.template.unreadable_preferences:
            return None
        start = self._framework.handle.next_start
        try:
            choice = self.fast.choose(state, rows, start, wanted)
        except ScoringFailed:
            return None  # The failure only counts if it concerns a node that fits.
        if choice is None or (devices is not None and devices.ends_with_error(state)):
            return None
        tied, feasible, evaluated = choice
        return state, tied, feasible, evaluated
