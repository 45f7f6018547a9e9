import assert from "node:assert/strict";
import {test} from "node:test";

import {nextCourse} from "../../../../static/js/model/home/courses.js";

const lesson = (slug, seen) => ({slug, steps: 3, seen});

test("a course is done when all its lessons were read to the end", () => {
  const courses = [[lesson("a", 2), lesson("b", 2)], [lesson("c", 2), lesson("d", 1)], [lesson("e", -1)]];
  assert.deepEqual(nextCourse(courses), [
    {lesson: null, state: "done"},
    {lesson: "d", state: "next"},
    {lesson: "e", state: ""},
  ]);
});

test("nothing comes next when everything was read", () => {
  assert.deepEqual(nextCourse([[lesson("a", 2)]]), [{lesson: null, state: "done"}]);
});
