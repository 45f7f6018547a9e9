"""What each of the small inputs leads to, whichever way it comes in."""

from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "small"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file, a folder, or several files that begin alike.

    Either `read` has the objects that are read by kind, or `refused` a part of the sentence that
    refuses it. `told` are parts of what the report says; `choices` are made at the import.
    """

    name: str
    read: dict[str, int] = field(default_factory=dict)
    refused: str = ""
    told: tuple[str, ...] = ()
    choices: dict[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> list[Path]:
        """What is named on the command line."""
        return sorted(FOLDER.glob(f"{self.name}*"))

    @property
    def files(self) -> list[Path]:
        """The files that are uploaded."""
        return [
            file
            for path in self.paths
            for file in ([path] if path.is_file() else sorted(path.rglob("*")))
            if file.is_file()
        ]


HELM = "render it with helm template"
CASES = (
    Case(
        name="01",
        read={"Node": 1, "Pod": 1},
        told=("the nearest is spec.nodeSelector", "the nearest is spec.tolerations"),
    ),
    Case(name="02", read={"Node": 1, "PersistentVolumeClaim": 1, "StorageClass": 1}),
    Case(name="03", read={"Node": 2, "Pod": 2}, told=("Node gone is not in these files",)),
    Case(name="05", read={"Deployment": 1}, told=("There are no nodes in these files",)),
    Case(
        name="05",
        choices={"nodes": "2xm5.large,3xn2-standard-8:zone=a,b,c"},
        read={"Deployment": 1, "Node": 5, "CSINode": 5},
    ),
    Case(name="06", read={"Node": 1, "Pod": 1}, told=("1 object has a generateName",)),
    Case(name="07", read={"Node": 1, "Pod": 1}, told=("a watch", "Node n1 is not in these files")),
    Case(name="08", read={"Node": 1, "Pod": 2}),
    Case(name="09", read={"Pod": 1}, told=("read as a recording", "name no times")),
    Case(name="10", read={"Node": 2, "Pod": 1}, told=("values.yaml", "README.md")),
    Case(name="11", refused="--ignore-unknown-plugins"),
    Case(
        name="11",
        choices={"ignore_unknown_plugins": "on"},
        read={"Node": 1, "Pod": 1},
        told=("NodeResourcesFitWrapped of the configuration is read as NodeResourcesFit",),
    ),
    Case(
        name="12",
        read={"Node": 5},
        told=(
            "the scheduler_perf test case SchedulingBasic/5Nodes",
            "upstream's base pod is taken",
        ),
    ),
    Case(name="13", read={"Pod": 1}, told=("There are no nodes in these files",)),
    Case(
        name="14",
        read={"DeviceTaintRule": 1, "Namespace": 1, "Pod": 2, "ResourceClaimTemplate": 1},
        told=("DeviceTaintRule", "no device gets its taint, and no pod is evicted by it"),
    ),
    Case(name="15", refused="is a setting of a program, and no object of a cluster"),
    Case(name="16", read={"Node": 1, "Pod": 2}),
    Case(name="17", refused=HELM),
    Case(name="18", read={"Node": 2}),
    Case(name="20", read={"Node": 1, "Pod": 1}),
    Case(
        name="21",
        refused="kubescheduler.config.k8s.io/v1beta2 was served by Kubernetes 1.22 to 1.27",
    ),
    Case(name="22", refused="nothing that kscope simulates was found"),
)
NAMES = [f"{each.name}{'-chosen' if each.choices else ''}" for each in CASES]
