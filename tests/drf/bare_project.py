"""The smallest Django project that mounts Holdfast: no database, no other app. Makes some requests
and prints what it saw as JSON."""

import json
import os
import sys
import threading
from typing import Any

import django
from django.conf import settings
from django.test import Client

CONFIGURED = json.loads(sys.argv[1])


def holdfast_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("holdfast")]


class Caller:
    def __init__(self, secret: str) -> None:
        self._client = Client(headers={"Authorization": f"Bearer {secret}"})

    def place(self, **body: Any) -> Any:
        sent = json.dumps(CONFIGURED["body"] | body)
        return self._client.post("/holds", sent, content_type="application/json")


def in_a_fork(key: Caller) -> int:
    """What a child answers that was forked after the engine had started."""
    child = os.fork()
    if child == 0:
        from holdfast.entrypoints.drf.backends.backend import stop_backend

        status = key.place().status_code
        stop_backend()
        os._exit(0 if status == 201 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    settings.configure(
        ROOT_URLCONF="holdfast.entrypoints.drf.urls",
        ALLOWED_HOSTS=["testserver"],
        DATABASES={},
        INSTALLED_APPS=["holdfast.entrypoints.drf"],
        HOLDFAST=CONFIGURED["holdfast"],
    )
    django.setup()
    from django.apps import apps
    from django.core.management import call_command

    from holdfast.entrypoints.drf.client import call_holdfast

    call_command("check")
    key, buyer = Caller(CONFIGURED["key"]), Caller(CONFIGURED["token"])
    seen: dict[str, Any] = {"threads before": holdfast_threads()}
    seen["placed"] = key.place().status_code
    seen["threads"] = holdfast_threads()
    seen["in a fork"] = in_a_fork(key)
    seen["placed after the fork"] = key.place().status_code
    throttled = [buyer.place(user_id=None) for _ in range(3)]
    seen["throttled"] = [answer.status_code for answer in throttled]
    seen["retry after"] = throttled[-1].headers.get("Retry-After")
    seen["problem"] = json.loads(throttled[-1].content)["error"]
    seen["never throttled"] = [key.place().status_code for _ in range(3)]
    seen["called"] = call_holdfast("GET", "sessions", query="limit=1").status
    seen["models"] = [model.__name__ for model in apps.get_models()]
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main()
