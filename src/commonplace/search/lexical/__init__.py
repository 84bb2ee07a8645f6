"""Search by words: text analysis, inverted indexes, BM25."""
