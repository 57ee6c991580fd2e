"""What is special about objects as the simulation calls them, and what the wire adds."""

from __future__ import annotations

from fakes.cluster.domain import Cluster
from fakes.cluster.effects import Effects
from tests.fakes.stage import Stage, effect, lookup, undo


def test_applying_the_same_again_changes_nothing(stage: Stage) -> None:
    cluster = stage.provider(kind=Cluster)
    said = effect("object.apply", "ConfigMap/default/a", params={"k": "1"})
    assert stage.send(cluster, said).reference == stage.send(cluster, said).reference
    assert stage.counts(cluster).commits == 1


def test_a_name_that_stands_with_other_content_is_a_conflict(stage: Stage) -> None:
    cluster = stage.provider(kind=Cluster)
    stage.send(cluster, effect("object.apply", "ConfigMap/default/a", params={"k": "1"}))
    other = effect("object.apply", "ConfigMap/default/a", operation="other", params={"k": "2"})
    assert stage.refusal(cluster, other) == "already-exists"


def test_a_name_can_be_used_again_after_its_object_was_deleted(stage: Stage) -> None:
    cluster = stage.provider(kind=Cluster)
    first = stage.send(cluster, effect("object.apply", "ConfigMap/default/a"))
    stage.send(cluster, undo("object.delete", "ConfigMap/default/a"))
    assert stage.refusal(cluster, undo("object.delete", "ConfigMap/default/a")) == "already-undone"
    second = stage.send(cluster, effect("object.apply", "ConfigMap/default/a"))
    assert first.reference != second.reference


def test_on_the_wire_a_change_takes_the_place_of_what_stood(stage: Stage) -> None:
    cluster = stage.provider(kind=Effects)
    stage.send(cluster, effect("object.apply", "Namespace/a"))
    stage.send(cluster, effect("object.apply", "Namespace/a"))
    found = stage.send(cluster, lookup("object.apply", "Namespace/a")).found
    assert [record.standing for record in found] == [False, True]
    assert stage.counts(cluster).commits == 2
