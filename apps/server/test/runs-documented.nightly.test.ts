import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  documentedFiles,
  documentedSteps,
} from "../../../packages/workflow-steps/test/documented-steps.ts";
import { Running } from "./running.ts";
import { some } from "../../../packages/workflow/test/fixtures/cases.ts";

let running: Running;
beforeAll(async () => {
  running = await Running.start();
  for (const [path, text] of Object.entries(documentedFiles)) {
    const file = join(running.serving.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}, 180_000);
afterAll(() => running.stop(), 180_000);

test.each(some(documentedSteps, 3))(
  "$what runs over REST as it stands",
  async ({ document, variables }) => {
    const runID = await running.run({ workflow: document });
    const ended = document.steps.some(({ id }) => id === "Stop_End") ? "stopped" : "completed";
    expect((await running.until(runID, ended)).variables).toMatchObject(variables);
  },
  180_000,
);
