"""Embedding model shared by all tests of this folder."""

from pathlib import Path

import pytest

from quinion.embed import LocalEmbedder
from quinion.embed.local.weights import PreparedModel, prepare


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def prepared(cache_dir: Path) -> PreparedModel:
    return prepare(cache_dir)


@pytest.fixture(scope="session")
def embedder(cache_dir: Path, prepared: PreparedModel) -> LocalEmbedder:
    return LocalEmbedder(cache_dir, threads=2)
