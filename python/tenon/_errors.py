"""What goes wrong, as exceptions; the message is the one that the command or the library gives."""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, Optional, Sequence, Union


class TenonError(Exception):
    """Anything that Tenon refuses or that fails. `status`: the library's status or the command's
    exit status; `details`: more lines, every unsupported op, say."""

    def __init__(self, message: str, status: int = 0, details: Sequence[str] = ()) -> None:
        super().__init__("\n  ".join([message, *details]))
        self.message = message
        self.status = status
        self.details = list(details)


class ConversionError(TenonError):
    """The command did not do what it was asked for."""


class UsageError(ConversionError, ValueError):
    """An option or value that there is not."""


class InputRefused(ConversionError, ValueError):
    """A model or another file is unreadable, malformed or has ops that are not supported."""


class DoesNotFit(ConversionError, MemoryError):
    """The plan needs more memory than the board or a limit gives; the words say what would fit."""


class DeviceError(TenonError, RuntimeError):
    """A device or backend failed."""


# By the exit status of `tenon`.
_OF_EXIT = {2: UsageError, 3: InputRefused, 4: DoesNotFit, 5: DeviceError}


def of_exit(status: int, stderr: str) -> TenonError:
    """The exception for a command that ended with `status` and these words."""
    lines = [line for line in stderr.splitlines() if line]
    first = next((i for i, line in enumerate(lines) if line.startswith("tenon: error: ")), None)
    if first is None:
        message = "\n".join(lines) or f"the command ended with status {status}"
        return ConversionError(message, status)
    details = [line.strip() for line in lines[first + 1:] if line.startswith("  ")]
    kind = _OF_EXIT.get(status, ConversionError)
    return kind(lines[first].removeprefix("tenon: error: "), status, details)


class FileError(TenonError, OSError):
    """A file could not be read. `errno` and `filename` are set where they are known."""

    def __init__(self, message: str, status: int = 0, details: Sequence[str] = (),
                 number: Optional[int] = None, filename: Union[str, bytes, None] = None) -> None:
        super().__init__(message, status, details)
        self.errno = number
        self.strerror = None if number is None else os.strerror(number)
        self.filename = filename

    def __str__(self) -> str:  # the library's words, in which the name is
        return str(self.args[0])

    def __reduce__(self) -> Any:  # what OSError keeps is in no __dict__
        return (type(self), (self.message, self.status, self.details, self.errno, self.filename),
                self.__dict__)


class _NotFound(FileError, FileNotFoundError):
    pass


class _NotPermitted(FileError, PermissionError):
    pass


class _IsADirectory(FileError, IsADirectoryError):
    pass


class _NotADirectory(FileError, NotADirectoryError):
    pass


class _BadArgument(TenonError, ValueError):
    pass


class _NoMemory(TenonError, MemoryError):
    pass


class _TimeOut(TenonError, TimeoutError):
    pass


# By tenon_status (tenon.h).
_OF_STATUS = {1: _BadArgument, 6: _NoMemory, 7: DeviceError, 8: _TimeOut, 9: FileError}
_OF_ERRNO = {errno.ENOENT: _NotFound, errno.EACCES: _NotPermitted, errno.EPERM: _NotPermitted,
             errno.EISDIR: _IsADirectory, errno.ENOTDIR: _NotADirectory}


def of_status(status: int, message: str) -> TenonError:
    """The exception for a call of the library that gave `status`."""
    return _OF_STATUS.get(status, TenonError)(message, status)


def of_file(error: FileError, path: Union[str, bytes]) -> FileError:
    """The same with the system's number, which the library does not pass on: of what opening the
    file meets now."""
    number = None
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if stat.S_ISDIR(os.fstat(file).st_mode):
            number = errno.EISDIR
        os.close(file)
    except OSError as met:
        number = met.errno
    kind = _OF_ERRNO.get(number or 0, FileError)
    return kind(error.message, error.status, error.details, number, path)
