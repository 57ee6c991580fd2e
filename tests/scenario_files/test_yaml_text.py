"""The bounded YAML reader: what is not one plain document of bounded size is refused, with its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.model.errors import UsageError
from harness.scenario_files import load
from harness.scenario_files.yaml_text import DEPTH_MAX, FILE_BYTES_MAX, NODES_MAX, Plain, read_yaml
from tests.scenario_files.texts import GOOD, assert_refused, line_of, spoilt


def data(text: str) -> Plain:
    return read_yaml(text, "x.yaml").data


def refused(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read_yaml(text, "x.yaml")
    return caught.value


def refused_file(path: Path) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load(path)
    return caught.value


# --- scalars and lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4900", 4900),
        ("-3", -3),
        ("007", "007"),
        ("12345678901234567890", "12345678901234567890"),
        ("0x10", "0x10"),
        ("1.5", 1.5),
        ("true", True),
        ("no", "no"),
        ("~", None),
        ("", None),
        ('"4900"', "4900"),
        ("'true'", "true"),
        ("2024-01-01", "2024-01-01"),
        ("192.0.2.10", "192.0.2.10"),
    ],
)
def test_scalars_follow_yaml_1_2_and_lose_nothing(text: str, value: Plain) -> None:
    found = data(f"key: {text}\n")
    assert found == {"key": value}
    assert isinstance(found, dict)
    assert type(found["key"]) is type(value)


def test_keys_are_text_whatever_they_look_like() -> None:
    assert data("1: a\ntrue: b\n") == {"1": "a", "true": "b"}


def test_every_key_and_item_knows_its_line() -> None:
    document = read_yaml("a:\n  b: 1\n  c:\n    - x\n    - y\n", "x.yaml")
    assert document.where("a", "b") == "x.yaml:2"
    assert document.where("a", "c", 1) == "x.yaml:5"
    assert document.where("a", "missing") == "x.yaml:1"


# --- what is refused -----------------------------------------------------------------------------------------------


def test_a_tab_in_the_indentation_is_refused() -> None:
    text = spoilt("  payment:", "\tpayment:")
    assert_refused(text, what="A tab", line=line_of("\tpayment", text), next_step="Indent with spaces")


def test_a_tab_after_a_colon_is_refused() -> None:
    text = spoilt("kind: workflow", "kind:\tworkflow")
    assert_refused(text, what="A tab", line=line_of("kind:", text), next_step="spaces")


def test_a_key_that_stands_twice_is_refused_with_both_lines() -> None:
    text = spoilt("kind: workflow", "kind: workflow\nkind: story")
    assert_refused(
        text,
        what=f"'kind' stands twice in one map, first on line {line_of('kind: workflow')}",
        line=line_of("kind: story", text),
        next_step="Rename or remove",
    )


def test_an_operation_id_that_stands_twice_is_refused() -> None:
    text = spoilt("    second:", "    first:")
    assert_refused(text, what="'first' stands twice", line=line_of("second:"), next_step="Rename")


def test_an_anchor_is_refused() -> None:
    text = spoilt("[simulation]", "&rigs [simulation]")
    assert_refused(text, what="anchor &rigs", line=line_of("rigs:"), next_step="Write the value out")


def test_an_alias_is_refused() -> None:
    text = spoilt("[simulation]", "*all")
    assert_refused(text, what="alias *all", line=line_of("rigs:"), next_step="Write the value out")


def test_the_first_anchor_of_a_billion_laughs_is_refused_before_anything_is_expanded() -> None:
    rows = ["a0: &a0 [lol, lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert "anchor &a0" in refused("\n".join(rows)).what


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.getcwd", "!!int", "!mine"])
def test_a_tag_is_refused(tag: str) -> None:
    text = spoilt("kind: workflow", f"kind: {tag} workflow")
    assert_refused(text, what="The tag", line=line_of("kind:"), next_step="Remove it")


def test_a_key_that_is_a_map_is_refused() -> None:
    assert "A key of this map is itself a map or a list" in refused("? {a: 1}\n: b\n").what


def test_nesting_is_bounded() -> None:
    assert data("k: " + "[" * (DEPTH_MAX - 1) + "]" * (DEPTH_MAX - 1))
    error = refused("k:\n  " + "[" * 5000)
    assert f"nested deeper than {DEPTH_MAX} levels" in error.what
    assert error.where == "x.yaml:2"
    assert "brackets" in error.next_step


@pytest.mark.slow
def test_the_number_of_values_is_bounded() -> None:
    assert data("[" + "1," * (NODES_MAX - 1) + "]")
    assert f"more than {NODES_MAX} values" in refused("[" + "1," * NODES_MAX + "]").what


def test_a_second_document_is_refused() -> None:
    text = GOOD + "---\nversion: 1\n"
    assert_refused(text, what="more than one document", line=line_of("---", text), next_step="one scenario per file")


def test_another_yaml_version_is_refused() -> None:
    text = "%YAML 1.1\n---\n" + GOOD
    assert "another YAML version" in refused(text).what


def test_broken_yaml_is_refused_with_its_line() -> None:
    text = spoilt("rigs: [simulation]", "rigs: [simulation")
    error = refused(text)
    assert error.what.startswith("The file is not valid YAML:")
    assert error.where == f"x.yaml:{line_of('cells:')}"
    assert "indentation" in error.next_step


def test_a_control_character_is_refused_with_its_line() -> None:
    error = refused(spoilt("title: Two", "title: \x07Two"))
    assert error.where == f"x.yaml:{line_of('title:')}"


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    assert_refused(text, what="The file is empty", line=1, next_step="copy of a shipped scenario")


@pytest.mark.parametrize(("text", "held"), [("- a\n- b\n", "a list"), ("just text\n", "one value")])
def test_a_file_that_is_no_map_is_refused(text: str, held: str) -> None:
    assert_refused(text, what=f"the file holds {held}", line=1, next_step="version: 1")


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    path = tmp_path / "x.scenario.yaml"
    padding = "#" * 1000 + "\n"
    room = FILE_BYTES_MAX - len(GOOD)
    filled = GOOD + padding * (room // len(padding)) + "#" * (room % len(padding))
    path.write_text(filled)
    assert path.stat().st_size == FILE_BYTES_MAX
    assert load(path).id == "small"
    path.write_text(filled + "#")
    error = refused_file(path)
    assert "larger than 1 MiB" in error.what
    assert error.where == str(path)
    assert "page of text" in error.next_step


def test_a_huge_file_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.scenario.yaml"
    path.touch()
    os.truncate(path, 64 * 1024**3)
    assert "larger than 1 MiB" in refused_file(path).what


@pytest.mark.parametrize("raw", [b"version: 1\nid: \xff\xfe\n", b"version: 1\n\0\n"])
def test_a_binary_file_is_refused_with_the_line_it_stops_being_text(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "x.scenario.yaml"
    path.write_bytes(raw)
    error = refused_file(path)
    assert "not UTF-8 text" in error.what
    assert error.where == f"{path}:2"
    assert "UTF-8" in error.next_step


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "x.scenario.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load(path).id == "small"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    error = refused_file(tmp_path)
    assert "is a directory" in error.what
    assert error.where == str(tmp_path)
    assert error.next_step


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    error = refused_file(tmp_path / "gone.yaml")
    assert "no regular file" in error.what
    assert error.where == str(tmp_path / "gone.yaml")
    assert error.next_step


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    assert "no regular file" in refused_file(pipe).what
