/** What can be let fail on purpose, from the page of an object: the same faults as those of scenarios and commands. */
import {parseId} from "../shared/format.js";

const ATTACHES = [
  ["attach", "attach"],
  ["detach", "detach"],
];
const MOUNTS = [
  ["mount_device", "mount of a device"],
  ["mount", "mount"],
  ["unmount", "unmount"],
  ["unmount_device", "unmount of a device"],
];

/**
 * The failures to choose from, as {text, body, asks}. `asks` is the field of the fault that has yet to be filled in
 * ({name, label, value, type}), or undefined. The first choice is none.
 */
export function failuresOf(id, {entities}) {
  const {kind, key, name} = parseId(id);
  if (kind === "node") return nodeFailures(name, entities.get(id));
  if (kind === "volume")
    return [...calls({volume: name}, `of ${name}`), repeated("delete", "deletion of its storage", {volume: name}, "")];
  if (kind === "claim") return [repeated("provision", "provisioning of its volume", {claim: key}, "")];
  if (kind === "pod") return podFailures(id, entities.get(id));
  return [];
}

function nodeFailures(name, node) {
  const object = `node/${name}`;
  const power = node?.ready
    ? [
        {text: "Stop its kubelet", body: {verb: "stop_kubelet", object}},
        {text: "Turn its power off", body: fault({die: name})},
      ]
    : [{text: "Let it return: power and kubelet", body: fault({revive: name})}];
  const driver = {name: "driver", label: "Driver", type: "text", value: ""};
  return [
    ...power,
    {
      text: "Unregister a driver here",
      body: fault({unregister: "", node: name}),
      asks: {...driver, name: "unregister"},
    },
    {text: "Register a driver here", body: fault({register: "", node: name}), asks: {...driver, name: "register"}},
    {text: "Provision nothing for it any more", body: fault({full: name})},
    ...calls({node: name}, "here"),
  ];
}

function podFailures(id, pod) {
  const {namespace} = parseId(id);
  const named = Object.entries(KIND_NAMES).flatMap(([kind, label]) =>
    [
      ["missing", `Let a ${label} be missing`],
      ["present", `Let a ${label} be there again`],
    ].map(([name, text]) => ({
      text,
      body: fault({[name]: ""}),
      asks: {name, label, type: "text", value: "", prefix: `${kind}/${namespace}/`},
    })),
  );
  const heal = {text: "Play on as if its containers were healthy", body: fault({heal: id})};
  return pod?.node ? [...named, heal] : named;
}

const KIND_NAMES = {secret: "Secret", configmap: "ConfigMap", serviceaccount: "ServiceAccount"};

function calls(where, words) {
  return [...ATTACHES, ...MOUNTS].map(([call, text]) => repeated(call, text, where, words));
}

function repeated(call, text, where, words) {
  return {
    text: `Fail the next ${text} ${words}`.trim(),
    body: fault({fail: call, ...where}),
    asks: {name: "times", label: "Times", type: "number", value: 1},
  };
}

function fault(patch) {
  return {verb: "fault", patch};
}

/** The command of a choice, with what was filled in; null while a text is missing or a number is not one from 1 on. */
export function commandOf({body, asks}, value) {
  if (!asks) return body;
  if (asks.type === "number") {
    const times = Number(value);
    return Number.isInteger(times) && times > 0 ? fault({...body.patch, times}) : null;
  }
  const text = value.trim();
  return text ? fault({...body.patch, [asks.name]: `${asks.prefix ?? ""}${text}`}) : null;
}

/** A fault in words, as its event has them: "unregister csi.example.com, node n1". */
export function faultWords(patch) {
  return Object.entries(patch ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}
