"""KubeSchedulerConfiguration: what it makes of the profiles, and what it refuses."""

from typing import Any

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.input.loader import load_files
from engine.input.reading import ConfigurationError
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.plugins.node_resources_fit.plugin import NodeResourcesFit
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.configuration.setup import SchedulerSetup
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.versions.registry import VERSIONS
from tests.builders import node, node_of, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod


def _document(*profiles: dict[str, Any], **fields: Any) -> dict[str, Any]:
    head = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    return {**head, **({"profiles": list(profiles)} if profiles else {}), **fields}


def _setup(*profiles: dict[str, Any], **fields: Any) -> SchedulerSetup:
    return read_setup(_document(*profiles, **fields), "v1.34")


def _refused(*profiles: dict[str, Any], **fields: Any) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        _setup(*profiles, **fields)
    return caught.value


def _config(plugin: str, **arguments: Any) -> dict[str, Any]:
    return {"pluginConfig": [{"name": plugin, "args": arguments}]}


def test_an_empty_configuration_is_the_default_profile() -> None:
    profile = _setup().profiles[0]
    assert profile.filters == PROFILES["v1.34"].filters
    assert dict(profile.scores) == dict(PROFILES["v1.34"].scores)
    assert profile.post_filters == PROFILES["v1.34"].post_filters


def test_scores_are_disabled_and_weighted_at_their_point() -> None:
    score = {
        "disabled": [{"name": "ImageLocality"}],
        "enabled": [{"name": "NodeAffinity", "weight": 7}],
    }
    scores = dict(_setup({"plugins": {"score": score}}).profiles[0].scores)
    assert scores["NodeAffinity"] == 7
    assert "ImageLocality" not in scores
    # What is configured at the point goes before what multiPoint brings.
    assert next(iter(scores)) == "NodeAffinity"


def test_plugin_disabled_and_enabled_comes_after_multi_point() -> None:
    named = [{"name": "TaintToleration"}]
    plugins = {"filter": {"disabled": named, "enabled": named}}
    filters = _setup({"plugins": plugins}).profiles[0].filters
    assert filters[0] == "NodeUnschedulable"
    assert filters[-1] == "TaintToleration"


def test_resources_of_extenders_replace_ignored_resources() -> None:
    managed = [{"name": "example.com/b", "ignoredByScheduler": True}]
    profile = _setup(
        _config("NodeResourcesFit", ignoredResources=["example.com/a"]),
        extenders=[{"urlPrefix": "http://h", "managedResources": managed}],
    ).profiles[0]
    assert profile.arguments["NodeResourcesFit"]["ignoredResources"] == ["example.com/b"]


@pytest.mark.parametrize(
    "profile",
    [
        _config("NodeAffinity", addedAffinity={}),
        _config(
            "NodeAffinity",
            addedAffinity={"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 200}]},
        ),
        _config(
            "NodeAffinity",
            addedAffinity={
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 0, "preference": {"matchFields": [{"key": "a", "operator": "In"}]}}
                ]
            },
        ),
        _config("NodeResourcesBalancedAllocation", resources=[{"name": "cpu", "weight": 0}]),
        _config("PodTopologySpread", defaultingType=""),
        _config("DynamicResources", filterTimeout="0s"),
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "NodeName"}] * 2},
                "filter": {"disabled": [{"name": "NodeName"}]},
            }
        },
        _config(
            "PodTopologySpread",
            defaultingType="List",
            defaultConstraints=[
                {
                    "maxSkew": 1,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "nodeTaintsPolicy": "Honor",
                    "minDomains": 2,
                }
            ],
        ),
    ],
)
def test_what_upstream_takes_is_taken(profile: dict[str, Any]) -> None:
    algorithm = SchedulingAlgorithm(_setup(profile).profiles[0], Handle())
    algorithm.table.add_node(make_node("n"))
    info = PodInfo(make_pod("p"), algorithm.profile.resource_rules)
    assert algorithm.schedule(info).node == "n"


def test_multi_point_changes_every_point_of_a_plugin() -> None:
    plugins = {"multiPoint": {"disabled": [{"name": "TaintToleration"}]}}
    profile = _setup({"plugins": plugins}).profiles[0]
    assert "TaintToleration" not in profile.filters
    assert "TaintToleration" not in dict(profile.scores)


def test_a_star_leaves_only_what_is_enabled() -> None:
    plugins = {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}}
    assert _setup({"plugins": plugins}).profiles[0].scores == (("ImageLocality", 1),)


def test_a_profiles_percentage_overrides_the_global_one() -> None:
    setup = _setup(
        {"schedulerName": "a"},
        {"schedulerName": "b", "percentageOfNodesToScore": 70},
        percentageOfNodesToScore=30,
    )
    assert [profile.percentage for profile in setup.profiles] == [30, 70]


def test_backoffs_and_bind_timeout_are_in_seconds() -> None:
    setup = _setup(
        _config("VolumeBinding", bindTimeoutSeconds=30),
        podInitialBackoffSeconds=3,
        podMaxBackoffSeconds=20,
    )
    assert setup.queue_rules.initial_backoff == 3 * SECOND
    assert setup.queue_rules.max_backoff == 20 * SECOND
    assert setup.profiles[0].bind_timeout == 30 * SECOND


@pytest.mark.parametrize(
    ("version", "api_version"),
    [
        ("v1.11", "kubescheduler.config.k8s.io/v1alpha1"),
        ("v1.16", "kubescheduler.config.k8s.io/v1alpha1"),
        ("v1.20", "kubescheduler.config.k8s.io/v1beta1"),
        ("v1.36", "kubescheduler.config.k8s.io/v1"),
    ],
)
def test_unnamed_backoffs_are_those_of_the_version(version: str, api_version: str) -> None:
    document = {"kind": "KubeSchedulerConfiguration", "apiVersion": api_version}
    assert read_setup(document, version).queue_rules == VERSIONS[version].queue


def test_each_profile_has_its_own_bind_timeout() -> None:
    """Upstream: volumebinding New() makes a binder for each profile."""
    configuration = _document(
        {"schedulerName": "a", **_config("VolumeBinding", bindTimeoutSeconds=5)},
        {"schedulerName": "b"},
    )
    cluster = Cluster.create(scene(node("n"), configuration=configuration), tie_break="name")
    waits = cluster.schedulers[0].volume_work.timeouts
    assert waits == {"a": 5 * SECOND, "b": 600 * SECOND}


def _chosen(profile_fields: dict[str, Any], *nodes: Any, **fields: Any) -> str | None:
    profile = _setup(profile_fields).profiles[0]
    algorithm = SchedulingAlgorithm(profile, Handle())
    for one in nodes:
        algorithm.table.add_node(one)
    placed = PodInfo(make_pod("there", node="a", cpu="2", memory="4Gi"), profile.resource_rules)
    algorithm.table.add_pod(0, placed)
    return algorithm.schedule(PodInfo(make_pod("p", **fields), profile.resource_rules)).node


@pytest.mark.parametrize(
    ("strategy", "winner"),
    [
        ({"type": "LeastAllocated"}, "b"),
        ({"type": "MostAllocated"}, "a"),
        (
            {
                "type": "RequestedToCapacityRatio",
                "requestedToCapacityRatio": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
                },
            },
            "a",
        ),
    ],
)
def test_the_scoring_strategy_decides(strategy: dict[str, Any], winner: str) -> None:
    fields = _config("NodeResourcesFit", scoringStrategy=strategy)
    assert _chosen(fields, make_node("a"), make_node("b"), cpu="1", memory="1Gi") == winner


def test_added_affinity_is_enforced_on_every_pod() -> None:
    expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    fields = _config("NodeAffinity", addedAffinity=required)
    ssd = make_node("a", labels={"disk": "ssd"})
    assert _chosen(fields, ssd, make_node("b"), cpu="1") == "a"


def test_profiles_share_one_queue_and_one_cache() -> None:
    packs = {"schedulerName": "packer"} | _config(
        "NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}
    )
    cluster = Cluster.create(
        scene(
            node("a"),
            node("b"),
            pod("first", cpu="2"),
            pod("second", schedulerName="packer"),
            configuration=_document({"schedulerName": "default-scheduler"}, packs),
        ),
        tie_break="name",
    )
    played(cluster)
    assert len(cluster.schedulers) == 1
    assert node_of(cluster, "first") == "a"
    assert node_of(cluster, "second") == "a"
    assert cluster_findings(cluster) == []


def test_without_default_preemption_nobody_is_evicted() -> None:
    off = {"plugins": {"postFilter": {"disabled": [{"name": "DefaultPreemption"}]}}}
    cluster = Cluster.create(
        scene(
            node("a", cpu="1"),
            pod("low", nodeName="a"),
            pod("high", priority=10),
            configuration=_document(off),
        )
    )
    played(cluster)
    assert node_of(cluster, "high") == ""
    message = cluster.store.get("Pod", "default/high").status["conditions"][0]["message"]
    assert message.endswith("1 Insufficient cpu. no new claims to deallocate")


@pytest.mark.parametrize(
    ("profile", "path", "value"),
    [
        (
            {"plugins": {"filter": {"enabled": [{"name": "NodeNam"}]}}},
            "profiles[0].plugins.filter.enabled[0].name",
            "NodeNam",
        ),
        (
            {"plugins": {"filter": {"enabled": [{"name": "ImageLocality"}]}}},
            "profiles[0].plugins.filter.enabled[0].name",
            "ImageLocality",
        ),
        ({"plugin": {}}, "profiles[0].plugin", {}),
        (
            _config("NodeResourcesFit", scoringStrategy={"type": "Least"}),
            "profiles[0].pluginConfig[0].args.scoringStrategy.type",
            "Least",
        ),
        (
            _config("InterPodAffinity", hardPodAffinityWeight=101),
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight",
            101,
        ),
        (
            _config("PodTopologySpread", defaultConstraints=[{"maxSkew": 1}]),
            "profiles[0].pluginConfig[0].args.defaultingType",
            None,
        ),
        (
            _config("VolumeBinding", shape=[]),
            "profiles[0].pluginConfig[0].args.shape",
            [],
        ),
        (
            _config("NodeResourcesFit", scoringStrategy={}),
            "profiles[0].pluginConfig[0].args.scoringStrategy.type",
            None,
        ),
        (
            _config("NodeResourcesFit", ignoredResources=["a b"]),
            "profiles[0].pluginConfig[0].args.ignoredResources[0]",
            "a b",
        ),
        (
            _config("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}] * 2),
            "profiles[0].pluginConfig[0].args.resources[1].name",
            "cpu",
        ),
        (
            _config("DynamicResources", filterTimeout="-1s"),
            "profiles[0].pluginConfig[0].args.filterTimeout",
            "-1s",
        ),
        ({"percentageOfNodesToScore": 101}, "profiles[0].percentageOfNodesToScore", 101),
    ],
)
def test_a_fault_names_its_path_and_value(profile: dict[str, Any], path: str, value: Any) -> None:
    fault = _refused(profile)
    assert (fault.path, fault.value) == (path, value)


@pytest.mark.parametrize(
    ("point", "names", "problem"),
    [
        ("score", ["NodeName"], 'plugin "NodeName" does not extend ScorePlugin plugin'),
        (
            "score",
            ["ImageLocality"] * 2,
            'plugin "ImageLocality" already registered as "ScorePlugin"',
        ),
        (
            "multiPoint",
            ["NodeAffinity"] * 2,
            'plugin "NodeAffinity" already registered as "PreFilterPlugin"',
        ),
    ],
)
def test_misplaced_plugins_are_refused_in_upstreams_words(
    point: str, names: list[str], problem: str
) -> None:
    enabled = [{"name": name} for name in names]
    assert _refused({"plugins": {point: {"enabled": enabled}}}).problem == problem


def test_leader_election_needs_leases_and_zero_means_default() -> None:
    assert _refused(leaderElection={"resourceLock": "endpoints"}).path == (
        "leaderElection.resourceLock"
    )
    off = {"resourceLock": "endpoints", "leaderElect": False, "leaseDuration": "0s"}
    assert _setup(leaderElection=off).leader_election.lease_duration == 15 * SECOND


def test_there_is_some_parallelism() -> None:
    assert _refused(parallelism=0).path == "parallelism"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"clientConnection": {"qps": "many"}}, "clientConnection.qps"),
        ({"clientConnection": {"burst": -1}}, "clientConnection.burst"),
        ({"clientConnection": {"kubeConfig": "/etc"}}, "clientConnection.kubeConfig"),
        ({"enableProfiling": "yes"}, "enableProfiling"),
        ({"healthzBindAddress": "0.0.0.0:0"}, "healthzBindAddress"),
        (
            {"extenders": [{"urlPrefix": "http://127.0.0.1:1", "tlsConfig": {"insecure": 1}}]},
            "extenders[0].tlsConfig.insecure",
        ),
    ],
)
def test_what_means_nothing_here_has_to_be_readable(fields: dict[str, Any], path: str) -> None:
    assert _refused(**fields).path == path


def test_a_whole_client_connection_is_taken() -> None:
    client = {"kubeconfig": "/etc/kubernetes/scheduler.conf", "qps": 50.5, "burst": 100}
    assert _setup(clientConnection=client, enableProfiling=True).names == ("default-scheduler",)


def test_two_profiles_need_two_names() -> None:
    assert _refused({}, {}).path == "profiles[0].schedulerName"
    assert _refused({"schedulerName": "a"}, {"schedulerName": ""}).path.startswith("profiles[1]")
    twice = {"schedulerName": "a"}
    assert _refused(twice, twice).path == "profiles[1].schedulerName"


def test_profiles_order_their_queue_in_the_same_words() -> None:
    """Upstream: validateCommonQueueSort()."""
    sorts = {"queueSort": {"enabled": [{"name": "PrioritySort"}]}}
    fault = _refused({"schedulerName": "a", "plugins": sorts}, {"schedulerName": "b"})
    assert fault.path == "profiles[1].plugins.queueSort"
    assert fault.problem == "must be the same for all profiles"


def test_arguments_of_an_unknown_plugin_give_a_warning() -> None:
    """Upstream: decodeNestedObjects() leaves out-of-tree arguments as they are."""
    warning = _setup(_config("Mine", color="red")).warnings[0]
    assert warning.startswith("profiles[0].pluginConfig[0].name is not used: there is no plugin")
    assert _refused(_config("CinderLimits")).path == "profiles[0].pluginConfig[0].name"


def test_preemption_takes_null_for_its_defaults() -> None:
    rules = _setup(
        _config(
            "DefaultPreemption", minCandidateNodesPercentage=None, minCandidateNodesAbsolute=None
        )
    ).profiles[0]
    assert (rules.preemption.candidate_percentage, rules.preemption.min_candidates) == (10, 100)


@pytest.mark.parametrize("explain", [True, False])
def test_a_weight_below_nothing_counts_against_a_node(explain: bool) -> None:
    """Upstream: getScoreWeights() minds no sign."""
    told = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": -1}]}
    algorithm = SchedulingAlgorithm(_setup({"plugins": {"score": told}}).profiles[0], Handle())
    algorithm.table.add_node(make_node("big", cpu="64"))
    algorithm.table.add_node(make_node("small", cpu="4"))
    for number in range(3):
        pod = PodInfo(make_pod(f"p{number}", cpu="1"), algorithm.profile.resource_rules)
        assert algorithm.schedule(pod, explain=explain).node == "small"


@pytest.mark.parametrize(
    ("disabled", "evaluated"),
    [([name for name, _ in PROFILES["v1.34"].scores], 3), (["*"], 1)],
)
def test_volume_binding_counts_as_a_score(disabled: list[str], evaluated: int) -> None:
    """Upstream: hasScoring(); without any score the first node that fits ends the search."""
    plugins = {"score": {"disabled": [{"name": name} for name in disabled]}}
    algorithm = SchedulingAlgorithm(_setup({"plugins": plugins}).profiles[0], Handle())
    for name in ("a", "b", "c"):
        algorithm.table.add_node(make_node(name))
    info = PodInfo(make_pod("p"), algorithm.profile.resource_rules)
    assert algorithm.schedule(info).evaluated == evaluated


def test_a_weight_of_nothing_is_one() -> None:
    resources = [{"name": "cpu", "weight": 0}, {"name": "memory", "weight": 2}]
    strategy = {"type": "LeastAllocated", "resources": resources}
    setup = _setup(_config("NodeResourcesFit", scoringStrategy=strategy))
    fit = SchedulingAlgorithm(setup.profiles[0], Handle()).framework.plugins.by_name
    plugin = fit["NodeResourcesFit"]
    assert isinstance(plugin, NodeResourcesFit)
    assert plugin.weights == [("cpu", 1), ("memory", 2)]


def test_unprepared_node_affinity_examines_every_node() -> None:
    """As upstream, where Filter then reads the pod again."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    affinity = {"affinity": {"nodeAffinity": required}}
    for disabled, looked_at in ([], 1), ([{"name": "NodeAffinity"}], 2):
        setup = _setup({"plugins": {"preFilter": {"disabled": disabled}}})
        algorithm = SchedulingAlgorithm(setup.profiles[0], Handle())
        for name in ("n1", "n2"):
            algorithm.table.add_node(make_node(name))
        info = PodInfo(make_pod("p", spec=affinity), algorithm.profile.resource_rules)
        found = algorithm.schedule(info)
        assert (found.node, found.evaluated) == ("n2", looked_at)


def test_a_configuration_fits_only_its_versions() -> None:
    with pytest.raises(ConfigurationError, match="profile is v1.16"):
        read_setup(_document(), "v1.16")


def test_a_configuration_among_the_files_is_the_scenarios() -> None:
    text = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: mine}]
---
{apiVersion: v1, kind: Node, metadata: {name: n1}}
"""
    loaded = load_files([("all.yaml", text)])
    scenario = Scenario.from_load(loaded, name="x")
    assert loaded.kept_aside == []
    again = Scenario.from_dict(scenario.to_dict())
    assert again == scenario
    assert Cluster.create(again).seq > 0
    assert again.configuration is not None
    assert again.configuration["profiles"] == [{"schedulerName": "mine"}]


def test_added_affinity_has_to_be_readable() -> None:
    term = {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["abc"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    fault = _refused(_config("NodeAffinity", addedAffinity=required))
    assert "must be an integer" in fault.problem
