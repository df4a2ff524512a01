"""A process that reads files for its caller.

It is started without the caller's script, so that a script needs no `if __name__ == "__main__"`. Both send pickled
values through pipes: the caller a workspace, then some paths with options at a time; the process None or the reason why
it cannot start, then the records of each file. The process ends when its input ends, also after its caller was killed.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from eyespan.escape import in_plain_words
from eyespan.extras.bulk.reading import Options, read_file
from eyespan.extras.bulk.record import Record
from eyespan.worker import launch

FILES_AT_ONCE = 8
"""The files of one message, and the objects of a store that one process reads at a time."""
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from eyespan.extras.bulk.worker import main; main()"


class Ended(Exception):
    """The process ended before it answered."""


class BulkWorker:
    """The process, as its caller sees it. Only one thread may use it at a time."""

    def __init__(self, workspace: bytes) -> None:
        """Start the process with a pickled workspace. Raises: ChildProcessError."""
        try:
            self._process = subprocess.Popen(
                [launch.interpreter(), "-X", f"utf8={sys.flags.utf8_mode}", "-c", _CODE, *launch.child_path()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C in the terminal is for the caller alone
            )
            (reason,) = self._exchange(workspace, 1)
            if reason is None:
                return
            self.end()
        except OSError as error:
            reason = in_plain_words(error)
        except Ended:
            reason = f"it ended with status {self._process.returncode}"
        raise ChildProcessError(0, f"a process that reads files cannot be started: {reason}")

    def read(self, paths: list[str], options: Options) -> list[list[Record]]:
        """Return the records of each file. Raises: Ended."""
        return self._exchange(pickle.dumps((paths, options)), len(paths))

    def _exchange(self, data: bytes, count: int) -> list[Any]:
        """Send pickled values and return so many answers. Raises: Ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
            return [pickle.load(self._process.stdout) for _ in range(count)]
        except (EOFError, OSError, pickle.UnpicklingError):
            self.end()
            raise Ended from None

    def close_input(self) -> None:
        """Let the process end."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass  # it has ended, and did not read everything

    def end(self) -> None:
        """End the process."""
        assert self._process.stdout is not None
        self.close_input()
        launch.end(self._process)
        self._process.stdout.close()


def main() -> None:
    """Read files until the input ends."""
    answers = open(os.dup(1), "wb")  # noqa: SIM115 - until the process ends
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints must not mix with the answers
    reason = None
    try:
        try:
            workspace = pickle.load(sys.stdin.buffer)
        except Exception as error:
            reason = in_plain_words(error)
        pickle.dump(reason, answers)
        with ThreadPoolExecutor(FILES_AT_ONCE) as threads:
            while reason is None:
                answers.flush()
                paths, options = pickle.load(sys.stdin.buffer)
                each = threads.map if any(root.is_remote for root in workspace.roots) else map
                for records in each(partial(read_file, workspace, options=options), paths):
                    pickle.dump(records, answers)  # one by one: of local files this process holds the records of one
    except EOFError:
        pass  # the caller needs no more, or has ended
    except BrokenPipeError:
        os.dup2(1, answers.fileno())  # the caller has ended: the rest of the answer goes to the null device
