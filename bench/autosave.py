"""One author who goes on writing a post of 600 words in the admin's editor."""

from __future__ import annotations

import http.client
import json
import random
import re
import secrets
import time
from typing import Any, Final

from bench import data, process
from bench.data import Content
from bench.figures import Sample
from bench.http import Answer, answer_to
from bench.masthead import MastheadService
from bench.service import CanNot, Service
from bench.tasks import Round, Server, Settings

_WORDS: Final = 600


class Autosave:
    """Each save waits for the last one, and names the version that it made."""

    def __init__(self, service: Service, content: Content) -> None:
        if not isinstance(service, MastheadService):
            raise CanNot("there is no editor")
        site = content.site_names[0]
        request = service.page(site, "/admin/posts/new", is_signed_in=True)
        page = answer_to(service.port, request, 0).body.decode()
        owner = re.search(r'data-(?:page-)?owner="([^"]*)"', page)
        token = re.search(r'name="form_token" value="([^"]*)"', page)
        if not owner or not token:
            raise CanNot("/admin/posts/new has no editor")
        self._headers = {
            **service.signed_in(site),
            "Content-Type": "application/json",
            "Sec-Fetch-Site": "same-origin",
            "X-Form-Token": token[1],
            "X-Page-Owner": owner[1],
        }
        self._words = data.words(random.Random(data.VERSION), _WORDS)
        self._path = f"/admin/posts/{secrets.token_hex(8)[:15]}/text"
        self._versions: dict[int, str] = {}
        self._saves = 0
        connection = _connected(service.port)
        self.answer = self._save(connection)
        connection.close()
        if not self.answer.is_good:
            raise CanNot(f"POST /admin/posts/…/text: {self.answer.status}")

    def round(self, server: Server, number: int, settings: Settings) -> Round:
        connection = _connected(server.port)
        problems, done = [], 0
        used, began = process.processor_seconds(server.pid), time.perf_counter()
        while (elapsed := time.perf_counter() - began) < settings.seconds:
            answer = self._save(connection)
            done += 1
            if not answer.is_good:
                problems.append(f"a save was answered with {answer.status}")
                break
        connection.close()
        server.wait_until_calm()
        used = process.processor_seconds(server.pid) - used
        return Round(Sample(done / elapsed, used / max(1, done)), problems)

    def _save(self, connection: http.client.HTTPConnection) -> Answer:
        self._saves += 1
        body = {
            # By port, because the ceiling has a version of its own.
            "version": self._versions.get(connection.port, "new"),
            "title": "Bench",
            "content_json": _document(f"{self._saves} {self._words}"),
        }
        connection.request("POST", self._path, json.dumps(body), self._headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.getheaders(), response.read())
        if answer.is_good:
            self._versions[connection.port] = json.loads(answer.body)["version"]
        return answer


def _connected(port: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def _document(text: str) -> dict[str, Any]:
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
    return {"type": "doc", "content": [paragraph]}
