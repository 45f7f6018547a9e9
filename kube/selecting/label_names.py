"""What a label's key and value may be, with the words of an API server for what is wrong.

Upstream: apimachinery/pkg/util/validation/validation.go.
"""

import re

from engine.api_server.validation.rules import subdomain_problems, too_long

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_NAME})?"
_LONGEST_NAME = 63

_ALPHANUMERIC = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_NO_NAME = (
    f"{_ALPHANUMERIC} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_NAME}')"
)
_NO_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '{_VALUE}')"
)


def key_problems(key: str) -> list[str]:
    """What is wrong with the key of a label. Upstream: IsQualifiedName()."""
    parts = key.split("/")
    if len(parts) > 2:
        domain = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {_NO_NAME} {domain}"]
    problems: list[str] = []
    if len(parts) == 2:
        problems += [f"prefix part {problem}" for problem in _domain_problems(parts[0])]
    name = parts[-1]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > _LONGEST_NAME:
        problems.append(f"name part {too_long(_LONGEST_NAME)}")
    if not _matches(_NAME, name):
        problems.append(f"name part {_NO_NAME}")
    return problems


def value_problems(value: str) -> list[str]:
    """What is wrong with the value of a label. Upstream: IsValidLabelValue()."""
    problems = [too_long(_LONGEST_NAME)] if len(value.encode()) > _LONGEST_NAME else []
    return problems if _matches(_VALUE, value) else [*problems, _NO_VALUE]


def _domain_problems(prefix: str) -> list[str]:
    return subdomain_problems(prefix) if prefix else ["must be non-empty"]


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text, re.ASCII) is not None
