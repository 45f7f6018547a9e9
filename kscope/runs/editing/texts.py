"""A YAML text that a person wrote, read as the commands that it asks for, or what is wrong with it.

The text is checked as files are, against the fields of the run's version. The engine decides in the
end what it takes; so far a fault has a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from django.utils.translation import gettext

from engine.api_server.validation.manifests import check_stored
from engine.api_server.validation.report import Report, field_error
from engine.input.unknown_fields import version_of
from engine.objects.documents import (
    Document,
    DocumentError,
    Limits,
    Path,
    find_lines,
    read_documents,
    show_path,
)
from engine.objects.kinds import NAMESPACED, entity_id
from engine.objects.openapi.fields import check_fields
from engine.objects.openapi.near import left_out_note
from engine.objects.values.shown import shown
from kscope.runs.manifest_edits import change_body, difference

Manifest = dict[str, Any]

# A larger object is no object of a cluster: etcd takes 1.5 MiB, and people write less.
LONGEST: Final = 512 * 1024
_LIMITS: Final = Limits(bytes=LONGEST, nodes=200_000, alias_nodes=20_000)
_MOST_OBJECTS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What is to be said of one place of a text; line 0 means the whole, and so does an empty field."""

    message: str
    line: int = 0
    field: str = ""


@dataclass(slots=True)
class Asked:
    """What a text asks for: the bodies of commands, in order; none where something is wrong."""

    commands: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    problems: list[Remark] = field(default_factory=list[Remark])
    # Fields that the version does not have: the run leaves them out.
    notes: list[Remark] = field(default_factory=list[Remark])

    def to_dict(self) -> dict[str, Any]:
        """As the API gives it."""
        return asdict(self)


def created(text: str, *, profile: str) -> Asked:
    """What *text* asks for where it is to make objects: a `create` for each document."""
    asked, documents = _read(text)
    if len(documents) > _MOST_OBJECTS:
        message = gettext("there are {number} objects; at most {most} are made at once")
        message = message.format(number=len(documents), most=_MOST_OBJECTS)
        asked.problems.append(Remark(message=message))
    if not documents and not asked.problems:
        asked.problems.append(Remark(message=gettext("the text is empty")))
    if asked.problems:
        return asked
    for document in documents:
        _check(asked, text, document, profile)
        asked.commands.append({"verb": "create", "manifest": document.value})
    return _settled(asked)


def changed(text: str, *, base: str, entity: str, profile: str) -> Asked:
    """What *text* asks for where it was *base*, the manifest of *entity*: a patch, or no command.

    Only what differs between the two is asked for, so that what the cluster changed meanwhile stays.
    """
    asked, documents = _read(text)
    if not asked.problems and len(documents) != 1:
        message = gettext("the text has {number} objects; it must stay the one of {object}")
        message = message.format(number=len(documents), object=entity)
        asked.problems.append(Remark(message=message))
    was, before = _read(base)
    if was.problems or len(before) != 1 or not isinstance(before[0].value, dict):
        message = gettext("what was edited cannot be read; open it again")
        asked.problems.append(Remark(message=message))
    if asked.problems:
        return asked
    document, old = documents[0], before[0].value
    _check(asked, text, document, profile)
    if not asked.problems:
        _check_same(asked, text, document, entity)
    if not asked.problems:
        patch = difference(old, document.value)
        asked.commands = [change_body(entity, old, patch)] if patch else []
    return _settled(asked)


def _settled(asked: Asked) -> Asked:
    if asked.problems:
        asked.commands = []
    return asked


def _read(text: str) -> tuple[Asked, list[Document]]:
    try:
        return Asked(), read_documents("manifest.yaml", text.encode(), _LIMITS)
    except (DocumentError, UnicodeEncodeError) as problem:
        line = problem.line if isinstance(problem, DocumentError) else 0
        return Asked(problems=[Remark(message=str(problem), line=line)]), []


def _check(asked: Asked, text: str, document: Document, profile: str) -> None:
    """Note what an API server of the version would refuse of the document, and leave out."""
    raw, version = document.value, version_of(profile)
    faults, unknown = _faults(raw, version)
    if not faults and not unknown:
        return
    paths = [*(path for path, _ in faults), *unknown]
    lines = _lines(text, document, paths)
    asked.problems += [
        Remark(message=why, line=lines[path], field=show_path(path)) for path, why in faults
    ]
    if unknown:
        found = check_fields(raw, version, is_simulated=True)
        asked.notes += [
            Remark(
                message=left_out_note(found, each),
                line=lines.get(each.path, 0),
                field=show_path(each.path),
            )
            for each in found.unknown
        ]


def _faults(raw: Any, version: str) -> tuple[list[tuple[Path, str]], list[Path]]:
    if not isinstance(raw, dict):
        words = gettext("expected a manifest, found {found}")
        return [((), words.format(found=shown(raw)))], []
    wrong = _nameless(raw)
    if wrong:
        return [wrong], []
    report = Report()
    check_stored(raw, (), report, version)
    return [(path, field_error(value, why)) for path, value, why in report.problems], report.unknown


def _nameless(raw: Manifest) -> tuple[Path, str] | None:
    """What a manifest lacks before anything else of it can be checked."""
    if not isinstance(raw.get("kind"), str) or not raw["kind"]:
        words = gettext("expected the name of a kind, found {found}")
        return ("kind",), words.format(found=shown(raw.get("kind")))
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        words = gettext("expected a mapping, found {found}")
        return ("metadata",), words.format(found=shown(metadata))
    if not isinstance(metadata.get("name"), str) or not metadata["name"]:
        words = gettext("expected a name, found {found}")
        return ("metadata", "name"), words.format(found=shown(metadata.get("name")))
    return None


def _check_same(asked: Asked, text: str, document: Document, entity: str) -> None:
    manifest: Manifest = document.value
    kind, metadata = manifest["kind"], manifest["metadata"]
    namespace = (metadata.get("namespace") or "default") if kind in NAMESPACED else ""
    name = entity_id(kind, "/".join(one for one in (namespace, metadata["name"]) if one))
    if name == entity:
        return
    path: Path = ("metadata", "name")
    message = gettext("this is {name}; it must stay {object}. To make another object, create one")
    message = message.format(name=name, object=entity)
    line = _lines(text, document, [path])[path]
    asked.problems.append(Remark(message=message, line=line, field=show_path(path)))


def _lines(text: str, document: Document, paths: Iterable[Path]) -> dict[Path, int]:
    return find_lines(text.encode(), {document.index: set(paths)})[document.index]
