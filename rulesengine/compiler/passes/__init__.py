"""The passes that make a compiled rule of a model, in order; each reads what earlier ones left."""

from rulesengine.compiler.passes import (
    conditions,
    finish,
    order,
    reads,
    resources,
    source,
    status,
    taint,
    time,
    variables,
)

PASSES = (
    source.run,  # spec.for, the kinds of the entries, the names and their types
    variables.run,  # spec.variables
    conditions.run,  # spec.matchConditions
    resources.run,  # spec.resources: templates, includeWhen, policies
    status.run,  # spec.sourceStatus
    taint.run,  # where values of Secrets go
    order.run,  # who reads whom: dependencies, cycles, the order of evaluation
    time.run,  # where now may be read, spec.resync
    reads.run,  # which fields of the source matter
)

__all__ = ["PASSES", "finish"]
