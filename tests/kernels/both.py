"""A fixture that runs a test twice: on the compiled loops, where there are any, and on their NumPy twins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from multivalid.kernels import library


@pytest.fixture(params=["compiled", "NumPy"])
def loop(request: pytest.FixtureRequest) -> Iterator[str]:
    """Either loop; without a library the compiled one is skipped."""
    if request.param == "NumPy":
        with library.numpy_only():
            yield request.param
    elif library.available():
        yield request.param
    else:
        pytest.skip("no compiled loops: there was no C compiler when the package was installed")
