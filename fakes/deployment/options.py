"""What can be configured on the forge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from fakes.wire.fake import Options

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class DeploymentOptions(Options):
    """One repository, its account, and how deployments go on after they were created."""

    owner: Name = "acme"
    repository: Name = "shop"
    default_branch: Name = "main"
    files: Mapping[str, str] = {"README.md": "# shop\n"}
    """What the first commit holds: path -> text."""
    login: Name = "release-agent"
    token: str = Field("test-token-of-the-forge", min_length=1, max_length=200)
    """The only token that is let in. It is a test credential and opens nothing."""
    contexts: Mapping[str, Literal["success", "pending", "failure", "error"]] = {}
    """Commit status checks and their state, the same on every commit. A deployment needs them to succeed."""
    conflicting: tuple[str, ...] = ()
    """Branches that the default branch cannot be merged into."""
    rate_limit: int = Field(5000, ge=1, le=1_000_000)
    """Requests per hour."""
    deployer: Literal["none", "settles"] = "none"
    """`settles`: somebody takes every new deployment up (`pending`) and finishes it later (`success`, or `failure`)."""
    settle_delay_ns: int = Field(500_000_000, ge=0, le=10**18)
    """How long that takes."""
    workflows: tuple[Name, ...] = ("deploy.yml",)
    """Workflow files that can be dispatched."""
