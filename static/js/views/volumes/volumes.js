import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {brief} from "../../model/health/pod.js";
import {healthOf} from "../../model/run/health_of.js";
import {accessModes, bytes, parseId} from "../../model/shared/format.js";
import {bindingMode} from "../../model/volumes/claims.js";
import {isTerminating, terminatingWords} from "../../model/shared/terminating.js";
import {volumesHref} from "../shared/links.js";
import {Mark} from "../shared/mark.js";

/** The claims of a pod, each with its request and the steps of its binding. */
export function Volumes({session, id, pod}) {
  const {claims, entities, at} = session.model;
  const {namespace} = parseId(id);
  const names = pod.claims ?? [];
  if (names.length === 0) return null;
  return html`
    <section><h3>${gettext("Volumes")}</h3>
      ${names.map((name) => {
        const claimId = `claim/${namespace}/${name}`;
        // The version draws the claim again when only its volume has changed.
        return html`<${Claim} key=${name} href=${volumesHref(session, `${namespace}/${name}`)} id=${claimId} name=${name} claim=${entities.get(claimId)}
          model=${session.model} version=${claims.version} at=${at} />`;
      })}
    </section>`;
}

function Claim({id, href, name, claim, model, at}) {
  if (!claim) return html`<dl class="kv"><${Own} name=${name} health=${MISSING} /></dl>`;
  const {claims, entities} = model;
  const health = healthOf(id, model);
  const mode = bindingMode(claim, entities);
  const [volumeName, volume] = claims.volumeOf(id, claim, entities);
  const users = claims.usersOf(id, entities);
  const steps = claims.steps(id, claim, model);
  const waits = mode === "WaitForFirstConsumer" && !claim.volume;
  return html`
    <dl class="kv">
      <${Own} name=${name} href=${href} health=${health} />
      <dt>${gettext("Class")}</dt><dd>${about(claim)}</dd>
      ${mode && html`<dt>${gettext("Mode")}</dt><dd>${mode}</dd>`}
      ${
        (claim.selected_node || waits) &&
        html`<dt>${gettext("Selected node")}</dt>
        <dd>${claim.selected_node ?? html`<span class="mute">${gettext("none")}</span>`}</dd>`
      }
    </dl>
    ${isTerminating(claim) && html`<p class="small f-stuck tinted held">${terminatingWords(claim, {users, at})}</p>`}
    <${Sides} claim=${claim} claimKey=${parseId(id).key} volume=${volume} volumeName=${volumeName} />
    <ol class="steps">${steps.map(
      (step) => html`
      <li class=${`step ${step.status}`} key=${step.name}><${Mark} name=${step.mark} family=${step.family} />
        <b>${step.name}</b><span class="what">${step.what}</span></li>`,
    )}</ol>`;
}

/** The health of a claim that a pod names and that does not exist. */
const MISSING = {
  state: "stuck",
  mark: "lost",
  family: "stuck",
  words: gettext("does not exist"),
  detail: gettext("does not exist"),
};

function Own({name, href, health}) {
  const {mark, family, detail} = health;
  return html`
    <dt class="own cut" title=${name}>${href ? html`<a href=${href}>${name}</a>` : name}</dt>
    <dd><span class="state" title=${detail}><${Mark} name=${mark} family=${family} />${brief(health)}</span></dd>`;
}

function about(claim) {
  const size = claim.request && bytes(claim.request);
  return [claim.class ?? gettext("no class"), size, accessModes(claim.modes)].filter(Boolean).join(" · ");
}

/** The two references of a binding, if at least one of them is set. */
export function Sides({claim, claimKey, volume, volumeName}) {
  const named = claim?.volume;
  const ref = volume?.claim;
  if (!named && !ref) return null;
  return html`<${Halves} named=${named} ref=${ref} agreed=${named === volumeName && ref === claimKey}
    isEnding=${isTerminating(claim) || isTerminating(volume)} claimGone=${!claim} volumeGone=${!volume} />`;
}

/** The two references of a binding: volumeName and claimRef; a deleted object has none. */
function Halves({named, ref, agreed, isEnding, claimGone, volumeGone}) {
  const side = agreed ? "both" : named && ref ? "apart" : ref ? "right" : "left";
  const words =
    {both: gettext("claim and volume refer to each other"), apart: gettext("they do not refer to each other")}[side] ??
    gettext("only one reference is set");
  return html`
    <div class="halves">
      <${Half} label=${gettext("claim spec.volumeName")} value=${named} gone=${claimGone} />
      <span class=${`join ${isEnding && agreed ? "ending" : side}`} role="img" aria-label=${words}></span>
      <${Half} label=${gettext("volume spec.claimRef")} value=${ref} gone=${volumeGone} />
    </div>`;
}

function Half({label, value, gone}) {
  return html`<div class=${`h${value ? "" : " bad"}`}>${label}<code title=${value}>${value ?? (gone ? gettext("deleted") : gettext("empty"))}</code></div>`;
}
