import {html} from "../../lib/html.js";
import {nameEnds} from "../../model/shared/format.js";

/** A state mark from the sprite: its colour shows the family, its shape the state. */
export function Mark({name, family}) {
  return html`<svg class=${`mk${family ? ` f-${family}` : ""}`} viewBox="0 0 12 12" aria-hidden="true"><use href=${`#${name}`} /></svg>`;
}

/** An icon in the colour of the text around it. */
export function Icon({name}) {
  return html`<svg viewBox="0 0 12 12" aria-hidden="true"><use href=${`#${name}`} /></svg>`;
}

/**
 * "shop/web-3" with the namespace muted. Where it is too long its middle gives way: hash and ordinal, in which names
 * differ, stay. `untitled` where what is around it says the whole name.
 */
export function Name({namespace, name, untitled = false}) {
  const [start, end] = nameEnds(name);
  const title = untitled ? undefined : [namespace, name].filter(Boolean).join("/");
  const before = html`${namespace && html`<span class="mute">${namespace}/</span>`}${start}`;
  if (end === "") return html`<span class="cut" title=${title}>${before}</span>`;
  return html`<span class="ends" title=${title}><span class="cut">${before}</span><span class="last">${end}</span></span>`;
}
