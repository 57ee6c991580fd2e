"""What is special about deployments as the simulation calls them."""

from __future__ import annotations

from fakes.deployment.domain import Deployments
from tests.fakes.stage import Stage, effect, lookup, undo


def test_every_request_deploys_once_more(stage: Stage) -> None:
    forge = stage.provider(kind=Deployments)
    first = stage.send(forge, effect("deploy", "shop", params={"sha": "a"}))
    second = stage.send(forge, effect("deploy", "shop", params={"sha": "a"}))
    assert first.reference != second.reference
    assert [found.standing for found in stage.send(forge, lookup("deploy", "shop")).found] == [True, True]


def test_a_rollback_takes_back_the_deployment_it_names_and_only_once(stage: Stage) -> None:
    forge = stage.provider(kind=Deployments)
    stage.send(forge, effect("deploy", "shop"))
    second = stage.send(forge, effect("deploy", "shop"))
    named = undo("deploy.rollback", "shop", params={"reference": second.reference})
    stage.send(forge, named)
    assert [found.standing for found in stage.send(forge, lookup("deploy", "shop")).found] == [True, False]
    assert stage.refusal(forge, named) == "already-undone"


def test_a_rollback_of_nothing_is_refused(stage: Stage) -> None:
    assert stage.refusal(stage.provider(kind=Deployments), undo("deploy.rollback", "shop")) == "not-found"
