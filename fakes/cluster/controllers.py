"""What controllers make of objects later: the status that says whether what was wanted came about.

A deployment's replicas become ready, or their deadline passes; a job completes, or its retries are used up. Until then
the status is that of the generation before, or none: that a write was answered with 200 says nothing about it.
Never here: when it happens, and namespaces, whose controller empties them.
"""

from __future__ import annotations

from fakes.cluster.kinds import DEPLOYMENT, JOB, Kind, Object


def settled_status(kind: Kind, value: Object, time: str, *, is_done: bool) -> Object:
    """The status after the controller has acted on this object, for good or not."""
    if kind == DEPLOYMENT:
        return _deployment(value, time, is_done)
    assert kind == JOB, f"{kind.kind} has no controller of this sort"
    return _job(value, time, is_done)


def _deployment(value: Object, time: str, is_done: bool) -> Object:
    replicas, name = value["spec"]["replicas"], value["metadata"]["name"]
    ready = replicas if is_done else 0
    made = {"observedGeneration": value["metadata"]["generation"], "replicas": replicas, "updatedReplicas": replicas}
    counts = {"readyReplicas": ready, "availableReplicas": ready, "unavailableReplicas": replicas - ready}
    conditions = [
        _condition(
            "Available",
            is_done,
            "MinimumReplicasAvailable" if is_done else "MinimumReplicasUnavailable",
            "Deployment has minimum availability." if is_done else "Deployment does not have minimum availability.",
            time,
        ),
        _condition(
            "Progressing",
            is_done,
            "NewReplicaSetAvailable" if is_done else "ProgressDeadlineExceeded",
            f'ReplicaSet of "{name}" has {"successfully progressed" if is_done else "timed out progressing"}.',
            time,
        ),
    ]
    return {**made, **{each: count for each, count in counts.items() if count}, "conditions": conditions}


def _job(value: Object, time: str, is_done: bool) -> Object:
    completions, started = value["spec"]["completions"], value["metadata"]["creationTimestamp"]
    if is_done:
        conditions = [
            _condition(
                "Complete",
                True,
                "CompletionsReached",
                "Reached expected number of succeeded pods",
                time,
                "lastProbeTime",
            )
        ]
        made = {"startTime": started, "completionTime": time, "succeeded": completions, "ready": 0}
        return {**made, "conditions": conditions}
    message = "Job has reached the specified backoff limit"
    conditions = [_condition("Failed", True, "BackoffLimitExceeded", message, time, "lastProbeTime")]
    failed = value["spec"]["backoffLimit"] + 1
    return {"startTime": started, "failed": failed, "ready": 0, "conditions": conditions}


def _condition(
    type_: str, is_true: bool, reason: str, message: str, time: str, looked: str = "lastUpdateTime"
) -> Object:
    """One condition; `looked` names the field that says when somebody last looked, which differs by kind."""
    status = "True" if is_true else "False"
    said = {"type": type_, "status": status, "reason": reason, "message": message}
    return {**said, "lastTransitionTime": time, looked: time}
