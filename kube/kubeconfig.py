"""Kubeconfig files: how clients find the API of a run.

Clients of Kubernetes keep a token to themselves where they speak plain HTTP, unless it is part of
the address.
"""

from typing import Any
from urllib.parse import urlsplit, urlunsplit

import yaml

from kube.addresses import api_root

TOKEN_PLACE = "TOKEN"


def kubeconfig(origin: str, run_id: int, *, instant: str = "", token: str = "") -> dict[str, Any]:
    """A kubeconfig with the context "run-12", and "run-12@5m30s" for *instant*, which is chosen then.

    *origin* is the address of kscope, as http://localhost:8000.
    """
    instants = ["", instant] if instant else [""]
    names = {one: context_name(run_id, one) for one in instants}
    clusters = [
        {"name": names[one], "cluster": _cluster(origin, api_root(run_id, one), token)}
        for one in instants
    ]
    user = {"token": token} if token and urlsplit(origin).scheme == "https" else {}
    contexts = [
        {"name": name, "context": {"cluster": name, "user": "kscope"}} for name in names.values()
    ]
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": clusters,
        "users": [{"name": "kscope", "user": user}],
        "contexts": contexts,
        "current-context": names[instant],
    }


def kubeconfig_text(origin: str, run_id: int, *, instant: str = "", token: str = "") -> str:
    """The same as YAML."""
    return yaml.safe_dump(kubeconfig(origin, run_id, instant=instant, token=token), sort_keys=False)


def context_name(run_id: int, instant: str = "") -> str:
    """ "run-12" or "run-12@5m30s"."""
    return f"run-{run_id}@{instant}" if instant else f"run-{run_id}"


def _cluster(origin: str, root: str, token: str) -> dict[str, Any]:
    cluster: dict[str, Any] = {"server": _server(origin, root, token)}
    if urlsplit(origin).scheme == "http":
        # Others do not look at it; @kubernetes/client-node refuses plain HTTP without it.
        cluster["insecure-skip-tls-verify"] = True
    return cluster


def _server(origin: str, root: str, token: str) -> str:
    parts = urlsplit(origin)
    host = f"kscope:{token}@{parts.netloc}" if token and parts.scheme == "http" else parts.netloc
    return urlunsplit((parts.scheme, host, root, "", ""))
