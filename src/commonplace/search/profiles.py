"""Parameters of the fusion for each known model.

Cosines of two models are on different scales, so each has its own weights, calibration and bound
below which nothing probably answers. `benchmarks/quality.py --model NAME --fit` prints them.
"""

from __future__ import annotations

from commonplace.search.fusion import DEFAULT, Parameters

_OF_MODEL: dict[str, Parameters] = {
    "granite-embedding-30m-english": Parameters(
        lexical_weight=0.33,
        sharpness=3.3,
        coverage_gain=2.5,
        consensus=0.45,
        intercept=0.61,
        words_alone=2.27,
        abstain_below=0.055,
    ),
}


def parameters_of(identity: str) -> Parameters:
    """Return the parameters of a model by its identity; those of MiniLM for an unknown one."""
    return _OF_MODEL.get(identity.partition("/")[0], DEFAULT)
