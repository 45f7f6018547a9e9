"""Addresses of the home page, the runs and the stories."""

from django.urls import path

from kscope.runs.stories import pages

urlpatterns = [
    path("", pages.home, name="home"),
    path("runs/", pages.runs, name="runs"),
    path("stories/", pages.stories, name="stories"),
    path("stories/<slug:slug>/", pages.story, name="story"),
    path("stories/<slug:slug>/replay/", pages.replay, name="story-replay"),
]
