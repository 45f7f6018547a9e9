"""Uploads: a bad file is refused with file, document, line and field; nodes are picked for those without."""

import json
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Site
from tests.e2e.stories import cluster_file, get_json, node, pod, upload


def _scenario_names(site: Site) -> list[str]:
    answer = get_json(f"{site.address}api/v1/scenarios/")
    listed = answer if isinstance(answer, list) else answer["items"]
    return sorted(each["name"] for each in listed)


def test_a_bad_quantity_shows_line_and_field(page: Page, site: Site) -> None:
    before = _scenario_names(site)
    content = cluster_file("bad-quantity", node("n1"), pod("broken", cpu="12 potatoes"))
    upload(page, "bad-quantity", content)
    expect(page.get_by_role("status")).to_contain_text("Nothing was saved")
    row = page.get_by_role("region", name="Problems").get_by_role("row").nth(1)
    expect(row).to_contain_text("12 potatoes")
    expect(row).to_contain_text("spec.containers[0].resources.requests.cpu")
    lines = enumerate(content.decode().splitlines(), 1)
    line = next(number for number, text in lines if "12 potatoes" in text)
    expect(row.get_by_role("cell").nth(2)).to_have_text(str(line))
    expect(page.get_by_role("button", name="Start run")).to_have_count(0)
    assert _scenario_names(site) == before


def test_one_broken_item_rejects_the_whole_list(page: Page, site: Site) -> None:
    before = _scenario_names(site)
    items = [node("n1"), {"apiVersion": "v1", "kind": "Pod", "metadata": {}}]
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    upload(page, "broken-item", content)
    expect(page.get_by_role("region", name="Problems")).to_contain_text("items[1].metadata.name")
    assert _scenario_names(site) == before


def test_invalid_yaml_shows_where_reading_stopped(page: Page, site: Site) -> None:
    before = _scenario_names(site)
    upload(page, "no-yaml", b"apiVersion: v1\nkind: [Pod\nmetadata: {}\n")
    row = page.get_by_role("region", name="Problems").get_by_role("row").nth(1)
    expect(row.get_by_role("cell").nth(2)).to_have_text("3")
    assert _scenario_names(site) == before


def test_a_file_beyond_the_limit_is_refused(page: Page, site: Site, tmp_path: Path) -> None:
    before = _scenario_names(site)
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(2_300 * 1_048_576)
    page.goto("/scenarios/upload/")
    page.locator("input[type=file]").set_input_files(huge)
    page.get_by_role("button", name="Import files").click()
    expect(page.locator(".drop")).to_contain_text("an upload may hold 2048 MiB in all")
    assert _scenario_names(site) == before


def test_nodes_are_picked_from_the_catalogue(page: Page, site: Site) -> None:
    page.goto("/scenarios/upload/")
    content = cluster_file("no-nodes", pod("alone", cpu="1"))
    file = {"name": "no-nodes.yaml", "mimeType": "application/yaml", "buffer": content}
    page.locator("input[type=file]").set_input_files([file])  # type: ignore[list-item]
    page.get_by_text("Nodes, filters, watches and plugins").click()
    page.get_by_label("Type").select_option("m5.large")
    page.get_by_label("Zones").fill("a, b")
    page.get_by_role("button", name="Add to the nodes").click()
    page.get_by_label("Type").select_option("kind")
    page.get_by_label("Number of nodes").fill("1")
    page.get_by_label("Zones").fill("")
    page.get_by_label("Number of nodes").press("Enter")
    expect(page.get_by_label("Nodes", exact=True)).to_have_value("3xm5.large:zone=a,b,1xkind")
    page.get_by_role("button", name="Import files").click()
    expect(page.locator("main.firstlook")).to_be_visible()
    listed = get_json(f"{site.address}api/v1/scenarios/")["items"]
    [made] = [each for each in listed if each["name"] == "no-nodes"]
    assert made["summary"]["Node"] == 4
