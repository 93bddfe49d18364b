import type { PlanRun } from "../../lib/plans.ts";
import type { Graph, GraphNode } from "./graph.ts";

type PlannedStep = { id: string; description: string; depends_on: readonly string[] };

type StepStatus = PlanRun["steps"][number]["status"];

const states: Record<StepStatus, GraphNode["state"]> = {
  pending: "idle",
  running: "running",
  succeeded: "committed",
  failed: "failed",
  skipped: "skipped",
};

/**
 * The steps of a plan with their states in a run. `asked` are the steps that wait for a decision. Steps that the run
 * added have no lines.
 */
export function planGraph(
  planned: readonly PlannedStep[],
  run: Pick<PlanRun, "steps"> | null = null,
  asked: ReadonlySet<string> = new Set(),
): Graph {
  const ids = new Set(planned.map(({ id }) => id));
  const rows = new Map(run?.steps.map(({ step_id, status }) => [step_id, status]));
  const stateOf = (id: string): GraphNode["state"] =>
    asked.has(id) ? "waiting" : states[rows.get(id) ?? "pending"];
  const nodeOf = (id: string, note: string): GraphNode => ({
    ...{ id, note, label: id, row: id, state: stateOf(id) },
    ...{ parent: null, count: 0, isGroup: false },
  });
  const added = [...rows.keys()].filter((id) => !ids.has(id));
  return {
    nodes: [
      ...planned.map(({ id, description }) => nodeOf(id, description)),
      ...added.map((id) => nodeOf(id, "added by a step of the run")),
    ],
    edges: planned.flatMap(({ id, depends_on }) =>
      depends_on
        .filter((from) => ids.has(from))
        .map((from) => ({ from, to: id, label: null, kind: "next" as const })),
    ),
  };
}
