"""Experiments on collections: the demo, comparisons over collections, conditions and seeds, synthetic queries."""
