"""Addresses of pages."""

from django.urls import path

from scheduling import web

urlpatterns = [
    path("versions/", web.versions, name="versions"),
    path("runs/<int:run_id>/agreement/", web.agreement_page, name="agreement"),
]
