"""The frozen component on disk: written by every search, loaded by Haystack pipelines, verified before it runs."""

from autoindex_haystack.frozen.certificate import Certificate, outdated, read_certificate, write_certificate
from autoindex_haystack.frozen.component import (
    FrozenComponent,
    load_frozen,
    new_manifest,
    verify_frozen,
    write_frozen,
)
from autoindex_haystack.frozen.manifest import ComponentSettings, Figures, Gain, LearnedOn, Manifest, Step

__all__ = [
    "Certificate",
    "ComponentSettings",
    "Figures",
    "FrozenComponent",
    "Gain",
    "LearnedOn",
    "Manifest",
    "Step",
    "load_frozen",
    "new_manifest",
    "outdated",
    "read_certificate",
    "verify_frozen",
    "write_certificate",
    "write_frozen",
]
