"""The addresses of a resource, and what can be done there, in either version.

kubectl looks for a PATCH of the kind with the parameter `fieldValidation` or `dryRun` before it lets
the server validate, or try, what it sends; and for the address of a resource to explain it.
"""

from engine.objects.openapi.definitions import Definitions, Schema
from kube.resources import Resource

_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_JSON = "application/json"
_WRITE_PARAMETERS = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_PATCH_PARAMETERS = {**_WRITE_PARAMETERS, "force": "boolean"}
_LIST_PARAMETERS = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}


def patches_of(resource: Resource) -> tuple[str, ...]:
    """The media types of the patches that a resource takes."""
    return tuple(one for one in _PATCHES if not (resource.custom and "strategic" in one))


class Version2:
    """How version 2 writes the parts of an operation."""

    def body(self, media_types: tuple[str, ...], schema: Schema) -> Schema:
        """What belongs to an operation that takes a body."""
        parameter = {"in": "body", "name": "body", "required": True, "schema": schema}
        return {"consumes": list(media_types), "parameters": [parameter]}

    def parameter(self, name: str, type: str) -> Schema:
        """A parameter in the query."""
        return {"in": "query", "name": name, "type": type}

    def responses(self, schema: Schema) -> Schema:
        """The answers to an operation."""
        return {"200": {"description": "OK", "schema": schema}}

    def reference(self, name: str) -> Schema:
        """A schema that stands among the definitions."""
        return {"$ref": f"#/definitions/{name}"}


class Version3:
    """How version 3 writes the parts of an operation."""

    def body(self, media_types: tuple[str, ...], schema: Schema) -> Schema:
        """What belongs to an operation that takes a body."""
        content = {one: {"schema": schema} for one in media_types}
        return {"requestBody": {"content": content, "required": True}}

    def parameter(self, name: str, type: str) -> Schema:
        """A parameter in the query."""
        return {"in": "query", "name": name, "schema": {"type": type}}

    def responses(self, schema: Schema) -> Schema:
        """The answers to an operation."""
        return {"200": {"description": "OK", "content": {_JSON: {"schema": schema}}}}

    def reference(self, name: str) -> Schema:
        """A schema that stands among the components."""
        return {"$ref": f"#/components/schemas/{name}"}


class Operations:
    """The operations on one resource, in one version."""

    def __init__(
        self, resource: Resource, version: Version2 | Version3, known: Definitions
    ) -> None:
        self.resource = resource
        self._version = version
        self._object = self._schema(resource.written_kind, known)
        self._list = self._schema(resource.list_kind, known)

    def _schema(self, kind: str, known: Definitions) -> Schema:
        name = self.resource.definition_name(kind)
        return self._version.reference(name) if name in known else {"type": "object"}

    def of_collection(self) -> Schema:
        """What can be done with a collection."""
        found = {"post": self._writes("post", _WRITE_PARAMETERS, (_JSON,))}
        return {"get": self.lists(), **found} if "list" in self.resource.verbs else found

    def of_object(self) -> Schema:
        """What can be done with one object."""
        return {
            "get": self._operation("get", {}, self._object),
            "put": self._writes("put", _WRITE_PARAMETERS, (_JSON,)),
            "patch": self._writes("patch", _PATCH_PARAMETERS, patches_of(self.resource)),
            "delete": self._operation("delete", {"dryRun": "string"}, self._object),
        }

    def lists(self) -> Schema:
        """Listing and watching."""
        return self._operation("list", _LIST_PARAMETERS, self._list)

    def _writes(self, action: str, parameters: dict[str, str], types: tuple[str, ...]) -> Schema:
        body = {"type": "object"} if action == "patch" else self._object
        operation = self._operation(action, parameters, self._object)
        given = self._version.body(types, body)
        all_parameters = [*given.pop("parameters", ()), *operation["parameters"]]
        return {**operation, **given, "parameters": all_parameters}

    def _operation(self, action: str, parameters: dict[str, str], schema: Schema) -> Schema:
        one = self.resource
        kind = {"group": one.group, "version": one.version, "kind": one.written_kind}
        return {
            "parameters": [self._version.parameter(*each) for each in parameters.items()],
            "responses": self._version.responses(schema),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
        }


def paths(root: str, operations: Operations) -> dict[str, Schema]:
    """The addresses of a resource below *root*, such as "/apis/apps/v1", with its operations."""
    one = operations.resource
    everywhere = f"{root}/{one.plural}"
    collection = f"{root}/namespaces/{{namespace}}/{one.plural}" if one.namespaced else everywhere
    found = {collection: operations.of_collection()}
    if "get" in one.verbs:
        found[f"{collection}/{{name}}"] = operations.of_object()
        if one.namespaced:
            found[everywhere] = {"get": operations.lists()}
    return found
