"""What a program's figures on the whole corpus will be, estimated from its chunks of a stage.

Each document of the stage stands for as many as its weight says (Horvitz and Thompson, JASA 1952): so the numbers of
chunks, their average length and the document frequencies are estimated, and how many documents outrank a relevant one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from autoindex_haystack.evaluation.diagnosis import QueryPostings
from autoindex_haystack.evaluation.metrics import DEPTH, SMOOTH_RECALL, PerQuery, ideal_dcg, smooth_recall
from autoindex_haystack.evaluation.staged.stage import Stage
from autoindex_haystack.retrieval import Hits
from autoindex_haystack.retrieval.analyzers import tokenize
from autoindex_haystack.retrieval.ranking import max_p

_TOP = 10


@dataclass(frozen=True)
class Estimate:
    """What a stage says of a program.

    :param found: Query id to float64, shape (relevant documents,): how likely each is among the best 100, those that
        are not in the corpus included.
    :param scores: Query id to metric (Recall@100, nDCG@10, smooth recall) to its estimate.
    """

    found: dict[str, NDArray[np.float64]]
    scores: PerQuery


def recall_error(new: Estimate, old: Estimate) -> float:
    """The standard error of the estimated difference of two programs' mean Recall@100, by the sample.

    The sample is the same for both, so a document whose chance is the same under both adds no error.

    :param new: The estimate of one program.
    :param old: That of the other on the same stage.
    :returns: The error.
    """
    differences = [np.abs(new.found[query] - old.found[query]) for query in new.found]
    variances = [float((d * (1 - d)).sum()) / len(d) ** 2 for d in differences]
    return sqrt(sum(variances)) / len(variances)


def estimate(
    postings: QueryPostings, stage: Stage, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]]
) -> Estimate:
    """Estimate a program's figures from its chunks of a stage.

    When the stage is the whole corpus, the estimates are the figures themselves.

    :param postings: The queries' terms in the program's chunks of the stage.
    :param stage: The stage.
    :param queries: Query id to text.
    :param qrels: Their judgments.
    :returns: The estimate.
    """
    weights = np.zeros(len(postings.document_ids))
    weights[stage.ordinals] = stage.weights
    parts = _parts(postings, weights[postings.documents])
    found, scores = {}, {}
    for query, text in queries.items():
        documents, outranking, variance = _outranking(postings, parts, text, weights)
        places = np.full(len(weights), -1)
        places[documents] = np.arange(len(documents))
        relevant = {document: grade for document, grade in qrels[query].items() if grade > 0}
        place = np.array([places[postings.number_of[d]] if d in postings.number_of else -1 for d in relevant])
        ranked = place >= 0
        likely = np.zeros(len(relevant))
        likely[ranked] = _at_most(DEPTH - 1, outranking[place[ranked]], variance[place[ranked]])
        ranks = 1 + outranking[place[ranked]]
        grades = np.array(list(relevant.values()))[ranked]
        gains = np.where(ranks <= _TOP, grades / np.log2(ranks + 1), 0.0)
        found[query] = likely
        scores[query] = {
            "recall@100": float(likely.mean()),
            "ndcg@10": float(gains.sum()) / ideal_dcg(relevant.values()),
            SMOOTH_RECALL: smooth_recall(ranks, len(relevant)),
        }
    return Estimate(found, scores)


def _parts(postings: QueryPostings, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each posting adds to a score, by the statistics that the chunks' weights give."""
    inner = postings.postings
    terms = np.repeat(np.arange(len(inner.vocabulary)), np.diff(inner.starts))
    number = weights.sum()
    average = float(weights @ inner.lengths) / max(1.0, number)
    frequency = np.bincount(terms, weights[inner.chunks], len(inner.vocabulary))
    idf = np.log1p((number - frequency + 0.5) / (frequency + 0.5))
    k1, b = postings.settings.k1, postings.settings.b
    norms = k1 * (1 - b + b * inner.lengths / max(average, 1e-9))
    return np.asarray(idf[terms] * inner.frequencies / (inner.frequencies + norms[inner.chunks]), np.float64)


def _outranking(
    postings: QueryPostings, scores: NDArray[np.float64], query: str, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The stage's documents that match a query, how many of the corpus outrank each, and the variance of that."""
    totals = np.zeros(len(postings.documents))
    for term in tokenize(query, postings.settings.analyzer):
        row = postings.row(term)
        totals[postings.postings.chunks[row]] += scores[row]
    matching = np.flatnonzero(totals)
    hits = Hits(matching, totals[matching].astype(np.float32), exhausted=True)
    documents = max_p(hits, postings.documents, postings.order, len(weights)).ordinals
    own = weights[documents]
    return documents, np.cumsum(own) - own, np.cumsum(own * (own - 1)) - own * (own - 1)


def _at_most(limit: int, estimates: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance that a number is at most ``limit``, of which there is an estimate and its variance."""
    distance = limit + 0.5 - estimates
    return np.where(variances > 0, ndtr(distance / np.sqrt(np.maximum(variances, 1e-12))), distance > 0)
