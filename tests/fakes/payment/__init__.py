"""The payment fake: its API in process and on the wire, with the unmodified client library."""
