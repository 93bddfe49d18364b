import { type CaseFilter, caseFilters } from "./evals.ts";
import { lengthOf, statuses, type ThreadFilter, timeOf } from "./thread-filter.ts";

// Each function reads a page's search parameters and drops invalid parameters.
type Given = Record<string, unknown>;

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;

/** The filters of the list; `start` is the workflow of the open start form, empty to choose one. */
export type ThreadsSearch = ThreadFilter & { start?: string };

export function readThreadsSearch(given: Given): ThreadsSearch {
  const { status, cost, worked, since, until } = given;
  const asked = [status].flat().flatMap((one) => textOf(one)?.split(",") ?? []);
  const least = Number(textOf(cost) ?? Number.NaN);
  const timeIn = (value: unknown) => {
    const text = textOf(value) ?? "";
    return timeOf(text, Date.now()) === null ? undefined : text;
  };
  return {
    status: statuses.filter((one) => asked.includes(one)).join(",") || undefined,
    workflow: textOf(given.workflow) || undefined,
    version: textOf(given.version) || undefined,
    since: timeIn(since),
    until: timeIn(until),
    worked: lengthOf(textOf(worked) ?? "") === null ? undefined : textOf(worked),
    cost: least > 0 ? least : undefined,
    error: [true, "true", 1].includes(given.error as string) || undefined,
    q: textOf(given.q) || undefined,
    start: textOf(given.start),
  };
}

const views = ["trace", "graph", "state", "events"] as const;

export type View = (typeof views)[number];

/** `row` is the id of the selected row of the trace. `step` selects the row of a step by its number, from 1. */
type ThreadSearch = { view?: View; row?: string; step?: number };

export function readThreadSearch({ view, row, step }: Given): ThreadSearch {
  const number = Number(step);
  return {
    view: views.find((one) => one === view && one !== "trace"),
    row: textOf(row) || undefined,
    step: Number.isInteger(number) && number > 0 ? number : undefined,
  };
}

const workflowViews = ["versions", "roles", "graph", "source"] as const;

export type WorkflowView = (typeof workflowViews)[number];

/** `version` is the hash of the version; by default the current version. */
export type WorkflowSearch = { view?: WorkflowView; version?: string };

export const readWorkflowSearch = ({ view, version }: Given): WorkflowSearch => ({
  view: workflowViews.find((one) => one === view && one !== "versions"),
  version: textOf(version) || undefined,
});

/** `baseline` is the hash of the version to compare with; `show` filters the cases. */
export const readEvalSearch = ({
  baseline,
  show,
}: Given): { baseline?: string; show?: CaseFilter } => ({
  baseline: textOf(baseline) || undefined,
  show: caseFilters.find((one) => one === show && one !== "all"),
});

/** Returns a reader of one text. */
const readingText =
  <Name extends string>(name: Name) =>
  (given: Given): { [Key in Name]?: string } =>
    ({ [name]: textOf(given[name]) || undefined }) as { [Key in Name]?: string };

export const readAddSearch = readingText("name");

/** `item` is the key of the item that the inbox shows. */
export const readInboxSearch = readingText("item");

/** `session` is a conversation with the planner. */
export const readPlannerSearch = readingText("session");

/** `run` is a thread that the editor of a step workflow shows and continues from. */
export const readStepsSearch = readingText("run");
