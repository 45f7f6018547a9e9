import {nextCourse} from "../../model/home/courses.js";
import {readKept} from "../lesson/kept.js";

/** Mark the courses of which all lessons were read in this browser, and the one to go on with. */
export function connectCourses(root = document) {
  const rows = [.../** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("[data-lessons]"))];
  const courses = rows.map((row) =>
    (row.dataset.lessons ?? "")
      .trim()
      .split(" ")
      .map((lesson) => {
        const [slug, steps] = lesson.split(":");
        return {slug, steps: Number(steps), seen: readKept(slug)?.seen ?? -1};
      }),
  );
  for (const [i, mark] of nextCourse(courses).entries()) {
    rows[i].dataset.state = mark.state;
    const link = rows[i].querySelector("a");
    if (link && mark.lesson) link.setAttribute("href", `/lessons/${mark.lesson}/`);
  }
}
