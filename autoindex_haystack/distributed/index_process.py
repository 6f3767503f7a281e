"""Building an index and joining its parts in processes of their own, so that no Java machine ever starts in a worker
of an engine.
"""

import json
import subprocess
import sys
from typing import Any

import autoindex_haystack.errors as family
from autoindex_haystack.distributed.filesystem import Folder
from autoindex_haystack.errors import AutoIndexError, BackendError

FINISHED = "finished.json"
"""Written last into an index on a file system that cannot move folders."""

_MODULE = "autoindex_haystack.distributed.index_child"


def in_own_process(request: dict[str, Any]) -> None:
    """Do what ``build`` or ``merge`` of :mod:`autoindex_haystack.distributed.index_child` says in a process of its own.

    :param request: ``do`` and its arguments.
    :raises AutoIndexError: What went wrong there.
    """
    command = [sys.executable, "-m", _MODULE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as child:
        assert child.stdin
        assert child.stdout
        try:
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
            lines = child.stdout.read().splitlines()
        except BrokenPipeError:
            lines = []
        except BaseException:
            child.kill()
            raise
        answer: dict[str, Any] = {}
        if lines and lines[-1].startswith("{"):
            answer = json.loads(lines[-1])
    if "error" in answer:
        kind: type[AutoIndexError] = getattr(family, answer["error"])
        raise kind(answer["message"])
    if answer != {"done": True}:
        msg = f"the process that builds the index ended with code {child.returncode}, maybe for lack of memory"
        raise BackendError(msg)


def is_finished(folder: Folder) -> bool:
    """Whether an index is there, whole."""
    return folder.read_json("index.json") is not None if folder.local else folder.read_json(FINISHED) is not None
