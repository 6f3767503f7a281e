"""A proposer that suggests what a test says, programs for the collection of forms, and a search with them."""

from autoindex_haystack import optimize
from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.proposers import Candidate
from autoindex_haystack.runs import read_journal

PROGRAM = """
from autoindex_haystack.program import BasePreprocessor, Chunk

class Preprocessor(BasePreprocessor):
    def preprocess(self, docs):
        return [Chunk("0", doc.doc_id, {expression}) for doc in docs]
"""
STEMS = 'doc.text + " " + " ".join(w[:-3] for w in doc.text.split() if w.endswith("ing"))'
MORE_STEMS = 'doc.text + " " + " ".join(w[:-2] for w in doc.text.split() if w.endswith("ed"))'
BOTH = f'{STEMS} + " " + {MORE_STEMS.partition(" + ")[2].partition(" + ")[2]}'
SAME, WORSE, BROKEN = "doc.text + ' '", "'nothing'", "1 / 0"


def candidate(expression):
    return Candidate(PROGRAM.format(expression=expression), expression[:30])


class Scripted:
    """Suggests what the test says, iteration by iteration."""

    name = "scripted"

    def __init__(self, *rounds, combination=None):
        self._rounds = rounds
        self._combination = combination
        self.states = []

    def propose(self, state):
        self.states.append(state)
        rounds = self._rounds[state.iteration - 1] if state.iteration <= len(self._rounds) else ()
        return [candidate(expression) for expression in rounds]

    def combine(self, state, improvements):
        self.improvements = improvements
        return candidate(self._combination) if self._combination else None


def search(collection, out, proposer, iterations=1, acceptance="paper", objective="recall@100", **options):
    events = []
    settings = SearchSettings(iterations=iterations, acceptance=acceptance, objective=objective)
    result = optimize(collection, out, settings=settings, proposer=proposer, listener=events.append, **options)
    return result, events


def journal(out):
    return read_journal(out)
