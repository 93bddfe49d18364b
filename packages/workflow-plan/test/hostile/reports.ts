import { join } from "node:path";
import type { PlanView } from "./victim.ts";

/** An attempt of the agent: `needs` is described in `agent/attempts/attempt.mjs`. */
export type Attempt = {
  kind: string;
  name: string;
  needs: "retry" | "end" | "project" | "small" | "flip" | "cluster" | null;
};

/** The agent's report of an attempt: see `agent/agent.mjs`. */
export type Report = {
  kind: string;
  name: string;
  /** `lost` if the step of the attempt wrote no report. */
  outcome: "refused" | "escaped" | "done" | "not tried" | "lost";
  detail: string;
};

const { attemptsOf } = (await import(join(import.meta.dir, "agent/attempts/attempt.mjs"))) as {
  attemptsOf: () => Promise<Attempt[]>;
};

export const hostileAttempts = await attemptsOf();

/** Returns the id of the step that tries one attempt. */
export const idOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60)
    .replace(/-$/, "");

/** Returns the reports of a run's steps. The failure of a step that the host ended or refused is the report. */
export function reportsIn(view: PlanView, attempts: readonly Attempt[]): Report[] {
  const rows = view.runs[0]?.steps ?? [];
  return rows.flatMap(({ error, output_json, step_id }): Report[] => {
    const own = attempts.filter(({ kind, name }) => step_id === kind || step_id === idOf(name));
    try {
      const reports: unknown = JSON.parse(String(JSON.parse(output_json ?? "")));
      if (Array.isArray(reports)) return reports as Report[];
    } catch {
      // The step wrote no report.
    }
    return own.map(({ kind, name }) => ({
      ...{ kind, name, outcome: step_id === kind ? "lost" : "refused" },
      detail: error ?? `the step said ${output_json}`,
    }));
  });
}
