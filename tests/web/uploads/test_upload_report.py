"""The report on uploaded files: what each holds and what is wrong with it."""

from engine.input.loader import load_files
from kscope.runs.web.upload_report import FileReport, UploadReport, upload_report

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: web-%d, namespace: shop}\nspec: {containers: [{name: app, image: app}]}\n"
NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
MAP = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\n"


def report_on(**files: bytes) -> UploadReport:
    named = [(f"{name}.yaml", content) for name, content in files.items()]
    return upload_report([name for name, _ in named], load_files(named))


def only_file(report: UploadReport) -> FileReport:
    (file,) = report.files
    return file


def test_objects_are_counted_by_file_and_kind() -> None:
    report = report_on(pods=b"---\n".join([POD % 1, POD % 2]), nodes=NODE)
    assert [(file.name, file.kinds) for file in report.files] == [
        ("pods.yaml", {"Pod": 2}),
        ("nodes.yaml", {"Node": 1}),
    ]
    assert report.problem_count == 0


def test_kinds_that_are_not_understood_are_kept_aside() -> None:
    file = only_file(report_on(mixed=b"---\n".join([NODE, MAP])))
    assert file.kinds == {"Node": 1}
    assert file.aside == {"ConfigMap": 1}
    assert file.documents == 2


def test_a_problem_stands_with_its_file_and_line() -> None:
    bad = NODE + b"status: {allocatable: {cpu: 1500x}}\n"
    report = report_on(good=POD % 1, bad=bad)
    good, wrong = report.files
    assert good.problems == []
    assert report.problem_count == 1
    assert wrong.problems[0].line == 4
    assert "1500x" in wrong.problems[0].value


def test_a_file_that_is_not_yaml_is_reported() -> None:
    file = only_file(report_on(broken=b"a: [1, 2\nb: }"))
    assert file.kinds == {}
    assert len(file.problems) == 1
