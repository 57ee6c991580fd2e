"""A program that is killed between the commit of the database and that of the journal: `killed.py FOLDER NAME ACTION`.

ACTION is POST (create it) or DELETE (it is there already). Never here: what is expected of it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import httpx

from fakes.tenant.face import TenantFake
from fakes.wire.clock import Clock
from fakes.wire.hosting import Hosted
from fakes.wire.journal_file import Document, JournalFile

commit = JournalFile.commit


def deadly(self: JournalFile, changes: Iterable[Document] = ()) -> None:
    """The journal's commit, which an effect does not survive."""
    if any(entry.kind == "effect" for entry in self._waiting):
        os.kill(os.getpid(), signal.SIGKILL)
    commit(self, changes)


def main(folder: str, name: str, action: str) -> None:
    """Serve, and ask for the change that kills."""
    with Hosted(TenantFake, folder=Path(folder), clock=Clock(is_manual=True)) as hosted:
        JournalFile.commit = deadly  # type: ignore[method-assign]
        with httpx.Client(base_url=hosted.places["http"].url, trust_env=False) as client:
            headers = {"idempotency-key": "k", "x-operation": f"op-{action}"}
            path, body = ("/tenants", {"name": name}) if action == "POST" else (f"/tenants/{name}", None)
            client.request(action, path, json=body, headers=headers)


if __name__ == "__main__":
    main(*sys.argv[1:])
