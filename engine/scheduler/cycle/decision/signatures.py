"""Signatures of pods: the same one means the same verdicts and scores on the same nodes.

Upstream: framework/runtime/framework.go setSignPlugins(), SignPod() (v1.35).
"""

from __future__ import annotations

import orjson

from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import SignPlugin
from engine.framework.runtime import PluginSet
from engine.framework.simple import author_of
from engine.scheduler.configuration.profiles import Profile


class PodSigner:
    """Signs pods for one profile; *has_extenders* keeps it from signing any."""

    def __init__(self, profile: Profile, plugins: PluginSet, *, has_extenders: bool) -> None:
        asked = [plugin for name in _asked(profile) if (plugin := plugins.by_name.get(name))]
        authors = [author_of(plugin) for plugin in asked]
        self._plugins = [author for author in authors if isinstance(author, SignPlugin)]
        self.is_enabled = (
            profile.rules.batches_pods
            and not has_extenders
            and len(self._plugins) == len(asked)
            and all(plugin.may_sign for plugin in asked)
        )

    def sign(self, pod: PodInfo) -> bytes | None:
        """The signature of *pod*; None if it has none."""
        if not self.is_enabled:
            return None
        fragments: dict[str, object] = {}
        for plugin in self._plugins:
            signed = plugin.sign_pod(pod)
            if signed is None:
                return None
            fragments.update(signed)
        return orjson.dumps(fragments, option=orjson.OPT_SORT_KEYS)


def _asked(profile: Profile) -> tuple[str, ...]:
    """The plugins at PreFilter, Filter, PreScore and Score, each once."""
    scored = (name for name, _ in profile.scores)
    # A plugin that is disabled at one of these points takes part at another.
    partly = sorted(name for name, _ in profile.left_out)
    return tuple(dict.fromkeys((*profile.filters, *scored, *profile.pre_scores, *partly)))
