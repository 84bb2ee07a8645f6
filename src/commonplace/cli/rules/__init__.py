"""`commonplace rules`: rule files of repositories."""
