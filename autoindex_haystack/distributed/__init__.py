"""Indexing in blocks: on the processes of one machine, on Ray, or as a plain function in any other engine."""

from autoindex_haystack.distributed.engines import Engine, LocalEngine
from autoindex_haystack.distributed.mapper import PartitionMapper, map_partitions
from autoindex_haystack.distributed.ray_engine import RayEngine
from autoindex_haystack.distributed.run import Indexed, index_corpus

__all__ = ["Engine", "Indexed", "LocalEngine", "PartitionMapper", "RayEngine", "index_corpus", "map_partitions"]
