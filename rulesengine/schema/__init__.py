"""Shapes of Kubernetes kinds: from OpenAPI v3 documents, from CRDs, and built-in."""

from rulesengine.schema import builtin, openapi, structural
from rulesengine.schema.model import MISSING, Missing, Schema

__all__ = ["MISSING", "Missing", "Schema", "builtin", "openapi", "structural"]
