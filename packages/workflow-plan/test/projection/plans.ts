import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlannerOutput } from "../../src/entry/index.ts";
import { does, type TestHome, workflow } from "../home.ts";
import { plan } from "../parts.ts";

export const asks = plan([does("bad", "max-turns"), does("next", "say next", ["bad"])], {
  on_step_failure: "ask_user",
});
export const waits = plan([does("slow", "wait"), does("next", "say next", ["slow"])]);
export const fails = plan([
  does("bad", "fail-once"),
  does("good", "say good"),
  does("end", "say", ["bad"]),
]);

/** Adds a plan whose agents work in their own folder. */
export async function added({ plans, store }: TestHome, output: PlannerOutput) {
  const made = workflow(output);
  const cwd = join(store.folder, made.id);
  mkdirSync(cwd, { recursive: true });
  const { id } = await plans.create({ ...made, metadata: { ...made.metadata, cwd } });
  return { id, go: () => writeFileSync(join(cwd, "go"), "") };
}
