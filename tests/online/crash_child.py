"""Run by test_crash: forks writers, kills each at a random moment, prints what they had acknowledged as JSON."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import struct
import sys
import time

import numpy as np

import multivalid as mv
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


def watch(path: str, pipe: int) -> None:
    """The same for a monitor; each round kept is acknowledged."""
    monitor = mv.Monitor.open(path)
    while True:
        i = monitor.rounds
        monitor.update(ROWS[i], LABELS[i], LABELS[i] > 0.6)
        os.write(pipe, struct.pack("q", i))


def check(path: str, mode: str, acknowledged: list[int]) -> None:
    """After a restart: every acknowledged round is there, and none twice."""
    if mode == "monitor":
        with mv.Monitor.open(path) as kept:
            assert len(set(acknowledged)) == len(acknowledged)
            assert set(acknowledged) <= set(range(kept.rounds))
        return
    with OnlineMulticalibrator.open(path) as kept:
        told = [number for number, _, _, order, _, _ in kept.history() if order is not None]
        assert len(set(told)) == len(told) == kept.rounds
        assert set(acknowledged) <= set(told)


def main(path: str, mode: str, kills: int, seed: int) -> None:
    random.seed(seed)
    if mode == "monitor":
        mv.Monitor.open(path, "mean", 7, window=50).close()
    else:
        OnlineMulticalibrator.open(path, "quantile:0.9", 7, m=10, seed=3).close()
    acknowledged: list[int] = []
    for kill in range(kills):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                if mode == "monitor":
                    watch(path, writer)
                write(path, mode, writer)
            finally:
                os._exit(70)
        os.close(writer)
        if kill % 2:  # every other one while it writes, however slow the machine is; the rest at any moment, its start included
            select.select([reader], [], [], 60.0)
        time.sleep(random.uniform(0.001, 0.12))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        data = b""
        while part := os.read(reader, 1 << 20):
            data += part
        os.close(reader)
        acknowledged += [n for (n,) in struct.iter_unpack("q", data[: len(data) // 8 * 8])]
        check(path, mode, acknowledged)
    sys.stdout.write(json.dumps(acknowledged))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
