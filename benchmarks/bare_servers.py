"""Bare servers, one kind a process: `python bare_servers.py http|dns|smtp` prints its port and serves until it is ended.

Each is its library's hello-world: no state, no journal, no hooks.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any


def listening() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(100)
    print(sock.getsockname()[1], flush=True)
    return sock


def http() -> None:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def hello(request: Request) -> JSONResponse:
        await request.body()
        return JSONResponse({"hello": "world"})

    routes = [Route("/{path:path}", hello, methods=["GET", "POST", "PUT", "PATCH"])]
    config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False, http="h11", lifespan="off")
    uvicorn.Server(config).run([listening()])


async def dns_over_tcp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Parse, check the signature, answer NOERROR, signed."""
    import dns.message
    import dns.tsigkeyring

    ring = dns.tsigkeyring.from_text({sys.argv[2]: sys.argv[3]})
    try:
        while True:
            size = int.from_bytes(await reader.readexactly(2), "big")
            asked = dns.message.from_wire(await reader.readexactly(size), keyring=ring)
            answer = dns.message.make_response(asked).to_wire()
            writer.write(len(answer).to_bytes(2, "big") + answer)
    except asyncio.IncompleteReadError:
        writer.close()


async def dns() -> None:
    server = await asyncio.start_server(dns_over_tcp, sock=listening())
    await server.serve_forever()


async def smtp() -> None:
    from aiosmtpd.handlers import Sink
    from aiosmtpd.smtp import SMTP

    def made() -> Any:
        return SMTP(Sink())

    server = await asyncio.get_running_loop().create_server(made, sock=listening())
    await server.serve_forever()


if __name__ == "__main__":
    match sys.argv[1]:
        case "http":
            http()
        case "dns":
            asyncio.run(dns())
        case "smtp":
            asyncio.run(smtp())
