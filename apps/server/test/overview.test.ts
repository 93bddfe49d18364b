import { afterAll, beforeAll, expect, test } from "bun:test";
import { Serving, stopServing } from "./serving.ts";
import { follow, type Sent } from "./sse.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start("counter", "endless");
});
afterAll(stopServing, 30_000);

const rows = "/api/events?types=thread,removed,workflows";
const isReady = (sent: Sent[]) => sent.some(({ name }) => name === "ready");

/** Watches until something is told of a thread, while something is done. */
async function watch(act: () => Promise<unknown>, enough: (sent: Sent[]) => boolean) {
  let begun: Promise<unknown> | null = null;
  return await follow(serving, rows, {
    enough: (sent) => {
      if (isReady(sent)) begun ??= act();
      return enough(sent);
    },
  });
}

const told = (sent: Sent[], id: string) =>
  sent
    .filter(({ name, data }) => name === "thread" && data.threadId === id)
    .map(({ data }) => data);

test("it is ready first, and tells of a thread from its birth to its end", async () => {
  let id = "";
  const sent = await watch(
    async () => (id = await serving.run("counter", { count: 10, delayMs: 80 })),
    (all) => id !== "" && told(all, id).at(-1)?.status === "completed",
  );
  expect(sent[0]).toMatchObject({ name: "ready", data: { missed: true } });
  expect(told(sent, id).map(({ status }) => status)).toContain("running");
  expect(told(sent, id).at(-1)).toMatchObject({ steps: 10, workflow: "counter" });
  expect(told(sent, id).length).toBeGreaterThan(2);
});

test("it tells of a pause, of a kill and of a deletion", async () => {
  const id = await serving.run("endless", { delayMs: 30 });
  const last = (all: Sent[]) => told(all, id).at(-1)?.status;
  await watch(
    () => serving.ok(`/api/threads/${id}/pause`, {}),
    (all) => last(all) === "paused",
  );
  await watch(
    () => serving.ok(`/api/threads/${id}/kill`, {}),
    (all) => last(all) === "killed",
  );
  const sent = await watch(
    () => serving.ok(`/api/threads/${id}`, undefined, "DELETE"),
    (all) => all.some(({ name }) => name === "removed"),
  );
  expect(sent.at(-1)?.data).toEqual({ threadId: id });
});

test("it tells that a thread whose worker died is interrupted", async () => {
  const id = await serving.run("endless", { delayMs: 30 });
  const { pid } = await serving.until(id, "running", 1);
  await watch(
    async () => process.kill(Number(pid), "SIGKILL"),
    (all) => told(all, id).at(-1)?.status === "interrupted",
  );
  await serving.ok(`/api/threads/${id}/kill`, {});
});

test("it tells that the names have changed", async () => {
  await watch(
    async () => await serving.ok("/api/workflows/endless", undefined, "DELETE"),
    (all) => all.some(({ name }) => name === "workflows"),
  );
});

test("one who comes back while others watch misses nothing, and after a restart is told to read anew", async () => {
  const id = await serving.run("counter", { count: 30, delayMs: 50 });
  const isOver = (all: Sent[]) => told(all, id).at(-1)?.status === "completed";
  const watching = follow(serving, rows, { enough: isOver });
  const first = await follow(serving, rows, { enough: (all) => told(all, id).length > 1 });
  const lastEventId = first.at(-1)?.id ?? "";
  const rest = await follow(serving, rows, { lastEventId, enough: isOver });
  const whole = await watching;
  expect(rest[0]).toMatchObject({ name: "ready", data: { missed: false } });
  const at = whole.findIndex((event) => event.id === lastEventId);
  expect(rest.slice(1)).toEqual(whole.slice(at + 1));

  const { port } = serving;
  await serving.stop();
  await serving.serve(port);
  const [again] = await follow(serving, rows, { lastEventId, enough: isReady });
  expect(again?.data).toEqual({ missed: true });
});

test("one who comes back after nobody watched is told to read anew", async () => {
  const [first] = await follow(serving, rows, { enough: isReady });
  const lastEventId = first?.id ?? "";
  // Nothing tells that it has stopped looking; it looks twice a second.
  await Bun.sleep(1_500);
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  const other = follow(serving, rows, { enough: (sent) => told(sent, "none").length > 0 });
  const [again] = await follow(serving, rows, { lastEventId, enough: isReady });
  expect(again?.data).toEqual({ missed: true });
  await serving.stop();
  await other.catch(() => undefined);
});
