"""Ray Data as an engine: a pool of actors that keep their workers warm, restarted by Ray when a node is lost."""

import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import autoindex_haystack.errors as family
from autoindex_haystack.distributed.tasks import Task
from autoindex_haystack.errors import AutoIndexError, BackendError, ProgramError

_STORE_BYTES = 128 << 20
"""Ray's object store on this machine: only the items and what came of them go through it."""

_LOCAL = {
    # Ray tells its makers about its use unless told not to.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Otherwise everything that Ray starts would listen on all of the machine's addresses.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Ray's own 15 leaves its workers 3 % of a core beside anything else that works on this machine.
    "RAY_worker_niceness": "0",
}


class RayEngine:
    """A Ray cluster.

    :param workers: How many actors; as many as the cluster has CPUs when not given.
    :param address: The cluster's address; when not given, Ray is started on this machine, for loopback alone, and
        stopped in the end. If this process is connected to a cluster already, that one is used.
    :raises BackendError: If Ray is missing, or the cluster cannot be reached.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        if importlib.util.find_spec("ray") is None:
            msg = "the engine ray needs Ray: run `pip install 'autoindex-haystack[ray]'`"
            raise BackendError(msg)
        if address is None:
            os.environ.update({name: os.environ.get(name, value) for name, value in _LOCAL.items()})
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # Errors come as exceptions.
        import ray

        self._ours = not ray.is_initialized()
        if self._ours:
            quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
            try:
                if address is None:
                    ray.init(
                        "local",
                        num_cpus=workers,
                        object_store_memory=_STORE_BYTES,
                        include_dashboard=False,
                        **quiet,
                    )
                else:
                    ray.init(address, **quiet)
            except Exception as error:  # Ray raises whatever it finds.
                where = "on this machine" if address is None else f"at {address}"
                msg = f"Ray cannot be used {where}: {str(error).strip().partition(chr(10))[0] or type(error).__name__}"
                raise BackendError(msg) from error
        self.workers = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def each(self, task: Task, items: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """Do a task for each item; see :class:`autoindex_haystack.distributed.engines.Engine`."""
        if not items:
            return
        import logging

        import ray
        from ray.data import ActorPoolStrategy, DataContext

        logging.getLogger("ray.data").setLevel(logging.ERROR)
        context = DataContext.get_current()
        context.enable_progress_bars = context.print_on_execution_start = False
        rows = ray.data.from_items([{"item": item} for item in items], override_num_blocks=len(items))
        found = rows.map(
            _Actor,
            fn_constructor_args=(task,),
            compute=ActorPoolStrategy(min_size=1, max_size=min(self.workers, len(items))),
            num_cpus=1,
        )
        try:
            for row in found.iter_rows():
                answer = json.loads(row["answer"])
                if "error" in answer:
                    raise _error(answer)
                yield answer["result"]
        except ray.exceptions.RayError as error:
            msg = f"Ray gave up ({_reason(error)}); run the command again, and it goes on"
            raise BackendError(msg) from error

    def close(self) -> None:
        """Leave the cluster; stop it, if it was started here."""
        if self._ours:
            import ray

            ray.shutdown()


class _Actor:
    """A task on one worker of the cluster."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __call__(self, row: dict[str, Any]) -> dict[str, str]:
        try:
            self._task.start()
            answer: dict[str, Any] = {"result": self._task(row["item"])}
        except AutoIndexError as error:
            # As data: Ray would wrap it, and try again elsewhere what fails everywhere.
            answer = {"error": type(error).__name__, "message": str(error.args[0]), **_about(error)}
        return {"answer": json.dumps(answer)}

    def __del__(self) -> None:
        with suppress(Exception):
            self._task.close()


def _about(error: AutoIndexError) -> dict[str, str | None]:
    if isinstance(error, ProgramError):
        return {"document_id": error.document_id, "program_traceback": error.program_traceback}
    return {}


def _error(answer: dict[str, Any]) -> AutoIndexError:
    """The error that a worker met."""
    kind = getattr(family, answer.pop("error"))
    made: AutoIndexError = kind(answer.pop("message"), **answer)
    return made


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
