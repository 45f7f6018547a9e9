"""Pages: what differs between the versions, and how an external scheduler compares."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from engine.versions.registry import VERSIONS
from engine.versions.shown.differences import rules
from kscope.runs.access import found_run
from kscope.runs.selectors import controllers_left, run_is_external
from scheduling.findings.agreement import (
    SHOWN,
    VERDICTS,
    WRITE_VERDICTS,
    agreement,
    writes_agreement,
)


@require_safe
def versions(request: HttpRequest) -> HttpResponse:
    """Every rule of every version; a script hides what a reader does not ask for."""
    found = rules()
    context = {
        "versions": list(VERSIONS.values()),
        "rules": found,
        "areas": list(dict.fromkeys(rule.area for rule in found)),
        "plugins": sorted({rule.plugin for rule in found if rule.plugin}),
    }
    return render(request, "scheduling/versions.html", context)


@require_safe
def agreement_page(request: HttpRequest, run_id: int) -> HttpResponse:
    """What clients decided and wrote beside the simulation's, up to `?seq=`."""
    run = found_run(request, run_id)
    verdict, pod = request.GET.get("verdict", ""), request.GET.get("pod", "").strip()
    seq = request.GET.get("seq", "")
    number = int(seq[:18]) if seq.isdecimal() else None
    controller = request.GET.get("controller", "")
    written = request.GET.get("written", "")
    written = written if written in WRITE_VERDICTS else ""
    writes = writes_agreement(run, verdict=written, controller=controller, seq=number)
    left = controllers_left(run)
    context = {
        "run": run,
        "found": agreement(run, verdict=verdict, pod=pod, seq=number),
        "verdict": verdict,
        "verdicts": VERDICTS,
        "pod": pod,
        "seq": number,
        "query": request.GET.urlencode(),
        "shown": SHOWN,
        "writes": writes,
        "written": written,
        "write_verdicts": WRITE_VERDICTS,
        "controller": controller,
        "controllers": left,
        "has_scheduler": run_is_external(run) or not left,
    }
    return render(request, "scheduling/agreement.html", context)
