/** Numbers for people. Inputs are the engine's integers: nanoseconds, milli CPU, bytes. */
import {gettext, language, listText} from "../../lib/words.js";

export const SECOND = 1e9;
const COUNT = new Intl.NumberFormat(language);
const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/** 1250 → "1250m", 2000 → "2". */
export function cpu(milli) {
  return milli % 1000 === 0 ? String(milli / 1000) : `${milli}m`;
}

/** 2750 → "2.75": CPU in cores, for a meter. */
export function cores(milli) {
  return trim(milli / 1000, 2);
}

/** 12025908428 → "11.2 Gi". */
export function bytes(number) {
  const [value, unit] = scaleBytes(number);
  return unit ? `${value} ${unit}` : value;
}

/** The size of a file: 968 → "968 B", 39800 → "38.9 KiB". */
export function fileSize(number) {
  const [value, unit] = scaleBytes(number);
  return `${value} ${unit}B`;
}

/** 11.2 Gi of 16 Gi → "11.2 / 16 Gi": both in the unit of the whole. */
export function bytesOf(part, whole) {
  const power = binaryPower(whole);
  const unit = BINARY[power];
  const text = `${trim(part / 1024 ** power, 1)} / ${trim(whole / 1024 ** power, 1)}`;
  return unit ? `${text} ${unit}` : text;
}

/** The used and the whole amount of a resource, for a meter. */
export function ratio(resource, part, whole) {
  if (resource === "cpu") return `${cores(part)} / ${cores(whole)}`;
  if (isBytes(resource)) return bytesOf(part, whole);
  return `${part} / ${whole}`;
}

/** An amount of a resource in words: "1500m CPU", "3 Gi", "2 nvidia.com/gpu". */
export function amount(resource, value) {
  if (resource === "cpu") return `${cpu(value)} CPU`;
  if (resource === "memory") return bytes(value);
  if (isBytes(resource)) return `${bytes(value)} ${resource}`;
  return `${value} ${resource}`;
}

/** A moment, in seconds with milliseconds: 42350000000 → "42.350". */
export function moment(at) {
  return fixed(at / SECOND, 3);
}

/** A moment with its unit: 42350000000 → "42.350 s". */
export function timeText(at) {
  return gettext("{number} s", {number: moment(at)});
}

/** A duration: "3 ms", "0.65 s", "24.10 s", "12 min 04 s", "3 h 05 min". */
export function duration(ns) {
  const seconds = Math.max(0, ns) / SECOND;
  if (seconds === 0) return gettext("{number} s", {number: 0});
  if (seconds < 0.001) return gettext("{number} µs", {number: Math.max(1, Math.round(seconds * 1e6))});
  if (seconds < 0.1) return gettext("{number} ms", {number: Math.round(seconds * 1000)});
  if (seconds < 600) return gettext("{number} s", {number: fixed(seconds, 2)});
  const minutes = Math.floor(seconds / 60);
  if (minutes < 180) return gettext("{minutes} min {seconds} s", {minutes, seconds: pad(Math.floor(seconds % 60))});
  return gettext("{hours} h {minutes} min", {hours: Math.floor(minutes / 60), minutes: pad(minutes % 60)});
}

/**
 * The label of a moment on a time axis that reaches from `from` to `end`: "0 s", "80 ms", "61.9 s", "2 min",
 * "12 min 4 s", "3 h". A short axis gets more digits, so that its labels differ.
 */
export function tick(ns, end, from = 0) {
  if (ns === 0) return gettext("{number} s", {number: 0});
  const length = end - from;
  if (end < SECOND) return gettext("{number} ms", {number: trim(ns / 1e6, length < SECOND / 100 ? 2 : 0)});
  if (end < 600 * SECOND || length < 60 * SECOND)
    return gettext("{number} s", {number: trim(ns / SECOND, digitsFor(length))});
  const seconds = Math.round(ns / SECOND);
  if (end < 6 * 3600 * SECOND)
    return joined([
      [Math.floor(seconds / 60), (number) => gettext("{number} min", {number})],
      [seconds % 60, (number) => gettext("{number} s", {number})],
    ]);
  const minutes = Math.round(seconds / 60);
  return joined([
    [Math.floor(minutes / 60), (number) => gettext("{number} h", {number})],
    [minutes % 60, (number) => gettext("{number} min", {number})],
  ]);
}

/** The digits of seconds that make the ticks of an axis of this length differ. */
function digitsFor(length) {
  if (length > 0.4 * SECOND) return 1;
  return length > 0.04 * SECOND ? 2 : 4;
}

function joined(parts) {
  return parts
    .filter(([value]) => value > 0)
    .map(([value, textOf]) => textOf(value))
    .join(" ");
}

/** 2016 → "2,016". */
export function count(value) {
  return COUNT.format(value);
}

/** "pod/shop/web-3" → {kind: "pod", namespace: "shop", name: "web-3", key: "shop/web-3"}. */
export function parseId(id) {
  const slash = id.indexOf("/");
  const kind = slash < 0 ? id : id.slice(0, slash);
  const key = slash < 0 ? "" : id.slice(slash + 1);
  const inner = key.indexOf("/");
  if (inner < 0) return {kind, namespace: "", name: key, key};
  return {kind, namespace: key.slice(0, inner), name: key.slice(inner + 1), key};
}

/** The component that wrote an event, short enough for a column: "deployment-controller" → "deployment". */
export function author(component) {
  return component.length > 13 ? component.replace(/-controller$/, "") : component;
}

/** Access modes as kubectl abbreviates them. */
export function accessModes(modes) {
  const short = {
    ReadWriteOnce: "RWO",
    ReadOnlyMany: "ROX",
    ReadWriteMany: "RWX",
    ReadWriteOncePod: "RWOP",
  };
  return listText((modes ?? []).map((mode) => short[mode] ?? mode));
}

/** Shorter names have room everywhere, and stay in one piece. */
const SHORT_NAME = 16;
/** What generated names end in: the hash of a template and of a pod, an ordinal, a zone, a part of a domain. */
const LAST_PART = /(?<=.{4})(-[bcdf-hj-np-tv-z2-9]{6,10})?[-.]?[^-.]{1,12}$/;

/** A long name as what may be cut and what has to stay: "web-7d9f8b6c5-x2vq9" → ["web", "-7d9f8b6c5-x2vq9"]. */
export function nameEnds(name) {
  const at = name.length > SHORT_NAME ? name.search(LAST_PART) : -1;
  return at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at)];
}

const collator = new Intl.Collator(language, {numeric: true});

/** The natural order of names: node-2 before node-10. */
export const byName = collator.compare;

function isBytes(resource) {
  return resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
}

function binaryPower(value) {
  let power = 0;
  while (power < BINARY.length - 1 && Math.abs(value) >= 1024 ** (power + 1)) power += 1;
  return power;
}

function scaleBytes(value) {
  const power = binaryPower(value);
  return [trim(value / 1024 ** power, 1), BINARY[power]];
}

function trim(value, digits) {
  return String(Number(value.toFixed(digits)));
}

const FIXED = new Map();

/** A number with so many digits after the point: 0.5 → "0.500". It is not grouped, so that it can be typed again. */
export function fixed(value, digits) {
  const options = {minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false};
  if (!FIXED.has(digits)) FIXED.set(digits, new Intl.NumberFormat(language, options));
  return FIXED.get(digits).format(value);
}

function pad(value) {
  return String(value).padStart(2, "0");
}
