"""Rules for claims, and for the fields and disks that volumes, classes and pods share."""

from __future__ import annotations

from typing import Any

from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import (
    boolean,
    fields,
    label_selector,
    list_of,
    one_of,
    reference,
    text,
)
from engine.api_server.validation.shared import any_mapping, quantities, texts
from engine.objects.documents import Path

access_modes = list_of(
    one_of("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"), at_least=1
)
volume_mode = one_of("Filesystem", "Block")
reclaim_policy = one_of("Retain", "Delete", "Recycle")
_with_storage = fields(("storage",))


def _claim_requests(value: Any, path: Path, report: Report) -> None:
    _with_storage(value, path, report)
    if isinstance(value, dict):
        quantities(value, path, report)


CLAIM_SPEC = fields(
    ("accessModes", "resources"),
    accessModes=access_modes,
    resources=fields(("requests",), requests=_claim_requests),
    selector=label_selector,
    storageClassName=reference,
    volumeName=text,
    volumeMode=volume_mode,
    volumeAttributesClassName=reference,
    dataSource=any_mapping,
    dataSourceRef=any_mapping,
)
# The sources of volumes that the engines distinguish.
disk_sources = {
    "hostPath": fields(("path",), path=text, type=text),
    "local": fields(("path",), path=text, fsType=text),
    "awsElasticBlockStore": fields(("volumeID",), volumeID=text, readOnly=boolean),
    "gcePersistentDisk": fields(("pdName",), pdName=text, readOnly=boolean),
    "azureDisk": fields(("diskName",), diskName=text, readOnly=boolean),
    "cinder": fields(("volumeID",), volumeID=text, readOnly=boolean),
    "iscsi": fields(("iqn",), iqn=text, readOnly=boolean),
    "rbd": fields(("image",), image=text, pool=text, monitors=texts, readOnly=boolean),
    "nfs": fields(server=text, path=text, readOnly=boolean),
}
