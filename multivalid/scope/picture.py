"""The small picture of a certificate: a level set left in the middle of a segment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from multivalid.errors import InputError
from multivalid.scope.certificate import Counterexample, segment
from multivalid.scope.evaluate import label_of

KINDS = (".png", ".svg", ".pdf")


def draw(certificate: Counterexample, path: Path) -> Path:
    """Write the picture to `path` (.png, .svg or .pdf); the file appears whole or not at all."""
    if path.suffix.lower() not in KINDS:
        raise InputError(f"path must end in one of {', '.join(KINDS)}, got {str(path)!r}.")
    # The figure is made without pyplot: no global state, no display needed.
    from matplotlib.figure import Figure

    shares, values = segment(certificate)
    figure = Figure(figsize=(4.5, 3.0), layout="constrained")
    axes = figure.subplots()
    axes.plot(shares, values, color="#1f4e79")
    axes.axhline(certificate.value, color="#888888", linewidth=1, linestyle="--")
    axes.plot([0, 1], [certificate.value] * 2, "o", color="#1f4e79")
    axes.plot([certificate.weight], [certificate.mixture_value], "o", color="#c00000")
    axes.annotate(
        f"{certificate.mixture_value:.4g}",
        (certificate.weight, certificate.mixture_value),
        xytext=(6, 6),
        textcoords="offset points",
    )
    axes.set(xlabel="share of the first law in the mixture", ylabel="value", title=label_of(certificate.functional))
    handle, name = tempfile.mkstemp(suffix=path.suffix, dir=path.resolve().parent)
    os.close(handle)
    try:
        figure.savefig(name, dpi=150)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path
