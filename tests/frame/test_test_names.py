"""The check of the names of tests finds those with too few words or too many."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "test_names.py"
spec = importlib.util.spec_from_file_location("test_names", SCRIPT)
assert spec is not None
assert spec.loader is not None
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)


@pytest.mark.parametrize(
    "name",
    ["test_three_words_only", "test_one_two_three_four_five_six_seven_eight_nine"],
)
def test_too_short_or_long_name_is_found(name: str, tmp_path: Path) -> None:
    file = tmp_path / "tests" / "room" / "test_it.py"
    file.parent.mkdir(parents=True)
    file.write_text(f"class TestIt:\n    async def {name}(self) -> None:\n        pass\n")
    (finding,) = script.findings(tmp_path / "tests")
    assert finding.startswith(f"tests/room/test_it.py:2: {name} has ")


@pytest.mark.parametrize("name", ["test_of_just_four_words", "test_in_v1_20_it_is_one_of_eight"])
def test_version_in_a_name_is_one_word(name: str, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(f"def {name}() -> None:\n    pass\n")
    assert script.findings(tmp_path) == []
    assert len(script.words("test_in_1_11_as_in_v1_20")) == 5
