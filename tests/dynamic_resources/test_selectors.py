"""CEL expressions of classes and claims, on one device."""

import pytest

from kscope.sim.objects.objects import from_manifest
from scheduling.engine.dynamic_resources.devices import Device, Slice
from scheduling.engine.dynamic_resources.selectors import SelectorError, selector
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


def test_a_result_that_is_no_truth_is_an_error() -> None:
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
