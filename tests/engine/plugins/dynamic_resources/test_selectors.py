"""CEL expressions of classes and claims, on one device."""

from types import SimpleNamespace

import pytest

from engine.objects.objects import from_manifest
from engine.plugins.dynamic_resources.allocation.devices import Device, Slice
from engine.plugins.dynamic_resources.allocation.selectors import SelectorError, selector
from tests.builders import device, resource_slice


def gpu() -> Device:
    manifest = device(
        "gpu-0",
        memory="40Gi",
        attributes={
            "model": "a",
            "numa": 1,
            "nvlink": True,
            "driverVersion": {"version": "1.10.0"},
            "other.example.com/rank": 3,
        },
    )
    return Slice.parse(from_manifest(resource_slice("node-1", [manifest]))).devices[0]


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        'device.attributes["gpu.example.com"].model in ["a", "b"]',
        'device.attributes["gpu.example.com"].nvlink',
        'device.attributes["other.example.com"].rank == 3',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("40960Mi")) == 0',
        'device.capacity["gpu.example.com"].memory == quantity("40960Mi")',
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("39.5Gi"))',
        'device.capacity["gpu.example.com"].memory.sub(quantity("8Gi")).isLessThan(quantity("33Gi"))',
        'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.9.9"))',
        'device.attributes["gpu.example.com"].driverVersion.minor() == 10',
        'semver("1.0.0-rc.1").isLessThan(semver("1.0.0"))',
        'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.nvlink && gpu.model == "a")',
        'has(device.attributes["gpu.example.com"].numa)',
    ],
)
def test_an_expression_selects_the_device(expression: str) -> None:
    assert selector(expression).matches(gpu())


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["gpu.example.com"].model == "b"',
        'device.attributes["gpu.example.com"].model == 3',
        '"zone" in device.attributes["gpu.example.com"]',
        '"unknown.example.com" in device.attributes',
        '"rank" in device.attributes["unknown.example.com"]',
        "device.allowMultipleAllocations",
    ],
)
def test_an_expression_passes_the_device_over(expression: str) -> None:
    assert not selector(expression).matches(gpu())


def test_an_attribute_that_is_missing_is_an_error() -> None:
    with pytest.raises(SelectorError, match="CEL runtime error: no such key: zone"):
        selector('device.attributes["gpu.example.com"].zone == "a"').matches(gpu())


def test_result_that_is_no_truth_is_an_error() -> None:
    with pytest.raises(SelectorError, match="could not be converted to bool"):
        selector('device.attributes["gpu.example.com"].model').matches(gpu())


def test_what_is_no_expression_does_not_compile() -> None:
    with pytest.raises(SelectorError, match="CEL compile error: compilation failed"):
        selector("device.driver ==")


MANY = f"[{', '.join(map(str, range(100)))}]"


@pytest.mark.parametrize(
    "expression",
    [
        f"{MANY}.all(a, {MANY}.all(b, a + b >= 0))",
        '["a"]' + ".map(x, x + x)" * 40 + ".size() == 1",
        '"aaaa"' + '.replace("a", "aaaaaaaaaa")' * 20 + ' == ""',
        r'"a".matches("(\\w{20}){20}")',
        f"cel.bind(many, {MANY}, many.all(a, many.all(b, a < b)))",
    ],
)
def test_an_expression_that_runs_long_is_refused(expression: str) -> None:
    with pytest.raises(SelectorError, match="too complex, exceeds cost limit"):
        selector(expression)


def test_an_expression_may_not_be_too_long() -> None:
    with pytest.raises(SelectorError, match="may not be more than 10240 bytes"):
        selector('device.driver == "' + "a" * 10_240 + '"')


def test_what_cel_bind_stands_for_may_not_grow() -> None:
    expression = "x0"
    for level in range(40):
        expression = f"cel.bind(x{level}, x{level + 1} + x{level + 1}, {expression})"
    with pytest.raises(SelectorError, match="what cel.bind stands for is too long"):
        selector(expression)


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["gpu.example.com"].all(name, name.size() < 64)',
        'device.attributes["gpu.example.com"].exists(a, ["numa", "zone"].exists(b, a == b))',
        'device.attributes["gpu.example.com"].model.matches("^[a-z]{1,63}$")',
        'cel.bind(a, "model", device.attributes["gpu.example.com"][a] == "a" && "a" == "a")',
    ],
)
def test_an_expression_of_some_length_is_allowed(expression: str) -> None:
    assert selector(expression).matches(gpu())


def test_functions_that_kubernetes_lacks_are_unknown() -> None:
    with pytest.raises(SelectorError, match="lists"):
        selector("lists.range(1000000000).size() > 0").matches(gpu())


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("[1][5] == 1", "index out of bounds: 5"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ("uint(-1) > 0u", "unsigned integer overflow"),
        ('{"a": 1}["b"] == 1', "no such key: b"),
        ('"a" < 1', "no such overload"),
        ('int("x") > 0', "string parse error"),
        ('"a".matches("(")', "not a valid regex"),
        ('duration("x") > duration("1s")', "Parsing Error"),
        ('duration("1s").getFullYear() == 1', "no such overload|[Uu]nexpected|[Uu]ndefined"),
        ('"a".charAt(9) == ""', "charAt: index 9 out of range"),
        ('true.split("") == []', "no such overload"),
        ('quantity("x").isInteger()', "quantity"),
        ('semver("1").major() == 1', "No Major.Minor.Patch elements found"),
    ],
)
def test_what_fails_while_it_runs_names_upstreams_reason(expression: str, why: str) -> None:
    with pytest.raises(SelectorError, match=rf"CEL runtime error: .*{why}"):
        selector(expression).matches(gpu())


@pytest.mark.parametrize("expression", ["1 / 0 == 1 || true", "!(1 / 0 == 1 && false)"])
def test_a_known_answer_absorbs_an_error(expression: str) -> None:
    assert selector(expression).matches(gpu())


def test_an_undeclared_name_does_not_compile() -> None:
    with pytest.raises(SelectorError, match="undeclared reference to 'nonsense'"):
        selector("[1].all(x, x == nonsense)")


@pytest.mark.parametrize(
    ("expression", "selects"),
    [
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("![0, 1].all(x, 1 / x == 5)", True),
        ("[1, 0].exists(x, 1 / x == 1)", True),
        ("[0, 1, 2].all(x, x == 7 && 1 / x == 1)", False),
        ("[[0], [1]].exists(l, l.exists(x, 1 / x == 1))", True),
        ("[[0, 1].exists(x, 1 / x == 1)].exists(y, y)", True),
        ("1 in [0, 1] && [2 - 2, 1].map(x, x).exists(y, 1 / y == 1)", True),
        ("{'a': 0, 'b': 1, 'c': 0}.exists(k, 1 / {'a': 0, 'b': 1, 'c': 0}[k] == 1)", True),
        ('device.attributes["gpu.example.com"].exists(k, device.attributes["gpu.example.com"][k] > 0)', True),
        ('cel.bind(l, [0, 1], l.exists(x, 1 / x == 1))', True),
        ("-(1.5) < -(1.0) && 3 -(2) == 1 && -size('ab') == -2 && -{'a': 1}['a'] == -1", True),
        ("-9223372036854775808 < 0 && - -[1][0] == 1", True),
    ],
)  # fmt: skip
def test_an_element_that_decides_absorbs_errors(expression: str, selects: bool) -> None:
    assert selector(expression).matches(gpu()) is selects


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("[0, 1].exists(x, 1 / x == 7)", "division by zero"),
        ("[1, 0].all(x, 1 / x == 1)", "division by zero"),
        ("[1, 0].exists_one(x, 1 / x == 1)", "division by zero"),
        ('["zone"].exists(k, device.attributes["gpu.example.com"][k] == 1)', "no such key: zone"),
        ("-(-9223372036854775808) == 1", "integer overflow"),
        ("-(-9223372036854775807 - 1) < 0", "integer overflow"),
        ("[-9223372036854775808].exists(x, -x < 0)", "integer overflow"),
        ("1 - -int('-9223372036854775808') < 0", "integer overflow"),
        ("-(1 == 1)", "no such overload"),
    ],
)
def test_an_error_that_none_absorbs_fails(expression: str, why: str) -> None:
    with pytest.raises(SelectorError, match=f"^CEL runtime error: {why}$"):
        selector(expression).matches(gpu())


class PanicException(BaseException):
    """As pyo3 names what it raises where Rust panics."""


def test_a_panic_of_the_library_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise PanicException("index out of bounds")

    found = selector("[1, 2][0] == 1")
    monkeypatch.setattr(found, "_program", SimpleNamespace(execute=panic))
    with pytest.raises(SelectorError, match="^CEL runtime error: internal error$"):
        found.matches(gpu())
    monkeypatch.setattr("cel.compile", panic)
    with pytest.raises(SelectorError, match="compile error: compilation failed: internal error"):
        selector("[1, 2][1] == 1")


def test_an_interrupt_within_the_library_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    found = selector("[1, 2][0] == 2")
    monkeypatch.setattr(found, "_program", SimpleNamespace(execute=interrupt))
    with pytest.raises(KeyboardInterrupt):
        found.matches(gpu())
