"""Use cases of the catalogue that are too large for the facade, one module per subject."""
