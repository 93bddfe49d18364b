import type { Status } from "@uncaged/workflow-server/api-types";
import { statuses } from "./threads.ts";

export type ThreadsSearch = {
  status?: Status[];
  workflow?: string;
  /** A part of an id or of a name. */
  q?: string;
  /** The workflow whose start form is open; empty to choose one. */
  start?: string;
};

export function readThreadsSearch(search: Record<string, unknown>): ThreadsSearch {
  const text = (value: unknown) =>
    typeof value === "string" || typeof value === "number" ? String(value) : undefined;
  const given = [search.status].flat();
  const status = statuses.filter((one) => given.includes(one));
  return {
    status: status.length > 0 ? status : undefined,
    workflow: text(search.workflow) || undefined,
    q: text(search.q) || undefined,
    start: text(search.start),
  };
}

export const views = ["steps", "graph", "timeline", "about"] as const;

export type View = (typeof views)[number];

type ThreadSearch = {
  view?: View;
  /** The step to show, counting from 1. */
  step?: number;
};

/** Reads an address; what it can't be is left out. */
export function readThreadSearch({ view, step }: Record<string, unknown>): ThreadSearch {
  const number = Number(step);
  return {
    view: views.find((one) => one === view && one !== "steps"),
    step: Number.isInteger(number) && number > 0 ? number : undefined,
  };
}

const workflowViews = ["versions", "roles", "graph", "source"] as const;

export type WorkflowView = (typeof workflowViews)[number];

export type WorkflowSearch = {
  view?: WorkflowView;
  /** The hash of the version that is shown; the current one without it. */
  version?: string;
};

/** Reads an address; what it can't be is left out. */
export function readWorkflowSearch({ view, version }: Record<string, unknown>): WorkflowSearch {
  return {
    view: workflowViews.find((one) => one === view && one !== "versions"),
    version: typeof version === "string" && version !== "" ? version : undefined,
  };
}

type AddSearch = {
  name?: string;
};

/** Reads an address; what it can't be is left out. */
export const readAddSearch = ({ name }: Record<string, unknown>): AddSearch => ({
  name: typeof name === "string" && name !== "" ? name : undefined,
});
