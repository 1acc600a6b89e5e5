"""Has a function run in a fork, with the streams and the environment of this process.

`forked_program` appends the call of `main` to this file.
"""

import array
import json
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGTERM, signal.SIGINT)
HELD_BACK = [*FORWARDED, signal.SIGHUP]


def main(path: str, function: str) -> None:
    # A signal that comes before there is a process to send it to waits.
    signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
    with socket.socket(socket.AF_UNIX) as parent:
        parent.connect(path)
        request = {
            "function": function,
            "arguments": sys.argv[1:],
            "environment": dict(os.environ),
            "folder": os.getcwd(),
        }
        streams = array.array("i", [0, 1, 2])
        message = json.dumps(request).encode() + b"\n"
        sent = parent.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
        parent.sendall(message[sent:])
        answers = parent.makefile("r")
        pid = int(answers.readline())
        for each in FORWARDED:
            signal.signal(each, lambda number, _: os.kill(pid, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
        code = int(answers.readline())
    if code < 0:
        if -code != signal.SIGKILL:  # whose action can't be set
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)
