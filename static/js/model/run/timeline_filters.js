/** The filters of the timeline in the address and in the query of the events resource. */
import {gettext} from "../../lib/words.js";
import {parseSeconds} from "./timeline.js";

const FILTERS = ["kind", "object", "component", "from", "to", "kubernetes", "order"];

/** The components that the field suggests. */
export const COMPONENTS = [
  "scheduler",
  "pv-controller",
  "kubelet",
  "attach-detach",
  "csi-attacher",
  "external-provisioner",
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "daemonset-controller",
  "job-controller",
  "resourcequota-controller",
  "node-controller",
  "disruption-controller",
  "scenario",
  "command",
  "fault",
];
export const NO_FILTERS = {kind: "", object: "", component: "", from: "", to: "", kubernetes: "", order: "desc"};

const TIMES = {from: gettext("From"), to: gettext("To")};

/** The filters in an address, as text; "" for a missing one. */
export function filtersIn(search) {
  const query = new URLSearchParams(search);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, (query.get(name) ?? "").trim()]));
  return {...filters, order: filters.order === "asc" ? "asc" : "desc"};
}

/** Whether an address asks for the events as a table: with `as=table`, or with a filter of the table. */
export function isTable(search) {
  const query = new URLSearchParams(search);
  return query.get("as") === "table" || FILTERS.some((name) => query.get(name));
}

/** The filters as values of an address; the default order is left out. */
export function filterChanges(filters) {
  return {...filters, order: filters.order === "asc" ? "asc" : null};
}

/** {query, order, problem}: the parameters of the events resource, or a sentence about a wrong filter. */
export function filterQuery({order, ...filters}) {
  const query = {...filters};
  for (const [name, title] of Object.entries(TIMES)) {
    if (filters[name] === "") continue;
    query[name] = parseSeconds(filters[name]);
    if (query[name] === null)
      return {
        query: null,
        problem: gettext("{title} is “{name}”; it must be a time in seconds, such as 12.5.", {
          title,
          name: filters[name],
        }),
      };
  }
  return {query, order, problem: ""};
}

/** *events* as they were read anew, each that is among the *known* as the same object, so that its row stays as it is. */
export function knownAgain(known, events) {
  const bySeq = new Map(known.map((event) => [event.seq, event]));
  return events.map((event) => bySeq.get(event.seq) ?? event);
}

/** The rows to show in order: those up to event *seq* and the *later* ones, which are greyed. */
export function shownRows({rows, later, next}, order, seq) {
  const upTo = rows.filter((row) => row.seq <= seq).map((event) => ({event, isLater: false}));
  const beyond = (later ?? []).filter((row) => row.seq > seq).map((event) => ({event, isLater: true}));
  if (order === "desc") return [...beyond.reverse(), ...upTo];
  // Later events follow the end of the list, which may not be loaded yet.
  return next === null ? [...upTo, ...beyond] : upTo;
}
