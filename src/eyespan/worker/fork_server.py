"""The other side: a small process that waits for jobs and forks a jailed child for each.

Started by `client` as `python -I -S -c ... FD PATH...`, with nothing of its parent but one socket: its standard streams
lead nowhere, its environment is empty, its session is its own. It imports a task's decoder when the task first comes
(so every later child has it), and never looks into a file itself; only the children do, behind the walls of `jail`.

A job arrives as one framed JSON message with two descriptors: the file and the socket for the answer. On that socket go
`STARTED`, the child's answer, and, when the child is gone, `ENDED` and its wait status. When the other end of it is
closed, nobody wants the answer any more and the child is killed. When the control socket is closed, or the
parent is gone, this process ends, and the kernel ends its children.
"""

from __future__ import annotations

import array
import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

try:
    import fcntl
    import resource
except ImportError:  # Windows: only `once` is of use there
    pass

from eyespan.errors import Missing, ReadError, Unreadable
from eyespan.sandbox import process
from eyespan.sandbox.decoder import DecoderSandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

    Decoder = Callable[[BinaryIO, Mapping[str, Any]], tuple[Mapping[str, Any], list[bytes]]]

STARTED = b"S"
ENDED = b"\xffEND"
_FILE, _ANSWER = 3, 4  # where a child finds its two descriptors
_MOST_FDS = 256


# --- the answer, as it is written and read ---------------------------------------------------------------------------


def pack(head: Mapping[str, Any], blobs: list[bytes] | tuple[()] = ()) -> bytes:
    """What precedes the blobs of an answer: the length of the JSON, then the JSON with the lengths of the blobs."""
    text = json.dumps({**head, "blobs": [len(blob) for blob in blobs]}).encode("ascii")
    return len(text).to_bytes(4, "big") + text


def failure(error: BaseException, task: str) -> dict[str, Any]:
    """An exception of a decoder as the answer tells it."""
    match error:
        case Missing():
            return {"error": "missing", "what": error.what, "install": error.install}
        case Unreadable():
            return {"error": "unreadable", "kind": error.kind, "reason": error.reason}
        case ReadError():
            return {"error": "unreadable", "kind": task, "reason": str(error)}
        case MemoryError():
            return {"error": "memory"}
        case RecursionError():
            return {"error": "unreadable", "kind": task, "reason": "it is nested too deeply"}
    # The text of a library's exception may quote the file; its first words say enough.
    return {"error": "unreadable", "kind": task, "reason": f"the decoder failed: {type(error).__name__}: {error}"[:300]}


# --- one job ----------------------------------------------------------------------------------------------------------


def find(where: str) -> Decoder:
    """The decoder named `module:function`, imported and rehearsed. Raises: ImportError, AttributeError.

    Libraries import modules when they first need them, and behind the walls nothing can be imported: a decoder's module
    may have a `rehearse()` that does once, on data of its own, all that it will do there.
    """
    module, _, name = where.partition(":")
    known = module in sys.modules
    __import__(module)
    decoder: Decoder = getattr(sys.modules[module], name)
    rehearse = getattr(sys.modules[module], "rehearse", None)
    if rehearse is not None and not known:
        rehearse()
    return decoder


def work(decoder: Decoder, task: str, params: Mapping[str, Any], fd: int, answer: int, layers: dict[str, bool]) -> None:
    """Decodes the file behind `fd` and writes the answer. Called behind the walls."""
    try:
        with contextlib.suppress(OSError):
            os.lseek(fd, 0, os.SEEK_SET)
        with open(fd, "rb", buffering=0, closefd=False) as file:
            facts, blobs = decoder(file, params)
        head = pack({"facts": facts, "layers": layers}, blobs)
    except BaseException as error:
        head, blobs = pack({**failure(error, task), "layers": layers}), []
    _write(answer, head)
    for blob in blobs:
        _write(answer, blob)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def nothing(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The decoder behind `layers()`: the walls are put up, and that is all."""
    return {}, []


# --- the process ------------------------------------------------------------------------------------------------------


class _Zygote:
    def __init__(self, control: socket.socket, config: Mapping[str, Any]) -> None:
        self.control = control
        self.decoders: dict[str, str] = {**config["decoders"], "": f"{__name__}:nothing"}
        self.sandbox = DecoderSandbox(memory_bytes=config["memory_bytes"], seconds=config["seconds"])
        self.loaded: dict[str, Decoder] = {}
        self.answers: dict[int, socket.socket] = {}
        """By the child that writes to it."""
        self.poll = select.poll()

    def serve(self, parent: int) -> None:
        wakeup, self._woken = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poll.register(self.control, select.POLLIN)
        self.poll.register(wakeup, select.POLLIN)
        watched = _watch(parent)
        if watched >= 0:
            self.poll.register(watched, select.POLLIN)
        while True:
            for fd, _ in self.poll.poll(None if watched >= 0 else 1000):
                if fd == self.control.fileno():
                    if not self.take():
                        return
                elif fd == wakeup:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wakeup, 4096)
                elif fd == watched:
                    return
                else:
                    self.hang_up(fd)
            self.reap()
            if os.getppid() != parent:
                return

    def take(self) -> bool:
        """Starts the next job; False when there will be none."""
        message, fds = receive(self.control, 2)
        if message is None:
            return False
        if "preload" in message:
            for task in message["preload"]:
                with contextlib.suppress(Exception):
                    self.load(task)
            return True
        file, answer = fds
        with socket.socket(fileno=answer) as channel:
            try:
                decoder = self.load(message["task"])
            except Exception as error:
                self.refuse(channel, {**failure(error, message["task"])})
            else:
                self.start(decoder, message, file, channel)
        os.close(file)
        return True

    def load(self, task: str) -> Decoder:
        if task not in self.loaded:
            self.loaded[task] = find(self.decoders[task])
            gc.collect()
            gc.freeze()  # the children share these pages as long as nobody counts through them
        return self.loaded[task]

    def refuse(self, channel: socket.socket, head: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):
            channel.sendall(STARTED + pack(head) + ENDED + bytes(4))

    def start(self, decoder: Decoder, message: Mapping[str, Any], file: int, channel: socket.socket) -> None:
        with contextlib.suppress(OSError):
            channel.send(STARTED)
        try:
            child = os.fork()
        except OSError as error:
            self.refuse(channel, {"error": "process", "reason": os.strerror(error.errno or 0)})
            return
        if child == 0:
            self.child(decoder, message, file, channel.fileno())
        kept = channel.dup()
        self.answers[child] = kept
        self.poll.register(kept, select.POLLHUP)

    def child(self, decoder: Decoder, message: Mapping[str, Any], file: int, answer: int) -> None:
        """Never returns."""
        status = 1
        try:
            self.sandbox.die_with_parent()
            process.keep_memory()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # A process of a second: looking for garbage in circles after every 700 objects takes a tenth of it.
            gc.set_threshold(100_000, 20, 100)
            layers = self.settle(file, answer)
            work(decoder, message["task"], message["params"], _FILE, _ANSWER, layers)
            status = 0
        finally:
            os._exit(status)

    def settle(self, file: int, answer: int) -> dict[str, bool]:
        """Puts up the walls and lets go of every descriptor but the job's own two."""
        layers = self.sandbox.apply_without_filter()
        above = [fcntl.fcntl(fd, fcntl.F_DUPFD, _ANSWER + 1) for fd in (file, answer)]
        os.dup2(above[0], _FILE)
        os.dup2(above[1], _ANSWER)
        os.closerange(_ANSWER + 1, _MOST_FDS)
        layers["seccomp"] = self.sandbox.install_filter()
        return layers

    def hang_up(self, fd: int) -> None:
        """The one who asked has gone: so does the child."""
        for child, channel in self.answers.items():
            if channel.fileno() == fd:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)

    def reap(self) -> None:
        while self.answers:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            channel = self.answers.pop(child)
            self.poll.unregister(channel)
            with contextlib.suppress(OSError):
                channel.send(ENDED + (status & 0xFFFF).to_bytes(4, "big"), getattr(socket, "MSG_DONTWAIT", 0))
            channel.close()


def receive(control: socket.socket, fds: int) -> tuple[dict[str, Any] | None, list[int]]:
    """The next framed message and its descriptors; None when the other side is gone."""
    room = array.array("i", bytes(4 * fds))
    start, ancillary, _, _ = control.recvmsg(4, socket.CMSG_SPACE(len(room) * room.itemsize))
    if len(start) < 4:
        return None, []
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    for fd in found:
        os.set_inheritable(fd, False)
    left = int.from_bytes(start, "big")
    body = bytearray()
    while left > len(body):
        more = control.recv(left - len(body))
        if not more:
            return None, []
        body += more
    message: dict[str, Any] = json.loads(body)
    return message, list(found)


def _watch(parent: int) -> int:
    """A descriptor that becomes readable when the parent is gone; -1 where there is none."""
    try:
        return os.pidfd_open(parent) if hasattr(os, "pidfd_open") else -1
    except OSError:
        return -1


def main(control_fd: int) -> None:
    """Serves jobs until the control socket closes or the parent is gone."""
    # Few descriptors are ever open here; a low ceiling makes closing all of them in a child cheap.
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FDS, _MOST_FDS))
    with socket.socket(fileno=control_fd) as control:
        config, _ = receive(control, 0)
        if config is not None:
            _Zygote(control, config).serve(config["parent"])
    os._exit(0)


def once(arguments: str) -> None:
    """One job without a fork, for systems that have none: the file is standard input, the answer standard output."""
    job = json.loads(arguments)
    answer = os.dup(1)
    os.dup2(2, 1)
    decoder: Decoder
    try:
        decoder = find({**job["decoders"], "": f"{__name__}:nothing"}[job["task"]])
    except Exception as error:
        _write(answer, pack(failure(error, job["task"])))
        return
    sandbox = DecoderSandbox(memory_bytes=job["memory_bytes"], seconds=job["seconds"])
    work(decoder, job["task"], job["params"], 0, answer, sandbox.apply())
