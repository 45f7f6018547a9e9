"""Links lead from an object to its commands and events, and back."""

import re
from html import unescape

import pytest
from django.contrib import admin as django_admin
from django.db.models import Field
from django.test import Client
from django.utils.functional import Promise

from kscope.runs.models import Command, EventRecord, Run
from scheduling.models import Node
from tests.web.admin.pages import address, chosen

pytestmark = pytest.mark.django_db(transaction=True)


def linked(admin: Client, page: str, words: str) -> str:
    """What a link of those words leads to."""
    for href, text in re.findall(r'<a href="([^"]*)"[^>]*>(.*?)</a>', page):
        if text == words:
            answer = admin.get(unescape(href))
            assert answer.status_code == 200, href
            return answer.content.decode()
    raise AssertionError(f"no link {words}")


def test_links_go_round_from_an_object(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    chosen(admin, driven, "cordon", node)
    command = Command.objects.get(run=driven)
    seq = command.outcome_seq
    assert seq is not None
    page = admin.get(address(node)).content.decode()
    assert "NodeCordoned" in linked(admin, page, "Events")
    commands = linked(admin, page, "Commands")
    assert "1 command" in commands
    page = linked(admin, commands, str(command.pk))
    assert "NodeCordoned" in linked(admin, page, f"from {seq} on")
    assert f'value="{node.pk}"' in linked(admin, page, "node/n1")
    event = linked(admin, page, str(seq))
    assert f'value="{node.pk}"' in linked(admin, event, "node/n1")
    assert "node/n1" in linked(admin, event, "cordon node/n1")


def test_an_event_leads_to_its_cause(admin: Client, driven: Run) -> None:
    caused = EventRecord.objects.filter(run=driven, cause__isnull=False).first()
    assert caused is not None
    page = admin.get(address(caused)).content.decode()
    cause = linked(admin, page, str(caused.cause))
    assert EventRecord.objects.get(run=driven, seq=caused.cause).kind in cause


# More digits than Python reads as a number, and than the database holds.
LONG = "9" * 5000


@pytest.mark.parametrize(
    "key", ["nothing", "1", "1-", "-1", "9999-1", "1-99999999", f"{LONG}-1", f"1-{LONG}"]
)
def test_event_that_is_not_there_is_told(admin: Client, driven: Run, key: str) -> None:
    answer = admin.get(f"/admin/runs/eventrecord/{key}/change/", follow=True)
    assert "exist. Perhaps it was deleted?" in unescape(answer.content.decode())


def test_page_of_an_object_says_its_event(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    page = admin.get(address(node)).content.decode()
    assert f"/admin/runs/eventrecord/{driven.pk}-{node.seq}/change/" in page
    assert f"the run is at event {driven.head_seq}." in page


def test_all_heads_of_columns_are_in_the_catalogue() -> None:
    """Of each of our lists; Django's own tables speak with its own catalogue."""
    bare: list[str] = []
    for model, model_admin in django_admin.site._registry.items():
        if not model.__module__.startswith(("kscope", "scheduling", "volumes")):
            continue
        assert isinstance(model._meta.verbose_name_plural, Promise), model
        for name in model_admin.list_display:
            part = getattr(model_admin, str(name), None)
            if part is None:
                found = model._meta.get_field(str(name))
                assert isinstance(found, Field)
                words = found.verbose_name
            else:
                words = part.short_description
            if not isinstance(words, Promise):
                bare.append(f"{model.__name__}.{name}")
    assert bare == []
