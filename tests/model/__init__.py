"""Tests of the nouns: their text forms, and the tables that decide words."""
