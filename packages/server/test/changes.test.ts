import { afterAll, beforeAll, expect, test } from "bun:test";
import { Serving, stopServing } from "./serving.ts";
import { follow, type Sent } from "./sse.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start("counter", "endless");
});
afterAll(stopServing, 180_000);

const path = "/api/events";
const isReady = (sent: Sent[]) => sent.some(({ name }) => name === "reload");

/** Starts to watch, then calls `act`. Watches until `act` is done and `enough` is true. */
async function watch(act: () => Promise<unknown>, enough: (sent: Sent[]) => boolean) {
  let begun: Promise<unknown> | null = null;
  return await follow(serving, path, {
    enough: async (sent) => {
      if (isReady(sent)) await (begun ??= act());
      return enough(sent);
    },
  });
}

const rowsOf = (sent: Sent[], id: string) =>
  sent
    .filter(({ name, data }) => name === "thread" && data.threadId === id)
    .map(({ data }) => data);

// This test must be first, because the server continues to watch for some time after a client disconnects.
test("a thread that starts and ends without listeners sends no row, but lists include the thread", async () => {
  const before = await serving.run("counter");
  await serving.until(before, "completed");
  const after = await (async () => {
    let id = "";
    const sent = await watch(
      async () => (id = await serving.run("counter")),
      (all) => rowsOf(all, id).at(-1)?.status === "completed",
    );
    return { id, sent };
  })();
  expect(rowsOf(after.sent, before)).toEqual([]);
  expect(rowsOf(after.sent, after.id).at(-1)).toMatchObject({ steps: 3, workflow: "counter" });
});

test("the stream begins with reload, and sends rows of a thread from its creation to its end", async () => {
  let id = "";
  const kills: Promise<unknown>[] = [];
  const sent = await watch(
    async () => (id = await serving.run("endless", { delayMs: 30 })),
    (all) => {
      if (rowsOf(all, id).length > 2 && kills.length === 0)
        kills.push(serving.ok(`/api/threads/${id}/kill`, {}));
      return rowsOf(all, id).at(-1)?.status === "killed";
    },
  );
  await Promise.all(kills);
  expect(sent[0]).toMatchObject({ name: "reload", id: expect.any(String), data: {} });
  expect(new Set(sent.map(({ name }) => name))).toEqual(new Set(["reload", "thread"]));
  expect(rowsOf(sent, id).map(({ status }) => status)).toContain("running");
  const steps = rowsOf(sent, id).map((row) => Number(row.steps));
  expect(steps).toEqual(steps.toSorted((one, other) => one - other));
  expect(steps.at(-1)).toBeGreaterThan(steps[0] ?? 0);
});

test("the stream sends rows for a pause and a kill, and the id of a removed thread", async () => {
  const id = await serving.run("endless", { delayMs: 30 });
  const last = (all: Sent[]) => rowsOf(all, id).at(-1)?.status;
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

test("the stream reports a removed workflow", async () => {
  await watch(
    async () => await serving.ok("/api/workflows/endless", undefined, "DELETE"),
    (all) => all.some(({ name }) => name === "workflows"),
  );
});

test("a client that reconnects after an id gets the later changes, and reload only if the server no longer has them", async () => {
  const first = await serving.run("counter", { count: 1_000, delayMs: 30 });
  const seen: Sent[] = [];
  const held = follow(serving, path, {
    enough: (all) => {
      seen.splice(0, seen.length, ...all);
      return rowsOf(all, first).at(-1)?.status === "killed";
    },
  });
  await until(() => isReady(seen));
  const from = seen.at(-1)?.id ?? "";
  const again = follow(serving, `${path}?from=${from}`, {
    enough: (all) => rowsOf(all, first).at(-1)?.status === "killed",
  });
  await serving.ok(`/api/threads/${first}/kill`, {});
  expect((await again).every(({ name }) => name === "thread")).toBe(true);
  await held;
  const late = await follow(serving, `${path}?from=${from}`, { enough: isReady });
  expect(late.map(({ name }) => name)).toContain("reload");
});

test("the same stream follows threads, each from its own cursor, and an error of one thread does not affect the others", async () => {
  const [whole, part] = [await serving.run("counter"), await serving.run("counter")];
  await Promise.all([whole, part].map((id) => serving.until(id, "completed")));
  const own = await follow(serving, `/api/threads/${part}/events`);
  const second = own.find(({ name, data }) => name === "step" && data.number === 2);
  const threads = [whole, `${part}~${second?.id}`, "01ARZ3NDEKTSV4RRFFQ69G5FAV", `${part}~x`];
  const query = threads.map((one) => `thread=${encodeURIComponent(one)}`).join("&");
  const enough = (all: Sent[]) =>
    all.filter(({ name }) => /^(end|removed|refused)$/.test(name)).length === 4;
  const sent = await follow(serving, `${path}?${query}`, { enough });
  const of: Record<number, Sent[]> = {};
  let now = 0;
  for (const one of sent) {
    if (one.name === "of") now = Number(one.data);
    else (of[now] ??= []).push(one);
  }
  const named = (number: number) =>
    (of[number] ?? [])
      .map(({ name }) => name)
      .filter((name) => name !== "event" && name !== "status");
  expect(named(1)).toEqual(["start", "step", "step", "step", "end"]);
  expect(named(2)).toEqual(["step", "end"]);
  expect(of[2]?.find(({ name }) => name === "step")).toEqual(
    own.find(({ data }) => data.number === 3) as Sent,
  );
  expect(named(3)).toEqual(["removed"]);
  expect(of[4]?.[0]?.data.code).toBe("BAD_POSITION");
});
