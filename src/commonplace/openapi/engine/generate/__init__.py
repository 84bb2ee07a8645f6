"""Code generation: a language-neutral model of the API, and one backend per language."""
