"""-n, -A and -l narrow the answer, never the evidence: which causes are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.report import Group
from engine.input.options import SelectorFault, parse_selector
from engine.objects.selectors import Requirement
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError

# The lists of a group, and the kinds of what is in them.
_PARTS = {
    "pods": "Pod",
    "claims": "PersistentVolumeClaim",
    "nodes": "Node",
    "namespaces": "Namespace",
}


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The namespace and labels of the objects that are asked about; empty for all."""

    evidence: Evidence
    namespace: str = ""
    selector: tuple[Requirement, ...] = ()

    @classmethod
    def of(cls, request: Request, evidence: Evidence, own: str = "") -> Narrowing:
        """Those of a request; without -n and -A the namespace is *own*, that of a context.

        Raises ProgramError for both -n and -A, and for a broken selector.
        """
        namespace = request["namespace"] or ""
        if namespace and request["all-namespaces"]:
            raise ProgramError("-n and -A were both given", helps=["leave one of them out"])
        if not request["all-namespaces"]:
            namespace = namespace or own
        try:
            return cls(evidence, namespace, parse_selector(request["selector"] or ""))
        except SelectorFault as fault:
            message = f"{fault.part!r} is no label selector"
            raise ProgramError(message, helps=["app=web or 'tier in (a,b)'"]) from fault

    @property
    def is_whole(self) -> bool:
        """Whether everything is asked about."""
        return not self.namespace and not self.selector

    def groups(self, groups: Iterable[Group]) -> Iterator[Group]:
        """The groups that hold an object that is asked about."""
        for group in groups:
            if self.is_whole or self._holds(group):
                yield group

    def _holds(self, group: Group) -> bool:
        named = [(kind, key) for part, kind in _PARTS.items() for key in getattr(group, part)]
        workloads = [each.partition("/")[::2] for each in (*group.workloads, *group.objects)]
        named += [(self.evidence.kind_named(word) or word, key) for word, key in workloads]
        return any(self.admits(kind, key) for kind, key in named)

    def admits(self, kind: str, key: str) -> bool:
        """Whether an object is asked about."""
        if self.namespace:
            of = key if kind == "Namespace" else key.rpartition("/")[0]
            if of != self.namespace:
                return False
        if not self.selector:
            return True
        raw = self.evidence.find(kind, key)
        labels = (raw or {"metadata": {}})["metadata"].get("labels") or {}
        return all(each.matches(labels) for each in self.selector)
