#!/usr/bin/env python3
"""Lists functions, methods and classes of engine/, kscope/, scheduling/, volumes/ and kube/ that no run uses.

Starting from what is executed when a module is imported, from decorated functions (routes, tasks,
signals, commands) and from methods that override a library's, it follows names through the code.
A definition that is not reached is used by tests only, or by nothing.

* A function or class is reached through the import that binds its name.
* A method is reached when its class is, and when code that is reached reads an attribute of its
  name on anything. Methods with common names may therefore escape it; it reports no method that is
  used, unless its name is computed.
* A name in a string counts in templates, in getattr() and attrgetter(), in dotted paths, and in
  modules that compute the names they look up.

`unused.txt` beside it names exceptions, one a line with its reason; what they use is used. It fails for a definition that
is missing there, and for an entry there that is not needed any more.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("engine", "kscope", "scheduling", "volumes", "kube")
EXCEPTIONS = Path(__file__).with_name("unused.txt")

# Decorators that leave a function as it is: only what calls it makes it used.
PLAIN_DECORATORS = {
    "abstractmethod",
    "cache",
    "cached_property",
    "classmethod",
    "contextmanager",
    "asynccontextmanager",
    "dataclass",
    "final",
    "lru_cache",
    "overload",
    "override",
    "property",
    "runtime_checkable",
    "setter",
    "staticmethod",
    "total_ordering",
    "unique",
    "wraps",
}
# Base classes from libraries that call none of the methods that a subclass adds.
PASSIVE_BASES = {
    "ABC",
    "Enum",
    "Exception",
    "Generic",
    "IntEnum",
    "NamedTuple",
    "Protocol",
    "RuntimeError",
    "StrEnum",
    "TypedDict",
    "ValueError",
    "KeyError",
    "LookupError",
    "dict",
    "int",
    "list",
    "object",
    "str",
    "tuple",
}
# Modules that Django, Celery, Python or an operator loads by name.
LOADED_BY_NAME = re.compile(
    r"\.(__init__|__main__|apps|models|admin|asgi|wsgi|celery|settings|urls|tasks|checks|schema)$"
    r"|\.(migrations|management|templatetags)\."
)
LOOKUPS = {"getattr", "hasattr", "attrgetter", "methodcaller", "setattr", "delattr"}
PATH = re.compile(r"^[A-Za-z_]\w*([.:][A-Za-z_]\w*)+$")
PROGRAM = re.compile(r"^from ([\w.]+) import (\w+)$", re.MULTILINE)
TEMPLATE_TAG = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
WORD = re.compile(r"[A-Za-z_]\w*")

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Definition:
    """A function, method or class, with its place and what was found out about it."""

    def __init__(
        self, module: Module, node: Function | ast.ClassDef, owner: Definition | None
    ) -> None:
        self.module = module
        self.node = node
        self.owner = owner
        self.reached = False
        self.methods: dict[str, Definition] = {}

    @property
    def name(self) -> str:
        prefix = f"{self.owner.name.split(':')[1]}." if self.owner else ""
        return f"{self.module.name}:{prefix}{self.node.name}"

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, ast.ClassDef)


class Module:
    """One file: what it defines and what its imports bind."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.tree = ast.parse(path.read_text(), str(path))
        self.definitions: dict[str, Definition] = {}
        # A local name -> (module, name in that module), or (module, "") for the module itself.
        self.imports: dict[str, tuple[str, str]] = {}
        self.imported_modules: set[str] = set()
        self.computes_names = False
        self.is_main = False
        for node in ast.walk(self.tree):
            self._note(node)
        for node in _statements(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._define(node)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                self.imports[alias.asname or alias.name] = (node.module, alias.name)
                self.imported_modules |= {node.module, f"{node.module}.{alias.name}"}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.split(".")[0]
                self.imports[local] = (alias.name if alias.asname else local, "")
                self.imported_modules.add(alias.name)
        elif isinstance(node, ast.Call) and _last_name(node.func) in LOOKUPS:
            named = [arg for arg in node.args if isinstance(arg, ast.Constant)]
            self.computes_names |= not any(isinstance(arg.value, str) for arg in named)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if PATH.match(node.value):
                parts = re.split("[.:]", node.value)
                self.imported_modules |= {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
            self.is_main |= node.value == "__main__"

    def _define(self, node: Function | ast.ClassDef) -> None:
        definition = self.definitions[node.name] = Definition(self, node, None)
        if isinstance(node, ast.ClassDef):
            for part in _statements(node):
                if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    # A setter is part of its property.
                    definition.methods.setdefault(part.name, Definition(self, part, definition))


class Search:
    """Follows names from what is executed at import to all that is used."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        self._queue: deque[Definition] = deque()
        self._attributes: set[str] = set()
        self._prefixes: set[str] = set()
        self._waiting: dict[str, list[Definition]] = {}

    def run(self) -> None:
        for tag_word in _template_words():
            self._read_attribute(tag_word)
        for module in self.modules.values():
            for statement in _statements(module.tree):
                if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    self._visit_head(module, statement)
                    if self._is_entry(module.definitions[statement.name]):
                        self._reach(module.definitions[statement.name])
                else:
                    self._visit(module, statement)
        self._follow_all()

    def reach_too(self, modules: dict[str, Module], names: Iterable[str]) -> None:
        """Go on from the definitions of these names."""
        for name in names:
            module_name, _, path = name.partition(":")
            first, _, method = path.partition(".")
            module = modules.get(module_name)
            definition = module.definitions.get(first) if module else None
            self._reach(definition.methods.get(method) if definition and method else definition)
        self._follow_all()

    def _follow_all(self) -> None:
        while self._queue:
            self._follow(self._queue.popleft())

    def _follow(self, definition: Definition) -> None:
        node, module = definition.node, definition.module
        if not isinstance(node, ast.ClassDef):
            for part in node.body:
                self._visit(module, part)
            return
        for statement in _statements(node):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._visit_head(module, statement)
            else:
                self._visit(module, statement)
        library = self._has_library_base(definition)
        for name, method in definition.methods.items():
            called_by_library = library or name.startswith("__") or _is_registered(method.node)
            if called_by_library or name in self._attributes or self._has_prefix(name):
                self._reach(method)
            else:
                self._waiting.setdefault(name, []).append(method)

    def _is_entry(self, definition: Definition) -> bool:
        """Is it registered by a decorator, or by what its class derives from, as in apps.py?"""
        found_by_base = LOADED_BY_NAME.search(definition.module.name) and definition.is_class
        return _is_registered(definition.node) or bool(
            found_by_base and self._has_library_base(definition)
        )

    def _has_prefix(self, name: str) -> bool:
        return any(name.startswith(prefix) for prefix in self._prefixes)

    def _has_library_base(self, definition: Definition) -> bool:
        assert isinstance(definition.node, ast.ClassDef)
        for base in definition.node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            found = self._resolve(definition.module, inner)
            if found is not None:
                if found.is_class and self._has_library_base(found):
                    return True
            elif _last_name(inner) not in PASSIVE_BASES:
                return True
        return False

    def _visit_head(self, module: Module, node: Function | ast.ClassDef) -> None:
        """What is evaluated when the definition is made: decorators, defaults, bases."""
        for part in node.decorator_list:
            self._visit(module, part)
        if isinstance(node, ast.ClassDef):
            for part in (*node.bases, *(word.value for word in node.keywords)):
                self._visit(module, part)
        else:
            self._visit(module, node.args)
            if node.returns is not None:
                self._visit(module, node.returns)

    def _visit(self, module: Module, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                self._reach(self._resolve(module, node))
            elif isinstance(node, ast.Attribute):
                self._reach(self._resolve(module, node))
                self._read_attribute(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                self._read_attribute(node.arg)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._read_text(module, node.value)
            elif isinstance(node, ast.MatchClass):
                for name in node.kwd_attrs:
                    self._read_attribute(name)
            elif isinstance(node, ast.Call) and _last_name(node.func) in LOOKUPS:
                for part in ast.walk(node):
                    if isinstance(part, ast.JoinedStr) and isinstance(part.values[0], ast.Constant):
                        self._read_prefix(str(part.values[0].value))
                    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                        self._read_attribute(part.value)

    def _read_text(self, module: Module, text: str) -> None:
        # The program of a child process.
        for where, name in PROGRAM.findall(text):
            self._reach(self._exported(where, name))
        if PATH.match(text):
            *path, name = re.split("[.:]", text)
            self._reach(self._exported(".".join(path), name))
            self._read_attribute(name)
        elif module.computes_names and text.isidentifier():
            self._read_attribute(text)
            self._reach(module.definitions.get(text))
        elif "[" in text or text.isidentifier():
            # An annotation in quotes.
            for word in WORD.findall(text):
                self._reach(self._bound(module, word))

    def _read_prefix(self, prefix: str) -> None:
        if prefix and prefix not in self._prefixes:
            self._prefixes.add(prefix)
            for name in [name for name in self._waiting if name.startswith(prefix)]:
                self._read_attribute(name)

    def _read_attribute(self, name: str) -> None:
        self._attributes.add(name)
        for method in self._waiting.pop(name, ()):
            self._reach(method)

    def _reach(self, definition: Definition | None) -> None:
        if definition is not None and not definition.reached:
            definition.reached = True
            self._queue.append(definition)

    def _resolve(self, module: Module, node: ast.AST) -> Definition | None:
        if isinstance(node, ast.Name):
            return self._bound(module, node.id)
        if isinstance(node, ast.Attribute):
            path = _dotted(node.value)
            if path is None:
                return None
            head, *rest = path.split(".")
            origin, name = module.imports.get(head, ("", ""))
            where = ".".join(part for part in (origin, name, *rest) if part)
            return self._exported(where, node.attr)
        return None

    def _bound(self, module: Module, name: str) -> Definition | None:
        if name in module.definitions:
            return module.definitions[name]
        origin, there = module.imports.get(name, ("", ""))
        return self._exported(origin, there) if there else None

    def _exported(self, module_name: str, name: str) -> Definition | None:
        module = self.modules.get(module_name)
        return None if module is None else self._bound(module, name)


def _statements(body: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a module or class, those under if, try and with included."""
    for node in ast.iter_child_nodes(body):
        if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
            yield from _statements(node)
        elif isinstance(node, ast.stmt):
            yield node


def _is_registered(node: Function | ast.ClassDef) -> bool:
    names = (
        _last_name(part.func if isinstance(part, ast.Call) else part)
        for part in node.decorator_list
    )
    return any(name not in PLAIN_DECORATORS for name in names)


def _last_name(node: ast.AST) -> str:
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return None if inner is None else f"{inner}.{node.attr}"
    return None


def _template_words() -> Iterator[str]:
    for path in [*ROOT.glob("templates/**/*"), *ROOT.glob("*/templates/**/*")]:
        if path.is_file():
            for tag in TEMPLATE_TAG.findall(path.read_text()):
                yield from WORD.findall(tag)


def _production_files() -> Iterator[tuple[str, Path]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _loaded(modules: dict[str, Module]) -> dict[str, Module]:
    """Modules that others of them import, that run by themselves, or that a library loads."""
    scripts = "\n".join(
        path.read_text()
        for path in (
            ROOT / "Makefile",
            ROOT / "manage.py",
            ROOT / "pyproject.toml",
            *ROOT.glob(".ci/*"),
        )
        if path.is_file()
    )
    loaded = dict(modules)
    while True:
        imported = {name for module in loaded.values() for name in module.imported_modules}
        kept = {
            name: module
            for name, module in loaded.items()
            if name in imported
            or module.is_main
            or module.path.name == "__init__.py"
            or LOADED_BY_NAME.search(name)
            or name in scripts
            or str(module.path.relative_to(ROOT)) in scripts
        }
        if len(kept) == len(loaded):
            return kept
        loaded = kept


def unused(modules: dict[str, Module]) -> list[str]:
    """The names of what was not reached; not the methods of a class that is itself unused."""
    found: list[str] = []
    for module in modules.values():
        for definition in module.definitions.values():
            if not definition.reached:
                found.append(definition.name)
            else:
                found += [part.name for part in definition.methods.values() if not part.reached]
    return found


def main() -> int:
    lines = EXCEPTIONS.read_text().splitlines()
    entries = [line.split(maxsplit=1) for line in lines if line.strip() and line[0] != "#"]
    allowed = {entry[0]: entry[1:] for entry in entries}
    modules = {name: Module(name, path) for name, path in _production_files()}
    search = Search(_loaded(modules))
    search.run()
    before = unused(modules)
    problems = [
        f"{name} in unused.txt is used, or is gone" for name in allowed if name not in before
    ]
    problems += [f"{name} in unused.txt has no reason" for name, why in allowed.items() if not why]
    # What an exception uses needs no entry of its own.
    search.reach_too(modules, allowed)
    problems += [f"{name} is used by no run" for name in unused(modules)]
    text = "\n".join(problems) or f"unused: {len(allowed)} exceptions, nothing else"
    sys.stdout.write(text + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
