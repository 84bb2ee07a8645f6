"""Storage of the catalogue: the protocol and the folder adapter."""
