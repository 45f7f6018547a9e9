import {useEffect, useRef} from "preact/hooks";

/** A ref for a popover that scrolls into view when it opens; `of` identifies what it is about. */
export function useInSight(of) {
  /** @type {{current: any}} */
  const box = useRef(null);
  useEffect(() => box.current?.scrollIntoView({block: "nearest", inline: "nearest"}), [of]);
  return box;
}
