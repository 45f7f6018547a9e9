"""The four kinds of patches that clients send, each applied to a manifest.

Nothing that is given is changed.
"""

from kube.patching.json_patch import json_patched
from kube.patching.merge_patch import difference, merge_patched
from kube.patching.strategic import strategic_patched

__all__ = ["difference", "json_patched", "merge_patched", "strategic_patched"]
