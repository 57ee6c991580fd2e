"""Tests of scenario files: what is read, what is refused in which words, the schema, and the shipped files."""
