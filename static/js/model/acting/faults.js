/** Faults as the server lists them ({kind, does, fixed, fields}), filled in for an object and made into a command. */
import {gettext} from "../../lib/words.js";
import {parseId} from "../shared/format.js";

/** What of an object the first field of a fault, or another one, may name. */
const NAMED_BY = {
  node: ["node", "process"],
  volume: ["volume"],
  claim: ["claim"],
  pod: ["pod"],
};
const MOST_OFFERED = 200;

/** The values with which the form of a fault begins where it is about the object of this id: {field: text}. */
export function valuesFor(form, id) {
  const {kind, name, key} = parseId(id);
  const text = {node: name, volume: name, claim: key, pod: id}[kind] ?? "";
  const found = {};
  for (const {name: field, names} of form.fields) {
    if (text && NAMED_BY[kind].includes(names)) found[field] = text;
    else if (names === "object") found[field] = id;
  }
  return found;
}

/** The faults of the list that can name the object of this id; all of them without one. */
export function fittingFaults(forms, id) {
  return id ? forms.filter((form) => Object.keys(valuesFor(form, id)).length > 0) : forms;
}

/** What may be written into a field, from the objects of the run: names of nodes, claims, kinds. */
export function offeredFor({names, choices}, entities) {
  if (choices.length > 0 && names !== "process") return choices;
  const found = [...choices];
  for (const id of entities.keys()) {
    if (found.length >= MOST_OFFERED) break;
    const text = offered(names, id);
    if (text && !found.includes(text)) found.push(text);
  }
  return found;
}

function offered(names, id) {
  const {kind, name, key} = parseId(id);
  if (names === "object") return id;
  if (names === "pod") return kind === "pod" ? id : "";
  if (names === "process") return kind === "node" ? name : "";
  if (names === "claim") return kind === "claim" ? key : "";
  return kind === names ? name : "";
}

/**
 * The command that the filled-in form gives, or the reason why there is none: {command, problem}. Fields without a text are left
 * out.
 */
export function faultCommand(form, values) {
  const patch = {...form.fixed};
  for (const {name, type, required} of form.fields) {
    const text = (values[name] ?? "").trim();
    if (text === "" && required) return {command: null, problem: gettext("{name} is needed", {name})};
    if (text === "") continue;
    const value = type === "text" ? text : Number(text);
    if (type !== "text" && (Number.isNaN(value) || (type === "integer" && !Number.isInteger(value)))) {
      return {
        command: null,
        problem:
          type === "integer"
            ? gettext("{name} is “{text}”, which is not a whole number", {name, text})
            : gettext("{name} is “{text}”, which is not a number", {name, text}),
      };
    }
    patch[name] = value;
  }
  return {command: {verb: "fault", patch}, problem: ""};
}
