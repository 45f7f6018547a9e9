"""The cluster as YAML: what imports it has the same objects, and kubectl would apply it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.cluster.cluster import Cluster
from engine.cluster.playing import play
from engine.kernel.units import SECOND
from kscope.exports.manifests import documents, portable
from kscope.program.asking.handing.played import manifests_in_order
from kube.clusters import Cluster as ServedCluster
from tests.exports.plays import DEMOS, ROOT, imported, played, scenario_of
from tests.kubectl.programs import kubectls

# What a cluster of files does not begin with: its controllers and schedulers make these anew.
MADE_ANEW = ("controllerrevision/", "lease/")
# The node of a pod that is not there any more is assumed by an import.
ASSUMED = {("two-schedulers", 1.0): ["node/node-batch"]}


def objects_of(cluster: Cluster) -> dict[str, Any]:
    """The objects of a cluster by their ids, as they are exported."""
    store = cluster.store
    return {
        obj.id: portable(obj.raw)
        for kind in store.kinds()
        for obj in store.objects(kind)
        if not obj.id.startswith(MADE_ANEW)
    }


@pytest.mark.parametrize("share", [0.4, 1.0])
@pytest.mark.parametrize("demo", DEMOS)
def test_an_import_has_the_same_objects(demo: str, share: float) -> None:
    before = played(demo, int(scenario_of(demo).until * share))
    data = documents(manifests_in_order(before.cluster))
    gates = dict(before.scenario.feature_gates)
    after = objects_of(imported(data, before.cluster.profile, gates))
    for entity in ASSUMED.get((demo, share), ()):
        after.pop(entity)
    assert after == objects_of(before.cluster)


def test_controllers_make_their_revisions_again() -> None:
    before = played("dead-node").cluster
    after = imported(documents(manifests_in_order(before)), before.profile)
    play(after, 5 * SECOND, lambda _: True, lambda: None)
    names = [obj.name for obj in after.store.objects("ControllerRevision")]
    assert names == [obj.name for obj in before.store.objects("ControllerRevision")]


def test_what_others_need_comes_first() -> None:
    text = documents(manifests_in_order(played("checkout-surge").cluster))
    kinds = list(dict.fromkeys(each["kind"] for each in yaml.safe_load_all(text)))
    assert kinds.index("Namespace") < kinds.index("PersistentVolumeClaim") < kinds.index("Pod")


def test_nothing_is_there_that_a_server_refuses() -> None:
    text = documents(manifests_in_order(played("dead-node").cluster))
    for each in yaml.safe_load_all(text):
        assert "resourceVersion" not in each["metadata"]


@pytest.mark.skipif(not kubectls(), reason="there is no kubectl")
@pytest.mark.parametrize("demo", ["checkout-surge", "dead-node", "missing-gpu"])
def test_kubectl_would_apply_every_object(
    demo: str, kscope_cluster: Callable[..., ServedCluster], tmp_path: Path
) -> None:
    manifests = manifests_in_order(played(demo).cluster)
    (tmp_path / "cluster.yaml").write_bytes(documents(manifests))
    # Another run tells which kinds there are.
    served = kscope_cluster(ROOT / "tests" / "kubectl" / "scenario.yaml")
    command = f"apply --dry-run=client --validate=true -f {tmp_path / 'cluster.yaml'}"
    done = kubectls()[-1].run(command, Path(served.kubeconfig), tmp_path)
    lines = [line for line in done.text.splitlines() if line.endswith("(dry run)")]
    assert (done.exit, len(lines)) == (0, len(manifests)), done.text
