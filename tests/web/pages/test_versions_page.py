"""The page /versions/, and the choosers that lead to it."""

import html
import re

import pytest
from django.test import Client

from engine.versions.registry import DEFAULT, VERSIONS
from engine.versions.shown.differences import rules
from kscope.runs import services
from kscope.runs.models import Scenario

pytestmark = pytest.mark.django_db


def page(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_the_page_shows_every_rule(client: Client) -> None:
    text = html.unescape(page(client, "/versions/"))
    for rule in rules():
        assert f'id="{rule.anchor}"' in text
        assert rule.sentence in text


def test_the_page_lists_versions_newest_first(client: Client) -> None:
    text = page(client, "/versions/")
    assert re.findall(r"<th>(v1(?:\.\d+)+)</th>", text) == list(VERSIONS)
    assert all(html.escape(version.summary) in text for version in VERSIONS.values())


def test_the_filters_need_a_script(client: Client) -> None:
    assert re.search(r'<form [^>]*id="version-filters" hidden>', page(client, "/versions/"))


def test_pages_of_runs_offer_the_registered_versions(client: Client, scenario: Scenario) -> None:
    run = services.run_create(scenario=scenario)
    text = page(client, f"/runs/{run.pk}/")
    assert re.findall(r'<option value="(v1(?:\.\d+)+)"', text) == list(VERSIONS)
    assert 'href="/versions/"' in text
    for other in ("machines", "compare"):
        assert 'id="versions"' in page(client, f"/runs/{run.pk}/{other}/")


def test_a_run_follows_the_default_version(scenario: Scenario) -> None:
    assert services.run_create(scenario=scenario).profile == DEFAULT.name
