"""The mark of a collection whose queries nobody asked: a file beside them that every reader of the collection heeds."""

import json
from pathlib import Path

from autoindex_haystack.errors import CollectionError

FILE = "synthetic.json"


def write_synthetic(folder: Path, how: str) -> None:
    """Mark a collection as synthetic.

    :param folder: The collection's folder.
    :param how: How its queries were made.
    """
    (folder / FILE).write_text(json.dumps({"queries": how}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_synthetic(folder: Path) -> str:
    """Read the mark.

    :param folder: The collection's folder.
    :returns: How the queries were made; empty for a collection that people asked and judged.
    :raises CollectionError: If the mark is there and broken.
    """
    path = folder / FILE
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["queries"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        msg = f"{path} is broken ({error}); make the collection anew with `autoindex make-queries`"
        raise CollectionError(msg) from error


def synthetic_note(how: str) -> str:
    """Returns the sentence that says so.

    :param how: How the queries were made.
    """
    return f"The queries and judgments are synthetic: {how}. Figures on them are no figures on what people ask."
