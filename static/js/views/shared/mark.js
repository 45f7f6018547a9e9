import {html} from "../../lib/html.js";

/** A state mark from the sprite: its colour shows the family, its shape the state. */
export function Mark({name, family}) {
  return html`<svg class=${`mk${family ? ` f-${family}` : ""}`} viewBox="0 0 12 12" aria-hidden="true"><use href=${`#${name}`} /></svg>`;
}

/** An icon in the colour of the text around it. */
export function Icon({name}) {
  return html`<svg viewBox="0 0 12 12" aria-hidden="true"><use href=${`#${name}`} /></svg>`;
}

/** "shop/web-3" with the namespace muted. */
export function Name({namespace, name}) {
  return html`<span class="cut">${namespace && html`<span class="mute">${namespace}/</span>`}${name}</span>`;
}
