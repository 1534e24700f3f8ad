"""A demo's data is deleted whole, or not at all."""

from pathlib import Path

import pytest

from holdfast.adapters.embedded import EmbeddedServiceError, EmbeddedValkey
from holdfast.bootstrap.demo.setup import POSTGRES_DIRECTORY, VALKEY_DIRECTORY, erase
from holdfast.bootstrap.settings import Settings


def test_while_one_service_runs_the_other_ones_data_stays(tmp_path: Path) -> None:
    kept = tmp_path / POSTGRES_DIRECTORY / "precious"
    kept.parent.mkdir()
    kept.touch()
    settings = Settings(holdfast_home=str(tmp_path))
    with EmbeddedValkey(tmp_path / VALKEY_DIRECTORY):
        with pytest.raises(EmbeddedServiceError):
            erase(settings)
        assert kept.exists()
    erase(settings)
    assert list(tmp_path.iterdir()) == []
