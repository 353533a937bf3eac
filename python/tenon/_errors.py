"""What goes wrong, as exceptions; the message is the one that the command or the library gives."""

from __future__ import annotations

from typing import Sequence


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


class _FileError(TenonError, OSError):
    pass


class _BadArgument(TenonError, ValueError):
    pass


class _NoMemory(TenonError, MemoryError):
    pass


class _TimeOut(TenonError, TimeoutError):
    pass


# By tenon_status (tenon.h).
_OF_STATUS = {1: _BadArgument, 6: _NoMemory, 7: DeviceError, 8: _TimeOut, 9: _FileError}


def of_status(status: int, message: str) -> TenonError:
    """The exception for a call of the library that gave `status`."""
    return _OF_STATUS.get(status, TenonError)(message, status)
