"""Fields of forms for what Kubernetes writes as YAML; JSON is YAML, too."""

import json
from typing import Any, Final

from django import forms
from django.utils.translation import gettext, gettext_lazy

from engine.objects.documents import DocumentError, Limits, read_documents
from engine.objects.yaml_text import yaml_text
from kscope.runs.editing.texts import LONGEST, Remark

_LIMITS: Final = Limits(bytes=LONGEST, nodes=200_000, alias_nodes=20_000)
_EMPTY: Final = (None, "", [], {})


class YamlField(forms.CharField):
    """A value as YAML: a mapping, a list, a text. None for an empty text."""

    def __init__(self, *, rows: int = 4, **options: Any) -> None:
        attributes = {"rows": rows, "cols": 100, "spellcheck": "false"}
        options.setdefault("widget", forms.Textarea(attrs=attributes))
        super().__init__(strip=False, max_length=LONGEST, **options)

    def prepare_value(self, value: Any) -> Any:
        """See forms.Field; what was typed is shown as it was typed."""
        if isinstance(value, str):
            return value
        return "" if value in _EMPTY else yaml_text(value)

    def to_python(self, value: Any) -> Any:
        """See forms.Field. Raises ValidationError with the line."""
        if not isinstance(value, str) or not value.strip():
            return None
        try:
            documents = read_documents("field.yaml", value.encode(), _LIMITS)
        except (DocumentError, UnicodeEncodeError) as problem:
            line = problem.line if isinstance(problem, DocumentError) else 0
            raise forms.ValidationError(
                remark_text(Remark(message=str(problem), line=line))
            ) from problem
        if len(documents) > 1:
            words = gettext("there are {number} documents; expected one")
            raise forms.ValidationError(words.format(number=len(documents)))
        return documents[0].value if documents else None

    def run_validators(self, value: Any) -> None:
        """See forms.Field: those of texts look at what was typed, which the reader has checked."""

    def has_changed(self, initial: Any, data: Any) -> bool:
        """See forms.Field: another way to write the same is no change."""
        try:
            before = self.to_python(initial) if isinstance(initial, str) else initial
            after = self.to_python(data)
        except forms.ValidationError:
            return True
        return (before or None) != (after or None)


class ManifestField(YamlField):
    """A manifest; the script of the page makes an editor of it, with completion."""

    widget = forms.Textarea

    def __init__(self, **options: Any) -> None:
        super().__init__(
            rows=30,
            label=gettext_lazy("Manifest"),
            error_messages={"required": gettext_lazy("the text is empty")},
            **options,
        )
        self.widget.attrs["data-yaml"] = ""


class MappingField(YamlField):
    """A mapping of texts to texts: labels, quantities."""

    def to_python(self, value: Any) -> dict[str, str]:
        """See YamlField; whole numbers are taken for texts, {} for nothing."""
        found = super().to_python(value)
        if found in _EMPTY:
            return {}
        if not isinstance(found, dict):
            raise forms.ValidationError(gettext("expected lines such as NAME: VALUE"))
        for name, part in found.items():
            if isinstance(part, bool) or not isinstance(part, (str, int)):
                words = gettext("{field} is {value}; expected a text. Quotes make one of a word")
                shown_part = json.dumps(part, ensure_ascii=False)
                raise forms.ValidationError(words.format(field=name, value=shown_part))
        return {name: str(part) for name, part in found.items()}


class ItemsField(YamlField):
    """A list of mappings, such as taints; [] for nothing."""

    def to_python(self, value: Any) -> list[dict[str, Any]]:
        """See YamlField."""
        found = super().to_python(value)
        if found in _EMPTY:
            return []
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise forms.ValidationError(
                gettext("expected a list of mappings, such as - key: VALUE")
            )
        return found


def remark_text(remark: Remark) -> str:
    """A remark with its line and its field, where it has them."""
    if remark.field and remark.line:
        words = gettext("Line {line}, {field}: {message}")
    elif remark.field:
        words = gettext("{field}: {message}")
    elif remark.line:
        words = gettext("Line {line}: {message}")
    else:
        return remark.message
    return words.format(line=remark.line, field=remark.field, message=remark.message)
