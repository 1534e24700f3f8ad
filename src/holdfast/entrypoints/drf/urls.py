"""`path("api/", include("holdfast.entrypoints.drf.urls"))`"""

from rest_framework.routers import SimpleRouter

from holdfast.entrypoints.drf.viewsets import (
    CartViewSet,
    CheckoutViewSet,
    HoldViewSet,
    OrderViewSet,
    SessionViewSet,
)

app_name = "holdfast"

router = SimpleRouter(trailing_slash=False)
router.register("holds", HoldViewSet, "hold")
router.register("carts", CartViewSet, "cart")
router.register("checkouts", CheckoutViewSet, "checkout")
router.register("orders", OrderViewSet, "order")
router.register("sessions", SessionViewSet, "session")

urlpatterns = router.urls
