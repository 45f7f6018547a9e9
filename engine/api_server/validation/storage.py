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

# Upstream: apis/storage/validation, validateNodeAllocatableUpdatePeriodSeconds().
_SHORTEST_PERIOD = 10


def update_period(value: Any, path: Path, report: Report) -> None:
    """How often kubelets ask a driver for its limit, in seconds."""
    if value < _SHORTEST_PERIOD:
        message = f"must be greater than or equal to {_SHORTEST_PERIOD} seconds"
        report.add(path, value, message)


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
