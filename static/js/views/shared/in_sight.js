import {useLayoutEffect, useState} from "preact/hooks";

const FEWEST = 8;

/**
 * How many rows of a list may be in sight, from its first on: those from the top of the box that scrolls to its lower
 * edge, and a few more. Others would be laid out in vain with every frame. `height` is that of a row in pixels.
 *
 * @param {{current: any}} box a ref to the element that scrolls
 */
export function useRowsInSight(box, height) {
  const [rows, setRows] = useState(FEWEST);
  useLayoutEffect(() => {
    const {current} = box;
    const measure = () => {
      const needed = Math.ceil((current.scrollTop + current.clientHeight) / height) + 2;
      // Never fewer: where the box does not scroll, such as on a phone, it is as high as what is drawn in it.
      setRows((drawn) => Math.max(drawn, needed));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    current.addEventListener("scroll", measure);
    return () => {
      observer.disconnect();
      current.removeEventListener("scroll", measure);
    };
  }, []);
  return rows;
}

/** The height of a row of a table in pixels, at least. */
const TABLE_ROW = 24;

/**
 * How many rows of a table on a page that scrolls are drawn. While the run plays they are those that may be in sight, from
 * the first on: others would be laid out and painted in vain with every frame. At rest they are all of them.
 *
 * @param {{current: any}} table a ref to the table
 */
export function useRowsOnPage(table, isMoving) {
  const [rows, setRows] = useState(FEWEST);
  useLayoutEffect(() => {
    const measure = () => {
      const below = innerHeight - table.current.getBoundingClientRect().top;
      setRows((drawn) => Math.max(drawn, Math.ceil(below / TABLE_ROW)));
    };
    measure();
    addEventListener("scroll", measure, {passive: true});
    addEventListener("resize", measure);
    return () => {
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, []);
  return isMoving ? rows : Infinity;
}

/** The style of a table of which so many of its rows are drawn: it stays as long as with all of them. */
export function roomForRows(drawn, all) {
  return drawn < all ? `margin-bottom:${(all - drawn) * TABLE_ROW}px` : "";
}
