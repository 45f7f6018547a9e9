"""What the Python of the web says to users is in the catalogue, each sentence whole."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from tests.web.words.python_messages import Module

ROOT = Path(settings.BASE_DIR)
# Kubernetes' own words are in no catalogue, and commands speak to those who run kscope.
PACKAGES = ("kscope", "scheduling", "volumes")
OTHERS = (ROOT / "kube" / "web.py",)
# The program speaks English alone, as manage.py does.
NOT_PAGES = ("migrations", "management", "program", "up")
# The one look-up whose message stands in a document.
OF_DOCUMENTS = "kscope/documents/language.py"


# What stands in f-strings there is for those who run kscope: logs, errors at the start, what a worker
# stores as the error of a run, rates by name, and descriptions of the REST API, which are English.
NOT_READ_ON_PAGES = (
    *("kscope/accounts/web/views.py", "kscope/database_format.py", "kscope/env.py"),
    *("kscope/glossary.py", "kscope/process_loader.py", "kscope/recipe.py", "kscope/operations/"),
    "kscope/api_docs.py",
    *("kscope/runs/capacity/askers.py", "kscope/runs/drive/", "kscope/runs/models.py"),
    *("kscope/runs/web/api/", "kscope/runs/web/contract/", "kscope/runs/admin/fault_actions.py"),
    # Manifests.
    "kscope/runs/editing/beginnings.py",
    "scheduling/timeline/api.py",
    "scheduling/findings/record_checks.py",
    *("kscope/exports/", "kscope/static_files/one_file.py", "kscope/words/catalogue.py"),
)


def modules() -> list[Path]:
    """The Python that speaks to users of pages and of the REST API."""
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    spoken = [path for path in found if not set(NOT_PAGES) & set(path.relative_to(ROOT).parts)]
    return sorted([*spoken, *OTHERS])


def faults_in(text: str) -> list[str]:
    return Module.of(Path("some.py"), text).faults()


def test_users_are_told_messages_of_the_catalogue() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): Module.of(path, path.read_text()).faults()
        for path in modules()
    }
    assert {path: faults for path, faults in found.items() if faults} == {}


def test_gettext_has_another_name_in_one_module() -> None:
    renamed = re.compile(r"import .*\bn?p?gettext(_lazy|_noop)? as ")
    found = [path for path in modules() if renamed.search(path.read_text())]
    assert [path.relative_to(ROOT).as_posix() for path in found] == [OF_DOCUMENTS]


def test_no_sentence_for_pages_is_an_f_string() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): Module.of(path, path.read_text()).glued()
        for path in modules()
    }
    with_some = {path for path, sentences in found.items() if sentences}
    assert {path for path in with_some if not path.startswith(NOT_READ_ON_PAGES)} == set()
    needless = [
        one for one in NOT_READ_ON_PAGES if not any(path.startswith(one) for path in with_some)
    ]
    assert needless == []


def test_glued_sentences_are_found() -> None:
    text = "def f(a):\n    return f'{a} puts it on {a.node}'\n"
    assert len(Module.of(Path("some.py"), text).glued()) == 1
    for unseen in (
        "log.info(f'{a} puts it on b')",
        "raise Diverged(f'{a} is not at {b}')",
        "assert a, f'{a} has no such node'",
        "x = f'SELECT a FROM {table} WHERE id in other'",
        "x = f'/runs/{a}/pods/'",
    ):
        assert Module.of(Path("some.py"), unseen).glued() == []


@pytest.mark.parametrize(
    "text",
    [
        "gettext(f'a {b}')",
        "gettext('a ' + b)",
        "gettext('a %s' % b)",
        "gettext('a {}'.format(b))",
        "gettext(words)",
        "ngettext('a', some, 2)",
    ],
)
def test_messages_that_are_made_up_are_found(text: str) -> None:
    assert len(faults_in(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "raise ApplicationError('No such run.')",
        "raise ApplicationError(f'There is no run {run}.')",
        "raise ApplicationError('There is no run {n}.'.format(n=1))",
        "raise ApplicationError(gettext('No run.') + ' Try another.')",
        "raise forms.ValidationError('Wrong.')",
        "raise serializers.ValidationError({'name': ['is missing']})",
        "messages.error(request, 'Nothing was saved.')",
        "def f():\n    words = 'a text'\n    raise ApplicationError(words)",
        "def f():\n    words, status = 'a text', 4\n    raise ApplicationError(words, status=status)",
        "WORDS = {'a': 'Your {x}.'}\ndef f():\n    raise ApplicationError(WORDS['a'].format(x=1))",
        "def why():\n    return 'a text'\ndef f():\n    raise ApplicationError(why())",
        "raise ApplicationError(gettext('one') if one else 'many')",
        "Response({'message': 'Not valid.'})",
        "name = forms.CharField(label='Name')",
        "name = models.TextField(help_text='its name')",
        "refuse(visitor, f'change run {run}')",
    ],
)
def test_words_of_no_catalogue_are_found(text: str) -> None:
    assert faults_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "raise ApplicationError(gettext('No such run.'))",
        "raise ApplicationError(gettext('{field} is missing.').format(field=f'taints[{i}].key'))",
        "raise ApplicationError(str(problem))",
        "def f(words):\n    raise ApplicationError(words)",
        "def f():\n    words = gettext('a text')\n    raise ApplicationError(words.format(a='b'))",
        "WORDS = {'a': gettext_lazy('Your {x}.')}\ndef f():\n    raise ApplicationError(WORDS['a'])",
        "log.warning('%s: %s', 'a', 'b')",
        "name = serializers.CharField(help_text='of the API, which is described in English')",
        "raise ApplicationError(ngettext('{n} run', '{n} runs', n).format(n=n))",
    ],
)
def test_messages_of_the_catalogue_are_no_fault(text: str) -> None:
    assert faults_in(text) == []
