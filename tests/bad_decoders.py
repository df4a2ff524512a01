"""Decoders that misbehave. Only the table of `bad_worker` names them."""

import ctypes
import os
import resource
import signal
import socket
import time

from eyespan.errors import Missing, Unreadable


def echo(file, params):
    data = file.read()
    return {"params": params, "size": len(data)}, [data, b"", b"second"]


def crash(file, params):
    ctypes.string_at(0)


def abort(file, params):
    os.abort()


def leave(file, params):
    os._exit(3)


def loop(file, params):
    while True:
        pass


def sleep(file, params):
    time.sleep(60)


def nap(file, params):
    time.sleep(1)
    return {"slept": 1}, []


def drip(file, params):
    while True:
        os.write(4, b".")
        time.sleep(0.01)


def eat(file, params):
    blocks = []
    while True:
        blocks.append(bytearray(16 << 20))


def nibble(file, params):
    """Leaves no memory for the report."""
    block = []
    while True:
        block = [block, bytes(400)]


def flood(file, params):
    return {}, [bytes(1 << 20)] * 40


def deep(file, params):
    return deep(file, params)


def refuse(file, params):
    raise Unreadable("", kind="image", reason="it is not to my taste")


def lacks(file, params):
    raise Missing("", what="reading this", install="pip install that")


def odd(file, params):
    raise KeyError("\udcff")


def lie(file, params):
    os.write(4, params["answer"].encode("latin-1"))
    os._exit(0)


def environment(file, params):
    return {"names": sorted(os.environ), "files": sorted(_open_files()), "directory": os.getcwd()}, []


def _open_files():
    found = []
    for fd in range(256):
        try:
            os.get_inheritable(fd)
        except OSError:
            continue
        found.append(fd)
    return found


def attempts(file, params):
    """Try everything that a decoder must not be able to do; return the names of what succeeded."""
    libc = ctypes.CDLL(None, use_errno=True)
    tries = {
        "open": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "open root": lambda: os.open("/", os.O_RDONLY),
        "create": lambda: os.open(params["directory"] + "/made", os.O_CREAT | os.O_WRONLY),
        "stat": lambda: os.stat("/etc/passwd"),
        "readlink": lambda: os.readlink("/proc/self/exe"),
        "list": lambda: os.listdir("/"),
        "internet socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "unix socket": lambda: socket.socket(socket.AF_UNIX),
        "pair": lambda: socket.socketpair(),
        "fork": lambda: os.fork() or os._exit(0),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "signal parent": lambda: os.kill(os.getppid(), 0),
        "signal caller": lambda: os.kill(params["pid"], 0),
        "memfd": lambda: os.memfd_create("x"),
        "chmod file": lambda: os.fchmod(file.fileno(), 0o777),
        "change times": lambda: os.utime(file.fileno()),
        "raise limit": lambda: _raise_limit(),
        "stop the clock": lambda: signal.setitimer(signal.ITIMER_REAL, 0),
        "ptrace": lambda: _raise_on_error(libc.ptrace(16, params["pid"], 0, 0)),
        "prctl": lambda: _raise_on_error(libc.prctl(1, 0, 0, 0, 0)),
        "unshare": lambda: _raise_on_error(libc.unshare(0x10000000)),
    }
    worked = []
    for name, act in tries.items():
        if name in params.get("skip", ()):
            continue
        try:
            act()
        except OSError:
            continue
        except ValueError:  # raised by setrlimit
            continue
        worked.append(name)
    return {"worked": worked}, []


def _raise_limit():
    _soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))


def _raise_on_error(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
