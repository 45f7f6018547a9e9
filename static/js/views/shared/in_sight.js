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
