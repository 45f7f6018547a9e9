"""Small clusters that the browser tests upload, and what they do with pages again and again."""

import json
import re
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Page, expect

from tests.waiting import HANG_SECONDS, wait_for

PATIENCE_MS = 1000 * HANG_SECONDS


def node(name: str, *, cpu: str = "4", zone: str = "zone-1") -> dict[str, Any]:
    """A ready node."""
    resources = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": resources, "allocatable": resources},
    }


def pod(name: str, *, cpu: str = "10m") -> dict[str, Any]:
    """A pod of one container."""
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"containers": [container]},
    }


def cluster_file(
    name: str, *objects: dict[str, Any], steps: Any = (), duration: str = "1m"
) -> bytes:
    """A scenario as a file of JSON documents, which is YAML too."""
    spec = {"title": name, "question": "What happens?", "duration": duration, "steps": list(steps)}
    header = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": name},
        "spec": spec,
    }
    return "\n---\n".join(json.dumps(each, indent=1) for each in (header, *objects)).encode()


def one_pod_every_ten_seconds(name: str) -> bytes:
    """One node, and a pod that comes every ten seconds of half an hour."""
    steps = [{"at": f"{10 * i}s", "create": pod(f"web-{i}")} for i in range(1, 180)]
    return cluster_file(name, node("only"), pod("web-0"), steps=steps, duration="30m")


def one_pod_too_many(name: str) -> bytes:
    """A node with room for two of three pods."""
    pods = [pod(f"big-{i}", cpu="1500m") for i in range(3)]
    return cluster_file(name, node("small"), *pods)


def one_pod_that_lacks_two_things(name: str) -> bytes:
    """A node that is too small for the pod, and that is tainted as well."""
    tainted = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}
    return cluster_file(name, {**node("small"), "spec": tainted}, pod("huge", cpu="5"))


def upload(page: Page, name: str, content: bytes) -> None:
    """Give the file to the upload form; a first look, or the report on problems, comes afterwards."""
    page.goto("/scenarios/upload/")
    file = {"name": f"{name}.yaml", "mimeType": "application/yaml", "buffer": content}
    page.locator("input[type=file]").set_input_files([file])  # type: ignore[list-item]
    page.get_by_role("button", name="Import files").click()
    ends = page.get_by_role("heading", name="Import report").or_(page.locator("main.firstlook"))
    expect(ends).to_be_visible()


def playing_run(page: Page, name: str, content: bytes, *, speed: str = "10") -> int:
    """A run of the file, by way of the API: most tests have nothing to do with the upload form."""
    file = {"name": f"{name}.yaml", "mimeType": "application/yaml", "buffer": content}
    uploaded = page.request.post("/api/v1/scenarios/", multipart={"files": file})  # type: ignore[dict-item]
    assert uploaded.ok, uploaded.text()
    wanted = {"scenario": uploaded.json()["id"], "play": True, "speed": speed}
    made = page.request.post("/api/v1/runs/", data=wanted)
    assert made.ok, made.text()
    return made.json()["id"]


def finished_run(page: Page, name: str, content: bytes) -> int:
    """A run of the file that has nothing left to do. Nobody has looked at it, which costs most."""
    run = playing_run(page, name, content, speed="max")
    wait_for(lambda: page.request.get(f"/api/v1/runs/{run}/").json()["status"] == "finished")
    return run


def start(page: Page, name: str, content: bytes) -> int:
    """A run of the file, which plays, and its board; returns the run's id."""
    run = playing_run(page, name, content)
    open_board(page, run)
    return run


def finished_board(page: Page, name: str, content: bytes) -> int:
    """A run of the file that has nothing left to do, and its board; returns the run's id."""
    run = finished_run(page, name, content)
    open_board(page, run)
    finish(page)
    return run


def open_board(page: Page, run: int) -> None:
    """The board of a run, as soon as it shows something."""
    page.goto(f"/runs/{run}/")
    expect(page.get_by_role("region", name="Playback")).to_be_visible(timeout=PATIENCE_MS)
    expect(page.locator("main.board:not(.waiting)")).to_be_visible(timeout=PATIENCE_MS)


def finish(page: Page) -> None:
    """Wait until the run has nothing left to do."""
    expect(page.get_by_text("events, finished")).to_be_visible(timeout=PATIENCE_MS)


def agree(page: Page) -> None:
    """Say yes to the question that is asked before a finished run goes on."""
    question = page.get_by_role("dialog").filter(has_text="The run is finished")
    question.get_by_role("button").last.click()


def shown_seq(page: Page) -> int:
    """The sequence number that the board shows, once it knows what it shows."""
    field = page.get_by_label("Sequence number")
    expect(field).to_have_value(re.compile(r"\d+"), timeout=PATIENCE_MS)
    return int(field.input_value())


def stand_still(page: Page, run: int) -> int:
    """Wait until a paused run has stopped and all of it is shown; returns its newest seq.

    The engine answers a command after what it was doing, and from then on it knows of the pause.
    """
    nothing = {"verb": "delete", "object": "node/nowhere"}
    address = f"/api/v1/runs/{run}/commands/"
    told = page.request.post(address, data=nothing).json()
    number = told.get("command", told)["id"]
    wait_for(
        lambda: any(
            each["id"] == number and each["status"] == "rejected"
            for each in page.request.get(address).json()["items"]
        )
    )
    head = page.request.get(f"/api/v1/runs/{run}/").json()["head"]
    expect(page.get_by_label("Sequence number")).to_have_value(str(head))
    return int(head)


def pod_button(page: Page, name: str) -> Any:
    """The pod in one of the lanes."""
    return page.locator("button.item").filter(has_text=name).first


def log_in(page: Page, password: str) -> None:
    """As the admin that the first start made."""
    page.goto("/admin/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("button", name="Log out")).to_be_visible()


def get_json(address: str) -> Any:
    """What the API answers."""
    with urlopen(address, timeout=HANG_SECONDS) as answer:
        return json.load(answer)
