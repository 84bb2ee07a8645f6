"""Search of whole texts in memory: words, parts of words, typos, meaning of their passages."""
