"""Pages of the admin as a browser would fill them in and send them."""

from html import unescape
from html.parser import HTMLParser
from typing import Any

from django.test import Client

from kscope.runs.models import Run
from tests.web.conftest import driving


class FormReader(HTMLParser):
    """The fields of the last form of a page with their values, as a browser would send them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._textarea = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.fields = {}
        elif tag == "textarea":
            self._textarea = given["name"]
            self.fields[self._textarea] = ""
        elif tag == "input" and given.get("name") and self._is_sent(given):
            self.fields[given["name"]] = given.get("value", "on")

    @staticmethod
    def _is_sent(given: dict[str, str]) -> bool:
        return given.get("type") != "submit" and (
            given.get("type") != "checkbox" or "checked" in given
        )

    def handle_data(self, data: str) -> None:
        if self._textarea:
            # A newline right behind the tag does not belong to the text.
            self.fields[self._textarea] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._textarea = ""


def address(row: Any, query: str = "") -> str:
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/{query}"


def opened(admin: Client, row: Any) -> dict[str, str]:
    """The form of *row* as it is rendered for a session."""
    return FormReader(admin.get(address(row)).content.decode()).fields


def submitted(admin: Client, run: Run, row: Any, form: dict[str, str], query: str = "") -> Any:
    """The answer to *form*, posted while the run is being driven."""
    with driving(run):
        return admin.post(address(row, query), form, follow=True)


def edit(admin: Client, run: Run, row: Any, **fields: str) -> str:
    """Open the form of *row*, fill in some fields and submit it; the page that answers."""
    answer = submitted(admin, run, row, {**opened(admin, row), **fields})
    return unescape(answer.content.decode())


def injected(admin: Client, run: Run, row: Any, action: str, **fields: str) -> str:
    """Choose an action of the list for one row, and answer what it asks; the page that answers."""
    chosen = {"action": action, "_selected_action": str(row.pk), "confirmed": "1", **fields}
    address_of_list = f"/admin/{row._meta.app_label}/{row._meta.model_name}/"
    with driving(run):
        answer = admin.post(address_of_list, chosen, follow=True)
    return unescape(answer.content.decode())


def changelist(row: Any, query: str = "") -> str:
    """The address of the list in which *row* is."""
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{query}"


def chosen(admin: Client, run: Run, action: str, *rows: Any, query: str = "", **fields: str) -> str:
    """Choose an action of the list for *rows*; the page that answers."""
    body = {"action": action, "_selected_action": [str(row.pk) for row in rows], **fields}
    with driving(run):
        answer = admin.post(changelist(rows[0], query), body, follow=True)
    return unescape(answer.content.decode())
