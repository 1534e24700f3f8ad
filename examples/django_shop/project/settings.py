"""Settings of a shop that sells with Holdfast. Its users are in SQLite, its holds in Holdfast."""

import json
import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Where the demo of Holdfast keeps its address and key. A shop of your own sets variables instead.
_DEMO = Path(os.environ.get("HOLDFAST_HOME", ".holdfast"))


def _from_demo(name: str) -> str:
    try:
        return str(json.loads((_DEMO / "demo.json").read_text())[name])
    except (OSError, KeyError):
        return ""


# Of this sample only: a real shop has a secret of its own and turns DEBUG off.
SECRET_KEY = os.environ.get("SHOP_SECRET_KEY", "a sample shop, on your machine only")
DEBUG = os.environ.get("SHOP_DEBUG", "yes") == "yes"
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "holdfast.entrypoints.drf",
    "shop",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "shop.views.shop_name",
            ]
        },
    }
]
ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SHOP_DATABASE", str(_DEMO / "shop.sqlite3")),
    }
}
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "log-in", "shop", "shop"
STATIC_URL = "static/"
TIME_ZONE, USE_TZ = "Europe/Berlin", True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The sale of this shop.
SHOP_SESSION_ID = os.environ.get("SHOP_SESSION_ID") or _from_demo("session_id")

_IN_PROCESS = {
    "DATABASE_URL": os.environ.get("SHOP_HOLDFAST_DATABASE_URL", ""),
    "HOLDFAST_SECRET_KEY": os.environ.get("HOLDFAST_SECRET_KEY", ""),
}
HOLDFAST = {
    "KEY": os.environ.get("SHOP_HOLDFAST_KEY") or _from_demo("secret_key"),
    **(
        {"IN_PROCESS": _IN_PROCESS}
        if _IN_PROCESS["DATABASE_URL"]
        else {"SERVER_URL": os.environ.get("SHOP_HOLDFAST_URL") or _from_demo("base_url")}
    ),
}

REST_FRAMEWORK = {"DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"}
SPECTACULAR_SETTINGS = {
    "TITLE": "Harbour Tickets",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "HoldStatus": "holdfast.domain.holds.hold.HoldStatus",
        "OrderStatus": "holdfast.domain.orders.order.OrderStatus",
        "TicketStatus": "holdfast.entrypoints.api.orders.answers.TicketStatus",
        "CartStatus": "holdfast.entrypoints.api.carts.answers.CartStatus",
    },
}
