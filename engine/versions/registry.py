"""The versions of Kubernetes that can be simulated. A new one is named here and nowhere else."""

from collections.abc import Mapping
from typing import Final

from engine.versions.kubernetes_version import KubernetesVersion
from engine.versions.v1_11 import V1_11
from engine.versions.v1_16 import V1_16
from engine.versions.v1_20 import V1_20
from engine.versions.v1_34 import V1_34
from engine.versions.v1_34_9 import V1_34_9
from engine.versions.v1_35 import V1_35
from engine.versions.v1_36 import V1_36
from engine.versions.v1_37 import V1_37

# The newest first.
VERSIONS: Final[Mapping[str, KubernetesVersion]] = {
    version.name: version for version in (V1_37, V1_36, V1_35, V1_34_9, V1_34, V1_20, V1_16, V1_11)
}
# A run follows it unless a scenario or a person chooses another one.
DEFAULT: Final = V1_36
