"""Parameters of the fusion for each known model.

Cosines of two models are on different scales, so each has its own weights, calibration and bound
below which nothing probably answers. `benchmarks/quality.py --model NAME --fit` prints them.
"""

from __future__ import annotations

from commonplace.search.fusion import DEFAULT, Parameters

_OF_MODEL: dict[str, Parameters] = {}


def parameters_of(identity: str) -> Parameters:
    """Return the parameters of a model by its identity; those of MiniLM for an unknown one."""
    return _OF_MODEL.get(identity.partition("/")[0], DEFAULT)
