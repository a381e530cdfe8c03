"""`rulesengine crds`: what a cluster must know before rules can be applied."""

from __future__ import annotations

import sys

from rulesengine import api


def print_crds() -> None:
    """Writes every CRD to standard output, one YAML document each."""
    sys.stdout.write("---\n".join(api.dump(crd) for crd in api.crds()))
