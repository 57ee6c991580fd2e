"""A fake as small as can be: it keeps what it is sent. Every test of the wire room plays on it."""

from __future__ import annotations

from typing import Any, ClassVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from fakes.wire.desk import Desk
from fakes.wire.fake import Options
from fakes.wire.http import Application, HttpFake, call_of
from fakes.wire.points import Facts
from fakes.wire.shelf import Shelf


class Echo(HttpFake):
    """POST /notes keeps the body, GET /notes lists, POST /broken raises, GET /stream streams, POST /slow settles later."""

    name = "echo"
    title = "keeps what it is sent"
    competitors: ClassVar = {"note": "somebody else leaves a note"}

    def __init__(self, desk: Desk, options: Options) -> None:
        super().__init__(desk, options)
        self.state: Shelf = Shelf()

    def notes(self) -> list[str]:
        return list(self.state.all("note").values())

    def view(self) -> Any:
        return {"notes": self.notes()}

    def compete(self, what: str, facts: Facts) -> None:
        if what not in self.competitors:
            super().compete(what, facts)
        self.keep("theirs")

    def keep(self, text: str) -> int:
        number = self.state.number("note")
        self.state.put("note", str(number), text)
        self.desk.record("effect", "", {"effect": f"echo-{number}"})
        return number

    def application(self) -> Application:
        routes = [
            Route("/notes", self._add, methods=["POST"]),
            Route("/notes", self._list),
            Route("/broken", self._broken, methods=["POST"]),
            Route("/stream", self._stream),
            Route("/slow", self._slow, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    async def _add(self, request: Request) -> JSONResponse:
        text = (await request.body()).decode(errors="replace")
        call = call_of(request).about(what="note", target=text, key=request.headers.get("key", ""))
        return JSONResponse({"number": await self.desk.treat(call, lambda: self.keep(text))})

    async def _list(self, request: Request) -> JSONResponse:
        stale_ns = await self.desk.read(call_of(request).about(what="list"))
        return JSONResponse({"notes": self.notes(), "stale_ns": stale_ns})

    async def _broken(self, request: Request) -> JSONResponse:
        raise RuntimeError("a bug of ours")

    async def _stream(self, request: Request) -> StreamingResponse:
        async def parts() -> Any:
            for number in range(3):
                yield b"%d\n" % number

        return StreamingResponse(parts())

    async def _slow(self, request: Request) -> JSONResponse:
        call = call_of(request).about(what="slow")
        self.desk.settle_later(1_000_000_000, call.facts, lambda succeeds: self.keep(f"settled {succeeds}") and None)
        return JSONResponse({})
