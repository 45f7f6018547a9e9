"""What Pod Security says against a pod, in the words of its admission plugin.

Upstream: k8s.io/pod-security-admission/policy, check_*.go; admission/admission.go, EvaluatePod().
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_VERSION: Final = "pod-security.kubernetes.io/enforce-version"
_LEVELS: Final = ("baseline", "restricted")
_HOST_NAMESPACES: Final = ("hostNetwork", "hostPID", "hostIPC")
# Upstream: check_capabilities_baseline.go, capabilities_allowed_1_0.
_CAPABILITIES: Final = frozenset(
    ("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD")
    + ("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT")
)
# Upstream: check_restrictedVolumes.go, restrictedVolumes_1_0().
_VOLUMES: Final = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim")
    + ("projected", "secret", "name")
)
_PROFILES: Final = ("RuntimeDefault", "Localhost")


def security_refusal(namespace: Manifest | None, spec: Manifest) -> str:
    """The refusal of a pod of that *spec* by the level that its namespace enforces; "" for none."""
    labels = section(namespace or {}, "metadata", "labels")
    level = str(labels.get(ENFORCE) or "")
    if level not in _LEVELS:
        return ""
    found = list(_violations(spec, is_restricted=level == "restricted"))
    version = labels.get(_VERSION) or "latest"
    return f'violates PodSecurity "{level}:{version}": {", ".join(found)}' if found else ""


def _violations(spec: Manifest, *, is_restricted: bool) -> Iterator[str]:
    if used := [name for name in _HOST_NAMESPACES if spec.get(name)]:
        yield f"host namespaces ({', '.join(f'{name}=true' for name in used)})"
    if found := _containers(spec, _is_privileged):
        yield f"privileged ({found} must not set securityContext.privileged=true)"
    if found := _containers(spec, _adds_capabilities):
        yield f"non-default capabilities ({found} must not include them in securityContext.capabilities.add)"
    if found := _volumes(spec, lambda volume: "hostPath" in volume):
        yield f"hostPath volumes ({found})"
    if found := _containers(spec, _has_host_port):
        yield f"hostPort ({found} uses hostPorts)"
    if is_restricted:
        yield from _restricted(spec)


def _restricted(spec: Manifest) -> Iterator[str]:
    if found := _containers(spec, _may_escalate):
        yield (
            f"allowPrivilegeEscalation != false ({found} must set "
            "securityContext.allowPrivilegeEscalation=false)"
        )
    if found := _containers(spec, _keeps_capabilities):
        yield (
            f'unrestricted capabilities ({found} must set securityContext.capabilities.drop=["ALL"])'
        )
    if found := _volumes(spec, lambda volume: not _VOLUMES.issuperset(volume)):
        yield f"restricted volume types ({found})"
    of_pod = section(spec, "securityContext")
    if found := _containers(spec, lambda each: not _of(each, of_pod, "runAsNonRoot")):
        yield f"runAsNonRoot != true (pod or {found} must set securityContext.runAsNonRoot=true)"
    if found := _containers(
        spec, lambda each: not _is_profiled(_of(each, of_pod, "seccompProfile"))
    ):
        yield (
            f"seccompProfile (pod or {found} must set securityContext.seccompProfile.type to "
            '"RuntimeDefault" or "Localhost")'
        )


def _is_privileged(container: Manifest) -> bool:
    return bool(section(container, "securityContext").get("privileged"))


def _adds_capabilities(container: Manifest) -> bool:
    return not _CAPABILITIES.issuperset(_capabilities(container, "add"))


def _capabilities(container: Manifest, name: str) -> Iterable[str]:
    return section(container, "securityContext", "capabilities").get(name) or ()


def _has_host_port(container: Manifest) -> bool:
    return any(each.get("hostPort") for each in items(container, "ports"))


def _may_escalate(container: Manifest) -> bool:
    return section(container, "securityContext").get("allowPrivilegeEscalation") is not False


def _keeps_capabilities(container: Manifest) -> bool:
    return "ALL" not in _capabilities(container, "drop")


def _is_profiled(profile: Manifest | None) -> bool:
    return profile is not None and profile.get("type") in _PROFILES


def _of(container: Manifest, of_pod: Manifest, name: str) -> Any:
    """A setting of the container, else that of the pod."""
    own = section(container, "securityContext").get(name)
    return of_pod.get(name) if own is None else own


def _containers(spec: Manifest, breaks: Callable[[Manifest], bool]) -> str:
    """The containers that break a rule, as upstream lists them; "" for none."""
    every = (*items(spec, "initContainers"), *items(spec, "containers"))
    return _named("container", [str(each.get("name")) for each in every if breaks(each)])


def _volumes(spec: Manifest, breaks: Callable[[Manifest], bool]) -> str:
    return _named(
        "volume", [str(each.get("name")) for each in items(spec, "volumes") if breaks(each)]
    )


def _named(what: str, names: list[str]) -> str:
    if not names:
        return ""
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"{what}{'' if len(names) == 1 else 's'} {quoted}"
