import {gettext} from "../../lib/words.js";
import {element} from "../../lib/dom.js";
import {Replay} from "../../model/home/replay.js";
import {podUnder} from "../../model/home/stage.js";
import {Picture} from "../../views/home/picture.js";

/** Where a picture that stands still stands: something waits, something is bound, something leaves. */
const STILL_AT = 0.26;
const BEGIN_AT = 0.23;
const LONGEST_STEP = 0.1;

/**
 * The living picture: the recorded run of a story, at its own pace. It stops off screen, in a hidden page, under reduced
 * motion, and by its button or the space bar. A click on a pod opens its page in that run.
 */
export class Living {
  constructor(figure, data) {
    this.replay = new Replay(data);
    this.story = figure.dataset.story;
    this.canvas = element("canvas", {kind: HTMLCanvasElement, within: figure});
    this.button = element("button", {within: figure});
    this.clock = element(".clock", {within: figure});
    this.says = element(".says", {kind: HTMLAnchorElement, within: figure});
    this.picture = new Picture(this.canvas);
    this.isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.isSeen = false;
    this.time = this.replay.end * (this.isPlaying ? BEGIN_AT : STILL_AT);
    this.last = 0;
  }

  start() {
    this.button.addEventListener("click", () => this.toggle());
    this.canvas.addEventListener("keydown", (event) => this.#press(event));
    this.canvas.addEventListener("click", (event) => this.#open(event));
    this.canvas.addEventListener("pointermove", (event) => {
      this.canvas.style.cursor = this.#under(event) ? "pointer" : "";
    });
    addEventListener("themechange", () => this.#show(1));
    new ResizeObserver(() => {
      this.picture.fit();
      this.#show(1);
    }).observe(this.canvas);
    new IntersectionObserver(([entry]) => this.#see(entry.isIntersecting)).observe(this.canvas);
    this.#label();
    this.#show(1);
  }

  toggle() {
    this.isPlaying = !this.isPlaying;
    this.#label();
    this.#goOn();
  }

  #see(isSeen) {
    this.isSeen = isSeen;
    this.#goOn();
  }

  /** Ask for the next frame, if anything is to move. A hidden page gets none. */
  #goOn() {
    this.last = 0;
    if (this.isPlaying && this.isSeen) this.frame ??= requestAnimationFrame((now) => this.#frame(now));
  }

  #frame(now) {
    this.frame = null;
    if (!this.isPlaying || !this.isSeen) return;
    const seconds = this.last ? Math.min(LONGEST_STEP, (now - this.last) / 1000) : 0;
    this.last = now;
    this.time += seconds * 1000;
    if (this.time > this.replay.end) {
      this.time = 0;
      this.picture.settle();
    }
    this.#show(seconds);
    this.frame = requestAnimationFrame((next) => this.#frame(next));
  }

  #show(seconds) {
    const scene = this.replay.at(this.time);
    if (seconds === 1) this.picture.settle();
    this.picture.draw(scene, seconds);
    const clock = `${(this.time / 1000).toFixed(1)} s`;
    if (this.clock.textContent !== clock) this.clock.textContent = clock;
    this.#tell(scene.attempt);
  }

  #tell(attempt) {
    const words = attempt ? told(attempt) : "";
    if (this.says.textContent === words) return;
    this.says.textContent = this.says.title = words;
    if (attempt) this.says.href = this.#hrefOf(attempt.pod, attempt.seq);
  }

  #label() {
    const use = this.button.querySelector("use");
    use?.setAttribute("href", this.isPlaying ? "#pause" : "#play");
    this.button.setAttribute("aria-label", this.isPlaying ? gettext("Pause the picture") : gettext("Play the picture"));
  }

  #press(event) {
    if (event.key !== " ") return;
    event.preventDefault();
    this.toggle();
  }

  #open(event) {
    const pod = this.#under(event);
    if (pod) location.assign(this.#hrefOf(pod.name, pod.seq));
  }

  #under({offsetX, offsetY}) {
    return podUnder(this.picture.marks, offsetX, offsetY);
  }

  /** The page of a pod in the recorded run, after that event. */
  #hrefOf(pod, seq) {
    return `${this.story}?${new URLSearchParams({pod, seq: String(seq)})}`;
  }
}

function told({pod, node, refused}) {
  if (refused) return gettext("{pod} is refused before any node is looked at: {reason}", {pod, reason: refused});
  return node === null ? gettext("{pod} fits nowhere and waits", {pod}) : gettext("{pod} gets {node}", {pod, node});
}
