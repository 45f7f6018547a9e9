"""Objects whose fields somebody else names: Kubernetes, a component, a plugin."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kscope.accounts.access import Visibility as Seen


def _open(doc: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "description": doc,
        "properties": properties,
        "required": [*properties],
        "additionalProperties": True,
    }


_TEXT = {"type": "string"}


@extend_schema_field(
    _open(
        "An object of Kubernetes, as its API server holds it.",
        apiVersion=_TEXT,
        kind=_TEXT,
        metadata=_open("As of every object."),
    ),
    component_name="Manifest",
)
class ManifestField(serializers.JSONField):
    """An object of Kubernetes."""


@extend_schema_field(
    _open("What somebody gives of an object: the engine says what is wrong with it."),
    component_name="GivenObject",
)
class GivenField(serializers.JSONField):
    """A manifest, a fault, or a patch, as somebody wrote it."""


@extend_schema_field(
    _open("A command as it was sent; see the operation that sends one.", verb=_TEXT),
    component_name="CommandBody",
)
class CommandField(serializers.JSONField):
    """A command."""


@extend_schema_field(
    _open("What pages draw of one object: attributes by name, see docs/events.md."),
    component_name="Attributes",
)
class AttributesField(serializers.JSONField):
    """Attributes of one object, in the view state."""


@extend_schema_field(
    _open(
        "A merge patch (RFC 7386) on the view state: attributes by entity id; null where an object or "
        "an attribute is no more."
    ),
    component_name="Changes",
)
class ChangesField(serializers.JSONField):
    """What an event changed of the view state."""


@extend_schema_field(
    _open("What one kind of event says: docs/events.md."), component_name="EventData"
)
class EventDataField(serializers.JSONField):
    """What belongs to an event of one kind."""


@extend_schema_field(_open("Numbers and names that a plugin gave."), component_name="Detail")
class DetailField(serializers.JSONField):
    """What a plugin says beside its refusal."""


@extend_schema_field(
    _open(
        "A definition of Kubernetes' own OpenAPI document, without what is only for its servers."
    ),
    component_name="Definition",
)
class DefinitionField(serializers.JSONField):
    """A schema of Kubernetes."""


@extend_schema_field(
    _open("Fields that depend on what it is about; the document of its subject names them."),
    component_name="OpenObject",
)
class OpenField(serializers.JSONField):
    """An object of a kind that a type does not say."""


Definition = Annotated[dict[str, Any], DefinitionField]
Manifest = Annotated[dict[str, Any], ManifestField]
CommandBody = Annotated[dict[str, Any], CommandField]
Attributes = Annotated[dict[str, Any], AttributesField]
Changes = Annotated[dict[str, Any], ChangesField]
EventData = Annotated[dict[str, Any], EventDataField]
Detail = Annotated[dict[str, Any], DetailField]


class VisibilityField(serializers.ChoiceField):
    """Who besides its owner may read a thing."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Seen.choices, **options)


Visibility = Annotated[Literal["private", "shared", "public"], VisibilityField]


class CouldGo(TypedDict):
    """A run or an upload that an account could do without."""

    id: int
    name: str
    uploaded: NotRequired[str]
    """RFC 3339"""
    computed: NotRequired[str]
    """RFC 3339"""
