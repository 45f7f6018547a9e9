"""Rules for dynamic resource allocation: claims, slices, device selectors.

Upstream: resource.k8s.io/v1; v1beta1 has `basic` and no `exactly`.
"""

from __future__ import annotations

from typing import Any

from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import (
    boolean,
    dns_label,
    driver_name,
    fields,
    integer,
    list_of,
    map_of,
    node_terms,
    one_of,
    qualified_name,
    quantity,
    reference,
    text,
    timestamp,
)
from engine.api_server.validation.shared import any_integer, quantities, texts
from engine.objects.documents import Path
from engine.objects.values.cel_text import expression_fault


def _cel_expression(value: Any, path: Path, report: Report) -> None:
    """Upstream: apis/resource/validation validateCELSelector()."""
    fault = expression_fault(value) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


device_selectors = list_of(
    fields(("cel",), cel=fields(("expression",), expression=_cel_expression))
)
_device_request = fields(
    deviceClassName=reference,
    selectors=device_selectors,
    allocationMode=one_of("ExactCount", "All"),
    count=integer(1),
    adminAccess=boolean,
    tolerations=list_of(
        fields(key=text, operator=one_of("", "Exists", "Equal"), value=text, effect=text)
    ),
    capacity=fields(requests=quantities),
)
# Upstream: apis/resource/validation, ValidateDeviceTaintRule(). Devices of a driver have no taint
# without effect.
device_taint_rule = fields(
    ("taint",),
    deviceSelector=fields(driver=text, pool=text, device=text),
    taint=fields(
        ("key", "effect"),
        key=qualified_name,
        value=text,
        effect=one_of("NoSchedule", "NoExecute", "None"),
        timeAdded=timestamp,
    ),
)
resource_claim_spec = fields(
    devices=fields(
        requests=list_of(
            fields(
                ("name",),
                name=dns_label,
                exactly=_device_request,
                firstAvailable=list_of(_device_request),
            )
        ),
        constraints=list_of(fields(requests=texts, matchAttribute=text, distinctAttribute=text)),
    )
)
_device_counters = map_of(fields(("value",), value=quantity))
_device_fields = {
    "attributes": map_of(fields(int=any_integer, bool=boolean, string=text, version=text)),
    "capacity": map_of(
        fields(
            ("value",),
            value=quantity,
            requestPolicy=fields(
                default=quantity,
                validValues=list_of(quantity),
                validRange=fields(min=quantity, max=quantity, step=quantity),
            ),
        )
    ),
    "consumesCounters": list_of(
        fields(("counterSet",), counterSet=text, counters=_device_counters)
    ),
    "nodeName": text,
    "nodeSelector": node_terms,
    "allNodes": boolean,
    "taints": list_of(fields(("key", "effect"), key=text, value=text, effect=text)),
    "bindingConditions": texts,
    "bindingFailureConditions": texts,
    "allowMultipleAllocations": boolean,
}
resource_slice = fields(
    ("driver", "pool"),
    driver=driver_name,
    pool=fields(("name",), name=text, generation=integer(0), resourceSliceCount=integer(1)),
    nodeName=reference,
    nodeSelector=node_terms,
    allNodes=boolean,
    perDeviceNodeSelection=boolean,
    devices=list_of(
        fields(("name",), name=dns_label, basic=fields(**_device_fields), **_device_fields)
    ),
    sharedCounters=list_of(fields(("name",), name=text, counters=_device_counters)),
)
allocated_device = fields(
    ("request", "driver", "pool", "device"),
    request=text,
    driver=driver_name,
    pool=text,
    device=text,
    adminAccess=boolean,
    shareID=text,
    consumedCapacity=quantities,
)
