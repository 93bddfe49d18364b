import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runThread } from "@uncaged/workflow/testing";
import { fileAdapter, stepTools, toolAdapter } from "../src/entry/adapters.ts";
import { Engine, fold, stepsBundle } from "../src/entry/index.ts";
import { documentedFiles, documentedSteps, worker, workerPath } from "./documented-steps.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-documented-"));
  for (const [path, text] of Object.entries(documentedFiles)) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
});
afterEach(() => rmSync(cwd, { recursive: true }));

const adapters = () => ({ file: fileAdapter({ cwd }), tool: toolAdapter(stepTools(), { cwd }) });
const subflows = { [workerPath]: worker };

test.each(documentedSteps)("$what runs unchanged in an Engine", async (one) => {
  const engine = new Engine(one.document, { subflows });
  expect(engine.validate()).toEqual([]);
  const context = await engine.execute({}, adapters());
  expect(context.status).toBeOneOf(["completed", "stopped"]);
  expect(context.snapshot().variables).toMatchObject(one.variables);
});

test.each(documentedSteps)(
  "$what runs in an Engine that reads its child workflows from files",
  async (one) => {
    const context = await new Engine(one.document).execute({}, adapters());
    expect(context.snapshot().variables).toMatchObject(one.variables);
  },
);

test.each(documentedSteps)("$what runs unchanged as a thread", async (one) => {
  const { run } = stepsBundle(one.document, { subflows, adapters: () => adapters() });
  const { status, steps } = await runThread(run, { params: {}, cwd });
  expect(status).toBe("completed");
  const checkpoint = fold(one.document, { threadId: "T", prompt: "", params: {}, steps, subflows });
  expect(checkpoint.variables).toMatchObject(one.variables);
});
