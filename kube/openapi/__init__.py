"""The schemas of the served kinds, as OpenAPI documents in the forms that clients read.

`definitions` takes those of `engine.objects.openapi`, `operations` adds the addresses,
`documents` puts both into documents of version 2 and 3, `gnostic` writes version 2 as the protobuf
that every kubectl reads. The documents are made once, when they are first asked for; only their bytes
are kept.
"""

from kube.custom_kinds import NO_CUSTOM, CustomResources
from kube.openapi.custom import documents_with

__all__ = ["PROTOBUF", "v2_json", "v2_protobuf", "v3", "v3_hash", "v3_index", "wants_protobuf"]

# Clients ask for the first form and are given the second: an "@" in a Content-Type is an error to
# kubectl 1.20. Upstream: kube-openapi, handler.go.
_ACCEPTED = (
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
)
PROTOBUF = _ACCEPTED[1]


def wants_protobuf(accept: str) -> bool:
    """Whether a client with this Accept header reads version 2 as protobuf."""
    return any(one in accept for one in _ACCEPTED)


def v2_json(custom: CustomResources = NO_CUSTOM) -> bytes:
    """The document of version 2."""
    return documents_with(custom).v2_json


def v2_protobuf(custom: CustomResources = NO_CUSTOM) -> bytes:
    """The same as protobuf, by the schema of gnostic."""
    return documents_with(custom).v2_protobuf


def v3_index(root: str, custom: CustomResources = NO_CUSTOM) -> bytes:
    """Where the documents of version 3 are, below the address *root* of the server."""
    return documents_with(custom).v3_index(root)


def v3(path: str, custom: CustomResources = NO_CUSTOM) -> bytes | None:
    """The document of a group-version, at "api/v1" or "apis/apps/v1"; None for no such one."""
    return documents_with(custom).v3.get(path)


def v3_hash(path: str, custom: CustomResources = NO_CUSTOM) -> str | None:
    """The hash of the document of a group-version, as the index has it; None for no such one."""
    return documents_with(custom).v3_hashes.get(path)
