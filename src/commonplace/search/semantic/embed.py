"""Embedders: texts to vectors.

The local one needs an ONNX file and a tokenizer, no torch and no network. It loads in the
background on first use, is unloaded when idle, uses a bounded number of threads, and reports why it
cannot work. It embeds one text per run: on a CPU that is as fast as a padded batch, and the vector
of a text then never depends on its neighbours (int8 activations share one scale per run).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from commonplace.kernel.lru import LruCache
from commonplace.search.languages import detect_language
from commonplace.search.semantic.bulk import BulkThreads
from commonplace.search.semantic.encoder import WORD_LETTERS, Encoder

if TYPE_CHECKING:
    from commonplace.search.model import Vectors

BULK_TEXTS = 32  # embedded at a time by a bulk job; between batches other jobs get a turn
_CACHED_QUERIES = 256
_DESCRIPTION = "model.json"
# letters per token: the vocabulary spells such a script letter by letter
_SHATTERED = 1.5
UNREAD_BELOW = 0.05  # a text that is read less has no vector
_FOREIGN = 0.25  # of the evidence, for a text in another language of the same script


class EmbedderUnavailableError(Exception):
    """The model cannot embed now. The message says why and what to do; callers go on without."""


class Embedder(Protocol):
    """Texts to unit vectors. Blocking: call it from a worker thread."""

    @property
    def identity(self) -> str:
        """Return a name that changes with the vectors; two identities are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors: ...

    def embed_query(self, text: str) -> Vectors: ...


@runtime_checkable
class ReadsOneLanguage(Protocol):
    """An embedder that can say how well it reads a text."""

    def legibility(self, text: str) -> float: ...


def legibility(embedder: Embedder, text: str) -> float:
    """Return how well an embedder reads a text, from 0 to 1; 1 if it does not say."""
    return embedder.legibility(text) if isinstance(embedder, ReadsOneLanguage) else 1.0


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """`model.json` of an installed model."""

    name: str
    identity: str
    dimensions: int
    max_tokens: int
    precision: str
    source: str
    licence: str
    files: dict[str, str]  # name -> SHA-256
    language: str = "en"  # the only one it was trained on; empty: several or unknown
    tokenizer: str = "tokenizers"  # or "unigram": our own, for large vocabularies
    query_prefix: str = ""  # what the model was trained to see before a question
    passage_prefix: str = ""
    parts: tuple[str, ...] = ()  # names of installed models whose vectors are joined

    @classmethod
    def read(cls, folder: Path) -> ModelDescription:
        path = folder / _DESCRIPTION
        try:
            stored = json.loads(path.read_text("utf-8"))
            return cls(**{**stored, "parts": tuple(stored.get("parts", ()))})
        except FileNotFoundError:
            raise EmbedderUnavailableError(
                f"No model is installed as {folder.name!r}; run: commonplace models install"
            ) from None
        except (ValueError, TypeError) as error:
            raise EmbedderUnavailableError(
                f"{path} cannot be read ({error}); run: commonplace models install --force"
            ) from error


class LocalEmbedder:
    """A sentence encoder in a folder made by `models install`. Thread-safe."""

    def __init__(
        self,
        folder: Path,
        threads: int = 1,
        idle_seconds: float = 600.0,
        load_wait_seconds: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.description = ModelDescription.read(folder)
        self._folder = folder
        self._idle_seconds = idle_seconds
        self._load_wait_seconds = load_wait_seconds
        self._clock = clock
        self._state = threading.Condition()
        self._model: Encoder | None = None
        self._failure: str | None = None
        self._loading = False
        self._loader: threading.Thread | None = None
        self._closed = False
        self._timer: threading.Timer | None = None
        self._used_at = clock()
        self._bulk = BulkThreads(threads)  # queries run beside it
        self._queries: LruCache[str, Vectors] = LruCache(_CACHED_QUERIES)
        self._asked: dict[str, Future[Vectors]] = {}  # queries that are being embedded
        self._asking = threading.Lock()

    @property
    def identity(self) -> str:
        return self.description.identity

    @property
    def dimensions(self) -> int:
        return self.description.dimensions

    @property
    def state(self) -> str:
        """Return `ready`, `loading`, `idle` (loads on use) or `failed: why`."""
        with self._state:
            if self._failure is not None:
                return f"failed: {self._failure}"
            return "ready" if self._model is not None else "loading" if self._loading else "idle"

    def warm(self) -> None:
        """Start to load in the background; return at once."""
        with self._state:
            if self._model is not None or self._loading or self._closed:
                return
            self._loading, self._failure = True, None
            self._loader = threading.Thread(target=self._load, name="load-embedder", daemon=True)
            self._loader.start()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors; a text in a script that the model does not read gets zeros.

        Its cosine is then 0 with everything, so that it is ranked by its words.
        """
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), BULK_TEXTS):
            model = self._acquire()
            encoded = model.encode(
                texts[start : start + BULK_TEXTS], self.description.passage_prefix
            )
            vectors[start : start + len(encoded)] = self._bulk.map(model.run, encoded, len)
        for at, text in enumerate(texts):
            if not text.isascii() and self._share_read(text) < UNREAD_BELOW:
                vectors[at] = 0
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a query; wait if another thread is embedding the same text."""
        known = self._queries.get(text)
        if known is not None:
            return known
        with self._asking:
            asked = self._asked.get(text)
            is_first = asked is None
            if asked is None:
                asked = self._asked[text] = Future()
        if not is_first:
            return asked.result()
        try:
            vector = self._run_query(text)
        except BaseException as error:
            asked.set_exception(error)
            raise
        else:
            self._queries.put(text, vector)
            asked.set_result(vector)
            return vector
        finally:
            with self._asking:
                del self._asked[text]

    def _run_query(self, text: str) -> Vectors:
        self._bulk.note_query()
        model = self._acquire()
        vector: Vectors = model.run(model.encode([text], self.description.query_prefix)[0])
        vector.setflags(write=False)
        return vector

    def legibility(self, text: str) -> float:
        """Return how well the model reads a text, judged by the length of its tokens.

        A vocabulary has the words of the language it was made for. Words of other languages fall
        into pieces, and their vectors carry less meaning; a script that falls into single letters
        has vectors without meaning, however near they are to each other. A text whose common words
        are of another language counts for less, even if its tokens are long.
        """
        read = self._share_read(text)
        if self.description.language != "en" or detect_language(text, text.split()) is None:
            return read
        return read * _FOREIGN

    def _share_read(self, text: str) -> float:
        """Return how much of a text the vocabulary has in more than single letters, 0 to 1."""
        if self.description.language != "en":
            return 1.0
        letters = self._acquire().letters_per_token(text)
        return min(1.0, max(0.0, (letters - _SHATTERED) / (WORD_LETTERS - _SHATTERED))) ** 2

    def unload_if_idle(self) -> bool:
        """Unload the model if it was not used for `idle_seconds`; the next use loads it again.

        A timer calls it.
        """
        with self._state:
            if self._model is None or self._clock() - self._used_at < self._idle_seconds:
                return False
            self._model = None
            return True

    def close(self) -> None:
        with self._state:
            self._closed, self._model = True, None
            if self._timer is not None:
                self._timer.cancel()
            self._state.notify_all()
        self._bulk.close()
        if self._loader is not None:
            # threads of the runtime abort the process if the interpreter ends first
            self._loader.join()

    def _watch(self) -> None:
        """Check again after a while, until the model is unloaded."""
        if self.unload_if_idle():
            return
        with self._state:
            if not self._closed and self._model is not None:
                self._timer = threading.Timer(self._idle_seconds / 2, self._watch)
                self._timer.daemon = True
                self._timer.start()

    def _acquire(self) -> Encoder:
        self.warm()
        with self._state:
            self._used_at = self._clock()
            done = self._state.wait_for(
                lambda: self._model or self._failure or self._closed, self._load_wait_seconds
            )
            if self._model is not None:
                return self._model
            if self._failure is not None:
                raise EmbedderUnavailableError(self._failure)
            raise EmbedderUnavailableError(
                "The embedding model is closed."
                if done
                else "The embedding model is still loading."
            )

    def _load(self) -> None:
        model, failure = None, None
        try:
            model = Encoder(
                self._folder,
                self.description.max_tokens,
                unigram=self.description.tokenizer == "unigram",
            )
        except ImportError as error:
            failure = f"{error.name or error} is not installed; install commonplace[embeddings]"
        # broken file, unsupported CPU, out of memory: reported by `state`; search continues
        except Exception as error:
            failure = f"{type(error).__name__}: {error}; run: commonplace models check"
        with self._state:
            self._loading = False
            self._model = None if self._closed else model
            self._failure = failure
            self._used_at = self._clock()
            self._state.notify_all()
        self._watch()
