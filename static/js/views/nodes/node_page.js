import {html} from "../../lib/html.js";
import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {brief} from "../../model/health/pod.js";
import {nodeAnswer} from "../../model/nodes/node_answer.js";
import {devicesOf} from "../../model/nodes/node_devices.js";
import {holdersOf, nodeFacts, nodeStates, resourcesOf, shortage} from "../../model/nodes/node_facts.js";
import {podsOf} from "../../model/nodes/node_pods.js";
import {volumesOf} from "../../model/health/node_volumes.js";
import {amount, bytes, count, parseId, timeText} from "../../model/shared/format.js";
import {READ_ONLY} from "../../model/shared/rights.js";
import {ChangeMenu} from "../run/change_menu.js";
import {Failures} from "../run/failures.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {EventTable} from "../shared/events.js";
import {InsideLink, ManifestLink, NodeLink, PodLink} from "../shared/links.js";
import {Mark} from "../shared/mark.js";
import {Sentence} from "../shared/sentence.js";
import {Trial} from "../why/trial.js";
import {Why} from "../why/why.js";
import {NodeDevices} from "./node_devices.js";
import {Operations} from "./operations.js";
import {Reported} from "./reported.js";
import {StateOfWorld} from "./state_of_world.js";

const PODS = 120;
/** The places of pods that have this node and do not run. */
const WAITS = ["failing", "stuck", gettext("starting")];

/** One node at the event shown, the most important fact first. */
export function NodePage({session, name, record}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} name=${name} record=${record} /><//>`;
}

function Body({session, name, record}) {
  if (isWaiting(session)) {
    return html`<main class="page"><h1>${name}</h1><${Reading} session=${session} /></main>`;
  }
  const {entities, nodes} = session.model;
  const node = entities.get(`node/${name}`);
  const pods = nodes.pods.get(name) ?? new Map();
  return html`
    <main class="page nodepage">
      <${Head} session=${session} name=${name} node=${node} />
      ${
        node
          ? html`<${Known} session=${session} name=${name} node=${node} pods=${pods} record=${record} />`
          : html`<p class="small soft">${gettext("This node is not in the cluster at {at}.", {at: timeText(session.model.at)})}</p>`
      }
      <${EventTable} session=${session} id=${`node/${name}`} events=${newest(session, record)} />
    </main>`;
}

function newest(session, record) {
  return record.events.value.filter(({seq}) => seq <= session.model.seq).reverse();
}

function Head({session, name, node}) {
  const id = `node/${name}`;
  const command = (...verbs) => session.commands.sendAll(verbs.map((verb) => ({verb, object: id})));
  return html`
    <div class="pagehead"><h1 class="cut" title=${name}>${name}</h1>
      ${nodeStates(node).map(([mark, family, text]) => html`<span class="state" key=${text}><${Mark} name=${mark} family=${family} />${text}</span>`)}
      ${node && html`<p class="small mute facts">${nodeFacts(node)}</p>`}
      ${
        node &&
        html`<div class="end">
        ${
          !session.place.past &&
          html`
          <button class="btn" disabled=${!session.mayChange} title=${session.mayChange ? undefined : READ_ONLY}
            onClick=${() => command(node.unschedulable ? "uncordon" : "cordon")}>${node.unschedulable ? gettext("Uncordon") : gettext("Cordon")}</button>
          <button class="btn" disabled=${!session.mayChange} title=${session.mayChange ? gettext("Cordon the node and evict its pods; asks first") : READ_ONLY}
            aria-haspopup="dialog" onClick=${() => command("cordon", "evict_pods")}>${gettext("Drain…")}</button>
          <${Failures} session=${session} id=${id} />`
        }
        <${ChangeMenu} session=${session} id=${id} /><${InsideLink} session=${session} id=${id} /><${ManifestLink} session=${session} id=${id} /></div>`
      }</div>`;
}

function Known({session, name, node, pods, record}) {
  const {entities, at} = session.model;
  const rows = volumesOf(node, pods);
  const drivers = entities.get(`csinode/${name}`)?.drivers;
  return html`
    <${Answer} session=${session} name=${name} answer=${nodeAnswer(name, node, pods, at)} />
    <div class="whyof"><${Trial} session=${session} id=${`node/${name}`} /><${Why} session=${session} id=${`node/${name}`} level="h2" /></div>
    <${StateOfWorld} session=${session} name=${name} rows=${rows} />
    <${NodeDevices} session=${session} rows=${devicesOf(entities, name)} />
    <div class="sec grid2">
      <div><${Operations} session=${session} id=${`node/${name}`} events=${record.done.value} />
        <${Pods} session=${session} pods=${podsOf(name, pods, session.model)} /></div>
      <${Resources} session=${session} node=${node} drivers=${drivers} pods=${pods} /></div>
    <${Reported} reading=${record.manifest.reading.value} />`;
}

/** The sentence about the node, its number, and links to the objects concerned. */
function Answer({session, name, answer}) {
  const {family, sentence, figure, pod, volume} = answer;
  const holders = volume ? holdersOf(session.model.entities, volume, name) : [];
  return html`
    <div class=${`state-line f-${family}`}>
      <p class="say"><${Sentence} text=${sentence} /></p>
      ${figure && html`<p class="figure num">${figure.value}<small> ${figure.words}</small></p>`}
      ${
        (pod || holders.length > 0) &&
        html`<p class="links small soft">
        ${pod && html`<${PodLink} session=${session} podKey=${parseId(pod).key} />`}
        ${holders.map((holder) => html` <span key=${holder}>${gettext("attached to {node}", {node: html`<${NodeLink} session=${session} name=${holder} />`})}</span>`)}</p>`
      }
    </div>`;
}

function Resources({session, node, drivers, pods}) {
  return html`
    <section aria-label=${gettext("Resources")}><div class="sechead"><h2>${gettext("Resources")}</h2><span class="note">${gettext("as the scheduler counts them")}</span></div>
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Resources, table")}><table class="tbl res">
        <thead><tr><th scope="col">${gettext("Resource")}</th><th scope="col"><span class="vh">${gettext("Share")}</span></th><th scope="col" class="right">${gettext("Requested")}</th>
          <th scope="col" class="right">${gettext("Assumed")}</th><th scope="col" class="right">${gettext("Allocatable")}</th><th scope="col" class="right">${gettext("Free")}</th></tr></thead>
        <tbody>${resourcesOf(node, drivers).map((row) => html`<${Resource} key=${row.title} row=${row} />`)}</tbody></table></div>
      <${Promised} session=${session} node=${node} pods=${pods} />
    </section>`;
}

function Resource({row}) {
  const {resource, title, requested, assumed, allocatable, free} = row;
  const part = (value) => `${(allocatable > 0 ? Math.min(100, (value / allocatable) * 100) : 0).toFixed(1)}%`;
  return html`
    <tr><th scope="row">${title}</th>
      <td><div class="meter" aria-hidden="true"><i style=${`width:${part(requested - assumed)}`}></i>
        ${assumed > 0 && html`<i class="as" style=${`left:${part(requested - assumed)};width:${part(assumed)}`}></i>`}
        ${free < 0 && html`<i class="over" style="left:100%;width:8%"></i>`}</div></td>
      <td class="right">${short(resource, requested)}</td><td class=${`right${assumed > 0 ? "" : " mute"}`}>${short(resource, assumed)}</td>
      <td class="right soft">${short(resource, allocatable)}</td><td class=${`right strong${free < 0 ? " f-stuck tinted" : ""}`}>${short(resource, free)}</td></tr>`;
}

/** An amount without the name of its resource. */
function short(resource, value) {
  // One unit per row, so that the numbers can be compared.
  if (resource === "cpu") return `${value}m`;
  if (resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-"))
    return bytes(value);
  return count(value);
}

/** What nominated pods still lack on the node. */
function Promised({session, node, pods}) {
  const lacking = [...pods]
    .filter(([, pod]) => pod.nominated && !pod.node && !pod.assumed)
    .flatMap(([id, pod]) => {
      const lack = shortage(pod, node);
      return lack ? [{id, ...lack}] : [];
    });
  return lacking.slice(0, 5).map(
    ({id, resource, asked, free}) => html`
    <p key=${id} class="small mute after">${gettext("{pod} is nominated and requests {asked}, but only {free} is free: {short} short.", {pod: html`<${PodLink} session=${session} podKey=${parseId(id).key} />`, asked: amount(resource, asked), free: amount(resource, Math.max(0, free)), short: amount(resource, asked - Math.max(0, free))})}</p>`,
  );
}

function Pods({session, pods}) {
  const waiting = pods.filter(({health}) => WAITS.includes(health.place)).length;
  const late = waiting > 0 ? [ngettext("{count} does not run yet", "{count} do not run yet", waiting)] : [];
  return html`
    <section class="onnode" aria-label=${gettext("Pods")}><div class="sechead"><h2>${gettext("Pods")}</h2><span class="note">${pods.length === 0 ? gettext("none here or nominated to this node") : listText([count(pods.length), ...late])}</span></div>
      <ul class="podrow">${pods.slice(0, PODS).map(
        ({id, health}) => html`
        <li key=${id}><${Mark} name=${health.mark} family=${health.family} /><${PodLink} session=${session} podKey=${parseId(id).key} /><span class="cut" title=${labelled(brief(health), health.detail)}>${brief(health)}</span></li>`,
      )}</ul>
      ${pods.length > PODS && html`<p class="small mute after">${gettext("Showing {shown} of {all}, waiting pods first.", {shown: PODS, all: count(pods.length)})}</p>`}
    </section>`;
}
