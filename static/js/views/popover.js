import {useEffect, useRef} from "preact/hooks";

/** A ref for a popover that comes into sight when it opens, wherever on the page that is; `of` tells one from the next. */
export function useInSight(of) {
  const box = useRef(null);
  useEffect(() => box.current?.scrollIntoView({block: "nearest", inline: "nearest"}), [of]);
  return box;
}
