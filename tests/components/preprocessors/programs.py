"""Programs for the tests of the preprocessor: one shows what it was given, one fails when a text says so."""

TELLS_ALL = """
import json
from autoindex_haystack.program import BasePreprocessor, Chunk


class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        [doc] = docs
        return [Chunk("0", doc.doc_id, json.dumps([doc.text, doc.metadata]))]
"""
FAILS_AT = """
from autoindex_haystack.program import BasePreprocessor, Chunk


class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        if "bad" in docs[0].text:
            raise KeyError("no such thing")
        while "loop" in docs[0].text:
            pass
        return [Chunk("0", docs[0].doc_id, docs[0].text)]
"""
