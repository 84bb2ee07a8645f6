"""Vector files: exact results, only new text embedded, readers, crashes, compaction."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commonplace.search.model import Partition, Passage
from commonplace.search.semantic.vector import StaleVectorsError, VectorIndex
from commonplace.search.semantic.vector_file import VectorFileError
from word_embedder import WordEmbedder

HERE = Partition("tenant-a", "files", "demo")


def passage(key: str, text: str) -> Passage:
    return Passage(key, text, hashlib.sha256(text.encode()).hexdigest()[:16])


def filled(folder: Path, count: int = 40, **options: int) -> tuple[VectorIndex, WordEmbedder]:
    embedder = WordEmbedder()
    index = VectorIndex(folder, embedder, **options)
    for number in range(count):
        index.synchronise_now(
            HERE,
            f"/f{number}#",
            [
                passage(f"/f{number}#0", f"topic{number} shared"),
                passage(f"/f{number}#1", f"other{number}"),
            ],
        )
    return index, embedder


def test_the_nearest_passage_comes_first_with_its_cosine(tmp_path: Path) -> None:
    index, embedder = filled(tmp_path)
    found = index.search(HERE, embedder.embed_query("topic7 shared"), 5)
    assert next(iter(found.cosines)) == "/f7#0"
    assert found.cosines["/f7#0"] == pytest.approx(1.0, abs=0.01)
    assert len(found.cosines) == 5
    assert found.rows == 80


def test_cosines_of_asked_keys_are_returned_wherever_they_rank(tmp_path: Path) -> None:
    index, embedder = filled(tmp_path)
    found = index.search(HERE, embedder.embed_query("topic7 shared"), 1, also=["/f3#1", "/unknown"])
    assert set(found.cosines) == {"/f7#0", "/f3#1"}


def test_only_new_text_is_embedded(tmp_path: Path) -> None:
    index, embedder = filled(tmp_path, 3)
    embedder.embedded.clear()
    index.synchronise_now(
        HERE, "/f1#", [passage("/f1#0", "topic1 shared"), passage("/f1#1", "changed")]
    )
    assert embedder.embedded == ["changed"]
    index.synchronise_now(HERE, "/renamed#", [passage("/renamed#0", "topic1 shared")])
    assert embedder.embedded == ["changed"]
    assert index.search(HERE, embedder.embed_query("topic1 shared"), 2).cosines.keys() == {
        "/f1#0",
        "/renamed#0",
    }


def test_removed_passages_are_not_found(tmp_path: Path) -> None:
    index, embedder = filled(tmp_path, 3)
    index.synchronise_now(HERE, "/f1#", [])
    found = index.search(HERE, embedder.embed_query("topic1 shared"), 10)
    assert not any(key.startswith("/f1#") for key in found.cosines)
    assert found.rows == 4


def test_synchronising_twice_changes_nothing(tmp_path: Path) -> None:
    index, _ = filled(tmp_path, 2)
    before = index.status(HERE)
    assert (
        index.synchronise_now(
            HERE, "/f1#", [passage("/f1#0", "topic1 shared"), passage("/f1#1", "other1")]
        )
        == 0
    )
    assert index.status(HERE) == before


def test_a_prefix_limits_the_result(tmp_path: Path) -> None:
    index, embedder = filled(tmp_path, 12)
    found = index.search(HERE, embedder.embed_query("topic7 shared"), 50, prefix="/f1")
    assert set(found.cosines) == {f"/f{n}#{part}" for n in (1, 10, 11) for part in (0, 1)}


def test_partitions_do_not_see_each_other(tmp_path: Path) -> None:
    index, embedder = filled(tmp_path, 2)
    other = Partition("tenant-b", "files", "demo")
    assert index.search(other, embedder.embed_query("topic1 shared"), 5).cosines == {}
    index.synchronise_now(other, "/x#", [passage("/x#0", "topic1 shared")])
    assert set(index.search(other, embedder.embed_query("topic1 shared"), 5).cosines) == {"/x#0"}


def test_another_process_reads_what_this_one_writes(tmp_path: Path) -> None:
    index, _ = filled(tmp_path, 3)
    script = (
        "import sys; sys.path[:0] = sys.argv[2:]; from pathlib import Path; from "
        "word_embedder import WordEmbedder; from test_vector import *\n"
        "e = WordEmbedder(); i = VectorIndex(Path(sys.argv[1]), e)\n"
        "print(next(iter(i.search(HERE, e.embed_query('topic2 shared'), 1).cosines)))\n"
    )
    command = [
        sys.executable,
        "-c",
        script,
        str(tmp_path),
        str(Path(__file__).parent),
        str(Path(__file__).parents[3]),
    ]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        == "/f2#0"
    )
    assert index.status(HERE) is not None


def test_a_reader_follows_a_writer_by_itself(tmp_path: Path) -> None:
    writer, embedder = filled(tmp_path, 3)
    reader = VectorIndex(tmp_path, WordEmbedder())
    assert reader.search(HERE, embedder.embed_query("topic1 shared"), 1).rows == 6
    writer.synchronise_now(HERE, "/new#", [passage("/new#0", "brandnew")])
    assert set(reader.search(HERE, embedder.embed_query("brandnew"), 1).cosines) == {"/new#0"}


def test_a_torn_journal_line_is_ignored_and_written_over(tmp_path: Path) -> None:
    _, embedder = filled(tmp_path, 3)
    journal = next(tmp_path.rglob("*.journal"))
    with journal.open("ab") as file:
        file.write(b'{"k":"/torn#0","d":"x","r":6')
    again = VectorIndex(tmp_path, embedder)
    assert again.search(HERE, embedder.embed_query("topic1 shared"), 50).rows == 6
    again.synchronise_now(HERE, "/new#", [passage("/new#0", "brandnew")])
    assert (
        VectorIndex(tmp_path, embedder).search(HERE, embedder.embed_query("brandnew"), 50).rows == 7
    )


@pytest.mark.parametrize("broken", ["*.journal", "current"])
@pytest.mark.parametrize("content", [b"", b"not json\n", b"{}\n"])
def test_corrupt_files_are_an_error_and_the_next_write_starts_again(
    tmp_path: Path, broken: str, content: bytes
) -> None:
    _, embedder = filled(tmp_path, 3)
    next(tmp_path.rglob(broken)).write_bytes(content)
    again = VectorIndex(tmp_path, embedder)
    with pytest.raises(VectorFileError):
        again.search(HERE, embedder.embed_query("topic1 shared"), 1)
    again.synchronise_now(HERE, "/new#", [passage("/new#0", "brandnew")])
    assert set(again.search(HERE, embedder.embed_query("brandnew"), 5).cosines) == {"/new#0"}


def test_vectors_of_another_model_are_never_compared(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    newer = WordEmbedder(identity="fake/2")
    index = VectorIndex(tmp_path, newer)
    status = index.status(HERE)
    assert status is not None
    assert status.stale
    with pytest.raises(StaleVectorsError):
        index.search(HERE, newer.embed_query("topic1 shared"), 1)
    index.synchronise_now(HERE, "/f1#", [passage("/f1#0", "topic1 shared")])
    assert set(index.search(HERE, newer.embed_query("topic1 shared"), 5).cosines) == {"/f1#0"}


def test_compaction_keeps_live_rows_and_readers_follow(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    index = VectorIndex(tmp_path, embedder)
    reader = VectorIndex(tmp_path, embedder)
    index.synchronise_now(HERE, "/keep#", [passage(f"/keep#{n}", f"kept{n}") for n in range(50)])
    assert reader.search(HERE, embedder.embed_query("kept1"), 1).rows == 50
    for turn in range(2):
        index.synchronise_now(
            HERE, "/churn#", [passage(f"/churn#{n}", f"churn{turn}x{n}") for n in range(1100)]
        )
    index.synchronise_now(HERE, "/churn#", [])
    status = index.status(HERE)
    assert status is not None
    assert (status.rows, status.dead) == (50, 0)
    assert status.generation > 1
    assert next(iter(reader.search(HERE, embedder.embed_query("kept7"), 1).cosines)) == "/keep#7"
    assert len(list(tmp_path.rglob("*.matrix"))) == 1


def test_clearing_a_partition_removes_its_files(tmp_path: Path) -> None:
    index, embedder = filled(tmp_path, 2)
    index.clear(HERE)
    assert index.search(HERE, embedder.embed_query("topic1 shared"), 1).rows == 0
    assert not list(tmp_path.rglob("*.matrix"))


def test_the_approximate_index_finds_98_percent_of_the_exact_neighbours(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    embedder = WordEmbedder()
    words = [f"w{n}" for n in range(400)]
    texts = [" ".join(chance.choice(words, 6)) for _ in range(4000)]
    approximate = VectorIndex(tmp_path, embedder, ann_rows=1000)
    exact = VectorIndex(tmp_path, embedder)
    approximate.synchronise_now(
        HERE, "/a#", [passage(f"/a#{n}", text) for n, text in enumerate(texts[:3600])]
    )
    approximate.wait()
    approximate.synchronise_now(
        HERE, "/b#", [passage(f"/b#{n}", text) for n, text in enumerate(texts[3600:])]
    )
    approximate.synchronise_now(
        HERE, "/a#", [passage(f"/a#{n}", text) for n, text in enumerate(texts[:3600]) if n % 9]
    )
    kept = []
    for _ in range(40):
        query = embedder.embed_query(" ".join(chance.choice(words, 4)))
        near, reference = approximate.search(HERE, query, 30), exact.search(HERE, query, 30)
        assert not near.exact
        assert reference.exact
        kept.append(len(near.cosines.keys() & reference.cosines.keys()) / len(reference.cosines))
    approximate.close()
    assert np.mean(kept) >= 0.98


def test_a_process_exits_cleanly_and_soon_during_an_index_build(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
import numpy as np
from commonplace.search.model import Partition, Passage
from commonplace.search.semantic.vector import VectorIndex

class Chance:
    identity, dimensions = "chance/1", 384
    def embed(self, texts):
        vectors = np.random.default_rng(1).normal(size=(len(texts), 384)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

index = VectorIndex(Path(sys.argv[1]), Chance(), ann_rows=1000)
index.synchronise_now(Partition("t", "c", ""), "", [Passage(f"k{n}", f"text {n}", f"d{n}") for n in
range(12_000)])
assert index._approximate._builders[0].is_alive()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
