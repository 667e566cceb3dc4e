"""Runs a command that dies with the process that started it: `leash.py PARENT SIGNAL UID COMMAND…`.

Run as a script of its own and not as a `preexec_fn`, which may deadlock in a process that has threads (CPython's own
warning in subprocess). On Linux the kernel sends SIGNAL when the parent is gone, kill -9 included (prctl(2),
PR_SET_PDEATHSIG); setting it after the change of user matters, since a change of credentials clears it. Elsewhere the
command runs without it, and a killed parent leaves it behind. Imports nothing of ours: it must start in milliseconds.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
KEEP_USER = -1


def main(parent: int, death_signal: int, uid: int, command: list[str]) -> None:
    if uid != KEEP_USER:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
        if os.getppid() != parent:  # it died before the kernel was asked
            os.kill(os.getpid(), signal.SIGKILL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
