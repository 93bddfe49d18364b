import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Recovered, StoppedAll } from "../src/entry/api-types.ts";
import { ServingRoot, stopServing } from "./serving.ts";

let serving: ServingRoot;

beforeAll(async () => {
  serving = await ServingRoot.start("endless");
});
afterAll(stopServing, 180_000);

const start = async () => {
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", {
    workflow: "endless",
  });
  await serving.until(threadId, "running");
  return threadId;
};

test("all threads are paused, are resumed after a crash of their worker, and are killed", async () => {
  const ids = [await start(), await start()].sort();
  const of = (all: { threadId: string }[]) => all.map(({ threadId }) => threadId).sort();
  expect(of((await serving.ok<StoppedAll>("/api/pause", {})).stopped)).toEqual(ids);
  for (const id of ids) await serving.until(id, "paused");
  await serving.killWorkers();
  for (const id of ids) await serving.until(id, "paused");
  const { resumed, left } = await serving.ok<Recovered>("/api/interrupted");
  expect(resumed).toEqual([]);
  expect(left.map(({ reason }) => reason)).toEqual(["it is paused", "it is paused"]);
  for (const id of ids) await serving.ok(`/api/threads/${id}/resume`, {});
  for (const id of ids) await serving.until(id, "running");
  await serving.killWorkers();
  for (const id of ids) await serving.until(id, "interrupted");
  expect(of((await serving.ok<Recovered>("/api/interrupted")).resumed)).toEqual(ids);
  expect(of((await serving.ok<Recovered>("/api/interrupted/resume", {})).resumed)).toEqual(ids);
  expect(of((await serving.ok<StoppedAll>("/api/kill", {})).stopped)).toEqual(ids);
  for (const id of ids) await serving.until(id, "killed");
});
