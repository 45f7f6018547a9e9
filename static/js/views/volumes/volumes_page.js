import {html} from "../../lib/html.js";
import {gettext, listText, ngettext} from "../../lib/words.js";
import {healthOf} from "../../model/run/health_of.js";
import {podHealth} from "../../model/health/pod.js";
import {pagesOf} from "../../model/run/rows.js";
import {bytes, count, parseId} from "../../model/shared/format.js";
import {KINDS, LINK_WORDS, PAGE, chainOf, isOf, linkLook, placeOf, spans} from "../../model/volumes/chains.js";
import {userOf} from "../../model/volumes/claims.js";
import {TERMINATING} from "../../model/shared/terminating.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {Pager} from "../shared/pager.js";
import {podHref} from "../shared/links.js";
import {Mark, Name} from "../shared/mark.js";
import {Term} from "../shared/term.js";
import {Unchanged} from "../shared/unchanged.js";
import {RowsMissing, SortHead} from "../shared/window.js";
import {Selected} from "./chosen_volume.js";

const LEGEND = [
  ["available", "ready", "Available"],
  ["pending", "clock", "Pending"],
  ["vbound", "settled", "Bound"],
  ["half", "promised", gettext("half-bound")],
  ["released", "held", "Released"],
  ["failed", "stuck", "Failed"],
  ["lost", "stuck", "Lost"],
  [TERMINATING.mark, TERMINATING.family, TERMINATING.text],
];

/** The chains of pods, claims, volumes, classes and nodes, and the selected claim or volume; `list` is the window of them. */
export function VolumesPage({session, chosen, candidates, list}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} chosen=${chosen} candidates=${candidates} list=${list} /><//>`;
}

function Body({session, chosen, candidates, list}) {
  const {rows} = list;
  const held = rows.held.value;
  if (isWaiting(session) || !held) {
    return html`<main class="page"><h1>${gettext("Volumes")}</h1>${isWaiting(session) ? html`<${Reading} session=${session} />` : html`<${RowsMissing} rows=${rows} />`}</main>`;
  }
  const id = chosen.id.value;
  const {text, kind} = list.shown;
  const {counts} = held;
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const shown = pagesOf(held, PAGE);
  const pick = (found) => {
    list.stay();
    chosen.pick(found);
  };
  return html`
    <main class="page volumespage" aria-busy=${rows.isLate.value}>
      <div class="pagehead"><h1>${gettext("Volumes")}</h1><span class="small mute num" role="status">${shownWords(held, shown)}</span>
        <ul class="legend">${LEGEND.map(([mark, family, words]) => html`<li key=${words}><${Mark} name=${mark} family=${family} />${words === "half-bound" ? html`<${Term} word="half-bound">${words}<//>` : words}</li>`)}</ul>
        <div class="seg" role="group" aria-label=${gettext("Rows to show")}>${KINDS.map(
          ([key, words]) => html`
          <button key=${key} aria-pressed=${String(kind === key)} onClick=${() => list.ofKind(key)}>${words} ${count(key === "" ? all : (counts[key] ?? 0))}</button>`,
        )}</div>
        <input class="pick" type="search" aria-label=${gettext("Name of a claim, volume or class")} placeholder=${gettext("find")} value=${text}
          onInput=${(event) => list.find(event.target.value)} /></div>
      ${held.rows.length > 0 && html`<${Table} session=${session} held=${held} id=${id} pick=${pick} list=${list} />`}
      ${held.rows.length === 0 && html`<p class="small mute">${nothing(held.total, {kind, text})}</p>`}
      ${shown.pages > 1 && html`<${Pager} shown=${shown} go=${(page) => list.turnTo(page)} />`}
      <${Selected} session=${session} chosen=${chosen} candidates=${candidates} pick=${pick} />
    </main>`;
}

/** The chains of the rows that are still there. */
function chainsThere(held, {claims, entities}) {
  return held.rows.map(({id}) => chainOf(id, claims, entities)).filter((chain) => chain !== null);
}

function shownWords({found, total, rows}, {page, pages}) {
  if (pages > 1)
    return ngettext(
      "{shown} of {count} row shown, page {page} of {pages}",
      "{shown} of {count} rows shown, page {page} of {pages}",
      found,
      {shown: count(rows.length), page: count(page + 1), pages: count(pages)},
    );
  if (found === total) return ngettext("{count} row", "{count} rows", found);
  return ngettext("{found} of {count} rows", "{found} of {count} rows", total, {found: count(found)});
}

function nothing(total, {kind, text}) {
  if (total === 0) return gettext("The cluster has no claim and no volume at this moment.");
  return text ? gettext("No name contains this text.") : gettext("No claim or volume is {kind}.", {kind});
}

function Table({session, held, id, pick, list}) {
  const heads = {chosen: list.shown, usual: "class", set: (changes) => list.sortBy(changes)};
  return html`
    <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Claims and volumes")}>
      <table class="chain"><colgroup><col style="width:19%" /><col style="width:3.4%" /><col style="width:19%" /><col style="width:6.6%" />
          <col style="width:20%" /><col style="width:3.4%" /><col style="width:13%" /><col style="width:3.4%" /><col /></colgroup>
        <thead><tr><th scope="col">${gettext("Pod")}</th><td></td><${SortHead} by="claim" ...${heads}>${gettext("Claim")}<//><td></td><${SortHead} by="volume" ...${heads}>${gettext("Volume")}<//><td></td>
          <${SortHead} by="class" ...${heads}>${gettext("Class")}<//><td></td><th scope="col">${gettext("Node")}</th></tr></thead>
        <${Rows} session=${session} held=${held} id=${id} pick=${pick} />
      </table></div>`;
}

function Rows({session, held, id, pick}) {
  const rows = chainsThere(held, session.model);
  const lengths = spans(rows);
  return html`<tbody>${rows.map((row, i) => html`<${Unchanged} key=${row.key} draw=${Chain} session=${session} row=${row} span=${lengths[i]} selected=${isOf(row, id)} pick=${pick} ...${partsOf(row, session.model)} />`)}</tbody>`;
}

/** What is drawn of a chain: its claim, volume and class, the pod that uses it, and the health of each. */
function partsOf({claimId, volumeId, className}, model) {
  const {entities, claims} = model;
  const users = claimId ? claims.usersOf(claimId, entities) : [];
  const [userId, user] = userOf(users) ?? [];
  return {
    claim: entities.get(claimId),
    volume: entities.get(volumeId),
    storageClass: entities.get(`class/${className}`),
    users: users.length,
    userId,
    user,
    userHealth: userId && podHealth(userId, user, model),
    claimHealth: claimId && healthOf(claimId, model),
    volumeHealth: volumeId && healthOf(volumeId, model),
  };
}

function Chain({session, row, span, selected, pick, claim, volume, storageClass, users, userId, ...others}) {
  const {user, userHealth, claimHealth, volumeHealth} = others;
  const place = placeOf(user, userHealth, claim, volume);
  const link = linkLook(row, claim, volume);
  return html`
    <tr class=${selected ? "sel" : ""}>
      <td>${claim && html`<${User} session=${session} id=${userId} health=${userHealth} users=${users} />`}</td>
      <td>${users > 0 && html`<${Line} look="plain" words=${gettext("uses")} />`}</td>
      <td><${Side} id=${row.claimId} health=${claimHealth} ghost=${row.claimGhost} selected=${selected} pick=${pick} size=${claim?.request} /></td>
      <td>${link && html`<${Line} look=${link} words=${LINK_WORDS[link]} />`}</td>
      <td><${Side} id=${row.volumeId} health=${volumeHealth} ghost=${row.volumeGhost} selected=${selected} pick=${pick} size=${volume?.capacity} /></td>
      <td>${row.className && html`<${Line} look=${volume ? "plain" : "waits"} words=${gettext("class")} />`}</td>
      ${span > 0 && html`<td class="cls" rowspan=${span}><${ClassBox} name=${row.className} found=${storageClass} span=${span} /></td>`}
      <td>${place && html`<${Line} look=${place.dashed ? "waits" : "plain"} words=${place.words} />`}</td>
      <td>${place && html`<${Place} place=${place} />`}</td>
    </tr>`;
}

/** The pod that uses a claim; of several, see userOf. */
function User({session, id, health, users}) {
  if (users === 0)
    return html`<span class="cellbox empty" title=${gettext("no pod uses it")}><span class="cut">${gettext("no pod uses it")}</span></span>`;
  const {namespace, name} = parseId(id);
  const {mark, family, detail} = health;
  const label = listText(
    [`${namespace}/${name}`, users > 1 && ngettext("and {count} more", "and {count} more", users - 1), detail].filter(
      Boolean,
    ),
  );
  return html`
    <a class="cellbox" href=${podHref(session, `${namespace}/${name}`)} aria-label=${label} title=${label}><${Mark} name=${mark} family=${family} />
      <${Name} namespace=${namespace} name=${name} untitled />${" "}
      ${users > 1 && html`<span class="val">${ngettext("and {count} more", "and {count} more", users - 1)}</span>`}</a>`;
}

/** A claim or volume that can be selected, or the text in its place. */
function Side({id, health, ghost, size, selected, pick}) {
  if (!id)
    return ghost ? html`<span class="cellbox empty" title=${ghost}><span class="cut">${ghost}</span></span>` : null;
  const {namespace, name} = parseId(id);
  const {mark, family, detail} = health;
  const words = listText([parseId(id).key, size && bytes(size), detail].filter(Boolean));
  return html`
    <button class="cellbox" aria-pressed=${String(selected)} aria-label=${words} title=${words} onClick=${() => pick(id)}>
      <${Mark} name=${mark} family=${family} /><${Name} namespace=${namespace} name=${name} untitled />${" "}
      <span class="val">${size ? bytes(size) : ""}</span></button>`;
}

/** What joins two cells, drawn by its look in volumes.css. */
function Line({look, words}) {
  return html`<span class=${`lk ${look}`} role="img" aria-label=${words} title=${words}><i></i><i></i>
    ${look === "broken" && html`<${Mark} name="no" family="stuck" />`}</span>`;
}

/** A class beside its rows; the fewer rows, the less text fits. */
function ClassBox({name, found, span}) {
  if (!name) return html`<div class="classbox"><span class="mute">${gettext("no class")}</span></div>`;
  const facts = found
    ? [found.binding_mode, [found.reclaim, provisionerWords(found.provisioner)].filter(Boolean).join(" · ")]
    : [gettext("does not exist")];
  const lines = span > 2 ? facts : [facts.join(" · ")];
  return html`
    <div class=${`classbox${span === 1 ? " one" : ""}`} title=${[name, facts.join(" · ")].join("\n")}><b class="cut">${name}</b>
      ${lines.map((line) => html`<span class="micro mute cut" key=${line}>${line}</span>`)}</div>`;
}

function provisionerWords(provisioner) {
  return provisioner === "kubernetes.io/no-provisioner" ? gettext("no provisioner") : provisioner;
}

/** What is shown of a health beside a node. */
const STATES = {well: "", waiting: gettext("waiting"), failing: gettext("failing"), stuck: gettext("stuck")};

function Place({place}) {
  return html`
    <span class="cellbox still" title=${listText([place.name, place.words])}>${place.mark && html`<${Mark} name=${place.mark} family=${place.family} />`}
      <span class="cut">${place.name}</span><span class="val">${place.state ? STATES[place.state] : place.words}</span></span>`;
}
