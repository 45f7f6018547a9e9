"""Which table has an object of a run, and under which key."""

from kscope.runs.app_registry import AppRegistry, registry
from kscope.runs.models import OtherObject
from scheduling.models import Pod
from volumes.models import PersistentVolume


def test_a_projected_kind_has_its_own_table() -> None:
    assert registry.place_of("pod/shop/web") == (Pod, "shop/web")
    assert registry.place_of("volume/disk") == (PersistentVolume, "disk")


def test_other_kinds_share_a_table_of_whole_ids() -> None:
    assert registry.place_of("configmap/shop/rules") == (OtherObject, "configmap/shop/rules")


def test_before_the_apps_everything_is_an_other_object() -> None:
    empty = AppRegistry()
    assert empty.place_of("pod/shop/web") == (OtherObject, "pod/shop/web")
    assert empty.tables == [OtherObject]
