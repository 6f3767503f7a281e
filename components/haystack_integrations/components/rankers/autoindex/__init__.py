"""The ranker that turns a ranking of chunks into one of documents."""

from haystack_integrations.components.rankers.autoindex.max_p_aggregator import MaxPAggregator

__all__ = ["MaxPAggregator"]
