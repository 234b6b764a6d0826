"""Embedding model files, prepared once for all tests of this folder."""

import os
from pathlib import Path

import pytest

from quinion.embed.local.weights import prepare


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "models"
    prepare(folder)
    return folder
