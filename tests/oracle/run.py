#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the library and the command with the definition:
    run.py [--seed S] [--problems N] [--every K] [--seconds T] [--only NUMBER] [--command FILE]

S is the day's unless given. Every K-th degenerate problem, then N random ones, or until T seconds have passed. PYTHONPATH must hold the package cubejit. Problems
are computed in a process of their own: one that dies or takes more than two minutes is a fault, and the next goes on. Ends with 1 if
there is a fault or nothing was compared."""

import argparse
import itertools
import mmap
import multiprocessing
import os
import signal
import struct
import sys
import time
from collections import Counter

SECONDS_EACH = 120


def work(arguments, begin, deadline, at, pipe):
    """Computes problems and tells the pipe of faults; `at` is where it is, for when it dies."""
    from campaign import Campaign  # here, so that what the library does cannot hurt the parent
    campaign = Campaign(arguments.seed, arguments.command)
    edges = len(campaign.edges)
    numbers = [arguments.only] if arguments.only is not None else itertools.chain(
        range(0, edges, arguments.every), range(edges, edges + arguments.problems))
    if begin == 0:
        pipe.send(("about", campaign.about()))
    done = 0
    for number in numbers:
        if number < begin:
            continue
        if time.monotonic() > deadline:
            break
        struct.pack_into("qq", at, 0, number, done)
        signal.alarm(SECONDS_EACH)
        faults = campaign.one(number)
        signal.alarm(0)
        done += 1
        if faults:
            pipe.send(("fault", number, faults))
        if done % 500 == 0:
            campaign.drop_code()
    pipe.send(("done", done, campaign.refused, campaign.by_face))


def say(number, faults, seed):
    print(f"problem {number}: " + "\n    ".join(faults) + f"\n    again: tests/oracle/run.py --seed {seed} --only {number}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int(time.strftime("%Y%m%d")), help="of the day unless given")
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", type=int)
    parser.add_argument("--command", default=os.environ.get("CUBEJIT"))
    arguments = parser.parse_args()
    context = multiprocessing.get_context("fork")
    at = mmap.mmap(-1, 16)
    started = time.monotonic()
    compared, wrong, begin, finished = 0, 0, 0, False
    refused, by_face = Counter(), Counter()
    while not finished:
        receive, send = context.Pipe(duplex=False)
        struct.pack_into("qq", at, 0, -1, 0)
        worker = context.Process(target=work, args=(arguments, begin, started + arguments.seconds, at, send))
        worker.start()
        send.close()
        try:
            while True:
                message = receive.recv()
                if message[0] == "about":
                    print(message[1], flush=True)
                elif message[0] == "fault":
                    wrong += 1
                    say(message[1], message[2], arguments.seed)
                else:
                    compared += message[1]
                    refused += message[2]
                    by_face += message[3]
                    finished = True
        except EOFError:
            worker.join()
        if not finished:
            number, done = struct.unpack_from("qq", at)
            compared += done
            wrong += 1
            code = worker.exitcode
            if number < 0:
                print(f"cannot start: ended with {code}")
                return 1
            say(number, [f"took more than {SECONDS_EACH} seconds" if code == -signal.SIGALRM else f"ended with {code}"], arguments.seed)
            begin = number + 1
    faces = ", ".join(f"{count} {face}" for face, count in by_face.items())
    for message, count in refused.most_common():
        print(f"{count} refused: {message}")
    print(f"seed {arguments.seed}: {compared} problems in {time.monotonic() - started:.0f} s ({faces}), {wrong} with faults, "
          f"{refused.total()} refused")
    return 1 if wrong or compared <= refused.total() else 0


if __name__ == "__main__":
    sys.exit(main())
