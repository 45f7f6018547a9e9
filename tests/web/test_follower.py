"""What follows a run: woken by news, undisturbed by errors, ended with its last user."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kscope.runs.stream import follower
from kscope.runs.stream.follower import Follower, Followers, RunGone
from kscope.runs.stream.stream_room import HeadNews

RUN = 7


class Looks(Follower):
    """Counts its looks, each of which may end in the next of *problems*."""

    poll_seconds = 3_600.0

    def __init__(self, run_id: int, news: HeadNews, problems: list[Exception]) -> None:
        super().__init__(run_id, news)
        self.looks = 0
        self.problems = problems
        self.left = 0

    async def look(self) -> bool:
        self.looks += 1
        if self.problems:
            raise self.problems.pop(0)
        self.tell()
        self.left -= 1
        return self.left > 0


@pytest.fixture
async def news(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HeadNews]:
    async def nothing(_: HeadNews) -> None:
        pass

    monkeypatch.setattr(HeadNews, "_listen", nothing)
    monkeypatch.setattr(follower, "RETRY_SECONDS", 0.0)
    news = HeadNews()
    yield news
    await news.close()


def _followers(news: HeadNews, *problems: Exception) -> Followers[Looks]:
    return Followers(news, lambda run_id: Looks(run_id, news, [*problems]))


async def test_news_make_a_follower_look(news: HeadNews) -> None:
    async with _followers(news).of(RUN) as looks:
        await looks.change.wait()
        change = looks.change
        news.hear(RUN, b"0")
        await change.wait()
        assert looks.looks == 2


async def test_a_follower_catches_up_without_news(news: HeadNews) -> None:
    async with _followers(news).of(RUN) as looks:
        looks.left = 3
        while looks.left:
            await looks.change.wait()
        assert looks.looks == 3


async def test_a_follower_looks_again_after_errors(news: HeadNews) -> None:
    async with _followers(news, OSError("away"), KeyError("mistake")).of(RUN) as looks:
        await looks.change.wait()
        assert looks.looks == 3


async def test_a_follower_ends_with_its_run(news: HeadNews) -> None:
    followers = _followers(news, RunGone())
    async with followers.of(RUN) as looks:
        await looks.change.wait()
        assert looks.is_gone
        # Who comes now does not get the one that has ended.
        async with followers.of(RUN) as other:
            assert other is not looks


async def test_the_last_user_ends_a_follower(news: HeadNews) -> None:
    followers = _followers(news)
    async with followers.of(RUN) as looks:
        async with followers.of(RUN) as same:
            assert same is looks
        assert followers.by_run == {RUN: looks}
        await looks.change.wait()
    assert followers.by_run == {}
    before = looks.looks
    news.hear(RUN, b"0")
    await asyncio.sleep(0)
    assert looks.looks == before
