"""The schemas of the served kinds, as OpenAPI documents in the forms that clients read.

`definitions` takes them out of the kubernetes-validate package, `documents` puts them into documents
of version 2 and 3, `gnostic` writes version 2 as the protobuf that every kubectl reads.
"""

from kube.openapi.documents import v2_json, v2_protobuf, v3, v3_index

__all__ = ["v2_json", "v2_protobuf", "v3", "v3_index"]
