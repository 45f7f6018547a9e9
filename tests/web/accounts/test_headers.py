"""The headers that keep a browser from doing what no page of ours asks for."""

import re

import pytest
from django.test import Client

from kscope.runs.models import Run, Scenario

pytestmark = pytest.mark.django_db

PAGES = (
    "/",
    "/runs/",
    "/stories/",
    "/login/",
    "/api/docs/",
    "/glossary/",
    "/scenarios/upload/",
    "/runs/987654/",
    "/runs/{run}/",
)


@pytest.fixture
def addresses() -> list[str]:
    scenario = Scenario.objects.create(name="s", digest="s", header={})
    run = Run.objects.create(scenario=scenario, name="r")
    return [address.format(run=run.pk) for address in PAGES] + [f"/runs/{run.pk}/timeline/"]


def test_only_scripts_with_the_response_nonce_run(client: Client, addresses: list[str]) -> None:
    nonces: set[str] = set()
    for address in addresses:
        answer = client.get(address)
        policy = dict(
            part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; ")
        )
        text = answer.content.decode()
        nonce = re.findall(r'<script type="importmap" nonce="([^"]+)">', text)
        assert len(nonce) == 1, address
        assert policy["script-src"] == f"'self' 'nonce-{nonce[0]}'"
        assert policy["style-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["default-src"] == policy["base-uri"] == "'none'"
        nonces.update(nonce)
    assert len(nonces) == len(addresses)


def test_pages_hold_no_style_and_no_handler_inline(client: Client, addresses: list[str]) -> None:
    for address in addresses:
        text = client.get(address).content.decode()
        assert not re.findall(r"""<[^>]+\s(?:style|on[a-z]+)\s*=|<style|javascript:""", text), (
            address
        )
        scripts = re.findall(r"<script[^>]*>", text)
        assert all(
            "src=" in each or 'type="importmap"' in each or 'type="application/json"' in each
            for each in scripts
        )


def test_every_answer_carries_the_other_headers(client: Client) -> None:
    for address in ("/", "/api/v1/runs/", "/api/v1/schema/", "/login/"):
        headers = client.get(address).headers
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert "camera=()" in headers["Permissions-Policy"]
        assert "'none'" in headers["Content-Security-Policy"]
