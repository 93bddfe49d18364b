import { ago, cost, duration, moment } from "../../lib/format.ts";
import { lengthOf, statuses, type ThreadFilter, timeOf } from "../../lib/thread-filter.ts";
import { readThreadsSearch } from "../../lib/search.ts";
import { store } from "../../lib/stored.ts";

export const filterNames = ["Status", "Workflow", "Version", "Since", "Duration", "Cost"] as const;

export type FilterName = (typeof filterNames)[number];

/** An item of a filter's menu, with the change that it makes. */
type Choice = {
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
type Known = {
  workflows: readonly string[];
  versions: readonly { hash: string; timestamp: number }[];
};

export function choicesOf(name: FilterName, filter: ThreadFilter, known: Known): Choice[] {
  const isSet = (change: ThreadFilter) =>
    Object.entries(change).every(([key, value]) => filter[key as keyof ThreadFilter] === value);
  const choice = (text: string, change: ThreadFilter, isOn = isSet(change)): Choice => ({
    ...{ text, isOn, change },
  });
  switch (name) {
    case "Status": {
      const chosen = filter.status?.split(",") ?? [];
      return statuses.map((status) => {
        const isOn = chosen.includes(status);
        const next = statuses.filter((one) => (one === status ? !isOn : chosen.includes(one)));
        return choice(status, { status: next.join(",") || undefined }, isOn);
      });
    }
    case "Workflow":
      return known.workflows.map((workflow) =>
        choice(workflow, { workflow, version: undefined }, workflow === filter.workflow),
      );
    case "Version":
      return known.versions.map(({ hash, timestamp }) => {
        const text = `${hash.slice(0, 6)}, ${ago(timestamp, Date.now())}`;
        const isOn = filter.version !== undefined && hash.startsWith(filter.version);
        return choice(text, { version: hash.slice(0, 6) }, isOn);
      });
    case "Since":
      return Object.entries(ages).map(([since, text]) => choice(text, { since, until: undefined }));
    case "Duration":
      return lengths.map((worked) => choice(`At least ${lengthText(worked)}`, { worked }));
    case "Cost":
      return costs.map((least) => choice(`At least ${cost(least)}`, { cost: least }));
  }
}

const lengthText = (worked: string): string => duration(lengthOf(worked) ?? 0);

/** An active filter, and the change that removes it. */
type Chip = { name: string; text: string; without: ThreadFilter };

export function chipsOf(filter: ThreadFilter): Chip[] {
  const { status, workflow, version, since, until, worked, cost: least, error } = filter;
  const chip = (name: string, text: string | undefined, ...keys: (keyof ThreadFilter)[]) =>
    text ? [{ name, text, without: cleared(keys) }] : [];
  return [
    ...chip("Status", status?.split(",").join(" or "), "status"),
    ...chip("Workflow", workflow, "workflow", "version"),
    ...chip("Version", version, "version"),
    ...chip("Since", rangeOf(since, until), "since", "until"),
    ...chip("Duration", worked && `at least ${lengthText(worked)}`, "worked"),
    ...chip("Cost", least ? `at least ${cost(least)}` : "", "cost"),
    ...chip("Error", error && "has one", "error"),
  ];
}

export const cleared = (keys: readonly string[]): ThreadFilter =>
  Object.fromEntries(keys.map((key) => [key, undefined]));

function rangeOf(since: string | undefined, until: string | undefined): string {
  const from = since === undefined ? "" : (ages[since]?.toLowerCase() ?? momentOf(since));
  return until === undefined ? from : `${from} to ${momentOf(until)}`.trim();
}

function momentOf(text: string): string {
  if (lengthOf(text) !== null) return `the last ${text}`;
  return moment(timeOf(text, Date.now()) ?? 0);
}

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

/** Storage key of the views that this browser has saved. */
export const viewsKey = "thread-views";

/** The valid views of a stored text. */
export function viewsIn(text: string | null): View[] {
  try {
    const stored: unknown = JSON.parse(text ?? "[]");
    if (!Array.isArray(stored)) return [];
    return stored.flatMap((one: Partial<View> | null) =>
      typeof one?.name === "string"
        ? { name: one.name, filter: readThreadsSearch({ ...one.filter, start: undefined }) }
        : [],
    );
  } catch {
    return [];
  }
}

/** Saves the views. Returns false if the browser can't store them. */
export const keepViews = (views: readonly View[]): boolean =>
  store(viewsKey, JSON.stringify(views));
