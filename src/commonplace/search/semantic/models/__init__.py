"""Models on disk: which there are, how they are built and installed, and which is in use."""
