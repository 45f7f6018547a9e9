import {gettext} from "../../lib/words.js";
import {parseId} from "../shared/format.js";

/**
 * What a run can be saved as, from where one is looking: groups of {text, href}. `known` are the formats that
 * this kscope writes, `url` makes the address of an export, `seq` the event shown, null for the
 * newest, `pod` the id of the pod that is selected, or null.
 *
 * @param {{known: string[], url: (params: Record<string, any>) => string, seq: number | null, pod: string | null}} from
 */
export function exportGroups({known, url, seq, pod}) {
  const here = {seq};
  const link = (format, text, more = {}) => ({format, text, href: url({format, ...more})});
  const groups = [
    [
      link("kscope", gettext("The run as one file")),
      link("kscope", gettext("The run with its whole history"), {history: 1}),
      link("html", gettext("A page that plays offline"), here),
      link(
        "yaml",
        seq === null ? gettext("The cluster now, as YAML") : gettext("The cluster at this event, as YAML"),
        here,
      ),
    ],
    [
      link("ndjson", gettext("Events as NDJSON"), here),
      link("csv", gettext("Events as CSV"), here),
      link("parquet", gettext("Events as Parquet"), here),
      link("events", gettext("Kubernetes Events as an EventList"), here),
    ],
    [
      link("perfetto", gettext("A trace for Perfetto"), here),
      link("otlp", gettext("Spans for OpenTelemetry"), here),
      link("openmetrics", gettext("Metrics as OpenMetrics"), here),
      ...(pod
        ? [
            link("mermaid", gettext("The story of {name} for Mermaid", {name: parseId(pod).name}), {
              ...here,
              pod: parseId(pod).key,
            }),
          ]
        : []),
    ],
  ];
  return groups.map((links) => links.filter(({format}) => known.includes(format))).filter((links) => links.length);
}
