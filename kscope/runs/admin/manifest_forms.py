"""The form of an object, and what it says of a newer version of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from kscope.runs.admin.yaml_fields import ManifestField, remark_text
from kscope.runs.editing import texts
from kscope.runs.manifest_edits import change_body, difference, without_managers
from kscope.runs.models import ProjectedObject

# The names of fields from a manifest's top to one of its parts.
Path = tuple[str, ...]


class ManifestForm(forms.Form):
    """The manifest as YAML. `command()` says what the user wants, as a command's body.

    The form carries what it was rendered with: the values, so that only what the user changed is
    asked for, and the resourceVersion, so that the engine refuses an edit of something older.
    Subclasses add fields for what is edited often, and say in `places` where in the manifest each
    stands; what they change goes on top of it.
    """

    places: ClassVar[Mapping[str, Path]] = {}
    version = forms.CharField(widget=forms.HiddenInput, required=False)
    manifest = ManifestField(
        help_text=gettext_lazy(
            "The object as the simulated API server holds it. The engine decides what it accepts."
        ),
    )

    def __init__(self, *args: Any, instance: ProjectedObject, **kwargs: Any) -> None:
        self.instance = instance
        version = instance.metadata("resourceVersion")
        shown = {**self.shown(without_managers(instance.manifest)), "version": version}
        kwargs["initial"] = {**shown, **kwargs.get("initial", {})}
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.show_hidden_initial = name != "version"
        self.order_fields([name for name in self.fields if name != "manifest"])
        self.fields["manifest"].widget.attrs |= {
            "data-run": instance.run_id,
            "data-object": instance.entity,
        }

    def shown(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """The initial values of the fields."""
        found = {name: _at(manifest, path) for name, path in self.places.items()}
        return {"manifest": manifest, **found}

    def edited(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """*manifest* with what was changed in the extra fields; an emptied one is taken out of it."""
        edited = manifest
        for name, path in self.places.items():
            if name in self.changed_data:
                edited = _with(edited, path, self.cleaned_data[name] or None)
        return edited

    def clean_manifest(self) -> dict[str, Any]:
        """It must stay the manifest of this object, as the version of the run knows it."""
        text, base = self.data["manifest"], self.data.get(self.add_initial_prefix("manifest"))
        asked = texts.changed(
            text,
            base=base or ManifestField().prepare_value(without_managers(self.instance.manifest)),
            entity=self.instance.entity,
            profile=self.instance.run.profile,
        )
        if asked.problems:
            raise forms.ValidationError([remark_text(each) for each in asked.problems])
        return self.cleaned_data["manifest"]

    def command(self) -> dict[str, Any] | None:
        """The body of the command that the edit amounts to; None when nothing was changed."""
        patch = difference(self._rendered(), self._typed())
        if not patch:
            return None
        # The version that was looked at goes along: an edit of something older is a conflict.
        version = self.cleaned_data["version"] or self.instance.metadata("resourceVersion")
        body = change_body(self.instance.entity, self.instance.manifest, patch)
        body["patch"].setdefault("metadata", {})["resourceVersion"] = version
        return body

    def show_beside(self, newer: ProjectedObject) -> list["Differing"]:
        """What differs between what was typed, which stays, and the *newer* object, if it is newer.

        Submitted again, the form changes that one.
        """
        version = newer.metadata("resourceVersion") or ""
        if version == self.cleaned_data["version"]:
            return []
        data = cast("QueryDict", self.data).copy()
        data["version"] = version
        self.data = data
        typed = self._typed()
        own = {path for path, _ in _leaves(difference(self._rendered(), typed))}
        return [
            Differing(
                field=".".join(path),
                newer=_as_text(_at(newer.manifest, path)),
                typed=_as_text(value),
                is_own=any(path[: len(each)] == each or each[: len(path)] == path for each in own),
            )
            for path, value in _leaves(difference(without_managers(newer.manifest), typed))
            if path != ("metadata", "resourceVersion")
        ]

    def _rendered(self) -> dict[str, Any]:
        """The manifest that the form was rendered with."""
        field = self.fields["manifest"]
        try:
            found = field.to_python(self.data.get(self.add_initial_prefix("manifest")))
        except forms.ValidationError:
            found = None
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
        return without_managers(self.instance.manifest)

    def _typed(self) -> dict[str, Any]:
        """The manifest that the user wants."""
        return self.edited(self.cleaned_data["manifest"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A field in which an object and what a user typed differ, and whether the user changed it."""

    field: str
    newer: str
    typed: str
    is_own: bool


def _leaves(patch: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """The paths of a merge patch with what they are set to."""
    for name, part in patch.items():
        if isinstance(part, dict) and part:
            yield from _leaves(part, (*path, name))
        else:
            yield (*path, name), part


def _as_text(value: Any) -> str:
    return gettext("not set") if value is None else json.dumps(value, ensure_ascii=False)


def _with(manifest: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """*manifest* with *value* at *path*, or without anything there for None."""
    name, *inner = path
    old = manifest.get(name)
    if inner:
        holder = cast("dict[str, Any]", old) if isinstance(old, dict) else {}
        if value is None and not holder:
            return manifest
        value = _with(holder, tuple(inner), value)
    elif value is None:
        return {key: part for key, part in manifest.items() if key != name}
    return {**manifest, name: value}


def _at(manifest: Any, path: Path) -> Any:
    for name in path:
        manifest = manifest.get(name) if isinstance(manifest, dict) else None
    return manifest
