"""Tools, the registry, the pipeline that every call runs through, and the error table."""
