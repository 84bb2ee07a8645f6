"""The symbol index over named SQL: written with a file's chunks, read by name, path or line."""
