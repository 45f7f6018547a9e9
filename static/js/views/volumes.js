import {html} from "../lib/html.js";
import {CLAIM_LOOK, bindingMode, claimSteps} from "../model/claims.js";
import {accessModes, bytes, parseId} from "../model/format.js";
import {Mark} from "./mark.js";

/** The claims of a pod, each with what it asks for and how far its binding has come. */
export function Volumes({board, id, pod}) {
  const {claims, entities} = board.model;
  const {namespace} = parseId(id);
  const names = pod.claims ?? [];
  if (names.length === 0) return null;
  return html`
    <section><h3>Volumes</h3>
      ${names.map((name) => {
        const claimId = `claim/${namespace}/${name}`;
        // The version is there so that a change of the volume alone draws the claim again.
        return html`<${Claim} key=${name} id=${claimId} name=${name} claim=${entities.get(claimId)}
          claims=${claims} entities=${entities} version=${claims.version} />`;
      })}
    </section>`;
}

function Claim({id, name, claim, claims, entities}) {
  if (!claim) return html`<dl class="kv"><${Own} name=${name} mark="lost" family="stuck" text="does not exist" /></dl>`;
  const mode = bindingMode(claim, entities);
  const holder = claims.holder(id, claim);
  const steps = claimSteps(claim, holder, mode, claims.usersOf(id, entities));
  const waits = mode === "WaitForFirstConsumer" && !claim.volume;
  return html`
    <dl class="kv">
      <${Own} name=${name} ...${CLAIM_LOOK[claims.state(id, claim, entities)]} />
      <dt>Class</dt><dd>${about(claim)}</dd>
      ${mode && html`<dt>Mode</dt><dd>${mode}</dd>`}
      ${(claim.selected_node || waits) && html`<dt>Selected node</dt>
        <dd>${claim.selected_node ?? html`<span class="mute">none</span>`}</dd>`}
    </dl>
    <${Halves} id=${id} claim=${claim} holder=${holder} />
    <ol class="steps">${steps.map((step) => html`
      <li class=${`step ${step.status}`} key=${step.name}><${Mark} name=${step.mark} family=${step.family} />
        <b>${step.name}</b><span class="what">${step.what}</span></li>`)}</ol>`;
}

function Own({name, mark, family, text}) {
  return html`
    <dt class="own cut" title=${name}>${name}</dt>
    <dd><span class="state"><${Mark} name=${mark} family=${family} />${text}</span></dd>`;
}

function about(claim) {
  const size = claim.request && bytes(claim.request);
  return [claim.class ?? "no class", size, accessModes(claim.modes)].filter(Boolean).join(" · ");
}

/** The two objects of a binding, and what each says of the other. */
function Halves({id, claim, holder}) {
  const volume = claim.volume ?? holder;
  if (!volume) return null;
  const agreed = claim.volume && holder === claim.volume;
  const side = agreed ? "both" : holder ? "right" : "left";
  return html`
    <div class="halves">
      <${Half} label="claim spec.volumeName" value=${claim.volume} />
      <span class=${`join ${side}`} role="img" aria-label=${agreed ? "both sides agree" : "one side is not written"}></span>
      <${Half} label="volume spec.claimRef" value=${holder && id.slice("claim/".length)} />
    </div>`;
}

function Half({label, value}) {
  return html`<div class=${`h${value ? "" : " bad"}`}>${label}<code title=${value}>${value ?? "empty"}</code></div>`;
}
