"""What is asked of each face in the benchmark: one typical change, over one kept connection, read to the end of its answer.

Never here: timing.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Entry = Mapping[str, Any]
Call = Callable[[], object]
ANSWER_MAX_S = 10.0


def connected(host: str, port: int) -> socket.socket:
    sock = socket.create_connection((host, port), timeout=ANSWER_MAX_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


@dataclass(frozen=True, slots=True)
class Face:
    """One line of the benchmark: a fake, the bare server it is compared with, and how it is asked."""

    name: str
    fake: str
    bare: str
    call: Callable[[Entry], Call]
    bare_entry: Callable[[int, Entry], Entry]


# --- HTTP ----------------------------------------------------------------------------------------------------------


def http(method: str, path: str, body: Callable[[int], str], headers: Callable[[Entry, int], dict[str, str]]) -> Any:
    """How an HTTP face is asked; the number of the call makes bodies and keys its own."""

    def made(entry: Entry) -> Call:
        url = urlsplit(entry["url"])
        sock, numbers = connected(str(url.hostname), int(url.port or 80)), iter(range(1, 1 << 30))

        def call() -> int:
            number = next(numbers)
            said = body(number)
            told = {"host": "bench", "content-length": str(len(said)), **headers(entry, number)}
            head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
            target = url.path.rstrip("/") + path.format(number=number, entry=entry)
            sock.sendall(f"{method} {target} HTTP/1.1\r\n{head}\r\n{said}".encode())
            status = read_response(sock)
            assert status < 300, f"{method} {path} was answered {status}"
            return status

        return call

    return made


def read_response(sock: socket.socket) -> int:
    """Read one response to its end; its status."""
    data = b""
    while (end := data.find(b"\r\n\r\n")) < 0:
        data += _more(sock)
    head = data[:end].lower()
    at = head.find(b"content-length: ")
    length = int(head[at + 16 :].split(b"\r\n")[0]) if at >= 0 else 0
    while len(data) < end + 4 + length:
        data += _more(sock)
    return int(head.split()[1])


def _more(sock: socket.socket, at_most: int = 65536) -> bytes:
    part = sock.recv(at_most)
    assert part, "the server ended the connection"
    return part


def as_json(**fields: Any) -> str:
    return json.dumps(fields)


def plain(entry: Entry, number: int) -> dict[str, str]:
    return {"content-type": "application/json"}


def keyed(entry: Entry, number: int) -> dict[str, str]:
    told = {"content-type": "application/json", "idempotency-key": f"key-{number}"}
    return {**told, "authorization": f"Bearer {entry['api_key']}"} if "api_key" in entry else told


def token(entry: Entry, number: int) -> dict[str, str]:
    return {"content-type": "application/json", "authorization": f"Bearer {entry['token']}"}


def signed(entry: Entry, number: int) -> dict[str, str]:
    """Signed anew for every call, by the library that the client uses: the client's part, and the same on both sides."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    keys = Credentials(entry["access_key_id"], entry["secret_access_key"])
    form = {"content-type": "application/x-www-form-urlencoded; charset=utf-8", "host": "bench"}
    request = AWSRequest("POST", "http://bench/", headers=form, data=INSTANCE.format(number))
    SigV4Auth(keys, "ec2", entry["region"]).add_auth(request)
    return {name.lower(): value for name, value in request.headers.items()}


def stripe(entry: Entry, number: int) -> dict[str, str]:
    secret = entry["env"]["STRIPE_API_KEY"]
    form = "application/x-www-form-urlencoded"
    return {"authorization": f"Bearer {secret}", "content-type": form, "idempotency-key": f"key-{number}"}


def bare_http(port: int, like: Entry) -> Entry:
    return {**like, "url": f"http://127.0.0.1:{port}"}


CHARGE = "amount=100&currency=eur&confirm=true&payment_method=pm_card_visa&metadata[operation]=op&metadata[target]=t-{}"

INSTANCE = "Action=RunInstances&Version=2016-11-15&ImageId=ami-1&InstanceType=t3.micro&MinCount=1&MaxCount=1&ClientToken=token-{}"


# --- DNS and SMTP --------------------------------------------------------------------------------------------------


def dns_update(entry: Entry) -> Call:
    """A signed UPDATE that adds a record, over TCP. Signing and reading are the client's part on both sides."""
    import dns.message
    import dns.tsigkeyring
    import dns.update

    sock, numbers = connected(entry["host"], entry["port"]), iter(range(1, 1 << 30))
    ring = dns.tsigkeyring.from_text({entry["tsig"]["name"]: entry["tsig"]["secret"]})

    def call() -> None:
        update = dns.update.UpdateMessage(entry["zone"], keyring=ring)
        update.add(f"bench-{next(numbers)}", 300, "A", "192.0.2.1")
        wire = update.to_wire()
        sock.sendall(struct.pack("!H", len(wire)) + wire)
        (size,) = struct.unpack("!H", _exactly(sock, 2))
        answer = dns.message.from_wire(_exactly(sock, size), keyring=ring, request_mac=update.mac)
        assert answer.rcode() == 0, answer

    return call


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += _more(sock, count - len(data))
    return data


def bare_dns(port: int, like: Entry) -> Entry:
    return {**like, "host": "127.0.0.1", "port": port}


def smtp_send(entry: Entry) -> Call:
    """One message to one recipient, on a connection that stays."""
    place = entry["smtp"]
    sock, numbers = connected(place["host"], place["port"]), iter(range(1, 1 << 30))
    _reply(sock)

    def say(text: str) -> None:
        sock.sendall(text.encode() + b"\r\n")
        _reply(sock)

    say("EHLO bench.example")

    def call() -> None:
        say("MAIL FROM:<a@bench.example>")
        say("RCPT TO:<b@bench.example>")
        say("DATA")
        say(f"Subject: bench\r\nMessage-ID: <{next(numbers)}@bench.example>\r\n\r\nHello.\r\n.")

    return call


def _reply(sock: socket.socket) -> None:
    data = b""
    while not (data.endswith(b"\r\n") and data.splitlines()[-1][3:4] == b" "):
        data += _more(sock)
    assert data[:1] in b"23", data


def bare_smtp(port: int, like: Entry) -> Entry:
    return {"smtp": {"host": "127.0.0.1", "port": port}}


SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "inventory": {"stock": {"sku-1": 1_000_000_000}},
    "shipment": {"funds": 10**12},
}
"""Fake -> options other than the usual ones: there must be something left to ask for."""

FACES: tuple[Face, ...] = (
    Face("payment: charge", "payment", "http", http("POST", "/v1/payment_intents", CHARGE.format, stripe), bare_http),
    Face("dns: signed update, TCP", "dns", "dns", dns_update, bare_dns),
    Face("email: message by SMTP", "email", "smtp", smtp_send, bare_smtp),
    Face(
        "approval: request",
        "approval",
        "http",
        http("POST", "/requests", lambda n: as_json(id=f"r-{n}", digest="d", requester="bench"), plain),
        bare_http,
    ),
    Face(
        "inventory: reservation of 1",
        "inventory",
        "http",
        http("POST", "/reservations", lambda n: as_json(id=f"r-{n}", sku="sku-1", quantity=1), plain),
        bare_http,
    ),
    Face(
        "shipment: label",
        "shipment",
        "http",
        http("POST", "/labels", lambda n: as_json(service="standard", reference=f"o-{n}"), keyed),
        bare_http,
    ),
    Face(
        "email: message by HTTP",
        "email",
        "http",
        http(
            "POST",
            "/emails",
            lambda n: json.dumps({"from": "a@b.example", "to": "c@d.example", "subject": f"{n}", "text": "Hello."}),
            keyed,
        ),
        bare_http,
    ),
    Face(
        "deployment: deploy",
        "deployment",
        "http",
        http(
            "POST",
            "/repos/{entry[repository]}/deployments",
            lambda n: as_json(ref="main", environment=f"e-{n}", auto_merge=False, required_contexts=[]),
            token,
        ),
        bare_http,
    ),
    Face(
        "cluster: config map",
        "cluster",
        "http",
        http(
            "POST",
            "/api/v1/namespaces/default/configmaps",
            lambda n: as_json(apiVersion="v1", kind="ConfigMap", metadata={"name": f"c-{n}"}, data={"a": "b"}),
            token,
        ),
        bare_http,
    ),
    Face("cloud: instance, signed", "cloud", "http", http("POST", "/", INSTANCE.format, signed), bare_http),
    Face(
        "tenant: provision",
        "tenant",
        "http",
        http("POST", "/tenants", lambda n: as_json(name=f"tenant-{n}"), keyed),
        bare_http,
    ),
    Face("access: grant", "access", "http", http("PUT", "/grants/s-{number}/admin", lambda n: "{}", plain), bare_http),
    Face(
        "flag: set",
        "flag",
        "http",
        http("PUT", "/flags/flag-{number}", lambda n: as_json(value=True), keyed),
        bare_http,
    ),
    Face("checkout: catalogue page", "checkout", "http", http("GET", "/", lambda n: "", plain), bare_http),
)
