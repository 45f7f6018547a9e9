"""The words for kinds, as kubectl has them, and which object somebody means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from kscope.program.speech.errors import ProgramError, similar, similar_help
from kscope.program.speech.words import several

# Short names and plurals. Upstream: the short names of the API's resources.
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("po", "pods"),
    "PersistentVolumeClaim": ("pvc", "claim", "claims", "persistentvolumeclaims"),
    "PersistentVolume": ("pv", "volume", "volumes", "persistentvolumes"),
    "Node": ("no", "nodes"),
    "Deployment": ("deploy", "deployments"),
    "StatefulSet": ("sts", "statefulsets"),
    "DaemonSet": ("ds", "daemonsets"),
    "ReplicaSet": ("rs", "replicasets"),
    "ReplicationController": ("rc", "replicationcontrollers"),
    "Job": ("jobs",),
    "CronJob": ("cj", "cronjobs"),
    "HorizontalPodAutoscaler": ("hpa", "horizontalpodautoscalers"),
    "PodDisruptionBudget": ("pdb", "budget", "poddisruptionbudgets"),
    "ResourceQuota": ("quota", "resourcequotas"),
    "LimitRange": ("limits", "limitranges"),
    "StorageClass": ("sc", "class", "storageclasses"),
    "Namespace": ("ns", "namespaces"),
    "ConfigMap": ("cm", "configmaps"),
    "Secret": ("secrets",),
    "Service": ("svc", "services"),
    "ServiceAccount": ("sa", "serviceaccounts"),
    "VolumeAttachment": ("volumeattachments",),
    "PriorityClass": ("pc", "priorityclasses"),
    "ResourceClaim": ("resourceclaims",),
    "DeviceTaintRule": ("devicetaintrules",),
}
KIND_OF_WORD: Final = {
    word: kind for kind, words in _WORDS.items() for word in (kind.lower(), *words)
}


@dataclass(frozen=True, slots=True)
class Named:
    """An object as it was typed: the word for its kind and its name, with its namespace or without."""

    word: str
    name: str

    @property
    def namespace(self) -> str:
        """The namespace before the name; "" where there is none."""
        return self.name.rpartition("/")[0]

    @property
    def own_name(self) -> str:
        """The name alone."""
        return self.name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Found:
    """The kind and key of an object of the files, and a namespace that was taken unasked."""

    kind: str
    key: str
    taken: str = ""


def kind_of(word: str, evidence: Evidence) -> str:
    """The kind that *word* names, of those that are known or in the files. Raises ProgramError."""
    found = KIND_OF_WORD.get(word.lower()) or evidence.kind_named(word)
    found = found or evidence.kind_named(word.removesuffix("s")) or evidence.kind_named(word[:-2])
    if found:
        return found
    known = (*KIND_OF_WORD, *(each.lower() for each in evidence.kinds))
    raise ProgramError(f"no kind is called {word}", helps=similar_help("kind", word.lower(), known))


def found_object(named: Named, evidence: Evidence, namespace: str, source: str) -> Found:
    """The object of the files that is meant; -n is *namespace*. Raises ProgramError for none."""
    kind = kind_of(named.word, evidence)
    wanted = named.namespace or namespace
    keys = [_key(each) for each in evidence.all(kind)]
    same = [key for key in keys if key.rpartition("/")[2] == named.own_name]
    own = [key for key in same if not wanted or "/" not in key or key.rpartition("/")[0] == wanted]
    if len(own) == 1:
        taken = own[0].rpartition("/")[0] if not wanted else ""
        return Found(kind, own[0], taken)
    if own:
        raise _ambiguous(kind, named, own)
    raise _absent(kind, named, (keys, same), wanted, source)


def _key(manifest: Mapping[str, object]) -> str:
    metadata: Mapping[str, object] = manifest["metadata"]  # type: ignore[assignment]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _ambiguous(kind: str, named: Named, keys: list[str]) -> ProgramError:
    namespaces = [key.rpartition("/")[0] for key in keys]
    return ProgramError(
        f"{kind.lower()} {named.own_name} is in namespaces {several(namespaces)}",
        helps=[f"say which: -n {namespaces[0]}"],
    )


def _absent(
    kind: str, named: Named, known: tuple[list[str], list[str]], wanted: str, source: str
) -> ProgramError:
    """No such object: those with near names, and where one of that name is."""
    keys, same = known
    where = f" in namespace {wanted}" if wanted and "/" in "".join(keys[:1]) else ""
    helps: list[str] = []
    if same:
        elsewhere = several([key.rpartition("/")[0] for key in same])
        helps = [f"there is one in namespace {elsewhere}: -n {same[0].rpartition('/')[0]}"]
    else:
        beside = [key for key in keys if not where or key.startswith(f"{wanted}/")]
        near = similar(named.own_name, _names(beside)) or similar(named.own_name, _names(keys))
        helps = [f"{kind.lower()}s with similar names: {', '.join(near)}"] if near else []
    option = f" -n {wanted}" if where else ""
    helps.append(f"all that wait: kscope triage {source}{option}")
    return ProgramError(f"no {kind.lower()} {named.own_name}{where} of {source}", helps=helps)


def _names(keys: Iterable[str]) -> list[str]:
    return [key.rpartition("/")[2] for key in keys]
