/**
 * What a list of courses says of each: {state, lesson}. The state is "done", "next" for the first that is not, else ""; the
 * lesson is the first of the course that was not read to its end, or null.
 *
 * A course is its lessons {slug, steps, seen}, where `seen` is the last step that was read, from 0, or -1.
 */
export function nextCourse(courses) {
  const lessons = courses.map((course) => course.find(({steps, seen}) => seen + 1 < steps)?.slug ?? null);
  const next = lessons.findIndex((lesson) => lesson !== null);
  return lessons.map((lesson, i) => ({lesson, state: lesson === null ? "done" : i === next ? "next" : ""}));
}
