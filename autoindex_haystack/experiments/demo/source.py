"""The pages of the modules that are written in Python: read from their source, so that nothing is imported.

Importing is no way to read a library: some modules open a browser (`antigravity`), print (`this`) or need a display.
"""

import ast
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from autoindex_haystack.experiments.demo.entries import (
    Entry,
    class_entry,
    clean_docstring,
    function_entry,
    is_public,
    last_part,
    module_entry,
)
from autoindex_haystack.experiments.demo.syntax import FunctionNode, ModuleSyntax, methods, read_module

# Tests, bundled programs, tables, jokes, what is private in all but name, and what other versions or builds of Python
# lack: modules removed by 3.13, and tkinter.
_SKIPPED_PARTS = frozenset(
    """
    aifc antigravity asynchat asyncore cgi cgitb chunk crypt distutils encodings ensurepip genericpath idlelib imghdr
    imp lib2to3 mailcap msilib nntplib ntpath nturl2path opcode pip pipes posixpath pydoc_data setuptools smtpd sndhdr
    sre_compile sre_constants sre_parse sunau telnetlib test tests this tkinter turtle turtledemo uu xdrlib
    """.split()
)


class SourceLibrary:
    """The Python modules below a folder.

    :param folder: The folder of the standard library.
    :param imported: Modules to leave out, because they are read otherwise.
    """

    def __init__(self, folder: Path, imported: frozenset[str]) -> None:
        self._paths = {name: path for name, path in _modules_below(folder, "") if name not in imported}
        self._parsed: dict[str, ModuleSyntax] = {}
        self._public_modules = [name for name in self._paths if is_public(name)]

    def entries(self) -> Iterator[Entry]:
        """Yield the pages of all public modules, classes, functions, methods and properties that are documented."""
        for (module_name, name), public_name in self._public_names.items():
            definition = self._module(module_name).definitions[name]
            if isinstance(definition, ast.ClassDef):
                yield from self._class_entries(public_name, module_name, definition)
            else:
                docstring = clean_docstring(ast.get_docstring(definition))
                if docstring:
                    yield function_entry(public_name, _signature(definition, last_part(public_name)), docstring)
        for module_name in self._public_modules:
            docstring = clean_docstring(self._module(module_name).docstring)
            if docstring:
                yield self._module_entry(module_name, docstring)

    def _module_entry(self, module_name: str, docstring: str) -> Entry:
        classes: list[str] = []
        functions: list[str] = []
        for name in self._exports(module_name):
            home = self._home(module_name, name)
            if home:
                definition = self._module(home[0]).definitions[home[1]]
                (classes if isinstance(definition, ast.ClassDef) else functions).append(name)
        return module_entry(module_name, docstring, classes, functions)

    def _class_entries(self, public_name: str, module_name: str, definition: ast.ClassDef) -> Iterator[Entry]:
        names = []
        members = self._members(module_name, definition)
        for name, node in sorted(members.items()):
            docstring = clean_docstring(ast.get_docstring(node))
            if docstring and is_public(name):
                names.append(name)
                heading = name if _is_property(node) else _signature(node, name)
                yield function_entry(f"{public_name}.{name}", heading, docstring)
        heading = f"class {last_part(public_name)}({', '.join(map(ast.unparse, definition.bases))})"
        docstrings = [clean_docstring(ast.get_docstring(definition))]
        constructor = members.get("__init__")
        if constructor:
            heading += "\n" + _signature(constructor, last_part(public_name))
            docstrings.append(clean_docstring(ast.get_docstring(constructor)))
        if any(docstrings):
            yield class_entry(public_name, heading, docstrings, names)

    def _members(self, module_name: str, definition: ast.ClassDef) -> dict[str, FunctionNode]:
        """Return the methods and properties of a class, with those it has from base classes that have no page.

        `help()` shows inherited methods too; the methods of a public base have their pages there.
        """
        members: dict[str, FunctionNode] = {}
        for base in reversed(definition.bases):
            home = self._home(module_name, base.id) if isinstance(base, ast.Name) else None
            if home and home not in self._public_names:
                base_definition = self._module(home[0]).definitions[home[1]]
                if isinstance(base_definition, ast.ClassDef):
                    members |= self._members(home[0], base_definition)
        return members | methods(definition)

    @cached_property
    def _public_names(self) -> dict[tuple[str, str], str]:
        """The one name of an object's page, by where it is defined (module, name).

        Of several modules that export it the shortest name counts: `json.JSONDecoder`, not `json.decoder.JSONDecoder`.
        """
        names: dict[tuple[str, str], str] = {}
        for module_name in self._public_modules:
            for name in self._exports(module_name):
                home = self._home(module_name, name)
                if home:
                    public_name = f"{module_name}.{name}"
                    names[home] = min(public_name, names.get(home, public_name), key=_name_order)
        return names

    def _module(self, name: str) -> ModuleSyntax:
        if name not in self._parsed:
            self._parsed[name] = read_module(name, self._paths[name])
        return self._parsed[name]

    def _exports(self, module_name: str) -> list[str]:
        """Return the names a module offers.

        These are the names of `__all__` and those it takes over from its submodules; without `__all__`, its own
        definitions and what it imports from private submodules.
        """
        module = self._module(module_name)
        inside = f"{module.package}."
        if module.declared is None:
            names = list(module.definitions)
            names += [name for name, (source, _) in module.imports.items() if source.startswith(f"{inside}_")]
        else:
            names = [name for name in module.declared if "." not in name]
            sources = [inside + name.removesuffix(".__all__") for name in module.declared if "." in name]
            sources += [source for source in module.stars if source.startswith(inside)]
            for source in sources:
                names += self._exports(source) if source in self._paths else []
        return [name for name in dict.fromkeys(names) if is_public(name)]

    def _home(self, module_name: str, name: str, hops: int = 8) -> tuple[str, str] | None:
        """Follow imports to where a name is defined; `None` where that is no class or function of this library."""
        if module_name not in self._paths or hops == 0:
            return None
        module = self._module(module_name)
        if name in module.definitions:
            return module_name, name
        if name in module.imports:
            return self._home(*module.imports[name], hops - 1)
        if name in module.aliases:
            return self._home(module_name, module.aliases[name], hops - 1)
        for source in module.stars:
            if source in self._paths and name in self._exports(source):
                return self._home(source, name, hops - 1)
        if name in (module.declared or []):  # a submodule that is loaded late, as `concurrent.futures` does
            for submodule in self._paths:
                if submodule.rpartition(".")[0] == module_name and name in self._module(submodule).definitions:
                    return submodule, name
        return None


def _modules_below(folder: Path, package: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.iterdir()):
        if path.stem in _SKIPPED_PARTS:
            continue
        if path.suffix == ".py":
            yield package.rstrip(".") if path.stem == "__init__" else package + path.stem, path
        elif path.is_dir() and path.name.isidentifier():
            yield from _modules_below(path, f"{package}{path.name}.")


def _name_order(name: str) -> tuple[int, int, str]:
    return name.count("."), len(name), name


def _signature(node: FunctionNode, name: str) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}{name}({ast.unparse(node.args)}){returns}"


def _is_property(node: FunctionNode) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
