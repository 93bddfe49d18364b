import type { Rerun, RunCheckpoint, RunStand, RunValues } from "@uncaged/workflow-server/api-types";
import { pathOf, request } from "./request.ts";

const root = "/workflow";

/** What a step of a run began with; the number behind the last step is that of what comes next. */
export const readValues = (id: string, step: number, signal?: AbortSignal) =>
  request<RunValues>(pathOf(id, "values"), { root, query: { step }, signal });

/** The state that a run's first steps make. */
export const readCheckpoint = (id: string, steps: number, signal?: AbortSignal) =>
  request<RunCheckpoint>(pathOf(id, "checkpoint"), { root, query: { steps }, signal });

/** Runs again from the first steps of a run. */
export const startRerun = (body: Rerun) =>
  request<RunStand>("/rerun", { root, method: "POST", json: body });
