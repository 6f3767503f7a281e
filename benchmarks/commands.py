"""What the benchmarks share: the collections of the README and running the command line for its JSON."""

import json
import subprocess
import sys
from typing import Any

COLLECTIONS = tuple(
    "cranfield theoremqa npl_vaswani medquad_liveqa debian_blends mdn_webfeatures gcide_reverse_full".split()
)


def run_json(*arguments: object) -> dict[str, Any]:
    """Run a command of autoindex with ``--json`` and read what it prints.

    :param arguments: The command and its arguments.
    :returns: The JSON object.
    """
    command = [sys.executable, "-m", "autoindex_haystack.cli", *map(str, arguments), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
