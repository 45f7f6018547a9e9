"""What happens in an episode, drawn from its seed: the runs, the commands, and what goes wrong."""

from dataclasses import dataclass
from random import Random
from typing import Any

# What each scenario is played at; all of them take a few seconds.
SCENARIOS = {
    "checkout-surge": ("10", "100", "max"),
    "budget-cascade": ("10", "100"),
    "zone-mismatch": ("10",),
    "wrong-fs-type": ("10", "100"),
    "local-volumes": ("100",),
    "crowd": ("100", "max"),
}
# What can be done while everything else goes on.
SMALL_FAULTS = (
    "kill driver",
    "kill writer",
    "kill backends",
    "crash database",
    "stop driver past the lease",
    "double tasks",
    "late task",
    "empty the broker",
)
# What ends the whole, or one of the given servers.
LARGE_FAULTS = (
    "kill up",
    "kill worker",
    "kill web",
    "kill Valkey",
    "kill PostgreSQL",
)
# What only a tree with a world of its own can suffer; see world_tree.py.
WORLD_FAULTS = (
    "fill disk",
    "freeze disk",
    "fail disk",
    "set PostgreSQL clock back",
    "set PostgreSQL clock ahead",
    "set Valkey clock back",
    "set programs clock back",
    "set programs clock ahead",
    "requests to PostgreSQL",
    "answers from PostgreSQL",
    "requests to Valkey",
    "answers from Valkey",
    "break line to PostgreSQL",
    "break line to Valkey",
    "kill second up",
)


@dataclass(frozen=True, slots=True)
class Act:
    """Something to do so many seconds after the episode began."""

    after: float
    what: str
    run: int
    """Which run of the episode, counted from 0."""
    body: dict[str, Any] | None = None
    """Of a command."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One episode."""

    seed: int
    runs: tuple[tuple[str, str, int], ...]
    """Scenario, speed and seed of each run."""
    commands: tuple[Act, ...]
    faults: tuple[Act, ...]

    def __str__(self) -> str:
        faults = ", ".join(f"{act.what} at {act.after:.2f} s" for act in self.faults)
        runs = ", ".join(f"{name} at {speed}" for name, speed, _ in self.runs)
        return f"seed {self.seed}: {runs}; {len(self.commands)} commands; {faults}"


def plan_of(seed: int) -> Plan:
    """The same plan for the same seed."""
    chance = Random(seed)
    runs = tuple(_run(chance) for _ in range(chance.choice((1, 1, 2, 3))))
    commands = [_command(chance, number, len(runs)) for number in range(chance.randint(3, 8))]
    # Not chosen by the seed alone: one large fault in every second episode, each as often.
    faults = [_fault(chance, chance.choice(SMALL_FAULTS), len(runs))]
    if seed % 2:
        faults.append(_fault(chance, LARGE_FAULTS[seed // 2 % len(LARGE_FAULTS)], len(runs)))
    else:
        faults.append(_fault(chance, SMALL_FAULTS[seed // 2 % len(SMALL_FAULTS)], len(runs)))
    return Plan(seed, runs, _in_order(commands), _in_order(faults))


def world_plan_of(seed: int) -> Plan:
    """The plan of an episode in a failing world: one fault of it, and a small one beside it."""
    plan = plan_of(seed)
    chance = Random(-seed)
    runs = len(plan.runs)
    faults = [
        _fault(chance, WORLD_FAULTS[seed % len(WORLD_FAULTS)], runs),
        _fault(chance, chance.choice(SMALL_FAULTS), runs),
    ]
    return Plan(seed, plan.runs, plan.commands, _in_order(faults))


def is_embedded(seed: int) -> bool:
    """Whether the episode is played on servers of `up`'s own: seven of a dozen are, seeds 1 to 6 too."""
    return seed % 12 in range(7)


def _in_order(acts: list[Act]) -> tuple[Act, ...]:
    return tuple(sorted(acts, key=lambda act: act.after))


def _run(chance: Random) -> tuple[str, str, int]:
    name = chance.choice(tuple(SCENARIOS))
    return name, chance.choice(SCENARIOS[name]), chance.randint(0, 1000)


def _fault(chance: Random, what: str, runs: int) -> Act:
    return Act(0.1 + chance.random() * 3, what, chance.randrange(runs))


def _command(chance: Random, number: int, runs: int) -> Act:
    """A new pod, or a verb on one of the nodes (by its place among them), or a refused one."""
    after, run = chance.random() * 4, chance.randrange(runs)
    verb = chance.choice(("create", "create", "cordon", "uncordon", "evict_pods", "delete"))
    body: dict[str, Any] = {"verb": verb}
    if verb == "create":
        container = {
            "name": "main",
            "image": "app:1",
            "resources": {"requests": {"cpu": f"{chance.randint(1, 9)}00m"}},
        }
        body["manifest"] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"chaos-{number}", "namespace": "default"},
            "spec": {"containers": [container]},
        }
    else:
        body["object"] = "pod/default/nowhere" if verb == "delete" else chance.randrange(100)
    return Act(after, "command", run, body)
