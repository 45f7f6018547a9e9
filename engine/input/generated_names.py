"""Names of objects that have only a generateName, as an API server completes them.

A name is drawn once everything is read, so that it depends on the seed of the scenario and on the
order of the objects, and not on the order of the files' headers. Until then an object has a name
that no API server would draw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from engine.kernel.rng import Streams
from engine.objects.naming import generated_name

Manifest = dict[str, Any]

_LONGEST_PREFIX: Final = 58
_MADE_BY: Final = ("create", "apply", "replace", "objects")


class GeneratedNames:
    """Gives names for the time being, and then those that stay."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._prefixes)

    def named(self, raw: Any) -> Any:
        """*raw*, an object of whatever shape, with a name where it asks for one."""
        manifest = cast("Manifest", raw) if isinstance(raw, dict) else {}
        metadata: Any = manifest.get("metadata")
        if not isinstance(metadata, dict):
            return cast("Any", raw)
        parts = cast("Manifest", metadata)
        prefix = parts.get("generateName")
        if parts.get("name") or not isinstance(prefix, str) or not prefix:
            return cast("Any", raw)
        name = f"{prefix[:_LONGEST_PREFIX]}{len(self._prefixes):05d}"[:253]
        self._prefixes[name] = prefix
        return {**manifest, "metadata": {**parts, "name": name}}

    def steps_named(self, steps: Any) -> Any:
        """*steps* of a scenario, of whatever shape, with such names in their manifests."""
        if not isinstance(steps, list):
            return steps
        return [self._step_named(each) for each in cast("list[Any]", steps)]

    def _step_named(self, step: Any) -> Any:
        if not isinstance(step, dict):
            return step
        found = dict(cast("Manifest", step))
        for verb in _MADE_BY:
            body = found.get(verb)
            if isinstance(body, list):
                found[verb] = [self.named(each) for each in cast("list[Any]", body)]
            elif isinstance(body, dict):
                found[verb] = self.named(body)
        return found

    def drawn(self, seed: int, is_taken: Callable[[str], bool]) -> Callable[[Manifest], Manifest]:
        """A function that gives each object so named the name that stays."""
        draws = Streams(seed).stream("generateName")
        final: dict[str, str] = {}
        taken: dict[str, None] = {}
        for name, prefix in self._prefixes.items():
            drawn = generated_name(prefix, draws)
            while is_taken(drawn) or drawn in taken:
                drawn = generated_name(prefix, draws)
            final[name] = drawn
            taken[drawn] = None

        def renamed(manifest: Manifest) -> Manifest:
            metadata = manifest["metadata"]
            name = final.get(metadata["name"])
            if name is None or metadata.get("generateName") is None:
                return manifest
            return {**manifest, "metadata": {**metadata, "name": name}}

        return renamed
