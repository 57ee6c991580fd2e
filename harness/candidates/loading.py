"""Loading a candidate by name, `module:factory`, with messages for everything that can go wrong."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from harness.candidates.contract import Candidate, Traits
from harness.model.errors import CandidateError, KnownstateError

REFERENCE = "reference_ledger:factory"


def load_candidate(spec: str) -> Candidate:
    """The candidate `module:factory` names; the current folder is importable. Raises CandidateError saying what to mend."""
    module_name, separator, factory_name = spec.partition(":")
    if not separator or not module_name or not factory_name:
        raise _bad(spec, "it is not of the form module:factory", "For instance --candidate my_ledger:factory.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # behind everything else: a folder of the user's must not hide a package of ours
    try:
        module = importlib.import_module(module_name)
    except KnownstateError:
        raise
    except ModuleNotFoundError as error:
        hint = f"Is {error.name} installed in this environment, or in the current folder {here}?"
        raise _bad(spec, f"there is no module {error.name!r}", hint) from error
    except Exception as error:  # a stranger's module may fail in any way while it is imported
        raise _bad(
            spec, f"importing {module_name} raised {type(error).__name__}: {error}", "Mend the import."
        ) from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        names = ", ".join(name for name in vars(module) if not name.startswith("_"))[:200]
        raise _bad(
            spec,
            f"{module_name} has no callable {factory_name!r} (it has {names})",
            "Name a function without arguments.",
        )
    return _made(spec, factory)


def _made(spec: str, factory: object) -> Candidate:
    assert callable(factory), "checked by the caller"
    try:
        candidate = factory()
    except KnownstateError:
        raise
    except Exception as error:  # the same: a stranger's factory
        raise _bad(spec, f"calling it raised {type(error).__name__}: {error}", "Mend the factory.") from error
    missing = [name for name in ("traits", "prepare", "start") if not hasattr(candidate, name)]
    if missing or not isinstance(candidate.traits, Traits):
        what = (
            f"it has no {missing[0]!r}"
            if missing
            else f"its traits are a {type(candidate.traits).__name__}, not Traits"
        )
        raise _bad(
            spec,
            f"what it returned is not a candidate: {what}",
            "See harness/candidates/contract.py for the three things it needs.",
        )
    return candidate  # type: ignore[no-any-return]  # checked above against the contract


def _bad(spec: str, why: str, next_step: str) -> CandidateError:
    return CandidateError(f"The candidate cannot be used: {why}.", where=f"--candidate {spec}", next_step=next_step)
