"""What of an answer about a sick cluster is said in words that no catalogue has."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from engine.diagnosis.observed.evidence import key_of
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.triage import triage
from engine.kernel.sentences import Sentence
from tests.reasons.collected import event_reasons, plugin_reasons
from tests.sick_clusters.standing import Sick, sick

_MOST_ASKED: Final = 25
_PLACE: Final = re.compile(r"(\{\w+\})")
_OURS: Final = re.compile(r"⟦[^⟦⟧]*⟧")
_WORD: Final = re.compile(r"[A-Za-z]{3,}")
_ENGINE: Final = Path(__file__).parents[2] / "engine"
# Modules that write what Kubernetes would say, where no Event has said it yet.
_UPSTREAM: Final = (
    "diagnosis/triage/stuck/inferred.py",
    "diagnosis/triage/stuck/security.py",
    "diagnosis/triage/stuck/webhooks.py",
    "framework/messages.py",
    "plugins/volume_binding/reasons.py",
    "plugins/volume_binding/volume_finder.py",
)
# What kinds, components, conditions and settings are called.
_NAMES: Final = frozenset(
    _WORD.findall(
        """
        apiserver attachdetach Bound ClaimLost ClaimMisbound clusterqueue configmap ConfigMaps
        container ContainerCreating controller csidriver daemonset DaemonSet default deployment
        disruption driver external Failed finalizer gates job Job kube kubelet limitrange Lost node
        nodes NoExecute NoSchedule Pending persistentvolume PersistentVolumeClaim
        persistentvolumeclaim persistentvolumeclaims pod poddisruptionbudget pods priorityclass
        protection provisioner pvc replicaset resizer resourcequota runtimeclass scheduler
        scheduling secret Secrets serviceaccount ServiceAccounts statefulset storageclass Succeeded
        taint volume volumeattachment volumesnapshots webhook workload
        """
    )
)


class Bracketed:
    """A language that puts each pattern into brackets, but for its places."""

    def gettext(self, message: str, /) -> str:
        parts = filter(None, _PLACE.split(message))
        return "".join(part if _PLACE.fullmatch(part) else f"⟦{part}⟧" for part in parts)

    def ngettext(self, singular: str, plural: str, number: int, /) -> str:
        return self.gettext(singular if number == 1 else plural)


def unsaid(seed: int) -> dict[str, str]:
    """Words of answers that stand in no pattern and are no names, each with its text."""
    found = sick(seed)
    files = orjson.dumps(found.manifests).decode()
    # Objects that are assumed, because the files do not hold them, have names too.
    names = " ".join(key_of(each) for each in found.evidence.everything())
    known = {*_WORD.findall(files), *_WORD.findall(names), *_of_kubernetes(), *_NAMES}
    said = ((each, each.said_in(Bracketed())) for each in _sentences([*_answers(found)]))
    return {
        word: str(sentence)
        for sentence, text in said
        for word in _WORD.findall(_OURS.sub(" ", text))
        if word not in known
    }


def _answers(found: Sick) -> Iterator[Any]:
    yield triage(found.cluster, found.evidence).to_dict()
    asked = [each for each in found.evidence.everything() if each["kind"] != "Event"]
    for each in asked[:_MOST_ASKED]:
        about = each["kind"], key_of(each)
        answer = explain_as_it_stands(found.cluster, found.evidence, *about, tries_changes=False)
        assert answer is not None
        yield answer.to_dict()


def _sentences(answer: Any) -> Iterator[Sentence]:
    if isinstance(answer, Sentence):
        yield answer
    elif is_dataclass(answer):
        yield from _sentences([getattr(answer, each.name) for each in fields(answer)])
    elif isinstance(answer, dict):
        yield from _sentences(list(answer.values()))
    elif isinstance(answer, list | tuple):
        for each in answer:
            yield from _sentences(each)


@cache
def _of_kubernetes() -> frozenset[str]:
    """The words of upstream's reasons and messages, and the names of plugins."""
    names = {each.name for each in (_ENGINE / "plugins").iterdir()}
    plugins = {"".join(part.title() for part in name.split("_")) for name in names}
    texts = [*plugin_reasons(), *event_reasons(), *plugins]
    for path in _UPSTREAM:
        constants = ast.walk(ast.parse((_ENGINE / path).read_text()))
        texts += [str(each.value) for each in constants if isinstance(each, ast.Constant)]
    return frozenset(_WORD.findall(" ".join(texts)))
