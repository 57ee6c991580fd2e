"""A cluster's objects: the name is the identity, so applying the same again changes nothing.

A name that stands with other content is a conflict, as it is for a server-side apply that is not forced. The object
keeps the marker of the operation that applied it. Deleting takes away what stands under the name, whoever made it.
Never here: HTTP, documents, versions, finalizers, controllers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakes.core.kernel import ActionSpec, Again, Provider


class Cluster(Provider):
    """Objects by kind, namespace and name."""

    __slots__ = ()

    name: ClassVar[str] = "cluster"
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "object.apply": ActionSpec(undoes=None, again=Again.SAME),
        "object.delete": ActionSpec(undoes="object.apply", again=Again.REFUSED),
    }
