import {tipPlace} from "../../model/terms/terms.js";

const ID = "explanation";

/**
 * The explanation of one word, above everything else on the page. What it explains refers to it while it is open, so that
 * readers of the screen say it as well.
 */
export class Tip {
  constructor() {
    this.box = document.createElement("div");
    this.box.id = ID;
    this.box.role = "tooltip";
    this.box.popover = "manual";
    document.body.append(this.box);
    /** @type {Element | null} */
    this.of = null;
  }

  /** Explain the word that stands in `element`, for which `owner` has the focus or stands itself. */
  show(element, owner, {word, means}) {
    if (this.of === owner) return;
    this.hide();
    const name = document.createElement("b");
    name.textContent = word;
    this.box.replaceChildren(name, ` ${means}`);
    this.box.showPopover();
    const {left, top} = tipPlace(element.getBoundingClientRect(), this.box.getBoundingClientRect(), {
      width: document.documentElement.clientWidth,
      height: innerHeight,
    });
    this.box.style.left = `${left}px`;
    this.box.style.top = `${top}px`;
    owner.setAttribute("aria-describedby", ID);
    this.of = owner;
  }

  hide() {
    if (!this.of) return;
    this.of.removeAttribute("aria-describedby");
    this.of = null;
    this.box.hidePopover();
  }
}
