"""Pages around the board: what a newcomer meets."""

import html
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from kscope.api_docs import operations
from kscope.glossary import sections
from kscope.recipe import recipe, simple_recipe
from kscope.runs.models import Run, Scenario
from kscope.runs.stories import pages

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]
GLOSSARY, TERMS = ROOT / "docs/glossary.md", ROOT / "docs/terms.md"


def page(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_the_api_page_is_complete_and_self_contained(
    client: Client,
) -> None:
    schema = client.get("/api/v1/schema/", HTTP_ACCEPT="application/json").json()
    text = page(client, "/api/docs/")
    told = {(each.method.lower(), each.path) for each in operations()}
    assert told == {(method, path) for path, of in schema["paths"].items() for method in of}
    assert all(path in text for path in schema["paths"])
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", text)


def test_the_api_page_shows_parameters_bodies_and_answers() -> None:
    by_name = {(each.method, each.path): each for each in operations()}
    transport = by_name["POST", "/api/v1/runs/{run_id}/transport/"]
    fields = {each.name: each for each in transport.body}
    assert fields["action"].kind == "play | pause | step | speed"
    assert (fields["action"].required, fields["unit"].required) == (True, False)
    assert "head" in [each.name for each in transport.answers[0].fields]
    events = by_name["GET", "/api/v1/runs/{run_id}/events/"]
    assert "after" in [each.name for each in events.parameters]


def test_the_glossary_page_has_every_word(client: Client) -> None:
    text = page(client, "/glossary/")
    for document in (GLOSSARY, TERMS):
        words = re.findall(r"^\| (?!word )(\w.*?)[,|]", document.read_text(), re.MULTILINE)
        assert len(words) > 40
        assert all(f">{html.escape(word.strip())}</dt>" in text for word in words)
    assert '<dt id="half-bound">' in text
    assert "<code>&quot;event&quot;: true</code>" in text


def test_pages_link_only_to_words_of_the_glossary() -> None:
    both = (*sections("glossary.md"), *sections("terms.md"))
    anchors = {term.anchor for section in both for term in section.terms}
    sources = [*ROOT.glob("static/js/**/*.js"), *ROOT.glob("templates/**/*.html")]
    linked = {
        anchor
        for source in sources
        for anchor in re.findall(r'(?:/glossary/#|Term\} word=")([a-z-]+)', source.read_text())
    }
    assert linked
    assert linked <= anchors


def test_a_missing_page_has_its_own_text(client: Client) -> None:
    answer = client.get("/runs/99999/")
    assert answer.status_code == 404
    assert "/runs/99999/" in answer.content.decode()
    assert "it may have been deleted" in answer.content.decode()


def test_the_login_says_where_the_password_is(client: Client) -> None:
    asked = client.get("/admin/", follow=True)
    assert asked.redirect_chain[-1][0] == "/login/?next=%2Fadmin%2F"
    assert "manage.py changepassword admin" in asked.content.decode()


def test_a_form_without_token_is_refused_in_words() -> None:
    answer = Client(enforce_csrf_checks=True).post("/scenarios/1/start/")
    assert answer.status_code == 403
    assert "reload the page" in answer.content.decode()


def test_the_list_can_show_older_runs(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "SHOWN_RUNS", 2)
    scenario = Scenario.objects.create(name="s", digest="s", header={})
    for number in range(3):
        Run.objects.create(scenario=scenario, name=f"run-{number}")
    first = page(client, "/runs/")
    assert "run-2" in first
    assert "run-0" not in first
    assert "Show 1 older" in first
    assert "run-0" in page(client, "/runs/?runs=all")


def test_run_pages_read_no_pieces_of_scenarios(
    client: Client, django_assert_num_queries: Any
) -> None:
    scenario = Scenario.objects.create(name="s", digest="s", question="Why?", header={})
    run = Run.objects.create(scenario=scenario, name="run")
    with django_assert_num_queries(1) as captured:
        assert "Why?" in page(client, f"/runs/{run.pk}/")
    assert "piece" not in captured.captured_queries[0]["sql"]


def test_a_pod_has_a_page_before_it_exists(client: Client) -> None:
    scenario = Scenario.objects.create(name="s", digest="s", header={})
    run = Run.objects.create(scenario=scenario, name="run")
    assert 'data-pod="shop/web-1"' in page(client, f"/runs/{run.pk}/pods/shop/web-1/")
    assert 'id="pods"' in page(client, f"/runs/{run.pk}/pods/")
    assert 'id="volumes"' in page(client, f"/runs/{run.pk}/volumes/")
    assert client.get("/runs/987654/pods/shop/web-1/").status_code == 404


def test_node_pages_link_their_run_and_each_other(client: Client, driven: Run) -> None:
    text = page(client, f"/runs/{driven.pk}/nodes/n1/")
    assert 'data-node="n1"' in text
    assert f'data-page="nodes" href="/runs/{driven.pk}/nodes/"' in text
    assert 'aria-current="page">Nodes' in page(client, f"/runs/{driven.pk}/nodes/")


def forked(client: Client, scenario: Scenario) -> tuple[Run, Run]:
    parent = Run.objects.create(scenario=scenario, name="first", head_seq=9, head_at=3 * 10**9)
    fork = Run.objects.create(
        scenario=scenario, name="second", parent=parent, forked_seq=7, forked_at=2 * 10**9
    )
    return parent, fork


def test_forks_link_their_parent_at_the_instant(client: Client) -> None:
    parent, fork = forked(client, Scenario.objects.create(name="s", digest="s", header={}))
    link = f'href="/runs/{parent.pk}/?seq=7"'
    assert link in page(client, "/")
    head = page(client, f"/runs/{fork.pk}/")
    assert link in head
    assert f"fork of #{parent.pk} at 2.000 s" in head
    assert "fork of" not in page(client, f"/runs/{parent.pk}/")
    parent.delete()
    assert 'has been deleted">fork at 2.000 s<' in page(client, f"/runs/{fork.pk}/timeline/")


def test_the_nearest_relatives_are_offered_for_comparison(client: Client) -> None:
    parent, fork = forked(client, Scenario.objects.create(name="s", digest="s", header={}))
    sibling = Run.objects.create(scenario=fork.scenario, name="third", parent=parent, forked_at=1)
    stranger = Scenario.objects.create(name="t", digest="t", header={})
    other = Run.objects.create(scenario=stranger, name="other")
    others = client.get(f"/runs/{fork.pk}/compare/").context["others"]
    assert [(each["id"], each["relation"]) for each in others] == [
        (parent.pk, "parent"),
        (sibling.pk, "sibling"),
        (other.pk, "other"),
    ]
    assert client.get("/runs/99999/compare/").status_code == 404


@pytest.fixture
def lone_run() -> Run:
    scenario = Scenario.objects.create(name="s", digest="s", header={})
    return Run.objects.create(scenario=scenario, name="run")


def tab(client: Client, path: str, name: str) -> str:
    found = re.search(rf'data-page="{name}" href="([^"]*)"', page(client, path))
    assert found
    return html.unescape(found[1])


def test_tabs_keep_the_instant_and_the_selection(client: Client, lone_run: Run) -> None:
    here = f"/runs/{lone_run.pk}"
    assert tab(client, f"{here}/?seq=40&pod=shop/web", "timeline") == (
        f"{here}/timeline/?pod=shop/web&seq=40"
    )
    assert tab(client, f"{here}/volumes/?seq=0&claim=a/b", "nodes") == (
        f"{here}/nodes/?claim=a/b&seq=0"
    )
    assert tab(client, f"{here}/", "machines") == f"{here}/machines/"
    inside = f"{here}/inside/scheduler/?pod=shop/web"
    assert tab(client, f"{here}/?pod=shop/web", "inside-scheduler") == inside
    assert tab(client, inside, "inside-scheduler") == inside


def test_connect_and_agreement_lead_back_to_the_instant(client: Client, lone_run: Run) -> None:
    here, place = f"/runs/{lone_run.pk}", "?pod=shop/web&seq=40"
    assert tab(client, f"{here}/{place}", "connect") == f"{here}/connect/{place}"
    for path in (f"{here}/connect/", f"{here}/agreement/"):
        assert f'href="{here}/{place}">Board</a>' in html.unescape(page(client, path + place))


def test_tabs_of_a_pods_page_keep_that_pod(client: Client, lone_run: Run) -> None:
    here = f"/runs/{lone_run.pk}"
    assert tab(client, f"{here}/pods/shop/web-1/?seq=9", "board") == f"{here}/?pod=shop/web-1&seq=9"


def test_tabs_escape_values_from_the_address(client: Client, lone_run: Run) -> None:
    path = f"/runs/{lone_run.pk}/?pod=%22%3E%3Cscript%3E&seq=x"
    assert tab(client, path, "pods") == f"/runs/{lone_run.pk}/pods/?pod=%22%3E%3Cscript%3E"


def test_the_page_of_a_manifest_names_its_object(client: Client, lone_run: Run) -> None:
    assert 'data-object="pod/shop/web"' in page(
        client, f"/runs/{lone_run.pk}/objects/pod/shop/web/"
    )


def test_the_question_of_a_fork_is_not_hidden(client: Client) -> None:
    question = "Which of these many pods wait, what for, and who goes first when room appears?"
    scenario = Scenario.objects.create(name="s", digest="s", header={}, question=question)
    run = Run.objects.create(scenario=scenario, name="run", forked_at=2 * 10**9)
    shown = page(client, f"/runs/{run.pk}/")
    assert f'<aside class="question" aria-label="Question of the run">{question}</aside>' in shown


def test_import_shows_the_command_that_prints_a_cluster(client: Client) -> None:
    home = page(client, "/").replace("<wbr>", "")
    assert simple_recipe() in html.unescape(home)
    shown = html.unescape(page(client, "/scenarios/upload/").replace("<wbr>", ""))
    assert recipe() in shown
    assert simple_recipe() in shown
