import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  openLocalHost,
  settled,
  threadJson,
  type ThreadJson,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { checkedGraph, graphSource } from "@uncaged/workflow-graph/source";
import { files, top } from "./source.ts";

/* Adds and runs the examples of agent graphs as a user would, offline. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-graphs-"));
const host = openLocalHost({ path: join(folder, "root") });
const env = { PATH: process.env.PATH ?? "" };
const idleBefore = process.env.UNCAGED_WORKFLOW_IDLE_MS;

beforeAll(async () => {
  process.env.UNCAGED_WORKFLOW_IDLE_MS = "500";
  for (const name of ["research-team", "review-pipeline"]) {
    await host.register(name, join(top, `examples/${name}/workflow.ts`));
  }
}, 180_000);
afterAll(() => {
  if (idleBefore === undefined) delete process.env.UNCAGED_WORKFLOW_IDLE_MS;
  else process.env.UNCAGED_WORKFLOW_IDLE_MS = idleBefore;
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

const read = async (ref: ThreadRef): Promise<ThreadJson> => threadJson(await settled(host, ref));
const start = async (workflow: string, prompt = "") => {
  const { hash, threadId } = await host.start({ workflow, prompt, cwd: folder, env });
  return { hash, threadId };
};
const rolesOf = ({ steps }: ThreadJson): string[] => steps.map(({ role }) => role);

test("the research team calls its researchers, and a rejection returns to the writer with its note", async () => {
  const ref = await start("research-team");
  const asked = await read(ref);
  expect(asked.status).toBe("waiting");
  expect(asked.steps.at(-1)?.content).toBe("Is the report good enough to be published?");
  const answer = async (value: object) => {
    const input = { content: JSON.stringify(value), value };
    await host.control(ref, { kind: "answer", env, input });
    return await read(ref);
  };
  expect(asked.steps[1]?.content).not.toContain("Amazon");
  const again = await answer({ decision: "reject", note: "Name the rivers." });
  expect(again.status).toBe("waiting");
  expect(again.steps.findLast(({ role }) => role === "writer")?.content).toContain("Amazon");
  const done = await answer({ decision: "approve" });
  expect(done.status).toBe("completed");
  expect(done.result?.summary).toStartWith("# Why the sea is salt");
  const attempts = await host.attempts(ref);
  const writers = attempts.filter(({ role }) => role === "writer").map(({ attempt }) => attempt);
  const called = attempts.filter(({ parent }) => parent !== null && writers.includes(parent));
  expect(called.map(({ role }) => String(role)).sort()).toEqual([
    ...["chemist", "chemist", "geologist", "geologist"],
  ]);
  expect(called.every(({ status, usage }) => status === "committed" && usage !== null)).toBe(true);
});

test("the review pipeline joins two reviews and repeats until no objection remains", async () => {
  const around = await read(await start("review-pipeline"));
  expect(around.result?.summary).toStartWith("PUBLISH");
  const round = ["facts", "style", "summary", "decision"];
  expect(rolesOf(around).toSorted()).toEqual(["text", "author", ...round, ...round].toSorted());
  const direct = await read(await start("review-pipeline", "It has run for a year."));
  expect(rolesOf(direct)).toHaveLength(5);
});

const documents = files("examples/{research-team,review-pipeline}/*.json");

test.each(documents)("%s is valid, and can be added without its program", async (path) => {
  const { warnings } = checkedGraph(readFileSync(join(top, path), "utf8"), path);
  expect(warnings).toEqual([]);
  const added = await host.register("drawn", join(top, path), {
    sources: [graphSource((warning) => expect(warning).toBe("none"))],
  });
  expect(added.hash).toMatch(/^[0-9A-Z]{13}$/);
});
