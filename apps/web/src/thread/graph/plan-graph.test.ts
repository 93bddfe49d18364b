import { expect, test } from "bun:test";
import { planGraph } from "./plan-graph.ts";

const planned = [
  { id: "look", description: "Look", depends_on: [] },
  { id: "report", description: "Report", depends_on: ["look", "gone"] },
];

test("a plan is drawn with its dependencies before its first run", () => {
  const { nodes, edges } = planGraph(planned);
  expect(nodes.map(({ id, state, note }) => [id, state, note])).toEqual([
    ["look", "idle", "Look"],
    ["report", "idle", "Report"],
  ]);
  expect(edges).toEqual([{ from: "look", to: "report", label: null, kind: "next" }]);
});

test("a run gives the steps their states, and its added steps are drawn", () => {
  const row = (step_id: string, status: "succeeded" | "failed" | "skipped") => ({
    ...{ id: `sr_${step_id}`, run_id: "run_1", step_id, status, output_json: null, error: null },
    ...{ cancelled: false, started_at: null, completed_at: null, duration_ms: null },
  });
  const steps = [row("look", "failed"), row("report", "skipped"), row("more", "succeeded")];
  const { nodes } = planGraph(planned, { steps }, new Set(["look"]));
  expect(nodes.map(({ id, state }) => [id, state])).toEqual([
    ["look", "waiting"],
    ["report", "skipped"],
    ["more", "committed"],
  ]);
});
