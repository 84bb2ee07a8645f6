"""Vectors of an external model: words never wait, keys arrive sealed, jobs wait for keys."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from files_box import Box, MakeBox

from commonplace.files.assembly import External
from commonplace.files.health import vector_checks
from commonplace.files.indexing.deposit import KeyDeposit
from commonplace.files.indexing.indexer import Indexer
from commonplace.files.postgres_assembly import NoLeader
from commonplace.kernel.settings import FilesIndex, FilesSettings
from commonplace.search.model import KeyNeededError, Partition, Passage
from commonplace.search.semantic.model_http import (
    ModelError,
    ModelKeyRefusedError,
    ModelMalformedError,
    ModelRejectedError,
    ModelUnavailableError,
)
from commonplace.storage.credentials.envelope import Keyring
from commonplace.storage.credentials.handover import (
    CredentialHandover,
    CredentialPurpose,
    CredentialsUnavailableError,
    MemoryEnvelopeStore,
)

KEY, OTHER = "sk-caller-0123456789", "sk-second-0123456789"


class Listener:
    """Records the texts of every file and their key; fails on demand."""

    def __init__(self) -> None:
        self.texts: dict[str, list[str]] = {}
        self.keys: list[str | None] = []
        self.failure: Exception | None = None

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        model_key: str | None,
        *,
        most: int | None = None,
    ) -> int:
        texts = [passage.text for passage in passages]
        if set(texts) - set(self.texts.get(prefix, [])):
            if model_key is None:
                raise KeyNeededError
            self.keys.append(model_key)
            if self.failure is not None:
                raise self.failure
        self.texts[prefix] = texts
        return 0


class Envelopes(MemoryEnvelopeStore):
    """An envelope store in memory that can be unavailable."""

    away: Exception | None = None

    async def put(self, envelopes: Any, ttl_seconds: int) -> None:
        if self.away is not None:
            raise self.away
        await super().put(envelopes, ttl_seconds)

    def flush(self) -> None:
        self._envelopes.clear()

    def __len__(self) -> int:
        return len(self._envelopes)


class World:
    def __init__(self, make_box: MakeBox, **index: int) -> None:
        self.listener, self.envelopes = Listener(), Envelopes()
        handover = CredentialHandover(
            Keyring({1: "a-secret-of-some-length"}), self.envelopes, "cred", 300
        )
        self.settings = FilesSettings(index=FilesIndex(retry_backoff_ms=0, **index))
        self.box: Box = make_box(self.settings, external=External(self.listener, handover, None))
        self.box.model_key = KEY

    @property
    def deposit(self) -> KeyDeposit:
        deposit = self.box.files.service._deposit
        assert deposit is not None
        return deposit

    def state(self) -> tuple[int, int, int]:
        status = self.box.call("file_index_status")
        return status["embedding"], status["waiting_credential"], status["dead"]


@pytest.fixture
def world(make_box: MakeBox) -> World:
    return World(make_box)


@pytest.mark.parametrize(
    "failure", [CredentialsUnavailableError("away"), psycopg.OperationalError("cut off")]
)
def test_a_change_that_is_made_is_not_answered_with_an_error(
    world: World, failure: Exception
) -> None:
    world.envelopes.away = failure
    assert world.box.write("/a", "green walnut")["bytes_written"] == 12
    assert world.box.read("/a") == "green walnut"


def test_a_write_with_a_key_makes_words_and_vectors_and_leaves_no_envelope(world: World) -> None:
    world.box.write("/a", "green walnut")
    assert len(world.envelopes) == 1
    world.box.index()
    assert world.listener.texts == {"/a#": ["green walnut"]}
    assert world.listener.keys == [KEY]
    assert world.state() == (0, 0, 0)
    assert len(world.envelopes) == 0
    assert world.box.rows("SELECT * FROM mcp_file_vector_jobs") == []


def test_a_job_carries_a_reference_and_never_a_key(world: World) -> None:
    world.box.write("/a", "green walnut")
    ((reference,),) = world.box.rows("SELECT credential_ref FROM mcp_file_vector_jobs")
    assert reference.startswith("cred:")
    assert KEY not in str(world.box.rows("SELECT * FROM mcp_file_vector_jobs"))


def test_without_a_key_words_are_found_and_the_next_call_with_one_embeds(world: World) -> None:
    world.box.model_key = None
    world.box.write("/a", "green walnut")
    world.box.index()
    assert world.state() == (0, 1, 0)
    assert world.box.found("walnut") == ["/a"]
    world.box.model_key = OTHER
    world.box.call("file_stat", path="/nothing")
    assert world.state() == (1, 0, 0)
    world.box.index()
    assert world.listener.keys == [OTHER]
    assert world.state() == (0, 0, 0)


def test_a_missing_envelope_makes_its_job_wait(world: World) -> None:
    world.box.write("/a", "green walnut")
    world.envelopes.flush()
    world.box.index()
    world.box.model_key = None
    assert world.state() == (0, 1, 0)


def test_one_call_brings_the_key_to_everything_that_waits(world: World) -> None:
    world.box.model_key = None
    for number in range(30):
        world.box.write(f"/{number}", f"text {number}")
    world.box.index()
    assert world.state() == (0, 30, 0)
    world.box.model_key = KEY
    world.box.call("file_list")
    world.box.index()
    assert len(world.listener.texts) == 30
    assert len(world.envelopes) == 0


def test_a_call_of_another_tenant_brings_no_key(world: World) -> None:
    world.box.model_key = None
    world.box.write("/a", "green walnut")
    world.box.index()
    world.box.model_key = OTHER
    world.box.call("file_list", "t2")
    world.box.index()
    assert world.listener.keys == []


def test_an_unavailable_envelope_store_delays_vectors_but_fails_no_call(world: World) -> None:
    world.envelopes.away = CredentialsUnavailableError("away")
    assert world.box.write("/a", "green walnut")["bytes_written"] == 12
    world.box.index()
    world.envelopes.away = None
    world.box.call("file_list")
    world.box.index()
    assert world.listener.texts == {"/a#": ["green walnut"]}


@pytest.mark.parametrize(
    ("failure", "left"),
    [
        (ModelUnavailableError("down"), (0, 1, 0)),
        (ModelKeyRefusedError("refused"), (0, 1, 0)),
        (ModelRejectedError("never"), (0, 0, 1)),
        (RuntimeError("a defect"), (0, 1, 0)),
    ],
)
def test_the_envelope_is_removed_after_the_last_retry(
    failure: ModelError, left: tuple[int, int, int], make_box: MakeBox
) -> None:
    world = World(make_box, retry_max=2)
    world.listener.failure = failure
    world.box.write("/a", "green walnut")
    world.box.index()
    assert len(world.listener.keys) == (
        3 if left == (0, 1, 0) and not isinstance(failure, ModelKeyRefusedError) else 1
    )
    assert len(world.envelopes) == 0
    world.box.model_key = None
    assert world.state() == left
    assert world.box.found("walnut") == ["/a"]


def test_a_resting_model_is_not_counted_as_a_failure(make_box: MakeBox) -> None:
    world = World(make_box, retry_max=0)
    world.listener.failure = ModelUnavailableError("resting", rest_seconds=3600)
    world.box.write("/a", "green walnut")
    world.box.index()
    assert world.state() == (1, 0, 0)
    assert len(world.envelopes) == 1


def test_a_file_that_changes_again_keeps_its_key(world: World) -> None:
    world.box.write("/a", "one")
    world.box.index()
    world.box.write("/a", "two")
    world.box.model_key = None
    world.box.write("/a", "three")
    world.box.index()
    assert world.listener.texts == {"/a#": ["three"]}


def test_vectors_follow_moved_restored_and_deleted_files(world: World) -> None:
    world.box.write("/d/a", "one")
    world.box.write("/d/b", "two")
    world.box.index()
    world.box.call("file_rename", path="/d", new_path="/e")
    world.box.index()
    assert {key: texts for key, texts in world.listener.texts.items() if texts} == {
        "/e/a#": ["one"],
        "/e/b#": ["two"],
    }
    world.box.call("file_delete", path="/e", recursive=True)
    world.box.model_key = None
    world.box.index()
    assert not any(world.listener.texts.values())
    world.box.model_key = KEY
    world.box.call("file_restore", path="/e")
    world.box.index()
    assert {key: texts for key, texts in world.listener.texts.items() if texts} == {
        "/e/a#": ["one"],
        "/e/b#": ["two"],
    }
    assert world.state() == (0, 0, 0)


def test_a_key_that_arrives_during_its_job_is_not_lost(world: World) -> None:
    """The key arrives after the worker found none and before the job waits."""
    world.box.model_key = None
    world.box.write("/a", "green walnut")
    world.box.index()
    world.box.model_key = KEY
    jobs = world.box.files.service._deposit._jobs  # type: ignore[union-attr]
    run = world.box._loop.run_until_complete
    world.box.change("UPDATE mcp_file_vector_jobs SET status = 'pending'")
    (job,) = run(jobs.claim("worker", 5))
    assert job.credential_ref is None
    world.box.call("file_list")  # deposits
    assert run(jobs.wait(job, "no key", 0.0)) is False
    world.box.index()
    assert world.listener.texts == {"/a#": ["green walnut"]}


def test_an_expired_lease_is_taken_over_and_the_late_worker_changes_nothing(world: World) -> None:
    world.box.write("/a", "green walnut")
    files: Any = world.box.files.service
    words_only = Indexer(files._chunks, files.store, NoLeader())
    assert world.box._loop.run_until_complete(words_only.drain())
    jobs = world.box.files.service._deposit._jobs  # type: ignore[union-attr]
    run = world.box._loop.run_until_complete
    (first,) = run(jobs.claim("first", 5))
    assert run(jobs.claim("second", 5)) == []
    world.box.change("UPDATE mcp_file_vector_jobs SET lease_until = @1@")
    (second,) = run(jobs.claim("second", 5))
    assert second == first
    assert run(jobs.complete(second)) is True
    assert run(jobs.complete(first)) is False


def test_names_that_look_like_others_stay_apart(world: World) -> None:
    """A prefix of a path is not its parent: keys are for the changed path and those below it."""
    for path in ("/a", "/a.b", "/a-b", "/ab"):
        world.box.model_key = None
        world.box.write(path, f"text of {path}")
    world.box.model_key = KEY
    jobs = world.box.files.service._deposit._jobs  # type: ignore[union-attr]
    tenant = world.box.rows("SELECT apikey_hash FROM mcp_files LIMIT 1")[0][0]
    wanting = world.box._loop.run_until_complete(jobs.files_without_key(tenant, ("p", "/a"), 10))
    assert wanting == [("p", "/a")]


def test_purposes_differ_for_every_pair_of_files() -> None:
    places = [CredentialPurpose(t, p, f) for t, p, f in itertools.product("tu", "pq", ("/a", "/b"))]
    assert len(set(places)) == 8


def test_a_refused_key_does_not_keep_another_key_from_being_tried(world: World) -> None:
    world.listener.failure = ModelKeyRefusedError("refused")
    world.box.write("/a", "green walnut")
    world.box.index()
    assert world.state() == (0, 1, 0)
    world.listener.failure = None
    world.box.call("file_list")  # the same key: not before a minute has passed
    assert world.state() == (0, 1, 0)
    world.box.model_key = OTHER
    world.box.call("file_list")
    assert world.state() == (1, 0, 0)
    world.box.index()
    assert world.listener.keys == [KEY, OTHER]
    assert KEY not in str(world.box.rows("SELECT * FROM mcp_file_vector_jobs"))


def test_an_index_that_waits_for_a_key_is_not_up_to_date(world: World) -> None:
    world.box.model_key = None
    world.box.write("/a", "green walnut")
    world.box.index()
    status = world.box.call("file_index_status")
    assert (status["waiting_credential"], status["up_to_date"]) == (1, False)
    world.box.model_key = KEY
    world.box.call("file_list")
    world.box.index()
    assert world.box.call("file_index_status")["up_to_date"] is True


@pytest.mark.parametrize(
    ("keks", "said"),
    [
        ({7: "another-secret-of-length"}, "this process has 7"),
        ({1: "another-secret"}, "the secret of that id"),
    ],
)
def test_an_envelope_that_cannot_be_opened_says_which_key_sealed_it(
    make_box: MakeBox, world: World, keks: dict[int, str], said: str
) -> None:
    """Server and worker have different encryption_keks."""
    world.box.write("/a", "green walnut")
    handover = CredentialHandover(Keyring(keks), world.envelopes, "cred", 300)
    worker = make_box(world.settings, external=External(world.listener, handover, None))
    worker.index()
    world.box.model_key = None
    status = world.box.call("file_index_status")
    (reason,) = status["waiting_reasons"]
    assert (status["waiting_credential"], status["up_to_date"]) == (1, False)
    assert "sealed with key 1" in reason
    assert said in reason
    assert "encryption_keks" in reason
    assert KEY not in reason
    finding = next(
        check
        for check in vector_checks(world.box._loop.run_until_complete(world.deposit.counts()))
        if check["status"] == "warn"
    )
    assert "sealed with key 1" in finding["finding"]
    assert "encryption_keks" in finding["fix"]


def test_malformed_answers_are_retried_and_finally_given_up(make_box: MakeBox) -> None:
    world = World(make_box, retry_max=2)
    world.listener.failure = ModelMalformedError(
        "the embedding model answered without the vectors that were asked for"
    )
    world.box.write("/a", "green walnut")
    world.box.index()
    assert len(world.listener.keys) == 3
    assert world.state() == (0, 0, 1)
    assert len(world.envelopes) == 0
