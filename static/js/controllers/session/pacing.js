/** How long a frame may take what came; what is left waits for the next. */
export const FOLDING_MS = 6;

/** A page that is hidden meanwhile gets no frame any more. */
const LONGEST_FRAME_MS = 200;

/** Work of many pieces, between which frames are drawn. A hidden page has no frames, and does not wait for any. */
export class Pacing {
  #end = performance.now() + FOLDING_MS;

  /** Let the next frame be drawn, if the time of this one is over. */
  async rest() {
    if (performance.now() < this.#end || document.hidden) return;
    await new Promise((resolve) => {
      requestAnimationFrame(resolve);
      setTimeout(resolve, LONGEST_FRAME_MS);
    });
    this.#end = performance.now() + FOLDING_MS;
  }
}
