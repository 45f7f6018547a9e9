"""The form of an answer that a client accepts: whole objects, a Table, metadata alone."""

from dataclasses import dataclass

from kube.status import not_acceptable

_PLAIN = frozenset({"application/json", "application/*", "*/*", ""})
_META = "meta.k8s.io"


@dataclass(frozen=True, slots=True)
class Form:
    """`kind` is "" for the object itself, or Table, PartialObjectMetadata, APIGroupDiscoveryList.

    `version` is the version of that kind.
    """

    kind: str = ""
    version: str = ""

    @property
    def is_table(self) -> bool:
        """Whether the objects are to be the rows of a Table."""
        return self.kind == "Table"

    @property
    def is_partial(self) -> bool:
        """Whether only the metadata is wanted."""
        return self.kind.startswith("PartialObjectMetadata")


_KNOWN = {
    (_META, "v1", "Table"),
    (_META, "v1beta1", "Table"),
    (_META, "v1", "PartialObjectMetadata"),
    (_META, "v1", "PartialObjectMetadataList"),
    (_META, "v1beta1", "PartialObjectMetadata"),
    (_META, "v1beta1", "PartialObjectMetadataList"),
    ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList"),
    ("apidiscovery.k8s.io", "v2beta1", "APIGroupDiscoveryList"),
}


def form_of(accept: str) -> Form:
    """The first form in an Accept header that can be given. Raises ApiError without one.

    Only JSON is given; clients that would rather have protobuf accept it too.
    """
    for each in accept.split(","):
        media_type, *parameters = [part.strip() for part in each.split(";")]
        if media_type not in _PLAIN:
            continue
        named = {name: value for name, _, value in (one.partition("=") for one in parameters)}
        if "as" not in named:
            return Form()
        form = (named.get("g", ""), named.get("v", ""), named["as"])
        if form in _KNOWN:
            return Form(form[2], form[1])
    raise not_acceptable()
