"""The contexts of a kubeconfig, read and used by the official client; see its `config.kube_config`."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kscope.program.distribution import NAME
from kscope.program.speech.errors import ProgramError, Status, similar_help

_HOME: Final = "~/.kube/config"
_MOST_NAMED: Final = 8


@dataclass(frozen=True, slots=True)
class Context:
    """A context: its name, user, namespace and server, and what makes a client of it."""

    name: str
    user: str
    namespace: str
    server: str
    _loader: Any
    _proxy: str = ""

    def client(self, agent: str) -> Any:
        """An ApiClient. Raises ProgramError where an exec plugin, or a file, does not do its part."""
        from kubernetes import client

        # Its attributes are untyped: the client is made from a specification.
        configuration: Any = client.Configuration()
        # What is tried again is decided in `connection`.
        configuration.retries = False
        if self._proxy:
            configuration.proxy = self._proxy
        with _told_errors(self):
            self._loader.load_and_set(configuration)
        if not configuration.verify_ssl:
            warnings.filterwarnings("ignore", message="Unverified HTTPS request")
        made = client.ApiClient(configuration)
        made.user_agent = agent
        return made


def kubeconfig_path(given: str | None) -> str:
    """Where the kubeconfig is: as given, $KUBECONFIG, or the user's own."""
    return given or os.environ.get("KUBECONFIG") or _HOME


def context_named(name: str, given: str | None) -> Context:
    """The context of that name. Raises ProgramError where there is none, or no client."""
    merged = _merged(kubeconfig_path(given))
    entries = {str(each["name"]): each for each in _listed(merged, "contexts")}
    if name not in entries:
        raise _unknown(name, entries, kubeconfig_path(given))
    try:
        return _context(name, merged, entries[name])
    except _config_error() as problem:
        message = f"context {name} of {kubeconfig_path(given)} cannot be used: {problem}"
        raise ProgramError(message) from problem


def context_names(given: str | None) -> list[str]:
    """The names of all contexts; none where there is no kubeconfig, or no YAML reader."""
    import yaml

    names: list[str] = []
    for path in kubeconfig_path(given).split(os.pathsep):
        try:
            found = yaml.load(Path(path).expanduser().read_text(), yaml.CSafeLoader)
            names += [str(each["name"]) for each in (found or {}).get("contexts") or ()]
        except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError, AttributeError):
            continue
    return list(dict.fromkeys(names))


def current_context(given: str | None) -> str:
    """The current context; "" where none is set. Raises ProgramError where there is no kubeconfig."""
    return str(_merged(kubeconfig_path(given)).safe_get("current-context") or "")


def _merged(path: str) -> Any:
    """All files of $KUBECONFIG as one."""
    import yaml

    kube_config = _library()
    if not any(Path(each).expanduser().is_file() for each in path.split(os.pathsep) if each):
        raise ProgramError(
            f"there is no kubeconfig at {path}", helps=["name one: --kubeconfig FILE"]
        )
    try:
        merged = kube_config.KubeConfigMerger(path).config
    except (_config_error(), yaml.YAMLError, OSError, KeyError, TypeError) as problem:
        raise ProgramError(f"{path} is no kubeconfig: {problem}") from problem
    if merged is None:
        raise ProgramError(f"{path} is no kubeconfig: it is empty")
    return merged


def _library() -> Any:
    try:
        from kubernetes.config import kube_config
    except ImportError as problem:
        raise ProgramError(
            "--context needs the Kubernetes client, which is not installed",
            helps=[f"pip install '{NAME}[live]', or pipx inject {NAME} kubernetes"],
        ) from problem
    return kube_config


def _config_error() -> type[Exception]:
    from kubernetes.config import ConfigException

    return ConfigException


def _listed(merged: Any, name: str) -> list[Any]:
    return list(merged.safe_get(name) or ())


def _context(name: str, merged: Any, entry: Any) -> Context:
    loader = _library().KubeConfigLoader(merged, active_context=name, config_base_path=None)
    parts = entry["context"]
    cluster = merged["clusters"].get_with_name(parts["cluster"])["cluster"]
    return Context(
        name=name,
        user=str(parts.safe_get("user") or ""),
        namespace=str(parts.safe_get("namespace") or ""),
        server=str(cluster.safe_get("server") or ""),
        _loader=loader,
        # The client of today does not read it.
        _proxy=str(cluster.safe_get("proxy-url") or ""),
    )


def _unknown(name: str, known: dict[str, Any], path: str) -> ProgramError:
    helps = similar_help("context", name, known)
    if not helps and known:
        more = len(known) - _MOST_NAMED
        rest = f" and {more:,} more" if more > 0 else ""
        helps = [f"contexts: {', '.join(list(known)[:_MOST_NAMED])}{rest}"]
    return ProgramError(f"no context {name} in {path}", helps=helps)


class _Kept(logging.Handler):
    """Keeps what is logged: the client logs why an exec plugin failed, and goes on without."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _told_errors(context: Context) -> Generator[None]:
    """Errors of reading credentials as ProgramError."""
    kept, root = _Kept(), logging.getLogger()
    root.addHandler(kept)
    try:
        yield
    except (_config_error(), OSError, KeyError, ValueError) as problem:
        raise _without_credentials(context, str(problem)) from problem
    finally:
        root.removeHandler(kept)
    if kept.messages:
        raise _without_credentials(context, "; ".join(kept.messages))


def _without_credentials(context: Context, why: str) -> ProgramError:
    return ProgramError(
        f"the credentials of user {context.user} in context {context.name} cannot be had: {why}",
        helps=[f"kubectl --context {context.name} auth whoami"],
        status=Status.UNSEEN,
    )
