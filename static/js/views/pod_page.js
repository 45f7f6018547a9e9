import {html} from "../lib/html.js";
import {moment, parseId} from "../model/format.js";
import {placeOf} from "../model/nodes.js";
import {podStates} from "../model/pod.js";
import {Blocker} from "./blocker.js";
import {EventTable} from "./events.js";
import {EvidenceState} from "./evidence_state.js";
import {Facts} from "./inspector.js";
import {Ladder} from "./ladder.js";
import {Life} from "./life.js";
import {ManifestLink, NodeLink} from "./links.js";
import {Mark} from "./mark.js";
import {Matrix} from "./matrix.js";
import {Reading, RunPage, isWaiting} from "./run_page.js";
import {Scores} from "./scores.js";
import {Still} from "./still.js";
import {Trial} from "./trial.js";
import {Volumes} from "./volumes.js";
import {WhatWouldFix} from "./why.js";

/** All there is to say about one pod at the event shown, the answer first. */
export function PodPage({board, id, record}) {
  return html`<${RunPage} board=${board}><${Body} board=${board} id=${id} record=${record} /><//>`;
}

function Body({board, id, record}) {
  if (isWaiting(board)) {
    return html`<main class="page"><h1 class="vh">${id}</h1><${Reading} board=${board} /></main>`;
  }
  const pod = board.model.entities.get(id);
  const held = record.held.value;
  return html`
    <main class="page podpage">
      <${Head} board=${board} id=${id} pod=${pod} />
      <div class="top">
        <${Answer} board=${board} id=${id} pod=${pod} record=${record} newest=${record.attempts.value[0]} />
        <${Life} board=${board} id=${id} record=${record} />
      </div>
      <${EvidenceState} told=${record.told.value} retry=${() => record.retry()} />
      ${
        record.attempts.value.length > 0 &&
        html`
        <div class="sec verdicts"><${Attempts} record=${record} address=${board.address} />
          ${held && html`<${Still} of=${held.evidence}><${Matrix} evidence=${held.evidence} zoneOf=${zoneIn(board)} pod=${parseId(id).name} /><//>`}</div>`
      }
      ${
        held &&
        html`<${Still} of=${held.evidence}><div class="sec two">
        <${Scores} evidence=${held.evidence} /><${Ladder} evidence=${held.evidence} /></div><//>`
      }
      <${OwnPlugins} held=${held} />
      ${pod?.claims?.length > 0 && html`<div class="sec volumes"><${Volumes} board=${board} id=${id} pod=${pod} /></div>`}
      <${Events} board=${board} id=${id} record=${record} />
    </main>`;
}

function Head({board, id, pod}) {
  const {namespace, name} = parseId(id);
  return html`
    <div class="pagehead"><h1><span class="ns">${namespace}/</span>${name}</h1>
      <p class="small soft states">${podStates(pod).map(
        ([mark, family, text]) => html`
        <span class="state" key=${text}><${Mark} name=${mark} family=${family} /><${Stated} board=${board} pod=${pod} text=${text} /></span>`,
      )}</p>
      <div class="end"><a class="btn" href=${board.href("board", {pod: id})}>On the board</a>
        <a class="btn" href=${board.href("machines", {pod: id})}>State machines</a>
        ${pod && html`<${ManifestLink} board=${board} id=${id} />`}</div></div>`;
}

/** What a pod is; the node that this names leads to its page. */
function Stated({board, pod, text}) {
  const place = pod && placeOf(pod);
  if (!place || !text.endsWith(` ${place}`)) return text;
  return html`${text.slice(0, -place.length)}<${NodeLink} board=${board} name=${place} />`;
}

/** What holds the pod and what would help; once it has a node, what it asked for. */
function Answer({board, id, pod, record, newest}) {
  if (!pod) return html`<p class="small soft">This pod is not in the cluster at ${moment(board.model.at)} s.</p>`;
  return html`
    <div class="answer">
      <${Trial} board=${board} id=${id} record=${record} />
      <${Blocker} board=${board} pod=${pod} attempt=${newest} />
      <${WhatWouldFix} board=${board} id=${id} pod=${pod} />
      <dl class="kv"><${Facts} board=${board} pod=${pod} evidence=${newest} /></dl>
    </div>`;
}

const RESULT_LOOK = {
  scheduled: ["vbound", "settled"],
  unschedulable: ["unschedulable", "stuck"],
  error: ["failed", "stuck"],
};

function Attempts({record, address}) {
  const attempts = record.attempts.value;
  const shown = record.held.value?.attempt.id ?? attempts[0]?.id;
  const told = new Map(record.events.value.map((event) => [event.seq, event]));
  const pick = (number) => {
    const chosen = number === attempts[0]?.number ? null : number;
    record.choose(chosen);
    address.writeAttempt(chosen);
  };
  return html`
    <section class="attempts" aria-label="Attempts"><h2>Attempts</h2>
      <ol>${attempts.map(({id, number, at, seq, result, node}) => {
        const [mark, family] = RESULT_LOOK[result] ?? ["failed", "stuck"];
        return html`
          <li key=${id}><button aria-pressed=${String(id === shown)} onClick=${() => pick(number)}>
            <span class="row1"><${Mark} name=${mark} family=${family} />${number}<span class="num">${moment(at)} s</span></span>
            <span class="row2">${outcome(result, node, told.get(seq)?.message)}</span></button></li>`;
      })}</ol></section>`;
}

/** "to node-b4, 3 of 11 nodes fit" or "0/12 nodes are available", without what follows. */
function outcome(result, node, message) {
  if (!message) return node ? `${result}, ${node}` : result;
  return message.split(": ")[0];
}

/** What plugins of one's own said at their extension points. */
function OwnPlugins({held}) {
  const points = Object.entries(held?.evidence.extension_points ?? {});
  if (points.length === 0) return null;
  return html`
    <section class="sec" aria-label="Extension points"><div class="sechead"><h2>Extension points</h2><span class="note">plugins of one's own</span></div>
      <dl class="kv">${points.map(([point, answers]) =>
        answers.map(
          ({plugin, code, reasons}, i) => html`
        <dt key=${`${point}${i}`}>${point}</dt><dd>${plugin} <span class="mute">${code}</span> ${(reasons ?? []).join("; ")}</dd>`,
        ),
      )}</dl></section>`;
}

function Events({board, id, record}) {
  const {seq} = board.model;
  return html`<${EventTable} board=${board} id=${id} events=${record.events.value.filter((event) => event.seq <= seq).reverse()} />`;
}

/** Zones by the nodes that are there now; one that is gone has none. */
function zoneIn(board) {
  const {entities} = board.model;
  return (name) => entities.get(`node/${name}`)?.zone ?? "";
}
