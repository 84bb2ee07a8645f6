"""The eight `oas_walk_*` tools: queries over the parts of a document."""
