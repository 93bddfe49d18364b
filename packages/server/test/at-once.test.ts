import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Failure, StartedThread, Thread } from "../src/entry/api-types.ts";
import { Serving, ServingProcess, stopServing } from "./serving.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start("counter", "asker", "endless");
}, 180_000);
afterAll(stopServing, 180_000);

const crowd = Array.from({ length: 20 }, (_, n) => n);

/** How often each outcome came, as `409 THREAD_ENDED`. */
function counted(outcomes: { status: number; body: unknown }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of outcomes) {
    const { error, code } = body as Partial<Failure> & { code?: string };
    const outcome = [status, code ?? error?.code].filter(Boolean).join(" ");
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

const all = <T>(ask: (n: number) => Promise<T>): Promise<T[]> => Promise.all(crowd.map(ask));

test("of twenty that answer one question, one is taken and the others are refused", async () => {
  const id = await serving.run("asker");
  await serving.until(id, "waiting");
  const answers = await all((n) =>
    serving.ask<object>(`/api/threads/${id}/input`, { content: `of ${n}` }),
  );
  const taken = answers.findIndex(({ status }) => status === 200);
  const { 200: won, ...others } = counted(answers);
  expect(won).toBe(1);
  expect(Object.keys(others).filter((outcome) => !outcome.startsWith("409 "))).toEqual([]);
  const { steps } = await serving.until(id, "completed");
  const given = steps.filter(({ role }) => role === "__input__");
  expect(given.map(({ content }) => content)).toEqual([`of ${taken}`]);
});

test("whoever pauses, resumes, kills, forks and deletes at once is answered in words", async () => {
  const acts = ["pause", "resume", "kill", "fork", "delete"];
  for (let round = 0; round < 2; round += 1) {
    const id = await serving.run("endless");
    await serving.until(id, "running", 2);
    const act = (n: number) => {
      const verb = acts[(n * 7 + round) % acts.length] ?? "";
      const path = `/api/threads/${id}`;
      return verb === "delete"
        ? serving.ask<object>(`${path}?force=true`, undefined, "DELETE")
        : serving.ask<object>(`${path}/${verb}`, verb === "fork" ? { maxRounds: 5 } : {});
    };
    const outcomes = Object.keys(counted(await all(act)));
    expect(outcomes.filter((outcome) => !/^(200|201|404 |409 )/.test(outcome))).toEqual([]);
    expect((await serving.ask<Failure>(`/api/threads/${id}`)).status).toBe(404);
  }
});

test("a server that is killed in the middle has lost nothing that it has answered", async () => {
  const serving = await ServingProcess.start("counter");
  const ids = crowd.map((n) => `01M8000000BBBBBBBBBBBBBB${String(n).padStart(2, "0")}`);
  const start = (threadId: string) =>
    serving.ask<StartedThread>("/api/threads", { workflow: "counter", threadId });
  let answered = 0;
  const enough = Promise.withResolvers<void>();
  const started = Promise.all(
    ids.map(async (threadId, n) => {
      // Some come when the server is already gone.
      if (n >= 10) await enough.promise;
      const outcome = await start(threadId).catch(() => null);
      if ((answered += 1) === 5) enough.resolve();
      return outcome?.status === 201 ? threadId : null;
    }),
  );
  await enough.promise;
  const { port, token } = serving;
  await serving.stop("SIGKILL");
  const confirmed = (await started).filter((id) => id !== null);
  expect(confirmed.length).toBeGreaterThanOrEqual(5);
  await serving.serve(port);
  expect(serving.token).toBe(token);
  for (const id of confirmed) await serving.ok<Thread>(`/api/threads/${id}`);
  for (const id of ids) expect((await start(id)).status).toBe(201);
  for (const id of ids) expect((await serving.until(id, "completed")).stepCount).toBe(3);
}, 180_000);
