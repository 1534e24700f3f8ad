"""Django's settings: pages, people's log-in and the admin. The API does not go through Django.

Cookies and transport: by default Holdfast listens on 127.0.0.1 without TLS, where a browser would
drop a cookie marked Secure. As soon as HOLDFAST_ALLOWED_HOSTS names no local host, the pages are
taken to be reached through a proxy that speaks https: cookies are marked Secure, and forms sent
from https://<host> are accepted. Over plain http nobody can log in there, which is intended.
"""

import secrets
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

from holdfast.bootstrap.database import databases
from holdfast.bootstrap.privacy.addresses import addresses_of
from holdfast.bootstrap.settings import load_settings
from holdfast.domain.access.members import PASSWORD_LENGTH_MIN

_settings = load_settings()
_LOCAL_HOSTS = {"127.0.0.1", "localhost", "[::1]", "*"}

DEBUG = False
# Whether to serve the demo's pages.
HOLDFAST_IS_DEMO = _settings.holdfast_payments == "demo"
# A random key by default: sessions end with the process, and no secret has a default.
# The stored form of addresses, for the admin and the migrations.
HOLDFAST_ADDRESSES = addresses_of(_settings)
SECRET_KEY = _settings.holdfast_secret_key or secrets.token_urlsafe(48)
ALLOWED_HOSTS = [
    host.strip() for host in _settings.holdfast_allowed_hosts.split(",") if host.strip()
]
_public = _LOCAL_HOSTS.isdisjoint(ALLOWED_HOSTS)

INSTALLED_APPS = [
    "axes",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    # Before the theme: adds the search box to its header, and replaces its empty lists.
    "holdfast.entrypoints.admin",
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "holdfast.adapters.postgres",
    "holdfast.entrypoints.pages",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "holdfast.entrypoints.pages.middleware.SecurityHeaders",
    "holdfast.entrypoints.pages.middleware.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "holdfast.entrypoints.admin.people.middleware.SeenSessions",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "holdfast.entrypoints.pages.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# `default` acts as the operator role; migrations and user creation use `owner`.
DATABASES = databases(_settings)

# Five wrong passwords lock a name out for ten minutes, from that address only, so an attacker
# cannot lock out the user elsewhere. Attempts meanwhile don't count: they neither prolong the
# lock-out nor fill the table. The first failure after it deletes the row.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "holdfast.adapters.postgres.access.passwords.TwoFactorBackend",
]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=10)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "holdfast.adapters.postgres.access.passwords.counted_name"
AXES_LOCKOUT_CALLABLE = "holdfast.entrypoints.pages.views.locked_out"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
# Not stored with a failed attempt.
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "otp_token"]
OTP_TOTP_ISSUER = "Holdfast"
# A wrong code makes the next one wait for a second, the one after that for two, and so on.
OTP_TOTP_THROTTLE_FACTOR = OTP_STATIC_THROTTLE_FACTOR = 1
# Don't adapt to a drifting clock, which would widen the window for good.
OTP_TOTP_SYNC = False

# Where a login ends that came without `?next=`.
LOGIN_REDIRECT_URL = "admin:index"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": PASSWORD_LENGTH_MIN}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]

# Browsers share cookies between the ports of a host: own names keep other Django sites apart.
SESSION_ENGINE = "holdfast.adapters.postgres.login_sessions"
SESSION_COOKIE_NAME = "holdfast_session"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_SECURE = _public
CSRF_FAILURE_VIEW = "holdfast.entrypoints.pages.views.form_refused"
CSRF_COOKIE_NAME = "holdfast_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_SECURE = _public
CSRF_TRUSTED_ORIGINS = [
    f"https://{'*' if host.startswith('.') else ''}{host}" for host in ALLOWED_HOSTS if _public
]
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "holdfast.entrypoints.pages.formats"

STATIC_URL = "/static/"
# Served from the packages, so there is no collectstatic step.
WHITENOISE_USE_FINDERS = True
WHITENOISE_MAX_AGE = 60 * 60
# Other sites need none of our style sheets.
WHITENOISE_ALLOW_ALL_ORIGINS = False

# Logging is set up before Django.
LOGGING_CONFIG = None


def _entry(model: str, title: str, icon: str) -> dict[str, Any]:
    """A menu entry of the admin, for people who may view that model."""
    app, name = model.split(".")

    def permission(request: HttpRequest) -> bool:
        # Cannot be imported before Django is set up.
        from django.contrib.admin import site  # noqa: PLC0415

        page = site.get_model_admin(apps.get_model(model))
        return page.has_view_permission(request)

    url = reverse_lazy(f"admin:{app}_{name}_changelist")
    return {"title": title, "icon": icon, "link": url, "permission": permission}


_DASHBOARD = {"title": "Dashboard", "icon": "dashboard", "link": reverse_lazy("admin:index")}


def _icon(request: HttpRequest) -> str:
    return static("pages/icon.svg")


# The look of the admin.
UNFOLD = {
    "SITE_TITLE": "Holdfast",
    "SITE_HEADER": "Holdfast",
    "SITE_SUBHEADER": "Admin, all times in UTC",
    "SITE_SYMBOL": "confirmation_number",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _icon}],
    "STYLES": [
        lambda request: static("holdfast/find.css"),
        lambda request: static("holdfast/skip.css"),
    ],
    "SCRIPTS": [lambda request: static("holdfast/find.js")],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": True,
    # Teal; from 600 on it is dark enough for white text.
    "COLORS": {
        "primary": {
            "50": "#f0fdfa",
            "100": "#ccfbf1",
            "200": "#99f6e4",
            "300": "#5eead4",
            "400": "#2dd4bf",
            "500": "#14b8a6",
            "600": "#0f766e",
            "700": "#115e59",
            "800": "#134e4a",
            "900": "#0f3f3c",
            "950": "#042f2e",
        },
    },
    "DASHBOARD_CALLBACK": "holdfast.entrypoints.admin.dashboard.pages.with_dashboard",
    "LOGIN": {"form": "holdfast.entrypoints.admin.people.log_in.LogInForm"},
    "ACCOUNT": {
        "navigation": [{"title": "Sessions and security", "link": reverse_lazy("account")}]
    },
    "SIDEBAR": {
        "navigation": [
            {"items": [_DASHBOARD]},
            {
                "title": "Holds",
                "items": [
                    _entry("holdfast.hold", "Holds", "lock_clock"),
                    _entry("holdfast.waitlist", "Waitlists", "hourglass_top"),
                    _entry("holdfast.checkout", "Checkouts", "shopping_cart_checkout"),
                    _entry("holdfast.order", "Orders", "receipt_long"),
                    _entry("holdfast.fact", "Facts", "campaign"),
                    _entry("holdfast.auditentry", "Audit", "history"),
                ],
            },
            {
                "title": "Catalog",
                "items": [
                    _entry("holdfast.event", "Events", "festival"),
                    _entry("holdfast.session", "Sessions", "event"),
                    _entry("holdfast.tickettype", "Ticket types", "confirmation_number"),
                    _entry("holdfast.pool", "Pools", "inventory_2"),
                    _entry("holdfast.block", "Blocks", "grid_view"),
                    _entry("holdfast.seat", "Seats", "event_seat"),
                ],
            },
            {
                "title": "Access",
                "items": [
                    _entry("holdfast.organization", "Organizations", "domain"),
                    _entry("holdfast.apikey", "API keys", "key"),
                    _entry("holdfast.member", "Members", "group"),
                    _entry("auth.user", "Accounts", "person"),
                ],
            },
        ],
    },
}
