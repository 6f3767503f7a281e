"""AutoIndex for Haystack: learn how to represent documents for BM25, and freeze the result.

The public functions are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from autoindex_haystack.collection import load_collection
    from autoindex_haystack.evaluation import evaluate
    from autoindex_haystack.frozen import load_frozen
    from autoindex_haystack.optimizer import optimize, resume

__all__ = ["evaluate", "load_collection", "load_frozen", "optimize", "resume"]

_ROOMS = {
    "evaluate": "evaluation",
    "load_collection": "collection",
    "load_frozen": "frozen",
    "optimize": "optimizer",
    "resume": "optimizer",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("autoindex-haystack")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
