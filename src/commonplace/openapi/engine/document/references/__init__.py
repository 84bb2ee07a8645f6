"""References of a document: resolving, inlining, bundling and renaming."""
