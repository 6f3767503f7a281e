"""The built-in proposer: programs composed from a library of transforms, without a language model."""

from autoindex_haystack.proposers.builtin.proposer import BuiltinProposer

__all__ = ["BuiltinProposer"]
