"""Who must act? One exception class per person who can mend the situation, and the published table of provider errors.

A violation is a value (`Verdict`), never an exception.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class KnownstateError(Exception):
    """An error a person can act on. `what` happened, `where`, and what to do `next`; `exit_code` as in DESIGN section 7."""

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.next_step = next_step

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.append(f"Where: {self.where}.")
        if self.next_step:
            parts.append(f"Next: {self.next_step}")
        return " ".join(parts)


class UsageError(KnownstateError):
    """You wrote the scenario, the schedule line or the options; something in them cannot be used."""


class CandidateError(KnownstateError):
    """The system under test misbehaves outside the contract (cannot be imported, malformed answer)."""


class EnvironmentMissing(KnownstateError):
    """A server, a port, a program or a permission is missing on this machine."""

    exit_code = 4


class HarnessBug(KnownstateError):
    """Ours: the verdict is void."""

    exit_code = 3


class Certainty(StrEnum):
    """What a caller may conclude about its request. `definite`: it had no effect. `indefinite`: it may have had one."""

    DEFINITE = "definite"
    INDEFINITE = "indefinite"


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """One row of the error table: a code a caller can see, its HTTP status (0: no answer at all), and what it allows to conclude."""

    code: str
    status: int
    certainty: Certainty
    statement: str


_D, _I = Certainty.DEFINITE, Certainty.INDEFINITE

ERRORS: dict[str, ErrorSpec] = {
    row.code: row
    for row in (
        ErrorSpec("timeout", 0, _I, "No answer in time. The provider may have committed, or may commit later."),
        ErrorSpec("connection-reset", 0, _I, "The connection died after the request was written."),
        ErrorSpec("connection-closed", 0, _I, "The connection ended without an answer after the request was written."),
        ErrorSpec("truncated-response", 0, _I, "An answer began and broke off; nothing in it can be relied on."),
        ErrorSpec("connection-refused", 0, _D, "No connection was made, so nothing was sent."),
        ErrorSpec("deadline-passed", 0, _D, "The client's own deadline had passed before anything was sent."),
        ErrorSpec("expired", 408, _D, "The provider received the request after its deadline and did not apply it."),
        ErrorSpec("unavailable", 503, _I, "5xx: the provider may have failed before or after committing."),
        ErrorSpec("internal-error", 500, _I, "5xx: the provider may have failed before or after committing."),
        ErrorSpec("rate-limited", 429, _D, "The limiter runs before execution: this request was not applied."),
        ErrorSpec("declined", 402, _D, "The provider refused for a business reason; nothing was applied."),
        ErrorSpec("invalid", 400, _D, "The request was refused at validation; nothing was applied."),
        ErrorSpec("not-found", 404, _D, "The object to act on does not exist (for an undo: gone, or never there)."),
        ErrorSpec("already-exists", 409, _I, "An object of this identity exists: it may be our own earlier commit."),
        ErrorSpec("already-undone", 409, _I, "The effect is undone already: it may have been our own earlier undo."),
        ErrorSpec("duplicate-key", 409, _I, "The key was seen before: an earlier attempt may have committed."),
        ErrorSpec("key-in-use", 409, _I, "A request with this key is running: its outcome is open."),
        ErrorSpec("key-reused", 400, _D, "The key belongs to another request; this one was not applied."),
        ErrorSpec("stale-fence", 409, _D, "The fencing token is older than one the provider has seen; not applied."),
        ErrorSpec(
            "approval-invalid",
            409,
            _D,
            "The approval cannot be spent: denied, expired, revoked, spent or for another action.",
        ),
    )
}


def certainty_of(code: str) -> Certainty:
    """What `code` allows to conclude. An unknown code is indefinite (DESIGN section 4)."""
    spec = ERRORS.get(code)
    return spec.certainty if spec else Certainty.INDEFINITE


class ProviderFailure(Exception):
    """What a caller sees when a provider call did not succeed.

    Attributes: `code` (a key of ERRORS, or a stranger's code), `certainty` (from the table). It says what the caller saw, which is
    not what happened.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code
        self.certainty = certainty_of(code)

    @property
    def is_definite(self) -> bool:
        return self.certainty is Certainty.DEFINITE
