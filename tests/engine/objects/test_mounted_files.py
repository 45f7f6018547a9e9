"""What containers find in the volumes of a pod, as upstream's kubelet writes it."""

from typing import Any

import pytest

from engine.objects.objects import Pod
from engine.objects.scripts.mounted_files import Held, MountedFile, Sources, file_at, sources_of

SOURCES = Sources(
    {
        ("ConfigMap", "settings"): Held({"a": b"one", "b": b"two"}),
        ("Secret", "keys"): Held({"token": b"hush"}),
    },
    {"cpu": "3500m", "memory": "8Gi"},
)
NAME = {"fieldRef": {"fieldPath": "metadata.name"}}


def found(
    volume: dict[str, Any], path: str, *, mount: dict[str, Any] | None = None, **spec: Any
) -> MountedFile | None:
    """What the container of a pod with one volume finds at a path."""
    mounted = {"name": "v", "mountPath": "/etc/v", **(mount or {})}
    container = {
        "name": "main",
        "resources": {"limits": {"cpu": "250m"}},
        "volumeMounts": [mounted],
    }
    spec = {"containers": [container], "volumes": [{"name": "v", **volume}], **spec}
    labels = {"zone": 'a"b', "app": "web"}
    metadata = {"name": "web", "namespace": "default", "labels": labels}
    return file_at(Pod({"metadata": metadata, "spec": spec}), container, path, SOURCES, SOURCES)


def settings(**fields: Any) -> dict[str, Any]:
    return {"configMap": {"name": "settings", **fields}}


def keys(**fields: Any) -> dict[str, Any]:
    return {"secret": {"secretName": "keys", **fields}}


def told(**fields: Any) -> dict[str, Any]:
    return {"downwardAPI": {"items": [{"path": "of/pod", **fields}]}}


def projected(*sources: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"projected": {"sources": [*sources], **fields}}


ITEMS = [{"key": "a", "path": "of/a", "mode": 0o400}, {"key": "b", "path": "b"}]


@pytest.mark.parametrize(
    ("volume", "path", "content", "mode"),
    [
        (settings(), "/etc/v/a", "one", "-rw-r--r--"),
        (settings(defaultMode=0o400), "/etc/v/a", "one", "-r--------"),
        (settings(defaultMode=0), "/etc/v/a", "one", "----------"),
        (settings(items=ITEMS), "/etc/v/of/a", "one", "-r--------"),
        (settings(items=ITEMS), "/etc/v/b", "two", "-rw-r--r--"),
        (settings(items=ITEMS), "/etc/v/of", "", "drwxr-xr-x"),
        (settings(), "/etc/v/..data/a", "one", "-rw-r--r--"),
        (settings(), "/etc/v", "", "drwxrwxrwx"),
        (keys(), "/etc/v/token", "hush", "-rw-r--r--"),
        (told(**NAME), "/etc/v/of/pod", "web", "-rw-r--r--"),
        (told(**NAME, mode=0o600), "/etc/v/of/pod", "web", "-rw-------"),
        (
            told(fieldRef={"fieldPath": "metadata.labels"}),
            "/etc/v/of/pod",
            'app="web"\nzone="a\\"b"',
            "-rw-r--r--",
        ),
        (
            projected({"configMap": {"name": "settings"}}, {"secret": {"name": "keys"}}),
            "/etc/v/token",
            "hush",
            "-rw-r--r--",
        ),
        (
            projected({"serviceAccountToken": {"path": "token"}}, defaultMode=0o444),
            "/etc/v/token",
            "",
            "-r--r--r--",
        ),
        ({"emptyDir": {}}, "/etc/v", "", "drwxrwxrwx"),
    ],
)
def test_files_have_content_and_mode(
    volume: dict[str, Any], path: str, content: str, mode: str
) -> None:
    assert found(volume, path) == (content.encode(), mode)


@pytest.mark.parametrize(
    ("volume", "path"),
    [
        (settings(), "/etc/v/c"),
        (settings(items=ITEMS), "/etc/v/a"),
        ({"configMap": {"name": "missing", "optional": True}}, "/etc/v/a"),
        ({"emptyDir": {}}, "/etc/v/a"),
        ({"hostPath": {"path": "/"}}, "/etc/v/a"),
        (settings(), "/etc/vast/a"),
    ],
)
def test_other_files_are_not_there(volume: dict[str, Any], path: str) -> None:
    assert found(volume, path) is None


@pytest.mark.parametrize(
    ("volume", "path", "mode"),
    [
        (settings(defaultMode=0o400), "/etc/v/a", "-r--r-----"),
        (settings(), "/etc/v", "drwxrwsrwx"),
        (settings(items=ITEMS), "/etc/v/of", "drwxr-sr-x"),
        (projected({"serviceAccountToken": {"path": "t"}}), "/etc/v/t", "-rw-r-----"),
    ],
)
def test_a_group_of_files_may_read(volume: dict[str, Any], path: str, mode: str) -> None:
    group = {"securityContext": {"fsGroup": 1000}}
    one = found(volume, path, **group)
    assert one is not None
    assert one.mode == mode


def test_a_mount_may_show_a_part() -> None:
    part = {"mountPath": "/etc/resolv.conf", "subPath": "a"}
    assert found(settings(), "/etc/resolv.conf", mount=part) == (b"one", "-rw-r--r--")
    folder = {"subPath": "of"}
    assert found(settings(items=ITEMS), "/etc/v/a", mount=folder) == (b"one", "-r--------")


def test_a_mounted_part_stays_as_it_was() -> None:
    later = Sources({("ConfigMap", "settings"): Held({"a": b"new"})})
    volume = {"name": "v", **settings()}
    whole, part = {"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/p", "subPath": "a"}
    pod = Pod({"metadata": {"name": "web"}, "spec": {"volumes": [volume]}})
    container = {"name": "main", "volumeMounts": [whole, part]}
    found = [file_at(pod, container, path, later, SOURCES) for path in ("/v/a", "/p")]
    assert [one and one.content for one in found] == [b"new", b"one"]


@pytest.mark.parametrize(
    ("resource", "divisor", "text"),
    [
        ("limits.cpu", None, "1"),
        ("limits.cpu", "1m", "250"),
        ("limits.memory", "1Mi", "8192"),
        ("requests.memory", None, "0"),
    ],
)
def test_amounts_are_rounded_up(resource: str, divisor: str | None, text: str) -> None:
    asked = {"containerName": "main", "resource": resource, "divisor": divisor}
    one = found(told(resourceFieldRef=asked), "/etc/v/of/pod")
    assert one is not None
    assert one.content.decode() == text


def test_hidden_data_have_empty_files() -> None:
    hidden = Sources({("Secret", "keys"): Held(is_hidden=True)})
    volume = {"name": "v", **keys(items=[{"key": "token", "path": "t"}])}
    container = {"name": "main", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    pod = Pod({"metadata": {"name": "web"}, "spec": {"volumes": [volume]}})
    assert file_at(pod, container, "/v/t", hidden, hidden) == (b"", "-rw-r--r--")


def test_sources_are_those_of_all_volumes() -> None:
    parts = projected({"configMap": {"name": "a"}}, {"secret": {"name": "b"}})
    volumes = [{"name": "v", **parts}, {"name": "w", **keys()}]
    pod = Pod({"metadata": {"name": "web"}, "spec": {"volumes": volumes}})
    assert [*sources_of(pod)] == [("ConfigMap", "a"), ("Secret", "b"), ("Secret", "keys")]
