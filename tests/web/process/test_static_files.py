"""Static files, which are served in front of Django."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from starlette.responses import PlainTextResponse

from kscope.operations.headers import answer_headers
from kscope.static_files.files import static_files
from kscope.static_files.version import static_version

STATIC = settings.STATIC_URL
SCRIPT = f"{STATIC}js/theme.js"


async def _asked(
    path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    application = answer_headers(static_files(PlainTextResponse("from Django")))
    await application(scope, None, send)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, sent[1]["body"]


async def test_script_has_its_type_and_forbids_sniffing() -> None:
    status, headers, body = await _asked(SCRIPT)
    assert (status, int(headers["content-length"])) == (200, len(body))
    assert headers["content-type"].startswith("text/javascript")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("default-src 'none'")


async def test_a_browser_keeps_a_file_for_good() -> None:
    _, headers, _ = await _asked(SCRIPT)
    assert headers["cache-control"].endswith(", public, immutable")


def test_another_file_makes_another_version(tmp_path: Path) -> None:
    static, lock = tmp_path / "static", tmp_path / "lock"
    script = static / "js" / "page.js"
    script.parent.mkdir(parents=True)
    script.write_text("one")
    found = [static_version(static, [lock])]
    lock.write_text("packages")
    found.append(static_version(static, [lock]))
    script.write_text("two")
    found.append(static_version(static, [lock]))
    script.rename(script.with_name("other.js"))
    found.append(static_version(static, [lock]))
    assert len(set(found)) == 4
    assert static_version(static, [lock]) == found[-1]


async def test_what_the_browser_has_is_not_sent_again() -> None:
    _, headers, _ = await _asked(SCRIPT)
    status, _, body = await _asked(SCRIPT, **{"if-none-match": headers["etag"]})
    assert (status, body) == (304, b"")


async def test_head_requests_get_the_head_alone() -> None:
    status, headers, body = await _asked(SCRIPT, "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 0


async def test_files_take_no_writes() -> None:
    assert (await _asked(SCRIPT, "POST"))[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "/",
        STATIC,
        f"{STATIC}js/absent.js",
        f"{STATIC}../manage.py",
        f"{STATIC}js/../../manage.py",
        f"{STATIC}/etc/passwd",
        f"{STATIC}vendor/preact/package.json",
        "/static/of-another-version/js/theme.js",
    ],
)
async def test_unknown_static_file_is_left_to_django(path: str) -> None:
    status, _, body = await _asked(path)
    assert (status, body) == (200, b"from Django")
