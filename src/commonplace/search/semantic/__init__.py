"""Search by meaning: embedding models, vector indexes, rerank models."""
