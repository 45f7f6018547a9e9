import {html} from "../../lib/html.js";
import {gettext, labelled} from "../../lib/words.js";
import {isDoubtful, trustRows} from "../../model/first_look/first_look.js";
import {gatesText} from "../../model/run/gates.js";

const UPLOAD = "/scenarios/upload/";

/** The side of a first look: version, assumptions, how far to trust it. */
export function Side({session, look, versions, token}) {
  const rows = trustRows(look);
  return html`
    <aside class="fside">
      <${Version} session=${session} look=${look} versions=${versions} token=${token} />
      <section aria-labelledby="assumed"><h2 id="assumed">${gettext("Assumed")}</h2><p class="small soft">${gettext("What the files do not say.")}</p>
        <ul class="assumed">${look.assumed.map(
          ({what, text, source, act}) => html`
          <li key=${what}><div><b>${what}</b><p>${text}</p>${source && html`<p class="mute micro">${source}</p>`}</div>
            ${act === "files" && session.mayFork && html`<a class="btn" href=${UPLOAD} aria-label=${gettext("Add files that say it: {what}", {what})}>${gettext("Add files")}</a>`}</li>`,
        )}</ul></section>
      ${
        rows.length > 0 &&
        !isDoubtful(look) &&
        html`<section aria-labelledby="trust"><h2 id="trust">${gettext("How far to trust it")}</h2><${Trust} look=${look} /></section>`
      }
      ${
        session.mayFork &&
        html`<section><h3>${gettext("Something missing?")}</h3><p class="small soft">${gettext("Import all files of the cluster again, together with what is missing, such as a scheduler's configuration.")}</p>
        <a class="btn" href=${UPLOAD}>${gettext("Add files")}</a></section>`
      }
    </aside>`;
}

/** How often the model and the files say the same. */
export function Trust({look}) {
  return html`<dl class="trust">${trustRows(look).map(
    ({same, of, words, isLow}) =>
      html`<dt key=${words} class=${isLow ? "f-clock" : ""}>${gettext("{same} of {of}", {same: html`<b class="num">${same}</b>`, of})}</dt><dd>${words}</dd>`,
  )}</dl>`;
}

/** The version that is followed and why, and how to begin again with another one. */
function Version({session, look, versions, token}) {
  const run = session.run.value;
  const {because, proposed} = look.version;
  return html`
    <section aria-labelledby="version"><h2 id="version">${gettext("Version")}</h2><p class="vbig">${run.profile}</p><p class="small soft">${because}</p>
      ${
        session.mayFork
          ? html`<form method="post" action=${`/runs/${run.id}/start-again/`}><input type="hidden" name="csrfmiddlewaretoken" value=${token} />
        <label class="input">${gettext("Kubernetes version")}<select name="profile">${versions.map(
          ({name, summary}) =>
            html`<option key=${name} value=${name} selected=${name === run.profile}>${name === proposed ? gettext("{name}, as proposed", {name}) : labelled(name, summary)}</option>`,
        )}</select></label>
        <details class="small"><summary>${gettext("Feature gates, another scheduler")}</summary>
          <label class="input">${gettext("Feature gates")}<input name="feature_gates" value=${gatesText(run.feature_gates)} placeholder="VolumeLimitScaling=true" autocomplete="off" /></label>
          <p class="micro mute">${gettext("They cannot be seen in a dump; without any, the defaults of the version hold. <link>What differs</link>", {link: (inner) => html`<a href="/versions/">${inner}</a>`})}</p>
          <label class="check"><input type="checkbox" name="external_scheduler" checked=${run.external_scheduler} />${gettext("Leave pods to a scheduler of your own")}</label></details>
        <button class="btn">${gettext("Begin again with these")}</button></form>`
          : html`<p class="micro mute">${gettext("Feature gates cannot be seen in a dump; the defaults of {profile} hold.", {profile: run.profile})}</p>`
      }</section>`;
}
