"""The worker: a fresh interpreter that runs one program over documents and writes what it returns as bytes.

It is started by :mod:`autoindex_haystack.sandbox.process` in an environment made from nothing, and imports the standard
library only: this folder is all it knows, neither queries, judgments, paths nor the host. The host imports
:mod:`~autoindex_haystack.sandbox.worker.protocol` alone. Imports in here are relative, since in the worker this folder
has another name.
"""
