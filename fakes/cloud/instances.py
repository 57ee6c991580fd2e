"""Instances: what becomes of them, and how they looked at any moment.

    pending --boot--> running                 pending --boot fails--> terminated (with a reason)
    pending, running --terminate--> shutting-down --> terminated    (if that fails it stays shutting-down)

Every state and every tag carries the moment since when it holds, so that a stale view is a look at an earlier moment.
A terminated instance is shown for an hour. Its token stays bound as long as the cell honours keys.
Never here: XML, hooks, and when a timer is due.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from fakes.cloud.account import Account
from fakes.cloud.words import AwsRefusal
from fakes.wire.shelf import Shelf

INSTANCE = "instance"
GONE_AFTER_NS = 3_600_000_000_000
TAGS_MAX = 50
INSTANCES_MAX = 1000
"""How many instances that are not terminated an account may have."""
CODES: Mapping[str, int] = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48}
USER_ENDED = ("Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
BOOT_FAILED = ("Server.InternalError", "Server.InternalError: Internal error on launch")


class Launch(NamedTuple):
    """One RunInstances, as far as it matters here."""

    image: str
    type: str
    least: int
    most: int
    token: str
    tags: Mapping[str, str]
    said: str
    """A digest of all that was said besides the token: what the token is bound to."""

    @property
    def params(self) -> dict[str, str | int]:
        return {"image": self.image, "type": self.type, "digest": self.said}


class Instance(NamedTuple):
    """One instance as it looked at some moment."""

    id: str
    reservation: str
    image: str
    type: str
    token: str
    place: int
    launched_ns: int
    state: str
    reason: tuple[str, str] | None
    tags: Mapping[str, str]


def digest_of(said: Sequence[tuple[str, str]]) -> str:
    """A digest of parameters, whatever their order."""
    return hashlib.sha256(json.dumps(sorted(said)).encode()).hexdigest()[:32]


class Instances:
    """All instances of an account. `later(instance, delay_ns)` is called when something will become of one."""

    def __init__(self, account: Account, shelf: Shelf, now: Callable[[], int]) -> None:
        self._account = account
        self._shelf = shelf
        self._now = now

    # Changes.

    def run(self, call: str, launch: Launch) -> list[Instance]:
        """Launch, or show what the token launched before. Raises ProviderFailure."""
        first = self._account.bound_to(launch.token, "resource.create", launch.params) if launch.token else None
        if first is not None:
            return self.launched_by(first)
        room = INSTANCES_MAX - sum(1 for id_ in self.ids() if self._state(id_) != "terminated")
        if room < launch.least:
            raise AwsRefusal("InstanceLimitExceeded", f"You have room for {max(room, 0)} more instances.")
        reservation = f"r-{self._shelf.number('reservation'):017x}"
        count = min(launch.most, room)
        return [self._view(self._launch(call, launch, reservation, index), self._now()) for index in range(count)]

    def _launch(self, call: str, launch: Launch, reservation: str, index: int) -> dict[str, Any]:
        id_ = f"i-{self._shelf.number(INSTANCE):017x}"
        # The token is bound by the first instance of a reservation, which stands for all of them.
        reference = self._account.make(
            call,
            "resource.create",
            launch.tags.get("target") or id_,
            operation=launch.tags.get("operation", ""),
            params=launch.params,
            key=launch.token if index == 0 else "",
        )
        now_ns = self._now()
        made = {
            "id": id_,
            "reservation": reservation,
            "reference": reference,
            "image": launch.image,
            "type": launch.type,
            "token": launch.token,
            "place": index,
            "launched_ns": now_ns,
            "states": [[now_ns, "pending"]],
            "reason": None,
            "tags": [[now_ns, key, value] for key, value in launch.tags.items()],
        }
        self._shelf.put(INSTANCE, id_, made)
        return made

    def launched_by(self, reference: str) -> list[Instance]:
        """All instances of the reservation whose first effect this is, as they are now. Raises AwsRefusal."""
        all_ = self._shelf.all(INSTANCE).values()
        (reservation,) = [each["reservation"] for each in all_ if each["reference"] == reference]
        found = [each for each in self.at(self._now()) if each.reservation == reservation]
        if not found:
            message = "The instance that was launched with this client token has been terminated."
            raise AwsRefusal("IdempotentInstanceTerminated", message)
        return found

    def terminate(self, call: str, ids: Sequence[str]) -> list[tuple[str, str, str]]:
        """(id, state before, state now) of each. Asked again it changes nothing. Raises AwsRefusal, all or none."""
        self.check(ids)
        return [self._end(call, id_) for id_ in dict.fromkeys(ids)]

    def _end(self, call: str, id_: str) -> tuple[str, str, str]:
        before = self._state(id_)
        if before in ("pending", "running"):
            self._account.undo(call, "resource.terminate", self._shelf.get(INSTANCE, id_)["reference"])
            self._become(id_, "shutting-down", USER_ENDED)
        return id_, before, self._state(id_)

    def end_from_outside(self, id_: str) -> None:
        """Somebody else terminates it. Raises LookupError if there is nothing to terminate."""
        if self._state(id_) not in ("pending", "running"):
            raise LookupError(f"instance {id_} does not run")
        self._account.undo_from_outside("resource.terminate", self._shelf.get(INSTANCE, id_)["reference"])
        self._become(id_, "shutting-down", USER_ENDED)

    def set_tags(self, call: str, ids: Sequence[str], tags: Mapping[str, str]) -> None:
        """Add these tags, or give them these values. Raises AwsRefusal, all or none."""
        self.check(ids)
        now_ns = self._now()
        for id_ in ids:
            if len({**self._tags(id_, now_ns), **tags}) > TAGS_MAX:
                raise AwsRefusal("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
        for id_ in dict.fromkeys(ids):
            had = self._tags(id_, now_ns)
            if changed := {key: value for key, value in tags.items() if had.get(key) != value}:
                self._set_tags(call, id_, {**had, **changed}, changed)

    def _set_tags(self, call: str, id_: str, all_: Mapping[str, str], changed: Mapping[str, str]) -> None:
        now_ns, made = self._now(), self._shelf.get(INSTANCE, id_)
        target, operation = all_.get("target") or id_, all_.get("operation", "")
        self._account.make(call, "tags.set", target, operation=operation, params=dict(changed))
        added = [[now_ns, key, value] for key, value in changed.items()]
        self._shelf.put(INSTANCE, id_, {**made, "tags": [*made["tags"], *added]})

    # What becomes of them.

    def next_state(self, id_: str) -> str:
        """What it is on its way to: `running`, `terminated`, or ""."""
        return {"pending": "running", "shutting-down": "terminated"}.get(self._state(id_), "")

    def since_ns(self, id_: str) -> int:
        """Since when it is in its state."""
        return int(self._shelf.get(INSTANCE, id_)["states"][-1][0])

    def settle(self, id_: str, is_done: bool) -> None:
        """It comes to its next state, or that fails."""
        wanted = self.next_state(id_)
        if wanted == "running" and not is_done:
            self._account.undo_from_outside("resource.terminate", self._shelf.get(INSTANCE, id_)["reference"])
            self._become(id_, "terminated", BOOT_FAILED)
        elif wanted and is_done:
            self._become(id_, wanted)

    def _become(self, id_: str, state: str, reason: tuple[str, str] | None = None) -> None:
        made = self._shelf.get(INSTANCE, id_)
        states = [*made["states"], [self._now(), state]]
        self._shelf.put(INSTANCE, id_, {**made, "states": states, "reason": list(reason) if reason else made["reason"]})

    # Looks.

    def ids(self) -> list[str]:
        """Of all there ever were, oldest first."""
        return list(self._shelf.all(INSTANCE))

    def about(self, id_: str) -> tuple[str, str]:
        """(target, operation) of the effect that made it; ("", "") for an unknown one."""
        made = self._shelf.get(INSTANCE, id_)
        if made is None:
            return "", ""
        row = self._account.row(made["reference"])
        return row.target, row.operation

    def check(self, ids: Sequence[str], at_ns: int | None = None) -> None:
        """Raise AwsRefusal unless all of them are there (at that moment)."""
        moment_ns = self._now() if at_ns is None else at_ns
        missing = [id_ for id_ in ids if self._seen(self._shelf.get(INSTANCE, id_), moment_ns) is None]
        if missing:
            verb = "ID" if len(missing) == 1 else "IDs"
            said = ", ".join(id_[:100] for id_ in missing[:10])
            does = "does" if len(missing) == 1 else "do"
            raise AwsRefusal("InvalidInstanceID.NotFound", f"The instance {verb} '{said}' {does} not exist")

    def at(self, at_ns: int) -> list[Instance]:
        """All as they looked at that moment, oldest first."""
        return list(self._all_seen(at_ns))

    def _all_seen(self, at_ns: int) -> Iterator[Instance]:
        for made in self._shelf.all(INSTANCE).values():
            if (seen := self._seen(made, at_ns)) is not None:
                yield seen

    def _seen(self, made: Mapping[str, Any] | None, at_ns: int) -> Instance | None:
        if made is None or made["launched_ns"] > at_ns:
            return None
        since_ns, state = made["states"][-1]
        is_gone = state == "terminated" and since_ns + GONE_AFTER_NS <= at_ns
        return None if is_gone else self._view(made, at_ns)

    def _view(self, made: Mapping[str, Any], at_ns: int) -> Instance:
        state = [name for since_ns, name in made["states"] if since_ns <= at_ns][-1]
        code, message = made["reason"] or ("", "")
        is_ended = state in ("shutting-down", "terminated")
        return Instance(
            made["id"],
            made["reservation"],
            made["image"],
            made["type"],
            made["token"],
            made["place"],
            made["launched_ns"],
            state,
            (code, message) if is_ended else None,
            self._tags(made["id"], at_ns),
        )

    def _tags(self, id_: str, at_ns: int) -> dict[str, str]:
        return {key: value for since_ns, key, value in self._shelf.get(INSTANCE, id_)["tags"] if since_ns <= at_ns}

    def _state(self, id_: str) -> str:
        return str(self._shelf.get(INSTANCE, id_)["states"][-1][1])


def matches(instance: Instance, name: str, globs: Sequence[str]) -> bool:
    """Does one filter let it through? Raises AwsRefusal for an unknown filter. `*` and `?` are wild cards."""
    if name.startswith("tag:"):
        values = [instance.tags[name[4:]]] if name[4:] in instance.tags else []
    elif name == "tag-key":
        values = list(instance.tags)
    elif name in _FILTERS:
        values = [_FILTERS[name](instance)]
    else:
        raise AwsRefusal("InvalidParameterValue", f"The filter '{name[:100]}' is invalid")
    return any(_is_like(value, glob) for value in values for glob in globs)


_FILTERS: Mapping[str, Callable[[Instance], str]] = {
    "instance-id": lambda instance: instance.id,
    "client-token": lambda instance: instance.token,
    "instance-state-name": lambda instance: instance.state,
    "instance-state-code": lambda instance: str(CODES[instance.state]),
    "reservation-id": lambda instance: instance.reservation,
    "image-id": lambda instance: instance.image,
    "instance-type": lambda instance: instance.type,
}


def _is_like(value: str, glob: str) -> bool:
    return fnmatchcase(value, glob.replace("[", "[[]"))  # EC2 knows no classes of characters
