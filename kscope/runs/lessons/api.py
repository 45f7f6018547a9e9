"""Lessons by REST: the list, and one lesson."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kscope.runs.lessons.telling import (
    found_lesson,
    listed,
    readable_lessons,
    told_of,
    whole,
)
from kscope.runs.web.contract.paging import page_of, page_schema, paged
from kscope.runs.web.contract.queries import query
from kscope.runs.web.rest import RestView

MOST_LESSONS, USUAL_LESSONS = 500, 200


class LessonPiece(serializers.Serializer):
    """A part of a text; what is empty is absent."""

    kind = serializers.ChoiceField(("text", "code", "term", "moment", "object"))
    text = serializers.CharField(required=False)
    term = serializers.CharField(required=False)
    means = serializers.CharField(required=False, help_text="the term's sentence")
    object = serializers.CharField(required=False)
    attribute = serializers.CharField(required=False, help_text="of the object")
    moment = serializers.CharField(required=False)


class LessonOption(serializers.Serializer):
    """An answer to a question."""

    text = LessonPiece(many=True)
    entity = serializers.CharField(help_text="what stands for it on the picture, or empty")
    right = serializers.BooleanField()
    why = LessonPiece(many=True)


class LessonAsk(serializers.Serializer):
    """A question."""

    question = LessonPiece(many=True)
    then = serializers.CharField(help_text="the moment that the run plays to after the answer")
    because = LessonPiece(many=True)
    options = LessonOption(many=True)


class LessonStep(serializers.Serializer):
    """A page of a lesson."""

    title = serializers.CharField()
    at = serializers.CharField(help_text="its moment")
    select = serializers.CharField(help_text="an object, or empty")
    page = serializers.CharField(help_text="a page of the run that shows more, or empty")
    text = serializers.ListField(child=LessonPiece(many=True))
    ask = LessonAsk(allow_null=True)


class ListedLesson(serializers.Serializer):
    """A lesson in a list."""

    slug = serializers.CharField()
    course = serializers.CharField()
    title = serializers.CharField()
    teaches = serializers.CharField()
    steps = serializers.IntegerField()
    questions = serializers.IntegerField()
    minutes = serializers.IntegerField(help_text="About how long it takes to read.")
    scenario = serializers.CharField()
    is_shipped = serializers.BooleanField(help_text="whether it came with kscope")


class LessonMoment(serializers.Serializer):
    """An instant of the run."""

    seq = serializers.IntegerField()
    at = serializers.IntegerField(help_text="virtual nanoseconds")


class WholeLesson(ListedLesson):
    """A lesson with its steps and, once its run is finished, where they are in it."""

    told = LessonStep(many=True)
    run = serializers.IntegerField(allow_null=True, help_text="id; null until its page was opened")
    moments = serializers.DictField(child=LessonMoment(), allow_null=True)
    problems = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="what it says that its run does not show",
    )


class LessonList(RestView):
    """The lessons, course by course."""

    @extend_schema(
        operation_id="lessons_list",
        parameters=[query("LessonQuery", paged(MOST_LESSONS, USUAL_LESSONS))],
        responses=page_schema(ListedLesson, "LessonPage"),
    )
    def get(self, request: Request) -> Response:
        """The lessons that the visitor may read, those of kscope first."""
        page = page_of(self.asked, USUAL_LESSONS)
        begin = int(page.after or 0)
        readable = readable_lessons(request)[begin : begin + page.wanted]
        found, more = page.cut(enumerate(readable, begin + 1), lambda each: each[0])
        return Response({"items": [listed(each) for _, each in found], "continue": more})


class LessonDetail(RestView):
    """One lesson."""

    @extend_schema(responses=WholeLesson)
    def get(self, request: Request, slug: str) -> Response:
        """The lesson with its texts, questions and instants."""
        found = found_lesson(request, slug)
        return Response(whole(found, told_of(found)))
