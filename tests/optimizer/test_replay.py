"""What decides a search is in `run.json`, so that a run can be repeated from it."""

from dataclasses import fields

from autoindex_haystack.optimizer import SearchSettings
from autoindex_haystack.optimizer.replay import recorded_settings
from autoindex_haystack.retrieval import BM25Settings
from autoindex_haystack.runs import RunSettings

NEUTRAL = {"workers", "jobs", "isolation"}
"""These change no result."""


def test_every_setting_that_decides_is_recorded_and_found_again():
    names = {field.name for field in fields(SearchSettings)} - NEUTRAL - {"limits"}
    assert names <= set(RunSettings.model_fields)
    others = {"iterations": 7, "candidates": 3, "seed": 5, "objective": "weighted", "acceptance": "paper"}
    others |= {"max_growth": 2.5, "tolerance": 0.25, "backend": "lucene", "allowed_imports": ("numpy",)}
    settings = SearchSettings(**others, bm25=BM25Settings(k1=0.9))
    recorded = RunSettings(
        **{name: getattr(settings, name) for name in names},
        proposer="agents",
        timeout=9,
        memory=1 << 28,
        max_unreachable=0.5,
    )
    found = recorded_settings(RunSettings.model_validate_json(recorded.model_dump_json()))
    assert {name: getattr(found, name) for name in names} == {name: getattr(settings, name) for name in names}
    assert (found.limits.seconds, found.limits.memory, found.limits.unreachable) == (9, 1 << 28, 0.5)
