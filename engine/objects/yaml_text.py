"""Values as YAML that is read as what they were: by us (`documents`), and by kubectl."""

from typing import Any, Final, cast

import yaml

from engine.objects.documents import plain_scalar

_TEXT: Final = "tag:yaml.org,2002:str"
# Long texts, such as annotations, stay on one line.
_WIDTH: Final = 1_000


def yaml_text(value: Any, *, keeps_order: bool = False) -> str:
    """A plain value, as JSON has them, as YAML; keys are sorted, as kubectl does it."""
    return yaml.dump(
        value, Dumper=_Dumper, allow_unicode=True, width=_WIDTH, sort_keys=not keeps_order
    )


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """A list that stands at two places is written twice."""
        return True


def _write_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    """Quotes a text that would be no text without: `1e3`, which PyYAML writes plainly, and `y`."""
    is_read_as_text = plain_scalar(text) == text
    # The stubs do not say of what type the values are.
    return cast("Any", dumper).represent_scalar(_TEXT, text, style=None if is_read_as_text else "'")


_Dumper.add_representer(str, _write_text)
