"""The tests. A package, as is every folder here: otherwise `tests/fakes` would be imported as `fakes` and hide ours."""
