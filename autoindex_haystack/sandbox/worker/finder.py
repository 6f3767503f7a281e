"""Importing modules from byte code in memory: the worker's own, which the host sends, and the codecs.

The host runs this module's code first; nothing else of the worker is there yet.
"""

import importlib
import importlib.machinery
import marshal
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


class CodeShelf:
    """A finder and loader of modules.

    :param code: Byte code by the module's name.
    :param packages: Those that are packages.
    """

    def __init__(self, code: dict[str, bytes], packages: Sequence[str] = ()) -> None:
        self._code, self._packages = code, packages

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Find a module on the shelf."""
        if name not in self._code:
            return None
        loader: Any = self
        return importlib.machinery.ModuleSpec(name, loader, origin="shelf", is_package=name in self._packages)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Leave it to the import system."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code."""
        exec(marshal.loads(self._code[module.__name__]), vars(module))


def start(code: dict[str, bytes], package: str, descriptors: Sequence[int]) -> None:
    """Serve the host.

    :param code: The worker's modules.
    :param package: The name of their package.
    :param descriptors: What ``main`` is given.
    """
    sys.meta_path.insert(0, CodeShelf(code, [package]))
    importlib.import_module(f"{package}.serve").main(*descriptors)
