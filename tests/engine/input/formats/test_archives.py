"""Archives are bounded before they are unpacked, and bundles are recognised by their files."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from engine.input.load_result import LoadResult
from engine.input.loader import load_files, load_paths
from engine.input.scenario import Scenario
from engine.input.sources.archives import ArchiveError, ArchiveLimits, members

NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
PODS = b'{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}]}'
VALUES = b"replicas: 3\n"


def zipped(**files: bytes) -> bytes:
    return zip_of({name.replace("__", "/").replace("_", "."): data for name, data in files.items()})


def zip_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tar_of(files: dict[str, bytes], mode: str = "w:gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # pyright: ignore
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def kinds(loaded: LoadResult) -> list[str]:
    assert loaded.ok, loaded.problems
    return sorted(each["kind"] for each in loaded.manifests)


@pytest.mark.parametrize(
    "data",
    [
        zip_of({"a/nodes.yaml": NODE, "a/values.yaml": VALUES, "b/pods.json": PODS, "a.png": b"x"}),
        tar_of({"a/nodes.yaml": NODE, "a/values.yaml": VALUES, "b/pods.json": PODS, "a.png": b"x"}),
        tar_of(
            {"a/nodes.yaml": NODE, "a/values.yaml": VALUES, "b/pods.json": PODS, "a.png": b"x"}, "w"
        ),
    ],
    ids=["zip", "tar.gz", "tar"],
)
def test_an_archive_is_read_by_its_content(data: bytes) -> None:
    loaded = load_files([("upload", data)])
    assert kinds(loaded) == ["Node", "Pod"]
    assert sorted(each.file for each in loaded.skipped) == ["upload/a.png", "upload/a/values.yaml"]


def test_a_packed_file_is_read_under_its_name() -> None:
    loaded = load_files([("nodes.yaml.gz", gzip.compress(NODE))])
    assert [str(each.origin) for each in loaded.objects] == [
        "nodes.yaml.gz/nodes.yaml, document 1, line 1"
    ]


@pytest.mark.parametrize("name", ["../up.yaml", "/etc/passwd", "a/../../b.yaml", "c:\\x.yaml"])
def test_paths_that_lead_out_are_refused(name: str) -> None:
    for data in (zip_of({name: NODE}), tar_of({name: NODE})):
        (problem,) = load_files([("a.zip", data)]).problems
        assert "leads out of the archive" in problem.message


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    for data in (zip_of({"a.yaml": bytes(64 << 20)}), gzip.compress(bytes(64 << 20))):
        with pytest.raises(ArchiveError, match="would come out of the archive"):
            list(members("bomb", data))


def test_too_many_files_are_refused() -> None:
    files = {f"{number}.yaml": b"" for number in range(11)}
    for data in (zip_of(files), tar_of(files)):
        with pytest.raises(ArchiveError, match="more than 10 files"):
            list(members("many", data, ArchiveLimits(files=10)))


def test_broken_and_unknown_archives_are_refused_by_name() -> None:
    broken = zip_of({"a.yaml": NODE})[:40]
    assert "the archive is broken" in load_files([("a.zip", broken)]).problems[0].message
    packed = b"\xfd7zXZ\x00" + b"rest"
    assert "packed with xz" in load_files([("a.xz", packed)]).problems[0].message


def test_archives_within_archives_are_listed() -> None:
    inner = zip_of({"nodes.yaml": NODE})
    loaded = load_files([("a.zip", zip_of({"nodes.yaml": NODE, "more.zip": inner}))])
    assert [each.file for each in loaded.skipped] == ["a.zip/more.zip"]


def test_links_in_archives_are_not_followed() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        link = tarfile.TarInfo("secret.yaml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        info = tarfile.TarInfo("nodes.yaml")
        info.size = len(NODE)
        archive.addfile(info, io.BytesIO(NODE))
    loaded = load_files([("a.tgz", out.getvalue())])
    assert kinds(loaded) == ["Node"]
    assert "links and devices are not read" in str(loaded.skipped[0])


BARE_PODS = b'[{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}]'
RESOURCES = b'[{"groupVersion": "v1", "resources": []}]'


def test_a_support_bundle_is_recognised() -> None:
    bundle = {
        "bundle/version.yaml": b"apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\nversionNumber: v1\n",
        "bundle/cluster-resources/nodes.json": NODE.replace(b"\n", b"\n"),
        "bundle/cluster-resources/pods/default.json": BARE_PODS,
        "bundle/cluster-resources/pods/logs/a/c.log": b"a: b: c",
        "bundle/cluster-resources/resources.json": RESOURCES,
        "bundle/cluster-resources/pods-errors.json": b'["forbidden"]',
    }
    loaded = load_files([("bundle.tar.gz", tar_of(bundle))])
    assert kinds(loaded) == ["Node", "Pod"]
    assert loaded.sources == {"bundle.tar.gz": "a troubleshoot support bundle"}


WRITTEN = b'{"metadata": {"name": "run", "uid": "1"}, "spec": {"containers": []}}'
# What collectors write beside the objects: none of it has a type, some of it has a list of pods.
COLLECTED = {
    "node-metrics/n1.json": b'{"node": {"nodeName": "n1"}, "pods": [{"podRef": {"name": "a"}}]}',
    "run/run.json": WRITTEN,
    "run/run-events.json": b'{"metadata": {"resourceVersion": "9"}, "items": [' + WRITTEN + b"]}",
    "cluster-resources/resources.json": b'[{"kind": "APIResourceList", "groupVersion": "v1"}]',
    "cluster-resources/custom-resource-definitions.json": b'{"metadata": {}, "items": ['
    + WRITTEN
    + b"]}",
}


def test_what_collectors_add_is_skipped_with_reasons() -> None:
    objects = {"cluster-resources/nodes.json": NODE, "cluster-resources/pods/a.json": PODS}
    loaded = load_files([("bundle.tar.gz", tar_of(objects | COLLECTED))])
    assert kinds(loaded) == ["Node", "Pod"]
    skipped = {each.file.removeprefix("bundle.tar.gz/") for each in loaded.skipped}
    assert skipped == COLLECTED.keys()


def test_bare_lists_are_what_files_are_called() -> None:
    pods = b'{"metadata": {}, "items": [{"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}]}'
    files = {"cluster-resources/nodes.json": NODE, "cluster-resources/pods/a.json": pods}
    assert kinds(load_files([("bundle.zip", zip_of(files))])) == ["Node", "Pod"]


@pytest.mark.parametrize(
    "said",
    [
        b'{"info": {"major": "1", "minor": "34", "gitVersion": "v1.34.2"}, "string": "v1.34.2"}',
        b'{"clientVersion": {"gitVersion": "v1.36.0"}, "serverVersion": {"gitVersion": "v1.34.2"}}',
    ],
    ids=["troubleshoot", "kubectl version"],
)
def test_the_version_of_the_server_is_read(said: bytes) -> None:
    files = {"cluster-resources/nodes.json": NODE, "cluster-info/cluster_version.json": said}
    loaded = load_files([("bundle.zip", zip_of(files))])
    assert kinds(loaded) == ["Node"]
    assert loaded.to_report()["versions"] == ["v1.34.2"]
    assert Scenario.from_load(loaded, name="bundle").served == "v1.34.2"


def test_other_bundles_are_recognised(tmp_path: Path) -> None:
    gathered = {
        "must-gather/cluster-scoped-resources/core/nodes/n1.yaml": NODE,
        "must-gather/namespaces/default/core/pods.yaml": PODS,
        "must-gather/namespaces/default/pods/a/c/logs/current.log": b"x",
    }
    for name, data in gathered.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    loaded = load_paths([tmp_path])
    assert kinds(loaded) == ["Node", "Pod"]
    assert list(loaded.sources.values()) == ["a must-gather"]
    dumped = {
        "nodes.json": NODE,
        "default/pods.json": PODS,
        "default/events.json": b'{"kind": "EventList", "apiVersion": "v1", "items": []}',
    }
    loaded = load_files([("dump.zip", zip_of(dumped))])
    assert loaded.sources == {"dump.zip": "a kubectl cluster-info dump"}


def test_logs_between_lists_are_left_out() -> None:
    logs = b"==== START logs for container c of pod default/a ====\n{x: [\n==== END logs for container c of pod default/a ====\n"
    node = b'{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "n1"}}]}\n'
    assert kinds(load_files([("dump.txt", node + PODS + b"\n" + logs)])) == ["Node", "Pod"]


def test_a_folder_is_read_at_every_depth(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.yaml").write_bytes(b"{")
    (tmp_path / "nodes.yaml").write_bytes(NODE)
    (tmp_path / "nodes.json").write_bytes(
        b'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}}'
    )
    (tmp_path / "a" / "b" / "pods").write_bytes(PODS)
    (tmp_path / "a" / "README.md").write_bytes(b"# x")
    (tmp_path / "a" / "chart.yaml").write_bytes(b"apiVersion: v2\nname: x\nversion: '1'\n")
    (tmp_path / "a" / "deploy.yaml").write_bytes(
        b"kind: Deployment\nmetadata: {name: {{ .Release.Name }}}\n"
    )
    loaded = load_paths([tmp_path])
    assert kinds(loaded) == ["Node", "Node", "Pod"]
    told = {Path(each.file).name: each.why for each in loaded.skipped}
    assert sorted(told) == ["README.md", "chart.yaml", "deploy.yaml"]
    assert all("helm template" in told[name] for name in ("chart.yaml", "deploy.yaml"))
