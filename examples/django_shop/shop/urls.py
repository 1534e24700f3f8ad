"""The pages of the shop."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from . import views

urlpatterns = [
    path("", views.shop, name="shop"),
    path("checkout", views.start_checkout, name="start-checkout"),
    path("checkout/<uuid:checkout_id>", views.checkout, name="checkout"),
    path("orders/<uuid:order_id>", views.order, name="order"),
    path("log-in", LoginView.as_view(template_name="shop/log_in.html"), name="log-in"),
    path("log-out", LogoutView.as_view(), name="log-out"),
]
