"""The options of the DNS fake, and the zone it begins with.

Never here: what is done with them.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

import dns.exception
import dns.name
import dns.tsig
import dns.zonefile
from dns.name import Name
from dns.rdatatype import RdataType
from pydantic import ConfigDict, Field, SecretStr, field_validator

from fakes.dns.book import Beginning
from fakes.dns.channel import IDLE_MAX_S
from fakes.dns.domain import FIRST_SERIAL
from fakes.dns.records import IN, Record, name_of, rdata_of
from fakes.dns.signatures import ALGORITHM
from fakes.dns.zone import NS, SOA, RRset
from fakes.wire.fake import LOOPBACK, Options

TTL_S = 300
RETRY_S, EXPIRE_S = 600, 604_800
TEST_SECRET = base64.b64encode(b"knownstate-test-key-not-a-secret").decode()

Seconds = Annotated[int, Field(ge=0, le=(1 << 31) - 1)]


class DnsOptions(Options):
    """One zone, one key, three views."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    zone: str = "example"
    """The zone's name. The usual one holds every `.example` name."""
    records: tuple[str, ...] = ()
    """What stands in it from the beginning, as lines of a zone file: `www 300 A 192.0.2.1`."""
    key_name: str = "bench-key"
    secret: SecretStr = SecretStr(TEST_SECRET)
    """The key that may change the zone, in base64 (hmac-sha256)."""
    secondary_lag_ms: Seconds = 3600
    """How long after a change its NOTIFY reaches the secondary."""
    refresh_s: Seconds = 3600
    """How long after a change the secondary has it, whatever became of the NOTIFY."""
    negative_ttl_s: Seconds = 60
    """How long the resolver keeps that something is not there: the SOA's minimum."""
    clock_skew_s: float = Field(0.0, ge=-1e9, le=1e9)
    """How far the server's clock is ahead. Beyond 300 s every signed message is answered BADTIME."""
    idle_max_s: float = Field(IDLE_MAX_S, gt=0, le=86_400)
    """How long a connection may be silent before the server closes it."""

    @field_validator("zone", "key_name")
    @classmethod
    def _is_name(cls, text: str) -> str:
        try:
            if name_of(text) != dns.name.root:
                return text
        except dns.exception.DNSException as error:
            raise ValueError(f"{text!r} is no domain name: {error}") from None
        raise ValueError("the root cannot be served")

    @field_validator("secret")
    @classmethod
    def _is_base64(cls, secret: SecretStr) -> SecretStr:
        try:
            if base64.b64decode(secret.get_secret_value(), validate=True):
                return secret
        except binascii.Error:
            pass
        raise ValueError("the secret is not base64")

    @field_validator("records")
    @classmethod
    def _are_records(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        for line in lines:
            try:
                _read_lines([line], dns.name.root)
            except (dns.exception.DNSException, ValueError) as error:
                raise ValueError(f"{line!r} is no line of a zone file: {error}") from None
        return lines

    @property
    def origin(self) -> Name:
        return name_of(self.zone.lower())

    @property
    def key(self) -> dns.tsig.Key:
        return dns.tsig.Key(name_of(self.key_name), self.secret.get_secret_value(), ALGORITHM)

    def beginning(self) -> Beginning:
        """The zone a new fake begins with: SOA and two name servers with addresses, and the records that were given."""
        origin = self.origin
        hosts = [Name((label, *origin.labels)) for label in (b"ns1", b"ns2")]
        times = f"{FIRST_SERIAL} {self.refresh_s} {RETRY_S} {EXPIRE_S} {self.negative_ttl_s}"
        soa = rdata_of(SOA, f"{hosts[0]} {Name((b'hostmaster', *origin.labels))} {times}")
        servers = [Record(origin, NS, TTL_S, rdata_of(NS, host.to_text())) for host in hosts]
        servers += [Record(host, RdataType.A, TTL_S, rdata_of(RdataType.A, LOOPBACK)) for host in hosts]
        given = _read_lines(self.records, origin)
        return Beginning(origin, RRset(TTL_S, (soa,)), tuple(dict.fromkeys([*servers, *given])))


def _read_lines(lines: list[str] | tuple[str, ...], origin: Name) -> list[Record]:
    """Raises dns.exception.DNSException, or ValueError for what does not belong there."""
    text = "\n".join(lines)
    read = dns.zonefile.read_rrsets(text, rdclass=None, default_ttl=TTL_S, origin=origin, relativize=False)
    for rrset in read:
        if rrset.rdclass != IN or rrset.rdtype == SOA:
            raise ValueError("a record of class IN, and no SOA, is expected")
        if not rrset.name.is_subdomain(origin):
            raise ValueError(f"{rrset.name} is not in the zone")
    return [Record(rrset.name, rrset.rdtype, rrset.ttl, rdata) for rrset in read for rdata in rrset]
