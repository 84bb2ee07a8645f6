"""JSON: bounding its structure, decoding it in slices, and objects kept as encoded bytes."""
