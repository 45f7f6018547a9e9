"""The protocol of a plugin that names the smallest change after which a pod would fit a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import Sentence
from engine.objects.objects import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestFix:
    """A merge patch of the object with id `object`; `text` is a sentence that says what it does.

    If `is_tried` is true it patches the pod, and is offered only if the pod then fits the node.
    """

    text: Sentence
    object: str
    patch: Manifest
    is_tried: bool = False


@runtime_checkable
class Fixes(Protocol, metaclass=AskedOnce):
    """A plugin at Filter whose refusal a single change can undo."""

    name: ClassVar[str]

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """For *node*, which only this plugin refuses; *numbers* are those of its `Detail`."""
        ...
