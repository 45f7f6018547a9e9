"""CEL expressions by a grammar: literals at their limits, and everything that can be done to them."""

from random import Random

_INTEGERS = (
    *(
        "0",
        "1",
        "-1",
        "2",
        "7",
        "9223372036854775807",
        "-9223372036854775808",
        "4611686018427387904",
    ),
    *("9223372036854775808", "0x7fffffffffffffff", "-0"),
)
_UNSIGNED = ("0u", "1u", "18446744073709551615u", "18446744073709551616u", "uint(-1)", "uint(3)")
_DOUBLES = ("0.0", "-0.0", "1.5", "1e308", "-1e308", "1e-308", "1e309", "0.0 / 0.0", "1.0 / 0.0")
_TEXTS = (
    *('""', '"a"', '"a.b.c"', '"\\u00e9\\U0001f600"', '"10Gi"', '"1.2.3"', '"true"', '"-1"'),
    *("'it''s'", "r'\\d'", '"\\0"', f'"{"x" * 900}"', "b'\\xff'", '"a" * 3', "'unclosed"),
)
_PATTERNS = (
    '"("',
    '"a{1000}"',
    '"(a*)*b"',
    '"[[:alpha:]]+"',
    '"\\\\p{L}"',
    '"(?P<n>a)"',
    '"^$"',
    '"\\\\1"',
)
_QUANTITIES = (
    '"10Gi"',
    '"-5m"',
    '"1e3"',
    '"x"',
    '"999999999999999999999Ei"',
    '"0.1n"',
    '""',
    '"1 Gi"',
)
_VERSIONS = (
    '"1.2.3"',
    '"1.0.0-rc.1"',
    '"v1.2.3"',
    '"1"',
    '"1.2.3+b"',
    '"99999999999999999999.0.0"',
)
_TIMES = (
    '"1s"',
    '"-9999999999h"',
    '"x"',
    '"1.5ms"',
    '"2262-04-11T23:47:16Z"',
    '"9999-12-31T23:59:59Z"',
)
_DEVICE = (
    "device.driver",
    "device.allowMultipleAllocations",
    'device.attributes["gpu.example.com"].model',
    'device.attributes["gpu.example.com"].numa',
    'device.attributes["gpu.example.com"].driverVersion',
    'device.attributes["gpu.example.com"].missing',
    'device.attributes["other.example.com"].rank',
    'device.capacity["gpu.example.com"].memory',
    "device.attributes",
    "device.nonsense",
    "device",
)
_OPERATORS = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "in")
_FUNCTIONS = (
    "size",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "bytes",
    "type",
    "dyn",
    "abs",
    "has",
)
_METHODS = (
    *(
        "size()",
        "lowerAscii()",
        "trim()",
        "charAt(9)",
        "substring(5)",
        "substring(-1, 2)",
        "indexOf('a')",
    ),
    *(
        "split(',')",
        "replace('a', 'bb')",
        "contains('a')",
        "startsWith('')",
        "join('-')",
        "format([1])",
    ),
    *(
        "compareTo(quantity('1'))",
        "isGreaterThan(1)",
        "asInteger()",
        "asApproximateFloat()",
        "sign()",
    ),
    *(
        "add(quantity('1'))",
        "sub(2)",
        "major()",
        "minor()",
        "getFullYear()",
        "getHours('Nowhere/X')",
    ),
)
_MACROS = ("all", "exists", "exists_one", "map", "filter")


def expression(chance: Random) -> str:
    """An expression; now and then one that is none."""
    text = _truth(chance, 3)
    if chance.random() < 0.05:
        place = chance.randrange(len(text) + 1)
        text = (
            text[:place] + chance.choice((")", "(", "'", "[", "?", "..", "\u2028")) + text[place:]
        )
    if chance.random() < 0.03:
        depth = chance.choice((10, 100, 1_000, 4_000))
        return (
            f"{'(' * depth}{text}{')' * depth}"
            if chance.random() < 0.5
            else f"{'!' * depth}({text})"
        )
    return text


def _truth(chance: Random, depth: int) -> str:
    kind = chance.random()
    if kind < 0.25:
        return f"{_value(chance, depth)} {chance.choice(('==', '!=', '<', '>='))} {_value(chance, depth)}"
    if kind < 0.4:
        joint = chance.choice(("&&", "||"))
        return f"({_value(chance, depth)} == {_value(chance, 1)} {joint} {_any(chance, depth)})"
    if kind < 0.5:
        return f"{_any(chance, 1)} ? {_any(chance, depth)} : {_any(chance, 1)}"
    if kind < 0.6:
        return f"!({_any(chance, depth)})"
    return _any(chance, depth)


def _any(chance: Random, depth: int) -> str:
    return (
        _truth(chance, depth - 1) if depth > 0 and chance.random() < 0.4 else _value(chance, depth)
    )


def _value(chance: Random, depth: int) -> str:
    kind = chance.random()
    if depth <= 0 or kind < 0.15:
        return chance.choice(
            chance.choice((_INTEGERS, _UNSIGNED, _DOUBLES, _TEXTS, _DEVICE, ("null", "true")))
        )
    if kind < 0.4:
        return (
            f"({_value(chance, depth - 1)} {chance.choice(_OPERATORS)} {_value(chance, depth - 1)})"
        )
    if kind < 0.5:
        return f"{_values(chance, depth)}[{_value(chance, depth - 1)}]"
    if kind < 0.58:
        return f"{chance.choice(_FUNCTIONS)}({_value(chance, depth - 1)})"
    if kind < 0.7:
        return f"{_value(chance, depth - 1)}.{chance.choice(_METHODS)}"
    if kind < 0.76:
        return f"{_value(chance, depth - 1)}.matches({chance.choice(_PATTERNS)})"
    if kind < 0.84:
        return chance.choice(
            (
                f"quantity({chance.choice(_QUANTITIES)})",
                f"semver({chance.choice(_VERSIONS)})",
                f"isQuantity({_value(chance, depth - 1)})",
                f"duration({chance.choice(_TIMES)})",
                f"timestamp({chance.choice(_TIMES)})",
            )
        )
    if kind < 0.96:
        body = _truth(chance, depth - 1).replace("device.driver", "x").replace('"a"', "x")
        return f"{_values(chance, depth)}.{chance.choice(_MACROS)}(x, {body})"
    return f"cel.bind(v, {_value(chance, depth - 1)}, v == {_value(chance, depth - 1)})"


def _values(chance: Random, depth: int) -> str:
    """A list, or a map."""
    parts = [_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    if chance.random() < 0.6:
        return f"[{', '.join(parts)}]"
    return f"{{{', '.join(f'{_value(chance, 0)}: {part}' for part in parts)}}}"
