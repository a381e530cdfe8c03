"""Every function an expression can call, by name; importing a module enters its functions."""

from rulesengine.cel.library import (
    conversions,
    encoding,
    lists,
    maths,
    network,
    optionals,
    own,
    strings,
    times,
)
from rulesengine.cel.library.operators import OPERATORS
from rulesengine.cel.library.registry import FUNCTIONS, RESULTS

MODULES = (conversions, encoding, maths, network, optionals, own, times, strings, lists)

__all__ = ["FUNCTIONS", "MODULES", "OPERATORS", "RESULTS"]
