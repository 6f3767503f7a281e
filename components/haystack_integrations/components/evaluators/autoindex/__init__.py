"""Evaluators of rankings with cut-offs, on documents and not on chunks."""

from haystack_integrations.components.evaluators.autoindex.ranking_evaluator import RankingEvaluator

__all__ = ["RankingEvaluator"]
