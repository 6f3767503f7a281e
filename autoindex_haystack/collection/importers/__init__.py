"""Importers: what other tools and benchmarks publish, written as a collection in our layout.

Each importer makes a :class:`Source`, whose documents are read as they are written, so that a corpus of any size takes
little memory; :func:`write_collection` writes it. Libraries that only one layout needs are loaded by its importer.
"""

from autoindex_haystack.collection.importers.source import Query, Source
from autoindex_haystack.collection.importers.write import Imported, write_collection, write_corpus

__all__ = ["Imported", "Query", "Source", "write_collection", "write_corpus"]
