"""Spans for the long steps within a component, as Haystack's tracers show them beneath the component's own span."""

from contextlib import AbstractContextManager
from typing import Any

from haystack.tracing.tracer import Span, tracer

PREFIX = "autoindex."


def span(name: str, **tags: Any) -> AbstractContextManager[Span]:
    """Trace a block of code; where nobody traces it costs a microsecond.

    :param name: What the block does; ``autoindex.`` comes before it.
    :param tags: Numbers and names, never what documents or queries say; ``autoindex.`` comes before each.
    :returns: A context manager that gives the span.
    """
    marked = {f"{PREFIX}{key}": value for key, value in tags.items()}
    return tracer.trace(f"{PREFIX}{name}", tags=marked, parent_span=tracer.current_span())
