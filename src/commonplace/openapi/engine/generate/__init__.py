"""Code generation from API descriptions: a language-neutral reading of the document, and one
backend per language.
"""
