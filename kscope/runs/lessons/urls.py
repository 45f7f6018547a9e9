"""Addresses of lessons: pages and REST."""

from django.urls import path

from kscope.runs.lessons import api, pages

urlpatterns = [
    path("lessons/", pages.lessons, name="lessons"),
    path("lessons/<slug:slug>/", pages.lesson, name="lesson"),
    path("api/v1/lessons/", api.LessonList.as_view(), name="api-lessons"),
    path("api/v1/lessons/<slug:slug>/", api.LessonDetail.as_view(), name="api-lesson"),
]
