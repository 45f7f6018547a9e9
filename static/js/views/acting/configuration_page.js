import {useEffect, useRef, useState} from "preact/hooks";

import {makeEditor} from "../../lib/editor.js";
import {html} from "../../lib/html.js";
import {gettext, labelled, listText} from "../../lib/words.js";
import {parseGates} from "../../model/run/gates.js";
import {count, timeText} from "../../model/shared/format.js";
import {RunPage} from "../run/run_page.js";

/** What decides in a run, and the form that changes it in a fork. `given` is {in_force, versions, speeds}. */
export function ConfigurationPage({session, given}) {
  return html`
    <${RunPage} session=${session}>
      <main class="page configuration">
        <div class="pagehead"><h1>${gettext("Configuration")}</h1><span class="small mute">${gettext("what decides in this run, from its beginning")}</span></div>
        <${Facts} session=${session} given=${given} />
        ${given.in_force.schedulers.map((one, place) => html`<${Scheduler} key=${place} scheduler=${one} />`)}
        <${Gates} gates=${given.in_force.gates} profile=${session.run.value.profile} />
        ${session.mayFork && html`<${InFork} session=${session} given=${given} />`}
      </main>
    <//>`;
}

const SOURCES = {
  run: gettext("of this run"),
  scenario: gettext("of the scenario"),
  "": gettext("none: the version’s defaults"),
};

function Facts({session, given}) {
  const {profile, seed, tie_break: tieBreak, speed} = session.run.value;
  const source = SOURCES[given.in_force.source];
  return html`
    <dl class="kv">
      <dt>${gettext("Kubernetes version")}</dt><dd>${profile} <a class="small" href="/versions/">${gettext("What differs between the versions")}</a></dd>
      <dt>${gettext("Scheduler's configuration")}</dt><dd>${source}</dd>
      <dt>${gettext("Seed")}</dt><dd class="num">${seed}</dd>
      <dt>${gettext("Among equally good nodes")}</dt><dd>${tieBreak === "name" ? gettext("the first by name") : gettext("one at random, drawn from the seed")}</dd>
      <dt>${gettext("Speed")}</dt><dd>${given.speeds.find(([value]) => value === String(speed))?.[1] ?? speed}</dd>
    </dl>`;
}

function scored({percentage}) {
  return percentage ? [gettext("scores {percentage} % of the nodes", {percentage})] : [];
}

function Scheduler({scheduler}) {
  const {profiles, replicas, external, extenders, warnings} = scheduler;
  const notes = [
    gettext("backoff {initial_backoff} to {max_backoff}", {
      initial_backoff: timeText(scheduler.initial_backoff),
      max_backoff: timeText(scheduler.max_backoff),
    }),
    ...(replicas > 1 ? [gettext("{replicas} replicas", {replicas: count(replicas)})] : []),
    ...(external ? [gettext("a client of the Kubernetes API decides")] : []),
    ...(extenders.length > 0 ? [gettext("extenders: {extenders}", {extenders: listText(extenders)})] : []),
  ];
  return profiles.map(
    (profile) => html`
    <section class="sec" key=${profile.name} aria-label=${gettext("Profile {name}", {name: profile.name})}>
      <div class="sechead"><h2>${profile.name}</h2><span class="note">${listText([scheduler.version, ...notes, ...scored(profile)])}</span></div>
      ${warnings.map((one) => html`<p class="small f-clock tinted" key=${one}>${one}</p>`)}
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Plugins of {name}", {name: profile.name})}><table class="tbl points">
        <thead><tr><th scope="col">${gettext("Extension point")}</th><th scope="col">${gettext("Plugins, in order")}</th></tr></thead>
        <tbody>${profile.points.map((point) => html`<${Point} key=${point.point} point=${point} />`)}</tbody></table></div>
      <p class="small mute">${gettext("What differs from the defaults of {version} is marked.", {version: scheduler.version})}</p>
    </section>`,
  );
}

function Point({point: {point, plugins, removed}}) {
  return html`
    <tr><th scope="row">${point}</th><td><ol>
      ${plugins.map(
        ({name, weight, arguments: given, is_changed: isChanged}) => html`
        <li key=${name} class=${isChanged ? "changed f-clock" : ""}>${isChanged ? html`<span class="tinted">${name}<span class="vh"> ${gettext("(changed)")}</span></span>` : name}${weight === null ? "" : html` <span class="num mute">×${weight}</span>`}
          ${Object.keys(given).length > 0 && html` <code class="micro">${JSON.stringify(given)}</code>`}</li>`,
      )}
      ${removed.map((name) => html`<li key=${name} class="removed"><s>${name}</s><span class="vh"> ${gettext("(disabled)")}</span></li>`)}</ol></td></tr>`;
}

function Gates({gates, profile}) {
  if (gates.length === 0) return null;
  const word = (on) => (on ? gettext("on") : gettext("off"));
  return html`
    <section class="sec" aria-label=${gettext("Feature gates")}><div class="sechead"><h2>${gettext("Feature gates")}</h2><span class="note">${gettext("those of {profile} that are simulated", {profile})}</span></div>
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Feature gates, table")}><table class="tbl">
        <thead><tr><th scope="col">${gettext("Gate")}</th><th scope="col">${gettext("Here")}</th><th scope="col">${gettext("Default")}</th><th scope="col">${gettext("What it does")}</th></tr></thead>
        <tbody>${gates.map(
          ({name, sentence, value, default: usual, is_locked: isLocked}) => html`
          <tr key=${name}><th scope="row">${name}</th><td class=${value === usual ? "" : "f-clock"}><span class=${value === usual ? "" : "tinted strong"}>${word(value)}${value === usual ? "" : html` ${gettext("(changed)")}`}</span></td>
            <td>${isLocked ? listText([word(usual), gettext("locked")]) : word(usual)}</td><td class="soft">${sentence}</td></tr>`,
        )}</tbody></table></div></section>`;
}

const FORK_MS = 120_000;

/** The same as a form; what it makes is a fork from the event shown. */
function InFork({session, given}) {
  const [host, editor] = [useRef(/** @type {any} */ (null)), useRef(/** @type {any} */ (null))];
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const run = session.run.value;
  const own = given.configuration_text;
  const isFixed = given.has_schedulers;
  useEffect(() => {
    if (isFixed) return undefined;
    editor.current = makeEditor(host.current, {
      text: own,
      label: gettext("Configuration of the scheduler"),
      onChange: () => {},
    });
    return () => editor.current.destroy();
  }, []);
  const {past, seq} = session.place;
  const send = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    const fields = Object.fromEntries(new FormData(event.target));
    try {
      const text = editor.current?.text ?? own;
      const body = {
        seq: past ? seq : null,
        ...fields,
        feature_gates: parseGates(String(fields.feature_gates)),
        ...(text === own ? {} : {configuration: text}),
      };
      const fork = await session.api.post("fork/", body, {longestMs: FORK_MS});
      session.address.open(session.hrefInRun(fork.id));
    } catch (error) {
      setProblem(error.message);
      setBusy(false);
    }
  };
  return html`
    <section class="sec" aria-label=${gettext("Change in a fork")}><div class="sechead"><h2>${gettext("Change in a fork")}</h2>
        <span class="note">${past ? gettext("from event {seq} on; this run stays as it is", {seq: count(seq)}) : gettext("from the newest event on; this run stays as it is")}</span></div>
      <form onSubmit=${send}>
        <div class="formgrid">
          <label class="input">${gettext("Name")}<input name="name" defaultValue=${run.name} maxlength="200" autocomplete="off" /></label>
          <label class="input">${gettext("Kubernetes version")}<select name="profile">${given.versions.map(({name, summary}) => html`<option key=${name} value=${name} selected=${name === run.profile}>${labelled(name, summary)}</option>`)}</select></label>
          <label class="input">${gettext("Seed")}<input name="seed" defaultValue=${String(run.seed)} inputmode="numeric" pattern="-?[0-9]+" required autocomplete="off" /></label>
          <label class="input">${gettext("Speed")}<select name="speed">${given.speeds.map(([value, text]) => html`<option key=${value} value=${value} selected=${value === String(run.speed)}>${text}</option>`)}</select></label>
          <label class="input">${gettext("Feature gates")}<input name="feature_gates" defaultValue=${given.gates_text} placeholder="Gate=true,Other=false" autocomplete="off" /></label></div>
        <p class="small soft">${gettext("With another version, gates, configuration or seed, the scenario and the commands are replayed from the beginning, up to the same time.")}</p>
        ${
          isFixed
            ? html`<p class="small soft">${gettext("The scenario says how each of its schedulers is configured; that cannot be changed here.")}</p>`
            : html`<p class="small soft">${gettext("The scheduler's configuration: a KubeSchedulerConfiguration or a Policy, in a format that the version reads. Empty: as before.")}</p>
              <div class="editor short" ref=${host}></div>`
        }
        <p class="small tinted f-stuck" role="alert">${problem}</p>
        <div class="does"><button class="btn primary" disabled=${busy}>${busy ? gettext("Forking…") : gettext("Create fork")}</button></div>
      </form></section>`;
}
