import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { Failure, Thread } from "../src/entry/api-types.ts";
import { request } from "./raw.ts";
import { Serving, ServingProcess, ServingRoot, stopServing } from "./serving.ts";
import { eventsOf, follow, logged, type Sent } from "./sse.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start("talker", "asker", "endless");
});
afterAll(stopServing, 180_000);

const streamOf = (id: string) => `/api/threads/${id}/events`;
const names = (sent: Sent[]) => sent.map(({ name }) => name);
const engineTypes = ["attempt_start", "attempt_end", "worker_start"];
/** Returns the messages without the engine's own events. */
const own = (sent: Sent[]) => sent.filter(({ data }) => !engineTypes.includes(String(data.type)));
const lastId = (sent: Sent[]) => sent.findLast(({ id }) => id !== null)?.id ?? undefined;

describe("the stream of an ended thread", () => {
  let id: string;
  let whole: Sent[];

  beforeAll(async () => {
    id = await serving.run("talker", { count: 3 });
    await serving.until(id, "completed");
    whole = await follow(serving, streamOf(id));
  });

  test("has the start, each event before its step, and the end", () => {
    const step = [...Array<string>(6).fill("event"), "step"];
    expect(names(own(logged(whole)))).toEqual(["start", ...step, ...step, ...step, "end"]);
    const numbers = whole.filter(({ name }) => name === "step").map(({ data }) => data.number);
    expect(numbers).toEqual([1, 2, 3]);
    expect(whole.at(-1)?.data).toEqual({
      status: "completed",
      result: { returnCode: 0, summary: "done" },
    });
  });

  test("continues after every sent id with only unsent messages", async () => {
    for (const [at, { id: position }] of logged(whole).entries()) {
      if (position === null || at === logged(whole).length - 1) continue;
      const rest = await follow(serving, streamOf(id), { lastEventId: position });
      expect(logged(rest)).toEqual(logged(whole).slice(at + 1));
      const asked = await follow(serving, `${streamOf(id)}?from=${position}`);
      expect(logged(asked)).toEqual(logged(whole).slice(at + 1));
    }
  });

  test("has no more messages for a client that reconnects after the end", async () => {
    const headers = { "Last-Event-ID": lastId(whole) ?? "" };
    expect((await serving.fetch(streamOf(id), { headers })).status).toBe(204);
    const asked = await follow(serving, `${streamOf(id)}?from=${lastId(whole)}`);
    expect(names(asked)).toEqual(["end"]);
  });

  test("is refused at an invalid cursor", async () => {
    for (const from of [
      "d1.i0",
      "d0.i1",
      "d999999.i0",
      "d0.i999999",
      "x",
      "d-1.i0",
      "d1e3.i0",
      "",
    ]) {
      const { status, body } = await serving.ask<Failure>(`${streamOf(id)}?from=${from}`);
      expect(`${status} ${body.error.code}`).toBe("400 BAD_POSITION");
    }
  });
});

test("an unknown thread has no stream", async () => {
  const { status, body } = await serving.ask<Failure>(streamOf("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
  expect(status).toBe(404);
  expect(body.error.code).toBe("THREAD_NOT_FOUND");
});

test("steps and events are sent as they happen, and statuses when they change", async () => {
  const id = await serving.run("asker", { delayMs: 100 });
  const waiting = (sent: Sent[]) => sent.at(-1)?.data.status === "waiting";
  await follow(serving, streamOf(id), { enough: waiting });
  const following = follow(serving, streamOf(id));
  await serving.ok(`/api/threads/${id}/input`, { content: '{"yes":true}' });
  const sent = await following;
  expect(names(own(logged(sent)))).toEqual(["start", "step", "step", "step", "end"]);
  const last = sent.findLast(({ name }) => name === "step")?.data;
  expect(last).toMatchObject({ role: "heard", meta: { value: { yes: true } } });
  expect(names(sent)).toContain("status");
});

test("many followers of one thread all receive everything, whenever they connect", async () => {
  const id = await serving.run("talker", { count: 40, delayMs: 20 });
  const stepCount = async () => (await serving.ok<Thread>(`/api/threads/${id}`)).stepCount;
  const following = Array.from({ length: 10 }, async (_, n) => {
    await until(async () => (await stepCount()) >= n * 3);
    return logged(await follow(serving, streamOf(id), { timeoutMs: 20_000 }));
  });
  const all = await Promise.all(following);
  const [first = []] = all;
  expect(names(first).filter((name) => name === "step")).toHaveLength(40);
  expect(own(first).filter(({ name }) => name === "event")).toHaveLength(240);
  for (const sent of all) expect(new Set(sent.map(textOf))).toEqual(new Set(first.map(textOf)));
  for (const sent of all) expect(sent).toHaveLength(first.length);
}, 180_000);

const textOf = ({ name, data }: Sent): string => `${name} ${JSON.stringify(data)}`;

test("no message is lost or sent twice when the server is killed and restarted", async () => {
  const other = await ServingProcess.start("talker");
  const id = await other.run("talker", { count: 150, delayMs: 10 });
  const sent: Sent[] = [];
  let restarts = 0;
  while (sent.at(-1)?.name !== "end") {
    const headers: Record<string, string> = {};
    const last = lastId(sent);
    if (last !== undefined) headers["Last-Event-ID"] = last;
    const before = sent.length;
    const response = await other.fetch(streamOf(id), { headers });
    for await (const event of eventsOf(response)) {
      if (event.id !== null) sent.push(event);
      if (restarts >= 6 || sent.length < before + 40) continue;
      const { port } = other;
      await other.stop("SIGKILL");
      await other.serve(port);
      restarts += 1;
      break;
    }
  }
  expect(restarts).toBeGreaterThan(2);
  const numbers = sent.filter(({ name }) => name === "step").map(({ data }) => data.number);
  expect(numbers).toEqual(Array.from({ length: 150 }, (_, n) => n + 1));
  const events = sent.filter(({ name }) => name === "event");
  expect(events.map(({ data }) => data.seq)).toEqual(events.map((_, n) => n + 1));
  expect(own(events)).toHaveLength(900);
}, 180_000);

test("a reader that pauses gets the rest when it continues", async () => {
  const id = await serving.run("talker", { count: 24, size: 500_000 });
  await serving.until(id, "completed");
  const socket = await stalled(streamOf(id));
  expect((await serving.fetch("/api/server")).status).toBe(200);
  expect(await readOn(socket)).toContain("event: end");
}, 180_000);

/** A connection whose reader stops after the first bytes. */
function stalled(path: string) {
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof connect>>();
  const socket = connect(serving.port, "127.0.0.1", () => {
    const headers = {
      Host: `127.0.0.1:${serving.port}`,
      Authorization: `Bearer ${serving.token}`,
      Connection: "close",
    };
    socket.write(request(`GET ${path}`, headers));
  });
  socket.once("data", () => {
    socket.pause();
    resolve(socket);
  });
  return promise;
}

function readOn(socket: ReturnType<typeof connect>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  socket.on("data", (bytes) => {
    text = (text + bytes.toString("latin1")).slice(-2000);
    if (text.includes("event: end")) socket.destroy();
  });
  socket.on("close", () => resolve(text));
  socket.on("error", () => resolve(text));
  socket.resume();
  return promise;
}

test("the removal of a followed thread ends its stream", async () => {
  const id = await serving.run("endless");
  const following = follow(serving, streamOf(id));
  await serving.until(id, "running", 3);
  await serving.ok(`/api/threads/${id}?force=true`, undefined, "DELETE");
  const sent = await following;
  expect(["removed", "end"]).toContain(sent.at(-1)?.name ?? "");
});

test("a log damaged in the middle is sent up to the damage, and ends as corrupt", async () => {
  const onRoot = await ServingRoot.start("talker");
  const id = await onRoot.run("talker", { count: 2 });
  const { hash } = await onRoot.until(id, "completed");
  const logs = join(onRoot.path, "logs", hash);
  const text = readFileSync(join(logs, `${id}.data.jsonl`), "utf8");
  const [start, first, ...rest] = text.split("\n");
  const broken = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const lines = [start?.replaceAll(id, broken), first, '{"role":1}', ...rest];
  const log = join(logs, `${broken}.data.jsonl`);
  // Remove the checksums, as in a log of an earlier version, because the added lines would break their chain.
  const plain = lines.join("\n").replace(/,"sum":"[^"]*"/g, "");
  writeFileSync(log, plain, { mode: 0o600 });
  const sent = await follow(onRoot, streamOf(broken));
  expect(names(sent)).toEqual(["start", "step", "end"]);
  expect(sent.at(-1)?.data).toEqual({ status: "corrupt", result: null });
});

test("the debug log is read by page and by step", async () => {
  const id = await serving.run("talker", { count: 3 });
  await serving.until(id, "completed");
  type Page = { lines: { type?: string; step?: number }[]; next: number | null };
  const lines: Page["lines"] = [];
  for (let after: number | null = 0; after !== null; ) {
    const page: Page = await serving.ok(`/api/threads/${id}/log?limit=4&after=${after}`);
    lines.push(...page.lines);
    after = page.next;
  }
  const types = lines
    .flatMap(({ type }) => type ?? [])
    .filter((type) => !engineTypes.includes(type));
  expect(types).toHaveLength(18);
  const second = await serving.ok<Page>(`/api/threads/${id}/log?step=2&type=step_print`);
  expect(second.lines.map(({ step, type }) => `${step} ${type}`)).toEqual(
    Array<string>(5).fill("2 step_print"),
  );
});
