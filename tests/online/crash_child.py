"""Run by test_crash: forks writers, kills each at a random moment, prints what they had acknowledged as JSON."""

from __future__ import annotations

import json
import os
import random
import signal
import struct
import sys
import time

import numpy as np

from multivalid.online import OnlineMulticalibrator

STREAM = np.random.default_rng(12)
ROWS, LABELS = STREAM.random((200_000, 7)) < 0.4, STREAM.random(200_000)


def write(path: str, mode: str, pipe: int) -> None:
    """Stream for ever; each acknowledged round's number goes into the pipe (after the call has returned)."""
    learner = OnlineMulticalibrator.open(path)
    for number in learner.outstanding:
        learner.tell(number, float(LABELS[number]))
        os.write(pipe, struct.pack("q", number))
    waiting = []
    while True:
        i = learner._next
        if mode == "at once":
            learner.predict_one(ROWS[i])
            learner.learn_one(ROWS[i], float(LABELS[i]))
            os.write(pipe, struct.pack("q", i))
        else:
            waiting.append(learner.ask(ROWS[i]))
            if len(waiting) > 4:
                ticket = waiting.pop((i * 7) % 5)
                learner.tell(ticket, float(LABELS[ticket.id]))
                os.write(pipe, struct.pack("q", ticket.id))


def check(path: str, acknowledged: list[int]) -> None:
    """After a restart: every acknowledged round is there, and none twice."""
    with OnlineMulticalibrator.open(path) as kept:
        told = [number for number, _, _, order, _, _ in kept.history() if order is not None]
        assert len(set(told)) == len(told) == kept.rounds
        assert set(acknowledged) <= set(told)


def main(path: str, mode: str, kills: int, seed: int) -> None:
    random.seed(seed)
    OnlineMulticalibrator.open(path, "quantile:0.9", 7, m=10, seed=3).close()
    acknowledged: list[int] = []
    for _ in range(kills):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                write(path, mode, writer)
            finally:
                os._exit(70)
        os.close(writer)
        time.sleep(random.uniform(0.01, 0.12))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        data = b""
        while part := os.read(reader, 1 << 20):
            data += part
        os.close(reader)
        acknowledged += [n for (n,) in struct.iter_unpack("q", data[: len(data) // 8 * 8])]
        check(path, acknowledged)
    sys.stdout.write(json.dumps(acknowledged))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
