"""Jobs that clients write: those of v1.34 that need it are tracked, as everywhere since v1.35."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from engine.input.header.job_marks import MARK
from kscope.runs.models import Run
from tests.kube.server.client import MERGE, Kube
from tests.waiting import HANG_SECONDS
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
TEMPLATE = {
    "metadata": {"annotations": {"kscope.dev/run-for": "1s"}},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "app:1"}]},
}
INDEXED = {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": TEMPLATE}
Runs = Callable[..., Run]


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "work"}, "spec": spec}


def is_marked(manifest: dict[str, Any]) -> bool:
    return MARK in manifest["metadata"].get("annotations", {})


async def ended(kube: Kube) -> dict[str, Any]:
    """The status of the Job once it has ended."""
    async with asyncio.timeout(HANG_SECONDS):
        while True:
            status = (await kube.ask("GET", f"{JOBS}/work")).json["status"]
            if any(one["type"] in ("Complete", "Failed") for one in status.get("conditions", ())):
                return status
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("profile", "marked"), [("v1.34", True), ("v1.36", False)])
async def test_an_indexed_job_of_a_client_completes(
    kube_of: Callable[..., Kube], start: Runs, profile: str, marked: bool
) -> None:
    run = await sync_to_async(start)(profile=profile, play=True, speed="max")
    kube = kube_of(run)
    with driving(run):
        made = await kube.ask("POST", JOBS, job(**INDEXED))
        assert (made.status, is_marked(made.json)) == (201, marked)
        status = await ended(kube)
    assert (status["completedIndexes"], status["succeeded"]) == ("0,1", 2)


async def test_clients_mark_jobs_however_they_write(
    kube_of: Callable[..., Kube], start: Runs
) -> None:
    run = await sync_to_async(start)(profile="v1.34", play=True, speed="max")
    kube = kube_of(run)
    with driving(run):
        made = await kube.ask("POST", JOBS, job(template={**TEMPLATE, "metadata": {}}))
        assert (made.status, is_marked(made.json)) == (201, False)
        held = await kube.ask(
            "PATCH", f"{JOBS}/work", {"spec": {"suspend": True}}, content_type=MERGE
        )
        assert (held.status, is_marked(held.json)) == (200, True)
        template = {"spec": INDEXED}
        spec = {"schedule": "* * * * *", "suspend": True, "jobTemplate": template}
        cron_job = await kube.ask("POST", CRON_JOBS, job(**spec))
        assert cron_job.status == 201
        assert is_marked(cron_job.json["spec"]["jobTemplate"])
        made = await kube.ask(
            "PATCH",
            f"{JOBS}/other?fieldManager=test",
            {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "other"}}
            | {"spec": INDEXED},
            content_type="application/apply-patch+yaml",
        )
        assert (made.status, is_marked(made.json)) == (201, True)
