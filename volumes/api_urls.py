"""Addresses below /api/v1/."""

from django.urls import path

from volumes import api
from volumes.inside import api as inside_api

urlpatterns = [
    path(
        "runs/<int:run_id>/claims/<str:namespace>/<str:name>/candidates/",
        api.ClaimCandidates.as_view(),
        name="api-claim-candidates",
    ),
    path(
        "runs/<int:run_id>/volumes/<str:name>/claimants/",
        api.VolumeClaimants.as_view(),
        name="api-volume-claimants",
    ),
    path(
        "runs/<int:run_id>/inside/volumes/",
        inside_api.InsideVolumesView.as_view(),
        name="api-inside-volumes",
    ),
]
