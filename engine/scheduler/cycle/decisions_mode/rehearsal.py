"""The rehearsal of an upgrade: which pods two versions decide otherwise, and the rule that changed.

Each pending pod is tried once under either version (`decisions_mode`). A rule is found by trying
it: where the newer version with the older one's value decides as the older one, that rule is it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from engine.input.reading import ConfigurationError
from engine.kernel.rng import Streams
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest, from_manifest
from engine.scheduler.configuration.scenario_schedulers import setup_without_configuration
from engine.scheduler.cycle.decisions_mode.decide import decide
from engine.versions.kubernetes_version import KubernetesVersion, with_gates
from engine.versions.registry import VERSIONS
from engine.versions.shown.differences import NONE

# What becomes of a pod under the second version: it gets a node, another one, none, or cannot be compared.
Kind = Literal["placed", "moved", "waits", "unknown", "evicted"]
_GATED: Final = "gated"
# For so many pods the rule is looked for; each takes a few decisions.
_MOST_EXPLAINED: Final = 20
# The fields of a version that are tried as wholes, beside its gates.
_AREAS: Final = (
    *("plugins", "cycle", "preemption", "queue", "cache", "resources", "storage", "binder"),
    *("admission", "wording"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What one version decides on a pod; `node` is "" for none, `tied` are the nodes that scored alike."""

    node: str = ""
    result: str = ""
    message: str = ""
    tied: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()

    @property
    def is_modelled(self) -> bool:
        """Whether the version is modelled for what the pod asks for."""
        return self.result != _GATED or "does not model" not in self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule that differs between the two, with both values: a gate, or an area of rules."""

    kind: Literal["gate", "area"]
    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A pod that is decided otherwise, by `rule`, or because `follows` (a pod) is; both may be unknown."""

    pod: str
    kind: Kind
    before: Decided
    after: Decided
    rule: Rule | None = None
    follows: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """All pods, by what became of them under the profiles `a` and `b`."""

    a: str
    b: str
    differences: tuple[Difference, ...]
    stay: tuple[str, ...]
    placed_alike: tuple[str, ...]
    wait: tuple[str, ...]
    # Those that wait under both, for reasons that are worded otherwise, with one pair of messages.
    reworded: tuple[str, ...] = ()
    wording: tuple[str, str] = ("", "")


@dataclass(slots=True)
class _Decisions:
    """Decides on the same objects under one version after another."""

    manifests: Sequence[Manifest]
    seed: int | None
    _known: dict[str, Mapping[str, Decided]] = field(
        default_factory=dict[str, Mapping[str, Decided]]
    )

    def under(
        self, version: KubernetesVersion, manifests: Sequence[Manifest] | None = None
    ) -> Mapping[str, Decided]:
        """The decision on each pod that waits. Raises SimError for what the version refuses."""
        setup = setup_without_configuration(version)
        ties = None if self.seed is None else Streams(self.seed).stream("ties")
        found = decide(
            [from_manifest(each) for each in (self.manifests if manifests is None else manifests)],
            *setup.profiles,
            ties=ties,
            evidence=False,
        )
        return _decided(found)


def rehearse(
    manifests: Sequence[Manifest], a: str, b: str, *, seed: int | None = None
) -> Rehearsal:
    """Compare what the versions *a* and *b* decide. With *seed* ties are drawn, else the first name wins.

    Raises SimError or ValueError for objects that one of them refuses.
    """
    decisions = _Decisions(manifests, seed)
    before, after = decisions.under(VERSIONS[a]), decisions.under(VERSIONS[b])
    found = [each for key in after if (each := _difference(key, before.get(key), after[key]))]
    explained = [*_explained(decisions, found, VERSIONS[a], VERSIONS[b])]
    other = {each.pod for each in found}
    alike = [key for key in after if key not in other]
    waiting = tuple(key for key in alike if not after[key].node)
    reworded = tuple(key for key in waiting if before[key].message != after[key].message)
    first = reworded[0] if reworded else ""
    return Rehearsal(
        a=a,
        b=b,
        differences=tuple(explained),
        stay=tuple(_with_node(manifests)),
        placed_alike=tuple(key for key in alike if after[key].node),
        wait=waiting,
        reworded=reworded,
        wording=(before[first].message, after[first].message) if first else ("", ""),
    )


def _with_node(manifests: Sequence[Manifest]) -> Iterator[str]:
    for each in manifests:
        if each["kind"] == "Pod" and section(each, "spec").get("nodeName"):
            yield _key(each)


def _key(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return f"{metadata.get('namespace') or 'default'}/{metadata['name']}"


def _decided(found: Mapping[str, Any]) -> dict[str, Decided]:
    """The last attempt of each pod."""
    decided: dict[str, Decided] = {}
    for attempt in found["attempts"]:
        decided[attempt["pod"]] = Decided(
            node=attempt["node"] or "",
            result=attempt["result"],
            message=attempt["message"],
            tied=tuple(attempt["tied"]),
            devices=tuple(_devices(attempt.get("devices") or {})),
        )
    return decided


def _devices(found: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for claim, devices in found.items():
        yield from (f"{claim}: {device}" for device in devices)


def _difference(key: str, before: Decided | None, after: Decided) -> Difference | None:
    before = before or Decided(result=_GATED)
    if before.is_modelled != after.is_modelled:
        return Difference(pod=key, kind="unknown", before=before, after=after)
    if before.node == after.node:
        return None
    kind: Kind = "placed" if not before.node else "moved" if after.node else "waits"
    return Difference(pod=key, kind=kind, before=before, after=after)


# -- which rule --------------------------------------------------------------------------------------


def _explained(
    decisions: _Decisions,
    found: Sequence[Difference],
    a: KubernetesVersion,
    b: KubernetesVersion,
) -> Iterator[Difference]:
    """Each with its rule, or with the pod that it follows from."""
    wanted = [each for each in found if each.kind != "unknown"][:_MOST_EXPLAINED]
    rules = list(_tried(decisions, a, b)) if wanted else []
    for place, each in enumerate(found):
        if each not in wanted:
            yield each
            continue
        first = _follows(decisions, found[:place], each, b)
        rule = next((rule for rule, decided in rules if _same(decided, each)), None)
        yield replace(each, follows=first, rule=None if first else rule)


def _same(decided: Mapping[str, Decided], difference: Difference) -> bool:
    now = decided.get(difference.pod)
    return now is not None and now.node == difference.before.node


def _follows(
    decisions: _Decisions,
    earlier: Sequence[Difference],
    difference: Difference,
    b: KubernetesVersion,
) -> str:
    """The first pod before it without whose other place it would be decided as before; "" for none."""
    for each in earlier:
        if each.kind == "unknown":
            continue
        as_before = list(_as_before(decisions.manifests, each))
        if _same(decisions.under(b, as_before), difference):
            return each.pod
    return ""


def _as_before(manifests: Sequence[Manifest], difference: Difference) -> Iterator[Manifest]:
    """The objects, of which one pod is where the first version puts it: on its node, or nowhere."""
    for each in manifests:
        if each["kind"] != "Pod" or _key(each) != difference.pod:
            yield each
        elif difference.before.node:
            yield {**each, "spec": {**each["spec"], "nodeName": difference.before.node}}


def _tried(
    decisions: _Decisions, a: KubernetesVersion, b: KubernetesVersion
) -> Iterator[tuple[Rule, Mapping[str, Decided]]]:
    """The newer version with one rule of the older one after another, and what it then decides."""
    for rule, version in (*_gates(a, b), *_areas(a, b)):
        try:
            yield rule, decisions.under(version)
        except (ConfigurationError, TypeError, ValueError):
            # The rules of one version do not all go with those of another.
            continue


def _gates(a: KubernetesVersion, b: KubernetesVersion) -> Iterator[tuple[Rule, KubernetesVersion]]:
    for name, gate in b.feature_gates.items():
        old = a.feature_gates.get(name)
        if gate.is_locked or gate.default == (old is not None and old.default):
            continue
        before = "off" if old is None else old.shown
        try:
            changed = with_gates(b, {name: not gate.default})
        except ConfigurationError:
            continue
        yield Rule(kind="gate", name=name, before=before, after=gate.shown), changed


def _areas(a: KubernetesVersion, b: KubernetesVersion) -> Iterator[tuple[Rule, KubernetesVersion]]:
    for area in _AREAS:
        old, new = getattr(a, area), getattr(b, area)
        if old != new:
            rule = Rule(kind="area", name=area, before=a.name if old else NONE, after=b.name)
            yield rule, replace(b, **{area: old})
