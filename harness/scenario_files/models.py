"""The form of a scenario file: strict pydantic models, one per map of the file. The JSON schema is made from them.

Here: which keys exist, their types and their bounds. Never here: rules between keys (checks), what a name means
(known), and the model's values (resolve). A form is what a stranger wrote; the rest of the harness uses `Scenario`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag, WithJsonSchema
from pydantic.config import JsonDict

from harness.model.boundary import UNDO_PREFIX
from harness.model.cell import Cell, Key, Late, Lookup
from harness.model.fault import Fault
from harness.model.workflow import Expectation, RecoveryClass, ScenarioKind
from harness.scenario_files.durations import DURATION_PATTERN, duration_ns

OPERATIONS_MAX = 200
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]*$"
NAME_LENGTH_MAX = 64
SUBJECT_LENGTH_MAX = len(UNDO_PREFIX) + NAME_LENGTH_MAX
CELL_PATTERN = rf"^({'|'.join(Key)})\.({'|'.join(Lookup)})\.({'|'.join(Late)})$"

_UNIQUE: JsonDict = {"uniqueItems": True}
TEXT, MAP, LIST = "<text>", "<map>", "<list>"
"""Tags of the alternatives a key has; angle brackets, so that they cannot be taken for a key of the file."""


def _shape(value: object) -> str:
    """Which alternative the author meant, decided by the YAML shape: only that alternative's error is reported."""
    if isinstance(value, dict):
        return MAP
    return LIST if isinstance(value, list) else TEXT


def _name(text: str) -> str:
    if not re.match(NAME_PATTERN, text) or text.endswith("\n"):
        raise ValueError(
            f"{text!r} is not a name: lower-case letters, digits, `.`, `_`, `-`, beginning with a letter or digit"
        )
    return text


def _duration(at_least_ns: int) -> Callable[[str], str]:
    def check(text: str) -> str:
        if duration_ns(text) < at_least_ns:
            raise ValueError(f"{text!r} is too short: it must be longer than nothing")
        return text

    return check


def _cell(text: str) -> str:
    Cell.parse(text)
    return text


Name = Annotated[
    str,
    Field(max_length=NAME_LENGTH_MAX),
    AfterValidator(_name),
    WithJsonSchema({"type": "string", "pattern": NAME_PATTERN, "maxLength": NAME_LENGTH_MAX}),
]
Duration = Annotated[str, AfterValidator(_duration(1)), WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})]
DurationOrZero = Annotated[
    str, AfterValidator(_duration(0)), WithJsonSchema({"type": "string", "pattern": DURATION_PATTERN})
]
CellText = Annotated[str, AfterValidator(_cell), WithJsonSchema({"type": "string", "pattern": CELL_PATTERN})]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Paragraph = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
Subject = Annotated[
    str,
    Field(max_length=SUBJECT_LENGTH_MAX),
    AfterValidator(_name),
    WithJsonSchema({"type": "string", "pattern": NAME_PATTERN, "maxLength": SUBJECT_LENGTH_MAX}),
]
Names = Annotated[list[Name], Field(max_length=OPERATIONS_MAX, json_schema_extra=_UNIQUE)]
Subjects = Annotated[list[Subject], Field(max_length=2 * OPERATIONS_MAX, json_schema_extra=_UNIQUE)]
_SOME = Field(min_length=1, json_schema_extra=_UNIQUE)
"""A list that says something: an empty one would be taken for `all`."""
Word = Field(strict=False)
"""An enum's field reads its word from text; every other field is strict."""


class Form(BaseModel):
    """What every map of the file has in common: strict types, no unknown keys, keys with hyphens."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, alias_generator=lambda field: field.replace("_", "-")
    )


class CellForm(Form):
    """A provider cell in its long form; a key left out has the value that is kindest to the candidate."""

    key: Annotated[Key, Word] = Key.HONOURED
    lookup: Annotated[Lookup, Word] = Lookup.AUTHORITATIVE
    delivery: Annotated[Late, Word] = Late.NO


class FakerForm(Form):
    """A business target made up from the run's seed and the operation's id."""

    faker: Literal["email", "domain", "company", "order", "person", "hostname"]


class PolicyForm(Form):
    """The operation's recovery policy. The candidate is told it and cannot change it."""

    attempts: Annotated[int, Field(ge=1, le=100, description="Most sends of the operation, the first included.")] = 3
    automatic_compensation: Annotated[bool, Field(description="May the ledger undo it without a person?")] = True
    approval: Annotated[bool, Field(description="Does it need a person's approval before it is committed?")] = False
    compensation_attempts: Annotated[int, Field(ge=1, le=100, description="Most sends of its undo.")] = 3
    reconcile_after_timeout: Annotated[bool, Field(description="Must the world be read after a timeout?")] = True


class OperationForm(Form):
    """One logical side effect."""

    provider: Annotated[str, Field(description="The fake that does it; `cells` says what it guarantees.")]
    action: Annotated[str, Field(description="What the provider is asked to do.")]
    target: Annotated[
        Annotated[Annotated[str, Field(min_length=1, max_length=255)], Tag(TEXT)] | Annotated[FakerForm, Tag(MAP)],
        Discriminator(_shape),
        Field(description="What it is done to: text, or {faker: KIND}; no two operations do the same to one target."),
    ]
    params: Annotated[dict[str, Annotated[str, Field(max_length=1000)] | int], Field(max_length=32)] = {}
    recovery: Annotated[RecoveryClass, Word]
    undo: Annotated[
        str | None, Field(description="The provider's action that compensates it; leave it out if none.")
    ] = None
    after: Annotated[Names, Field(description="Operations that must be verified before this one starts.")] = []
    undo_before: Annotated[Names, Field(description="Operations that may be undone only after this one has been.")] = []
    policy: PolicyForm = PolicyForm()


class IntentForm(Form):
    """The intent the workflow carries out."""

    id: Name = "intent"
    version: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class WorkflowForm(Form):
    """Operations in the author's order; `after`, not the order, decides what may start."""

    intent: IntentForm = IntentForm()
    operations: Annotated[dict[Name, OperationForm], Field(min_length=1, max_length=OPERATIONS_MAX)]


class ApproverForm(Form):
    """The people who decide approvals."""

    decision: Literal["approves", "denies"] = "approves"
    thinks: Annotated[DurationOrZero, Field(description="Virtual time until they decide.")] = "2s"
    valid: Annotated[Duration, Field(description="How long an approval can be spent.")] = "10m"


class LimitsForm(Form):
    """Bounds of one run; reaching one ends the run with the verdict unknown."""

    crossings: Annotated[int, Field(ge=1, le=1_000_000, description="Most boundaries crossed.")] = 4000
    virtual_time: Annotated[Duration, Field(description="Most virtual time.")] = "7d"
    settle_rounds: Annotated[int, Field(ge=1, le=100, description="Most rounds of recovery after the faults stop.")] = 6


class ScenarioForm(Form):
    """One scenario file."""

    version: Annotated[Literal[1], Field(description="Version of this form.")]
    id: Annotated[Name, Field(description="Its name on the command line and in every boundary's path.")]
    title: Annotated[Line, Field(description="One line for lists and reports.")]
    why: Annotated[Paragraph, Field(description="What may go wrong here and what a sound ledger does about it.")]
    source: Annotated[
        str, StringConstraints(strip_whitespace=True, max_length=400), Field(description="Where the story comes from.")
    ] = ""
    kind: Annotated[ScenarioKind, Word]
    rigs: Annotated[list[Literal["simulation", "fork", "process", "docker"]], _SOME] = ["simulation"]
    cells: Annotated[
        dict[
            str,
            Annotated[Annotated[CellText, Tag(TEXT)] | Annotated[CellForm, Tag(MAP)], Discriminator(_shape)],
        ],
        Field(description="For each provider: key.lookup.delivery, or a map of the three."),
    ]
    workflow: WorkflowForm
    always_declined: Annotated[
        Subjects, Field(description="Operations (or undo.ID) the provider always refuses: a rollback without a fault.")
    ] = []
    approver: ApproverForm = ApproverForm()
    faults: Annotated[
        Annotated[Literal["all"], Tag(TEXT)] | Annotated[Annotated[list[Annotated[Fault, Word]], _SOME], Tag(LIST)],
        Discriminator(_shape),
        Field(description="Faults that may be injected."),
    ] = "all"
    guarantees: Annotated[
        Annotated[Literal["all"], Tag(TEXT)] | Annotated[Annotated[list[str], _SOME], Tag(LIST)],
        Discriminator(_shape),
        Field(description="Guarantees to judge."),
    ] = "all"
    limits: LimitsForm = LimitsForm()
    schedule: Annotated[
        str, Field(max_length=20_000, description="A pinned schedule line. Its seed also makes the business targets.")
    ] = ""
    expect: Annotated[Expectation, Word] = Expectation.HOLDS


def form_at(path: tuple[Any, ...]) -> tuple[str, type[Form]]:
    """The noun and the form of the map at `path`, for messages about its keys. The root for a path that is no form."""
    match path:
        case ("workflow",):
            return "a workflow", WorkflowForm
        case ("workflow", "intent"):
            return "an intent", IntentForm
        case ("workflow", "operations", _):
            return "an operation", OperationForm
        case ("workflow", "operations", _, "policy"):
            return "a policy", PolicyForm
        case ("workflow", "operations", _, "target"):
            return "a made-up target", FakerForm
        case ("cells", _):
            return "a provider cell", CellForm
        case ("approver",):
            return "the approver", ApproverForm
        case ("limits",):
            return "the limits", LimitsForm
        case _:
            return "a scenario", ScenarioForm


def keys_of(form: type[Form]) -> tuple[str, ...]:
    """The keys a form has, as they are written, in its order."""
    return tuple(field.alias or name for name, field in form.model_fields.items())
