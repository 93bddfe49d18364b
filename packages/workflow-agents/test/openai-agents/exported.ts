import { durable } from "@uncaged/workflow";
import { runWorkflow as knowledge } from "./exports/knowledge.ts";
import { runWorkflow as planning } from "./exports/planning.ts";
import { runWorkflow as service } from "./exports/service.ts";

/* Programs with the structure of Agent Builder's exports. The prompt is the name of the program. */
const programs: Record<string, (input: { input_as_text: string }) => Promise<object>> = {
  ...{ knowledge, planning, service },
};

export const descriptor = { description: "Runs exports of Agent Builder", roles: {} };
export const run = durable(async function* (step, { prompt }) {
  const input = { input_as_text: "Where is my order?" };
  return yield* step("agents", async () => (await programs[prompt]?.(input)) ?? {});
});
