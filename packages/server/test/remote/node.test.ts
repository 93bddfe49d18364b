import { afterAll, afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stopServing } from "../serving.ts";
import { buildProgram, checkIn } from "./contract-node.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-contract-"));
afterEach(stopServing);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the client keeps a rule of the contract in the installed Node", async () => {
  const node = Bun.which("node");
  if (node === null) throw new Error("missing node on PATH");
  const rule = "an observer sees steps, questions and the end as they occur, in order";
  const program = await buildProgram(folder);
  expect(await checkIn(node, program, rule)).toEqual({ code: 0, stderr: "" });
});
