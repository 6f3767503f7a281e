"""The settings of a BM25 index: given once, stored with the index, checked when it is loaded."""

from pydantic import BaseModel, ConfigDict, Field, field_validator

from autoindex_haystack.retrieval.analyzers import ANALYZER_NAMES


class BM25Settings(BaseModel):
    """How texts become tokens and how tokens are scored.

    :param k1: Saturation of term frequency; 1.5 in the paper.
    :param b: Strength of length normalization, 0 to 1; 0.75 in the paper.
    :param analyzer: Name of the analyzer, see :mod:`autoindex_haystack.retrieval.analyzers`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    k1: float = Field(default=1.5, ge=0, le=100, allow_inf_nan=False)
    b: float = Field(default=0.75, ge=0, le=1, allow_inf_nan=False)
    analyzer: str = "bm25s"

    @field_validator("analyzer")
    @classmethod
    def _known_analyzer(cls, name: str) -> str:
        if name not in ANALYZER_NAMES:
            msg = f"unknown analyzer {name!r}; known: {', '.join(ANALYZER_NAMES)}"
            raise ValueError(msg)
        return name
