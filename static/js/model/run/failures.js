/** What can be let fail on purpose, from the page of an object: the same faults as those of scenarios and commands. */
import {gettext, gettextNoop, gettextOf, listText} from "../../lib/words.js";
import {parseId} from "../shared/format.js";

/** What fails where: of a volume, on a node, or for the object itself. */
const CALLS = {
  attach: [gettextNoop("Fail the next attach of {name}"), gettextNoop("Fail the next attach here")],
  detach: [gettextNoop("Fail the next detach of {name}"), gettextNoop("Fail the next detach here")],
  mount_device: [
    gettextNoop("Fail the next mount of a device of {name}"),
    gettextNoop("Fail the next mount of a device here"),
  ],
  mount: [gettextNoop("Fail the next mount of {name}"), gettextNoop("Fail the next mount here")],
  unmount: [gettextNoop("Fail the next unmount of {name}"), gettextNoop("Fail the next unmount here")],
  unmount_device: [
    gettextNoop("Fail the next unmount of a device of {name}"),
    gettextNoop("Fail the next unmount of a device here"),
  ],
};

/**
 * The failures to choose from, as {text, body, asks}. `asks` is the field of the fault that has yet to be filled in
 * ({name, label, value, type}), or undefined. The first choice is none.
 */
export function failuresOf(id, {entities}) {
  const {kind, key, name} = parseId(id);
  if (kind === "node") return nodeFailures(name, entities.get(id));
  if (kind === "volume")
    return [
      ...Object.entries(CALLS).map(([call, [text]]) => repeated(call, gettextOf(text, {name}), {volume: name})),
      repeated("delete", gettext("Fail the next deletion of its storage"), {volume: name}),
    ];
  if (kind === "claim")
    return [repeated("provision", gettext("Fail the next provisioning of its volume"), {claim: key})];
  if (kind === "pod") return podFailures(id, entities.get(id));
  return [];
}

function nodeFailures(name, node) {
  const object = `node/${name}`;
  const power = node?.ready
    ? [
        {text: gettext("Stop its kubelet"), body: {verb: "stop_kubelet", object}},
        {text: gettext("Turn its power off"), body: fault({die: name})},
      ]
    : [{text: gettext("Bring it back: power and kubelet"), body: fault({revive: name})}];
  const driver = {name: "driver", label: gettext("Driver"), type: "text", value: ""};
  return [
    ...power,
    {
      text: gettext("Unregister a driver here"),
      body: fault({unregister: "", node: name}),
      asks: {...driver, name: "unregister"},
    },
    {
      text: gettext("Register a driver here"),
      body: fault({register: "", node: name}),
      asks: {...driver, name: "register"},
    },
    {text: gettext("Stop provisioning for it"), body: fault({full: name})},
    ...Object.entries(CALLS).map(([call, [, text]]) => repeated(call, gettextOf(text, {}), {node: name})),
  ];
}

function podFailures(id, pod) {
  const {namespace} = parseId(id);
  const named = Object.entries(KIND_NAMES).flatMap(([kind, label]) =>
    [
      ["missing", gettext("Take away a {kind}", {kind: label})],
      ["present", gettext("Bring back a {kind}", {kind: label})],
    ].map(([name, text]) => ({
      text,
      body: fault({[name]: ""}),
      asks: {name, label, type: "text", value: "", prefix: `${kind}/${namespace}/`},
    })),
  );
  const heal = {text: gettext("Play on as if its containers were healthy"), body: fault({heal: id})};
  return pod?.node ? [...named, heal] : named;
}

const KIND_NAMES = {secret: "Secret", configmap: "ConfigMap", serviceaccount: "ServiceAccount"};

function repeated(call, text, where) {
  return {
    text,
    body: fault({fail: call, ...where}),
    asks: {name: "times", label: gettext("Times"), type: "number", value: 1},
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
export function faultText(patch) {
  return listText(Object.entries(patch ?? {}).map(([name, value]) => `${name} ${value}`));
}
