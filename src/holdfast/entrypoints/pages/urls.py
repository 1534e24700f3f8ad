"""The URLs that Django serves. The API and the health probes are mounted beside it."""

from django.contrib import admin
from django.urls import include, path

from holdfast.entrypoints.admin.dashboard.pages import fragment_view
from holdfast.entrypoints.admin.exports.pages import EXPORT_URLS
from holdfast.entrypoints.admin.find.pages import FIND_URLS
from holdfast.entrypoints.admin.people.account import ACCOUNT_URLS
from holdfast.entrypoints.admin.people.invitations import accept, follow
from holdfast.entrypoints.pages import demo, views

urlpatterns = [
    path("", views.start, name="start"),
    path("demo/cart", demo.cart, name="demo-cart"),
    path("demo/token", demo.token, name="demo-token"),
    path("admin/account/", include(ACCOUNT_URLS)),
    path("admin/find/", include(FIND_URLS)),
    path("admin/invitation/", accept, name="invitation-accept"),
    path("admin/invitation/<str:secret>/", follow, name="invitation"),
    path("admin/dashboard/", fragment_view, name="dashboard-cards"),
    path("admin/exports/", include(EXPORT_URLS)),
    path("admin/", admin.site.urls),
]

handler403 = "holdfast.entrypoints.pages.views.forbidden"
handler404 = "holdfast.entrypoints.pages.views.not_found"
handler500 = "holdfast.entrypoints.pages.views.server_error"
