"""Where compiled loops come from, and that nothing needs them."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from multivalid.kernels import build, library


@pytest.fixture
def fresh() -> Iterator[None]:
    """The library is looked for again in the test and after it."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    library._library.cache_clear()
    library._declared.cache_clear()


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("content", [None, "not a library"])
def test_a_missing_or_broken_library_is_no_library(content: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "kernels.so"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(build, "LIBRARY", path)
    assert not library.available()
    assert library.function("multivalid_replay", []) is None


def test_the_environment_can_ask_for_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(library.SWITCH, "numpy")
    assert not library.available()


def test_numpy_only_ends_with_its_block_even_after_an_error() -> None:
    before = library.available()

    def fails() -> None:
        with library.numpy_only():
            assert not library.available()
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fails()
    assert library.available() == before


def test_without_a_compiler_there_is_a_reason_and_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", str(tmp_path / "no-compiler"))
    assert "no-compiler" in str(build.build(tmp_path / "kernels.so"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.usefixtures("fresh")
def test_a_library_of_other_sources_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(library.SWITCH, raising=False)
    assert build.build(tmp_path / "kernels.so") is None
    assert [p.name for p in tmp_path.iterdir()] == ["kernels.so"]
    monkeypatch.setattr(build, "LIBRARY", tmp_path / "kernels.so")
    assert library.available()
    named = library.function("multivalid_fingerprint", [], ctypes.c_char_p)
    assert named().decode() == build.fingerprint()
    _forget()
    monkeypatch.setattr(build, "fingerprint", lambda: "0123456789abcdef")
    assert not library.available()
