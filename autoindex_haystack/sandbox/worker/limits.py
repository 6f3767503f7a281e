"""Resource limits of the worker's own process."""

import resource

_GRACE = 5
"""Seconds of processor time beyond the deadline, which the host keeps; this limit is for a worker without a host."""


def limit_process(memory: int, descriptors: int) -> None:
    """Limit what this process may ever have: memory, descriptors, and no file, core dump or process at all."""
    none = ("FSIZE", "CORE", "NPROC", "MEMLOCK", "MSGQUEUE", "SIGPENDING")
    for name, value in (("AS", memory), ("NOFILE", descriptors), *((name, 0) for name in none)):
        _limit(name, value, value)


def limit_processor(seconds: float) -> None:
    """Limit the processor time of what comes now; what this process has used before does not count."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit("CPU", int(used.ru_utime + used.ru_stime + seconds) + _GRACE, resource.RLIM_INFINITY)


def _limit(name: str, soft: int, hard: int) -> None:
    number = getattr(resource, "RLIMIT_" + name, None)
    if number is None:
        return
    _, most = resource.getrlimit(number)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), most if hard == resource.RLIM_INFINITY else min(hard, most)
    try:
        resource.setrlimit(number, (soft, hard))
    except (OSError, ValueError):
        # macOS refuses RLIMIT_AS; the host's deadline still holds.
        return
