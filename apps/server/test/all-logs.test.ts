import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Failure } from "../src/api-types.ts";
import { Serving, stopServing } from "./serving.ts";
import { eventsOf, follow, logged, type Sent } from "./sse.ts";

let serving: Serving;

beforeEach(async () => {
  serving = await Serving.start("talker");
});
afterEach(stopServing, 30_000);

const logNames = new Set(["start", "step", "event", "end"]);
const isLog = ({ name }: Sent) => logNames.has(name);
const ends = (sent: Sent[]) => sent.filter(({ name }) => name === "end").length;
const lastId = (sent: Sent[]) => sent.findLast(({ id }) => id !== null)?.id ?? "";

const unnamed = { threadId: undefined, position: undefined };

/** What the stream of all threads has told of one, as that thread's own stream tells it. */
const toldOf = (sent: Sent[], threadId: string) =>
  sent
    .filter((event) => isLog(event) && event.data.threadId === threadId)
    .map(({ name, data }) => ({ name, id: data.position, data: { ...data, ...unnamed } }));

/** What a thread's own stream tells. */
async function ownOf(threadId: string) {
  const sent = logged(await follow(serving, `/api/threads/${threadId}/events`));
  return sent.map(({ name, id, data }) => ({ name, id, data: { ...data, ...unnamed } }));
}

async function expectWhole(sent: Sent[], ...threadIds: string[]): Promise<void> {
  for (const id of threadIds) expect(toldOf(sent, id)).toEqual((await ownOf(id)) as never);
}

const isReady = (sent: Sent[]) => sent.some(({ name }) => name === "ready");

/** Follows all threads while something is done, which begins when it is ready. */
async function followWhile(act: () => Promise<unknown>, enough: (sent: Sent[]) => boolean) {
  let begun: Promise<unknown> | null = null;
  return await follow(serving, "/api/events", {
    timeoutMs: 30_000,
    enough: (sent) => {
      if (isReady(sent)) begun ??= act();
      return enough(sent);
    },
  });
}

/** Starts a thread without the server. */
async function startAlone(...args: string[]): Promise<string> {
  const { stdout, exited } = serving.spawn(...args, "--wait", "--json");
  const text = await new Response(stdout).text();
  await exited;
  return (JSON.parse(text) as { threadId: string }).threadId;
}

const runAlone = (count: number) => startAlone("run", "talker", "--option", `count=${count}`);

async function restart(act: () => Promise<void> = () => Promise.resolve()): Promise<void> {
  const { port } = serving;
  await serving.stop("SIGKILL");
  await act();
  await serving.serve(port);
}

test("steps and events of all threads come, each thread's in the order of its log", async () => {
  const ids: string[] = [];
  const sent = await followWhile(
    async () => {
      for (const count of [5, 8]) {
        ids.push(await serving.run("talker", { count, delayMs: 40 }));
      }
    },
    (all) => ends(all) === 2,
  );
  await expectWhole(sent, ...ids);
  for (const event of sent.filter(isLog)) expect(event.id).not.toBeNull();
  const rows = sent.filter(({ name }) => name === "thread");
  expect(rows.length).toBeGreaterThan(2);
  for (const row of rows) expect(row.id).toBeNull();
}, 30_000);

test("of threads that were there before nothing is told but what comes", async () => {
  const before = await serving.run("talker", { count: 3 });
  await serving.until(before, "completed");
  const running = await serving.run("talker", { count: 400, delayMs: 20 });
  await serving.until(running, "running", 10);
  let after = "";
  const sent = await followWhile(
    async () => (after = await serving.run("talker", { count: 3 })),
    (all) => after !== "" && toldOf(all, after).at(-1)?.name === "end",
  );
  expect(toldOf(sent, before)).toEqual([]);
  await expectWhole(sent, after);
  const [first] = toldOf(sent, running);
  expect(first?.name).not.toBe("start");
  await serving.ok(`/api/threads/${running}/kill`, {});
  const own = await ownOf(running);
  const at = own.findIndex(({ id }) => id === first?.id);
  const told = toldOf(sent, running);
  expect(told).toEqual(own.slice(at, at + told.length) as never);
}, 30_000);

test("nothing is missed and nothing doubled when the server is killed and started again", async () => {
  const ids: string[] = [];
  for (const count of [140, 150]) ids.push(await serving.run("talker", { count, delayMs: 12 }));
  const sent: Sent[] = [];
  let restarts = 0;
  // From before all: an id is good for any server of the storage root.
  let last = "1";
  while (ends(sent) < 2) {
    const before = sent.length;
    const response = await serving.fetch("/api/events", { headers: { "Last-Event-ID": last } });
    expect(response.status).toBe(200);
    for await (const event of eventsOf(response)) {
      if (event.id !== null) last = event.id;
      if (isLog(event)) sent.push(event);
      if (ends(sent) === 2) break;
      if (restarts >= 6 || sent.length < before + 80) continue;
      await restart();
      restarts += 1;
      break;
    }
  }
  expect(restarts).toBeGreaterThan(3);
  await expectWhole(sent, ...ids);
}, 60_000);

test("threads that began and ended while the server was down are told whole, a fork too", async () => {
  const source = await serving.run("talker", { count: 4 });
  await serving.until(source, "completed");
  const [ready] = await follow(serving, "/api/events", { enough: isReady });
  let born = "";
  let fork = "";
  await restart(async () => {
    born = await runAlone(6);
    fork = await startAlone("fork", source, "--at-step", "2");
  });
  const sent = await follow(serving, "/api/events", {
    lastEventId: ready?.id ?? "",
    enough: (all) => ends(all) === 2,
  });
  await expectWhole(sent, born, fork);
  expect(toldOf(sent, fork).map(({ name }) => name)).toContain("start");
  expect(toldOf(sent, source)).toEqual([]);
}, 30_000);

test("a replay that is interrupted again and again goes on where it was", async () => {
  const [ready] = await follow(serving, "/api/events", { enough: isReady });
  const ids: string[] = [];
  await restart(async () => {
    for (const count of [5, 6, 7]) ids.push(await runAlone(count));
  });
  const sent: Sent[] = [];
  let lastEventId = ready?.id ?? "";
  let onTheWay = 0;
  for (let round = 0; ends(sent) < ids.length && round < 50; round += 1) {
    const most = 1 + ((round * 7) % 11);
    const piece = await follow(serving, "/api/events", {
      lastEventId,
      enough: (all) => all.filter(isLog).length >= most || ends([...sent, ...all]) === ids.length,
    });
    sent.push(...piece.filter(isLog));
    lastEventId = lastId(piece);
    if (lastEventId.includes("/")) onTheWay += 1;
    // What comes meanwhile belongs to the next way.
    if (round === 3) ids.push(await runAlone(4));
    if (round % 4 === 2) await restart();
  }
  expect(onTheWay).toBeGreaterThan(10);
  await expectWhole(sent, ...ids);
  const after = await serving.run("talker", { count: 1 });
  const rest = await follow(serving, "/api/events", {
    lastEventId,
    enough: (all) => ends(all) === 1,
  });
  expect(new Set(rest.filter(isLog).map(({ data }) => data.threadId))).toEqual(new Set([after]));
  await expectWhole(rest, after);
}, 90_000);

test("one chooses what is told, and what is none is refused", async () => {
  const asked = follow(serving, "/api/events?types=start,end", {
    enough: (all) => ends(all) === 1,
  });
  const rows = follow(serving, "/api/events?types=thread,removed,workflows", {
    enough: (all) => all.at(-1)?.data.status === "completed",
  });
  await follow(serving, "/api/events", { enough: isReady });
  const id = await serving.run("talker", { count: 3, delayMs: 50 });
  expect((await asked).map(({ name }) => name)).toEqual(["ready", "start", "end"]);
  const told = await rows;
  expect(new Set(told.map(({ name }) => name))).toEqual(new Set(["ready", "thread"]));
  // They name no thread: no log was read for them.
  for (const event of told) expect(event.id).toMatch(/^\d+$/);
  expect(told.at(-1)?.data.threadId).toBe(id);
  for (const types of ["step,x", "ready", "", "status"]) {
    const { status, body } = await serving.ask<Failure>(`/api/events?types=${types}`);
    expect(`${types}: ${status} ${body.error.code}`).toBe(`${types}: 400 BAD_REQUEST`);
  }
}, 30_000);

test("an id that is none is refused; one from elsewhere, or from the future, begins now", async () => {
  for (const from of ["x", "1,2", "d1.i1", `1,${"x".repeat(26)}:d1.i1`, "1/2"]) {
    const { status, body } = await serving.ask<Failure>(`/api/events?from=${from}`);
    expect(`${from}: ${status} ${body.error.code}`).toBe(`${from}: 400 BAD_POSITION`);
  }
  const elsewhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV:d999.i999";
  const now = String(Date.now());
  for (const from of [
    "999999999999999",
    `${now},${elsewhere}`,
    `${now}/999999999999999,${elsewhere}/${elsewhere}`,
  ]) {
    let id = "";
    const asked = follow(serving, `/api/events?from=${from}`, {
      enough: (all) => id !== "" && toldOf(all, id).at(-1)?.name === "end",
    });
    await follow(serving, "/api/events", { enough: isReady });
    id = await serving.run("talker", { count: 2 });
    await expectWhole(await asked, id);
  }
}, 30_000);
