"""Exceptions. Every one is a :class:`ManxError`; its text is one line."""

from __future__ import annotations

__all__ = ["InputError", "ManxError", "RunError"]


class ManxError(Exception):
    """Base of every exception of this package."""


class InputError(ManxError, ValueError):
    """What was asked for cannot be done: nothing was run.

    Each attribute is None where it does not apply.
    """

    #: The file that is wrong.
    file: str | None
    #: The line of that file, from 1.
    line: int | None
    #: The key of the scenario, such as ``gc.soft``.
    key: str | None
    #: The value that is not allowed, as text.
    value: str | None
    #: What is allowed instead, in words.
    allowed: str | None
    #: The key that may have been meant.
    nearest: str | None

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str | None = None,
        value: str | None = None,
        allowed: str | None = None,
        nearest: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.key = key
        self.value = value
        self.allowed = allowed
        self.nearest = nearest

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (type(self), self.args, self.__dict__))


class RunError(ManxError, RuntimeError):
    """The input is right and the work failed: a file cannot be written, a result shows a defect."""


def _restored(
    kind: type[InputError], args: tuple[str], attributes: dict[str, object]
) -> InputError:
    error = kind(*args)
    error.__dict__.update(attributes)
    return error
