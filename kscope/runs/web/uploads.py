"""From uploaded files to a scenario, or to a report on what is wrong with them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from kscope.runs import services
from kscope.runs.engine import wiring
from kscope.runs.models import Scenario
from kscope.runs.web.upload_report import UploadReport, upload_report
from kscope.sim.input.load_result import LoadResult, Problem
from kscope.sim.input.loader import load_files
from kscope.sim.input.scenario import LONGEST_NAME
from kscope.sim.objects.validation.report import shown, text_fault


@dataclass(frozen=True, slots=True)
class Upload:
    """What came of an upload: a report always, a scenario if there was nothing wrong."""

    report: UploadReport
    scenario: Scenario | None


def upload_take(
    files: Iterable[UploadedFile],
    *,
    name: str = "",
    question: str = "",
    owner_id: int | None = None,
) -> Upload:
    """Read the files and keep them as a scenario; with any problem nothing is saved.

    Raises ApplicationError when the owner keeps too much already.
    """
    given = list(files)
    names = _names(given)
    problem = _too_much(given) or _bad_name(name)
    if problem is not None:
        result = LoadResult()
        result.problems.append(problem)
        return Upload(upload_report(names, result), None)
    contents = [(name, file.read()) for name, file in zip(names, given, strict=True)]
    result = load_files(contents, check=wiring.check_setup)
    report = upload_report(names, result)
    if not result.ok or not result.objects:
        return Upload(report, None)
    title = name or PurePath(names[0]).stem[:LONGEST_NAME]
    scenario = services.scenario_store(
        name=title, result=result, question=question, owner_id=owner_id
    )
    return Upload(report, scenario)


def _names(files: list[UploadedFile]) -> list[str]:
    """The names of the files; the second and later ones of a name get a number."""
    names: list[str] = []
    counts: Counter[PurePath] = Counter()
    for file in files:
        name = PurePath(file.name or "file")
        counts[name] += 1
        number = f" ({counts[name]})" if counts[name] > 1 else ""
        names.append(f"{name.stem}{number}{name.suffix}")
    return names


def _bad_name(name: str) -> Problem | None:
    fault = text_fault(name, LONGEST_NAME)
    if fault is None:
        return None
    return Problem(file="Your upload", field="name", value=shown(name), message=fault)


def _too_much(files: list[UploadedFile]) -> Problem | None:
    """The problem of files that are too large together, found before any of them is read."""
    total = 0
    for file in files:
        total += file.size or 0
        if total > settings.UPLOAD_MAX_BYTES:
            allowed = settings.UPLOAD_MAX_BYTES // 1_048_576
            message = (
                f"{total / 1_048_576:.1f} MiB with the files before it; "
                f"an upload may hold {allowed} MiB in all"
            )
            return Problem(file=file.name or "file", message=message)
    return None
