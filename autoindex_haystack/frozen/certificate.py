"""The parity certificate of a frozen component: how its chunks rank with bm25s and with Lucene, by which versions."""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from autoindex_haystack.errors import FrozenError
from autoindex_haystack.files import atomic_file
from autoindex_haystack.retrieval import BM25Settings

FILE = "parity.json"
"""The certificate's name in the component's folder."""

_DISTRIBUTIONS = ("bm25s", "pyserini", "autoindex-haystack")
"""What decides about scores and can be compared without starting Java; Pyserini brings Anserini and Lucene."""


class Certificate(BaseModel):
    """What a crosscheck found.

    :param collection: The collection's name.
    :param program_sha256: The program whose chunks were indexed.
    :param bm25: The settings of both indexes.
    :param queries: How many queries were asked.
    :param identical_top100_modelled: Queries whose first 100 documents the model of Lucene gives in Lucene's order.
    :param rounding: Queries where it differs only by pairs at a rounding boundary.
    :param unexplained: Queries and documents that nothing explains; 0 in a valid certificate.
    :param max_relative_difference_modelled: Largest relative difference between the model's scores and Lucene's.
    :param max_relative_difference_plain: The same between bm25s and Lucene.
    :param overlap_10_plain: Mean share of the first 10 documents that bm25s and Lucene share.
    :param overlap_100_plain: The same of the first 100.
    :param causes: How many documents stand elsewhere in bm25s than in Lucene, by cause.
    :param metrics: Engine to metric to mean.
    :param versions: Versions of all that took part.
    """

    model_config = ConfigDict(extra="forbid", validate_by_name=True, serialize_by_alias=True)

    format_version: int = 1
    collection: str
    program_sha256: str
    bm25: BM25Settings
    queries: int
    identical_top100_modelled: int
    rounding: int
    unexplained: int
    max_relative_difference_modelled: float
    max_relative_difference_plain: float
    overlap_10_plain: float = Field(validation_alias="overlap@10_plain", serialization_alias="overlap@10_plain")
    overlap_100_plain: float = Field(validation_alias="overlap@100_plain", serialization_alias="overlap@100_plain")
    causes: dict[str, int]
    metrics: dict[str, dict[str, float]]
    versions: dict[str, str]


def write_certificate(folder: Path, certificate: Certificate) -> Path:
    """Put a certificate into a frozen component, in the place of an earlier one.

    :param folder: The component's folder.
    :param certificate: The certificate.
    :returns: The file.
    :raises RunError: If the folder cannot be written.
    """
    path = folder / FILE
    with atomic_file(path) as temporary:
        temporary.write_text(certificate.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return path


def read_certificate(folder: Path) -> Certificate | None:
    """Read a component's certificate.

    :param folder: The component's folder.
    :returns: The certificate; None when the component has none.
    :raises FrozenError: If the file is damaged.
    """
    try:
        return Certificate.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        msg = f"{folder / FILE} cannot be read; make it anew with `autoindex crosscheck` ({error})"
        raise FrozenError(msg) from error


def outdated(certificate: Certificate) -> list[str]:
    """Compare the versions of a certificate with those installed.

    :param certificate: The certificate.
    :returns: One sentence for each version that differs.
    """
    warnings = []
    for name in _DISTRIBUTIONS:
        certified = certificate.versions.get(name)
        try:
            installed = version(name)
        except PackageNotFoundError:
            continue
        if certified and certified != installed:
            warnings.append(
                f"the parity certificate is of {name} {certified}, installed is {installed}; "
                "certify again with `autoindex crosscheck`"
            )
    return warnings
