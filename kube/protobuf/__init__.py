"""Reads what clients of client-go send as protobuf; answers are always JSON, which they accept.

`fields.txt` has the numbers and types of the fields, as `extract` found them in Kubernetes' own
.proto files and Go types; `decoding` reads a message with them.
"""

from kube.protobuf.decoding import MAGIC, NotProtobuf, decoded

__all__ = ["MAGIC", "NotProtobuf", "decoded"]
