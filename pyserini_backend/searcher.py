"""Reading a Lucene index: one text in, the best chunks out as two arrays, for one query or for many on all cores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoindex_haystack.retrieval.ranking import Hits
from autoindex_haystack.retrieval.settings import BM25Settings
from pyserini_backend import handles
from pyserini_backend.analysis import lucene_analyzer
from pyserini_backend.fields import CONTENTS
from pyserini_backend.handles import Handle
from pyserini_backend.jvm import enter, java, java_class, java_errors
from pyserini_backend.reader import LuceneReader, similarity, to_bytes

_NO_LIMIT = 2**31 - 1
_HITS_A_CALL = 2_000_000
"""Hits that one call into Java may bring back, 8 bytes each; longer batches are cut."""

_KEPT_DEPTHS = 16
_FAILURE = "the Lucene index cannot be searched"


class LuceneSearcher:
    """Searches one commit of a Lucene index; may be used from several threads at once.

    :param reader: The commit; it is closed with the searcher.
    :param settings: BM25 parameters and analyzer.
    :param ordinals: int64, shape (documents,): the chunk that each of Lucene's documents is.
    :raises BackendError: If the index cannot be searched.
    """

    def __init__(self, reader: LuceneReader, settings: BM25Settings, ordinals: NDArray[np.int64]) -> None:
        self.reader, self.ordinals = reader, ordinals
        with java(_FAILURE):
            kind = java_class("org.apache.lucene.search.IndexSearcher")
            kind.setMaxClauseCount(_NO_LIMIT)  # A query may have any number of terms.
            searcher = kind(reader.java_reader, signature="(Lorg/apache/lucene/index/IndexReader;)V")
            searcher.setSimilarity(similarity(settings))
            self._search = handles.method("IndexSearcher", "search", "TopDocs", "Query", "int").bindTo(searcher)
            self._query = _query_maker(lucene_analyzer(settings.analyzer).create())
            self._pack = _packing()
        self._functions: dict[int, tuple[Handle, Handle]] = {}

    def search(self, text: str, depth: int) -> Hits:
        """Find the chunks of the highest scores.

        :param text: What Lucene's analyzer is given; see :mod:`pyserini_backend.analysis`.
        :param depth: How many chunks at least, if so many match.
        :returns: The hits, as :meth:`autoindex_haystack.retrieval.index.Index.candidates` does.
        :raises BackendError: If the index is closed or cannot be read.
        """
        return self.search_many([text], depth)[0]

    def search_many(self, texts: Sequence[str], depth: int) -> list[Hits]:
        """:meth:`search` for many texts, on all cores."""
        enter()
        if not len(self.ordinals) or not texts:
            return [Hits.none() for _ in texts]
        # One more than asked for, to know whether that was all. Lucene stops counting hits early, so its count does not
        # tell, but it leaves out no hit while it has found fewer than this.
        limit = min(depth, len(self.ordinals)) + 1
        step = max(1, _HITS_A_CALL // limit)
        with java_errors(_FAILURE):
            packed = [
                hits for start in range(0, len(texts), step) for hits in self._run(texts[start : start + step], limit)
            ]
        return [self._unpack(hits, limit) for hits in packed]

    def close(self) -> None:
        """Release the files; closing twice is fine."""
        self.reader.close()

    def _run(self, texts: Sequence[str], limit: int) -> list[bytes]:
        one, many = self._functions.get(limit) or self._new_functions(limit)
        if len(texts) == 1:
            return [handles.call(one, texts[0]).tostring()]
        return [hits.tostring() for hits in handles.call(many, handles.joined(texts))]

    def _new_functions(self, limit: int) -> tuple[Handle, Handle]:
        """Returns the functions from one text, and from many, to packed hits."""
        with java(_FAILURE):
            search = handles.feed(self._search, 1, handles.constant("int", limit))
            one = handles.then(self._query, search, self._pack)
            texts = handles.then(handles.split(), handles.static("Arrays", "stream", "Stream", "Object[]"))
            parallel = handles.as_kind(handles.method("Stream", "parallel", "BaseStream"), "Stream", "Stream")
            apply = handles.method("Stream", "map", "Stream", "Function")
            apply = handles.feed(apply, 1, handles.instance("Function", one))
            many = handles.then(texts, parallel, apply, handles.method("Stream", "toArray", "Object[]"))
        if len(self._functions) >= _KEPT_DEPTHS:
            self._functions = {}
        self._functions[limit] = one, many
        return one, many

    def _unpack(self, packed: bytes, limit: int) -> Hits:
        documents, scores = np.frombuffer(packed, ">i4").astype(np.int32).reshape(2, -1)
        hits = scores.view(np.float32)
        found = hits > 0
        return Hits(self.ordinals[documents[found]], hits[found], len(hits) < limit)


def _query_maker(analyzer: Any) -> Handle:
    """Returns the function from text to query: Anserini's bag of words, each term weighted by how often it occurs."""
    generator = java_class("io.anserini.search.query.BagOfWordsQueryGenerator")()
    make = handles.method("BagOfWordsQueryGenerator", "buildQuery", "Query", "String", "Analyzer", "String")
    return make.bindTo(generator).bindTo(CONTENTS).bindTo(analyzer)


def _packing() -> Handle:
    """Returns the function from ``TopDocs`` to bytes: all Lucene document numbers, then the bits of all scores."""
    documents = handles.field("ScoreDoc", "doc", "int")
    bits = handles.then(
        handles.field("ScoreDoc", "score", "float"), handles.static("Float", "floatToRawIntBits", "int", "float")
    )
    both = handles.static("IntStream", "concat", "IntStream", "IntStream", "IntStream")
    both = handles.feed(handles.feed(both, 1, _each_hit(bits)), 0, _each_hit(documents))
    both = handles.arrange(both, (0, 0), "TopDocs")
    return handles.then(both, handles.method("IntStream", "toArray", "int[]"), to_bytes("int"))


def _each_hit(number: Handle) -> Handle:
    """Returns the function from ``TopDocs`` to the stream of one number of each hit."""
    hits = handles.as_kind(handles.static("Arrays", "stream", "Stream", "Object[]"), "Stream", "ScoreDoc[]")
    numbers = handles.method("Stream", "mapToInt", "IntStream", "ToIntFunction")
    numbers = handles.feed(numbers, 1, handles.instance("ToIntFunction", number))
    return handles.then(handles.field("TopDocs", "scoreDocs", "ScoreDoc[]"), hits, numbers)
