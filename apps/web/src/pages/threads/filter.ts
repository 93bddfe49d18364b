import { ago, cost, duration, moment } from "../../lib/format.ts";
import { lengthOf, statuses, type ThreadFilter, timeOf } from "../../lib/thread-filter.ts";

export type FilterName = "Status" | "Workflow" | "Version" | "Since" | "Duration" | "Cost";

export const filterNames: readonly FilterName[] = [
  "Status",
  "Workflow",
  "Version",
  "Since",
  "Duration",
  "Cost",
];

/** An item of a filter's menu, with the change that it makes. */
export type Choice = {
  text: string;
  isOn: boolean;
  change: ThreadFilter;
};

const ages: Record<string, string> = {
  "1h": "The last hour",
  "24h": "The last 24 hours",
  today: "Today",
  "7d": "The last 7 days",
  "30d": "The last 30 days",
};

const lengths = ["10s", "1m", "10m", "1h"];
const costs = [0.01, 0.1, 1, 10];

/** Names of the workflows, and hashes of the chosen workflow's versions, newest first. */
export type Known = {
  workflows: readonly string[];
  versions: readonly { hash: string; timestamp: number }[];
};

/** The items of a filter's menu. */
export function choicesOf(name: FilterName, filter: ThreadFilter, known: Known): Choice[] {
  switch (name) {
    case "Status": {
      const chosen = filter.status?.split(",") ?? [];
      return statuses.map((status) => {
        const isOn = chosen.includes(status);
        const next = statuses.filter((one) => (one === status ? !isOn : chosen.includes(one)));
        return { text: status, isOn, change: { status: next.join(",") || undefined } };
      });
    }
    case "Workflow":
      return known.workflows.map((workflow) => ({
        text: workflow,
        isOn: workflow === filter.workflow,
        change: { workflow, version: undefined },
      }));
    case "Version":
      return known.versions.map(({ hash, timestamp }) => ({
        text: `${hash.slice(0, 6)}, ${ago(timestamp, Date.now())}`,
        isOn: filter.version !== undefined && hash.startsWith(filter.version),
        change: { version: hash.slice(0, 6) },
      }));
    case "Since":
      return Object.entries(ages).map(([since, text]) => ({
        text,
        isOn: since === filter.since && filter.until === undefined,
        change: { since, until: undefined },
      }));
    case "Duration":
      return lengths.map((worked) => ({
        text: `At least ${duration(lengthOf(worked) ?? 0)}`,
        isOn: worked === filter.worked,
        change: { worked },
      }));
    case "Cost":
      return costs.map((least) => ({
        text: `At least ${cost(least)}`,
        isOn: least === filter.cost,
        change: { cost: least },
      }));
  }
}

/** An active filter, and the change that removes it. */
export type Chip = { name: string; text: string; without: ThreadFilter };

export function chipsOf(filter: ThreadFilter): Chip[] {
  const { status, workflow, version, since, until, worked, cost: least, error } = filter;
  const chips: (Chip | false | undefined | "")[] = [
    status && {
      name: "Status",
      text: status.split(",").join(" or "),
      without: { status: undefined },
    },
    workflow && {
      name: "Workflow",
      text: workflow,
      without: { workflow: undefined, version: undefined },
    },
    version && { name: "Version", text: version, without: { version: undefined } },
    (since ?? until) !== undefined && {
      name: "Since",
      text: rangeOf(since, until),
      without: { since: undefined, until: undefined },
    },
    worked !== undefined && {
      name: "Duration",
      text: `at least ${duration(lengthOf(worked) ?? 0)}`,
      without: { worked: undefined },
    },
    least !== undefined && {
      name: "Cost",
      text: `at least ${cost(least)}`,
      without: { cost: undefined },
    },
    error && { name: "Error", text: "has one", without: { error: undefined } },
  ];
  return chips.filter((chip) => typeof chip === "object");
}

function rangeOf(since: string | undefined, until: string | undefined): string {
  const from = since === undefined ? "" : (ages[since]?.toLowerCase() ?? momentOf(since));
  return until === undefined ? from : `${from} to ${momentOf(until)}`.trim();
}

function momentOf(text: string): string {
  if (lengthOf(text) !== null) return `the last ${text}`;
  return moment(timeOf(text, Date.now()) ?? 0);
}

/** A named filter. */
export type View = { name: string; filter: ThreadFilter };

export const builtIn: readonly View[] = [
  { name: "All", filter: {} },
  { name: "Failed today", filter: { status: "failed", since: "today" } },
  { name: "Waiting for me", filter: { status: "waiting" } },
  { name: "Expensive", filter: { cost: 1, since: "7d" } },
];

/** A text of a filter: equal for equal filters. */
export const textOfFilter = (filter: ThreadFilter): string =>
  JSON.stringify(
    Object.entries(filter)
      .filter(([, value]) => value !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** The parts of a text: `isHit` marks the searched words in it. */
export function markedParts(text: string, search: string): { text: string; isHit: boolean }[] {
  const words = search.split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return [{ text, isHit: false }];
  const escaped = words.map((word) => word.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
  return text
    .split(new RegExp(`(${escaped.join("|")})`, "giu"))
    .map((part, index) => ({ text: part, isHit: index % 2 === 1 }))
    .filter((part) => part.text !== "");
}
