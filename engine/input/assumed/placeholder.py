"""An object that stands in the place of one that the files name and do not hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from engine.kernel.sentences import Sentence
from engine.objects.manifest_parts import section

Manifest = dict[str, Any]

# The annotation of a placeholder. It says what the placeholder is made from.
ANNOTATION: Final = "kscope.dev/placeholder"
# Where placeholders stand, in the place of a file.
FILE: Final = "(assumed)"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """The object, and why it is assumed: a whole sentence."""

    manifest: Manifest
    sentence: Sentence

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return self.manifest["kind"]

    @property
    def key(self) -> str:
        """ "namespace/name", or the name alone."""
        metadata = self.manifest["metadata"]
        namespace = metadata.get("namespace")
        return f"{namespace}/{metadata['name']}" if namespace else metadata["name"]

    def to_dict(self) -> dict[str, str]:
        """The JSON form."""
        return {"kind": self.kind, "key": self.key, "sentence": self.sentence}


def assumed(manifest: Manifest, sentence: Sentence) -> Placeholder:
    """A placeholder of *manifest*, which is marked as one."""
    metadata = manifest["metadata"]
    annotations = {**section(metadata, "annotations"), ANNOTATION: str(sentence)}
    return Placeholder({**manifest, "metadata": {**metadata, "annotations": annotations}}, sentence)


def placeholder_sentence(manifest: Manifest) -> str:
    """Why a manifest is assumed; "" for one that the files hold."""
    return str(section(manifest["metadata"], "annotations").get(ANNOTATION) or "")
