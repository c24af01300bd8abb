"""Many interrupts of `multivalid fit`, each at another moment: `python -m tests.cli.interrupts 200` counts how they end.

The shell's view: a process that ends by the signal itself, before Python has begun, counts as 130 as well.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.cli.conftest import flights

ROOT = str(Path(__file__).parents[2])
WORDS = ["fit", "big.csv", "--label", "delay", "--prediction", "p", "--groups", "origin", "--groups", "cross:origin,hour",
         "--mode", "theorem", "--model", "m.json", "--report", "r.html"]  # fmt: skip


def started(folder: Path) -> subprocess.Popen[bytes]:
    (folder / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": ROOT, "TMPDIR": str(folder / "tmp")}
    line = [sys.executable, "-m", "multivalid.cli.main", *WORDS]
    return subprocess.Popen(line, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def interrupted(folder: Path, after: float) -> str:
    """How a fit ends that is interrupted after so many seconds."""
    running = started(folder)
    time.sleep(after)
    running.send_signal(signal.SIGINT)
    code = running.wait(timeout=60)
    left = [path.name for path in (*folder.glob("m.json*"), *folder.glob("r.*"), *(folder / "tmp").iterdir())]
    for path in (*folder.glob("m.json*"), *folder.glob("r.*")):
        path.unlink()
    return f"{130 if code == -signal.SIGINT else code}{', left ' + ' '.join(left) if left else ''}"


if __name__ == "__main__":
    times, rng = int(sys.argv[1]), random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        flights(20_000).to_csv(place / "big.csv", index=False)
        began = time.monotonic()
        assert started(place).wait() == 0
        whole = time.monotonic() - began
        for path in (place / "m.json", *place.glob("r.*")):
            path.unlink()
        ends: Counter[str] = Counter()
        for done in range(1, times + 1):
            ends[interrupted(place, rng.uniform(0.02, 0.8) * whole)] += 1
            if done % 20 == 0 or done == times:
                print(f"a whole fit takes {whole:.1f} s; {done} interrupted: {dict(ends)}", flush=True)
