"""BIND 9 and Knot as servers of the same zone and key as the fake, for comparing: each in a folder of its own.

Everything is on the loopback and a high port; the process is ended by its id.
Never here: what they should answer (`contract.py`).
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dns.exception
import dns.message
import dns.query

from tests.fakes.dns.asking import Server

READY_MAX_S = 20.0
TRY_S = 0.05
ALGORITHM = "hmac-sha256"

ZONE_TEXT = """\
$ORIGIN {zone}.
@ 300 IN SOA ns1.{zone}. hostmaster.{zone}. 1 3600 600 604800 60
@ 300 IN NS ns1.{zone}.
@ 300 IN NS ns2.{zone}.
ns1 300 IN A 127.0.0.1
ns2 300 IN A 127.0.0.1
"""

NAMED_CONF = """\
options {{
  directory "{folder}";
  pid-file "{folder}/named.pid";
  session-keyfile "{folder}/session.key";
  managed-keys-directory "{folder}";
  listen-on port {port} {{ 127.0.0.1; }};
  listen-on-v6 {{ none; }};
  recursion no;
  dnssec-validation no;
  notify no;
  empty-zones-enable no;
}};
controls {{ }};
logging {{ category default {{ null; }}; }};
key "{key}" {{ algorithm {algorithm}; secret "{secret}"; }};
zone "{zone}" {{
  type primary;
  file "{folder}/zone.db";
  allow-update {{ key "{key}"; }};
  allow-transfer {{ 127.0.0.1; }};
}};
"""

KNOT_CONF = """\
server:
    rundir: "{folder}"
    listen: 127.0.0.1@{port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: "{folder}"
log:
  - target: stderr
    any: critical
key:
  - id: {key}
    algorithm: {algorithm}
    secret: {secret}
acl:
  - id: update
    key: {key}
    action: update
  - id: transfer
    address: 127.0.0.1
    action: transfer
template:
  - id: default
    storage: "{folder}"
zone:
  - domain: {zone}
    file: zone.db
    acl: [update, transfer]
    zonefile-sync: -1
    journal-content: changes
"""


@contextmanager
def real_server(program: str, folder: Path, server: Server) -> Iterator[Server]:
    """Run `named` or `knotd` in this folder; the given server says zone and key, the one yielded where it is."""
    port = _free_port()
    told = {"folder": folder, "port": port, "zone": server.zone, "key": server.key_name}
    told |= {"secret": server.secret, "algorithm": ALGORITHM}
    (folder / "zone.db").write_text(ZONE_TEXT.format(zone=server.zone))
    conf = folder / "server.conf"
    conf.write_text((NAMED_CONF if program == "named" else KNOT_CONF).format(**told))
    path = shutil.which(program) or f"/usr/sbin/{program}"
    arguments = ["-f", "-c", str(conf)] if program == "named" else ["-c", str(conf)]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen([path, *arguments], stdout=output, stderr=output)
    try:
        running = server.at(port)
        _await_ready(running, process, folder)
        yield running
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def _await_ready(server: Server, process: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait (bounded) until it answers for the zone. Raises RuntimeError with what it said."""
    question = dns.message.make_query(server.zone, "SOA")
    deadline = time.monotonic() + READY_MAX_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if dns.query.tcp(question, "127.0.0.1", port=server.port, timeout=1).answer:
                return
        except (OSError, EOFError, dns.exception.Timeout):
            pass
        try:
            process.wait(TRY_S)
        except subprocess.TimeoutExpired:
            continue
    raise RuntimeError(f"no answer: {(folder / 'output').read_text(errors='replace')}")


def _free_port() -> int:
    """A number that is free for TCP and UDP at this moment."""
    with socket.socket() as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        port: int = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        return port
