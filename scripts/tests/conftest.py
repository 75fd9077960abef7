# SPDX-License-Identifier: GPL-2.0
"""What all host tests share: the package in the path, a cache of their own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty build cache for one test."""
    place = tmp_path / "cache"
    monkeypatch.setenv("MEMTB_CACHE", str(place))
    return place
