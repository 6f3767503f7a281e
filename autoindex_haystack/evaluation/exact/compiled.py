"""Compiling the loops over bytes and postings: without the interpreter's lock, kept on disk for the next process."""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is first called; floats are computed as written, so results equal numpy's.

    :param function: A function in the part of Python that numba knows.
    :returns: The compiled function.
    """
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:
        # No folder for the code can be written: it is compiled anew in each process.
        return numba.njit(nogil=True)(function)


def is_kept(function: Callable[..., Any]) -> bool:
    """Whether a function's code was compiled before and is kept on disk, so that it is loaded in a moment.

    :param function: What :func:`compiled` returned.
    """
    kept = getattr(getattr(function, "_cache", None), "_cache_file", None)
    # An index that belongs to other versions of numba or of the source counts as empty.
    return kept is not None and bool(kept._load_index())


@intrinsic
def _load_word(typing: Any, data: Any, position: Any) -> Any:
    """Read eight bytes of a uint8 array, from any position, as one uint64 (little-endian)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        pointer = builder.gep(array.data, [arguments[1]])
        word = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(data, types.intp), generate


load_word: Callable[..., Any] = _load_word


@intrinsic
def _trailing_zeros(typing: Any, word: Any) -> Any:
    """The number of zeros below the lowest one of a uint64, as int64; 64 when it has no one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


trailing_zeros: Callable[..., Any] = _trailing_zeros
