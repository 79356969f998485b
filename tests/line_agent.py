"""A little program that speaks the agent's line protocol, as a stand-in for the real one.

``python line_agent.py [FAULT]`` answers ``ping``, echoes words, and misbehaves on request.
"""

import json
import os
import sys
import time
from urllib.parse import unquote


def say(event: str, **values: object) -> None:
    print(json.dumps({"event": event, **values}), flush=True)


def main() -> int:
    say("ready", protocol=1, pid=os.getpid(), hostname=os.uname().nodename)
    for line in sys.stdin:
        verb, *words = line.rstrip("\n").split(" ")
        given = dict(word.split("=", 1) for word in words)
        match verb:
            case "ping":
                say("pong", t_ns=time.monotonic_ns())
            case "echo":
                # as text that the table of answers leaves as it is
                words = {key: unquote(value) for key, value in given.items()}
                say("error", message=json.dumps(words))
            case "nonsense":
                print("Segmentation fault", flush=True)
            case "list":
                print("[1, 2]", flush=True)
            case "nan":
                print('{"event": "pong", "t_ns": NaN}', flush=True)
            case "latin":
                sys.stdout.buffer.write(b'{"event": "\xe9"}\n')
                sys.stdout.buffer.flush()
            case "long":
                print("x" * int(given["size"]), end="", flush=True)
            case "cut":
                print('{"event": "po', end="", flush=True)
                return 0
            case "die":
                print("first reason\nlast reason", file=sys.stderr, flush=True)
                os._exit(int(given["status"]))
            case "complain":
                sys.stderr.write("c" * int(given["size"]))
                sys.stderr.flush()
                say("alive")
            case "deaf":
                time.sleep(60)
            case "quit":
                return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
