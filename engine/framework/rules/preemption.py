"""How preemption differs between versions, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionRules:
    """How preemption works in one version; by default, as in the oldest."""

    budgets_count_down: bool = False
    """Victims on one node use up a disruption budget together; otherwise each is compared with it alone."""
    needs_victims: bool = False
    """A node without pods of lower priority is no candidate."""
    limits_candidates: bool = False
    """In a large cluster only some candidates are looked for, from a random start."""
    sorts_victims: bool = False
    """Victims are ordered by importance again after some were spared."""
    checks_policy: bool = False
    """A pod with preemptionPolicy Never does not preempt."""
    errors_fail: bool = False
    """A filter that fails in a dry run fails the preemption, unless another node is a candidate."""
    clears_without_candidates: bool = False
    """A pod loses its nomination when no node is a candidate; otherwise only when evictions could help nowhere."""
    gives_hopeless_up: bool = False
    """A pod does not wait for victims on its nominated node when evictions can no longer help there."""
    goes_by_start: bool = False
    """Victims of equal priority that started first are spared."""
    trusts_unseen: bool = True
    """Evictions may help on a node that no plugin has rejected."""
    knows_its_victims: bool = False
    """A preemptor waits only for pods that terminate because of a preemption."""
    needs_evictions: bool = False
    """A node where no pod has to be evicted fails its dry run."""
    spares_the_leaving: bool = False
    """Pods that terminate already are not evicted again and get no Event."""
    says_where: bool = False
    """A preemption that finds a node says which, and how many victims; otherwise only one that finds none speaks."""
    candidate_percentage: int = 10
    """The share of the nodes that are looked at as candidates (minCandidateNodesPercentage)."""
    min_candidates: int = 100
    """How many nodes are looked at as candidates at least (minCandidateNodesAbsolute)."""
