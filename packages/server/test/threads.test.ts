import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { threadJson } from "@uncaged/workflow/host";
import type {
  Failure,
  ForkedThread,
  Killed,
  LiveRow,
  Relative,
  StepsPage,
  Thread,
  ThreadDiff,
  ThreadRow,
} from "../src/entry/api-types.ts";
import { Serving, stopServing } from "./serving.ts";
import { until } from "../../workflow/test/fixtures/until.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start("counter", "asker", "endless", "talker");
});
afterAll(stopServing, 180_000);

/** Returns the status and the code of an error response. */
async function refusal(path: string, send?: unknown, method?: string): Promise<string> {
  const { status, body } = await serving.ask<Failure>(path, send, method);
  return `${status} ${body.error.code}`;
}

test("a thread equals the host's view, and also has the number of steps, the last step and the failure", async () => {
  const id = await serving.run("counter", { count: 4 });
  const thread = await serving.until(id, "completed");
  const { stepCount, last, failure, ...whole } = thread;
  const { host } = serving;
  expect(whole).toEqual(threadJson(await host.read(await host.find(id))) as typeof whole);
  expect({ stepCount, last, failure }).toEqual({
    stepCount: 4,
    last: thread.steps[3] ?? null,
    failure: null,
  });
  const short = await serving.ok<Thread>(`/api/threads/${id.slice(-6).toLowerCase()}?steps=false`);
  expect(short).toEqual({ ...thread, steps: [] });
});

test("threads are listed by status and workflow, page by page", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.unshift(await serving.run("asker"));
  for (const id of ids) await serving.until(id, "waiting");
  const waiting = await serving.ok<ThreadRow[]>("/api/threads?status=waiting&workflow=asker");
  expect(waiting.map(({ threadId }) => threadId)).toEqual(ids);
  const page = await serving.ok<ThreadRow[]>("/api/threads?workflow=asker&limit=1&offset=1");
  expect(page.map(({ threadId }) => threadId)).toEqual(ids.slice(1, 2));
  const { rows } = await serving.host.threads({ limit: 1000 });
  const shown = await serving.ok<ThreadRow[]>("/api/threads?limit=1000");
  const atOnce = (all: readonly ThreadRow[]) => all.map((row) => ({ ...row, waitedMs: 0 }));
  expect(atOnce(shown)).toEqual(atOnce(rows));
  const several = await serving.ok<ThreadRow[]>("/api/threads?status=completed&status=waiting");
  expect(new Set(several.map(({ status }) => status))).toEqual(new Set(["completed", "waiting"]));
  const [row] = await serving.ok<ThreadRow[]>("/api/threads?workflow=asker");
  expect(row).toMatchObject({
    at: { role: null, text: "may I?" },
    spent: { tokens: 0, cost: 0, unpriced: 0 },
  });
});

test("a list has the running role before its first step is committed", async () => {
  const id = await serving.run("talker", { delayMs: 600_000 });
  const rowOf = async () =>
    (await serving.ok<ThreadRow[]>("/api/threads")).find((row) => row.threadId === id);
  await until(async () => (await rowOf())?.at.role === "talk");
  expect(await rowOf()).toMatchObject({ status: "running", steps: 0 });
  await serving.ok(`/api/threads/${id}/kill`, {});
  expect(await rowOf()).toMatchObject({ status: "killed", at: { role: null } });
});

test("a list has the total if it is known, and the URL of the next page", async () => {
  const page = async (path: string) => {
    const { headers, ...response } = await serving.fetch(path).then(async (answer) => ({
      headers: answer.headers,
      rows: (await answer.json()) as ThreadRow[],
    }));
    const link = headers.get("link");
    return { ...response, total: headers.get("x-total-count"), link };
  };
  const all = await serving.ok<ThreadRow[]>("/api/threads?limit=1000");
  const first = await page("/api/threads?limit=2");
  expect(first).toMatchObject({
    total: String(all.length),
    link: `</api/threads?limit=2&before=${all[1]?.threadId}>; rel="next"`,
  });
  const ids: string[] = [];
  for (let next: string | null = "/api/threads?workflow=asker&limit=1"; next; ) {
    const { rows, total, link }: Awaited<ReturnType<typeof page>> = await page(next);
    expect(total).toBeNull();
    ids.push(...rows.map(({ threadId }) => threadId));
    next = /^<(.+)>; rel="next"$/.exec(link ?? "")?.[1] ?? null;
  }
  const askers = all.filter(({ workflow }) => workflow === "asker");
  expect(ids).toEqual(askers.map(({ threadId }) => threadId));
  const hash = askers[0]?.hash ?? "";
  const ofVersion = await page(`/api/threads?workflow=${hash}`);
  expect(ofVersion.rows.length).toBe(askers.length);
  expect(ofVersion.link).toBeNull();
  for (const workflow of [`asker@${hash}`, `asker@${hash.slice(0, 5)}`, hash.slice(0, 6)]) {
    const { rows } = await page(`/api/threads?workflow=${workflow}`);
    expect(rows.map(({ threadId }) => threadId)).toEqual(
      ofVersion.rows.map(({ threadId }) => threadId),
    );
  }
  expect((await page("/api/threads?status=waiting")).total).toBeNull();
});

test("invalid parameters of a list are refused", async () => {
  for (const query of ["status=done", "limit=0", "before=../x", "details=1", "workflow=a@b@c"]) {
    expect(await refusal(`/api/threads?${query}`)).toBe("400 BAD_REQUEST");
  }
  expect(await refusal("/api/threads/@last/steps?from=0")).toBe("400 BAD_REQUEST");
});

test("steps are read page by page, with their numbers", async () => {
  const id = await serving.run("counter", { count: 7 });
  await serving.until(id, "completed");
  const page = await serving.ok<StepsPage>(`/api/threads/${id}/steps?from=3&limit=2`);
  expect(page).toMatchObject({ threadId: id, total: 7 });
  expect(page.steps.map(({ number, content }) => `${number} ${content}`)).toEqual(["3 2", "4 3"]);
  expect((await serving.ok<StepsPage>(`/api/threads/${id}/steps?from=8`)).steps).toEqual([]);
});

test("a thread is paused, resumed and killed", async () => {
  const id = await serving.run("endless");
  await serving.until(id, "running", 1);
  const live = await serving.ok<LiveRow[]>("/api/live");
  expect(live.map(({ threadId }) => threadId)).toContain(id);
  await serving.ok(`/api/threads/${id}/pause`, {});
  const { stepCount } = await serving.until(id, "paused");
  await serving.ok(`/api/threads/${id}/resume`, {});
  await serving.until(id, "running", stepCount + 1);
  expect(await refusal(`/api/threads/${id}`, undefined, "DELETE")).toBe("409 THREAD_RUNNING");
  expect(await serving.ok<Killed>(`/api/threads/${id}/kill`, {})).toEqual({
    threadId: id,
    resumed: [],
  });
  await serving.until(id, "killed");
  for (const verb of ["pause", "resume", "kill"]) {
    expect(await refusal(`/api/threads/${id}/${verb}`, {})).toBe("409 THREAD_ENDED");
  }
});

test("pause, resume and kill need no body", async () => {
  const id = await serving.run("endless");
  const response = await serving.fetch(`/api/threads/${id}/kill`, { method: "POST" });
  expect(response.status).toBe(200);
});

test("an answer is checked, and reaches a waiting thread", async () => {
  const id = await serving.run("asker");
  await serving.until(id, "waiting");
  const path = `/api/threads/${id}/input`;
  for (const body of [
    {},
    { question: 1 },
    { content: "1", question: "1" },
    { content: "1", question: 1e300 },
  ]) {
    expect(await refusal(path, body)).toBe("400 BAD_REQUEST");
  }
  expect(await refusal(path, { content: "1", question: 2 })).toBe("409 STALE_ANSWER");
  await serving.ok(path, { value: [1, 2], question: 1 });
  const { last } = await serving.until(id, "completed");
  expect(last).toMatchObject({ role: "heard", content: "[1,2]", meta: { value: [1, 2] } });
});

test("an answer names the console by its cookie, and any other client as the API", async () => {
  const entry = await fetch(`http://127.0.0.1:${serving.port}/?token=${serving.token}`, {
    redirect: "manual",
  });
  const cookie = entry.headers.get("set-cookie")?.split(";")[0] ?? "";
  const answered = async (headers: Record<string, string>) => {
    const id = await serving.run("asker");
    await serving.until(id, "waiting");
    const url = `http://127.0.0.1:${serving.port}/api/threads/${id}/input`;
    const json = { ...headers, "Content-Type": "application/json" };
    const send = (body: object) =>
      fetch(url, { method: "POST", headers: json, body: JSON.stringify(body) });
    expect((await send({ content: "1", by: { kind: "terminal" } })).status).toBe(400);
    expect((await send({ content: "1", meta: { by: { kind: "terminal" } } })).status).toBe(200);
    return (await serving.until(id, "completed")).steps[1]?.meta.by;
  };
  expect(await answered({ Cookie: cookie })).toEqual({ kind: "console" });
  expect(await answered({ Authorization: `Bearer ${serving.token}` })).toEqual({ kind: "api" });
});

describe("a fork", () => {
  let id: string;
  beforeAll(async () => {
    id = await serving.run("counter", { count: 4 });
    await serving.until(id, "completed");
  });

  test("continues from the kept, edited steps, and belongs to the same family", async () => {
    const forked = await serving.ok<ForkedThread>(`/api/threads/${id}/fork`, {
      keep: { atStep: 2 },
      edit: { content: "another" },
      prompt: "else",
    });
    expect(forked.forkFrom).toEqual({ threadId: id, steps: 2 });
    const { steps, prompt } = await serving.until(forked.threadId, "completed");
    expect(steps.map(({ content }) => content)).toEqual(["0", "another", "2", "3"]);
    expect(prompt).toBe("else");
    const again = await serving.ok<ForkedThread>(`/api/threads/${forked.threadId}/fork`, {});
    for (const member of [id, forked.threadId, again.threadId]) {
      const family = await serving.ok<Relative[]>(`/api/threads/${member}/family`);
      expect(family.map(({ threadId }) => threadId)).toEqual([id, forked.threadId, again.threadId]);
    }
    const diff = await serving.ok<ThreadDiff>(`/api/threads/${id}/diff?with=${forked.threadId}`);
    expect(diff).toMatchObject({ same: false, firstDifference: 2 });
  });

  test("with an answer needs a question as the last kept step, and a valid answer", async () => {
    const wait = { for: "leave", schema: { enum: ["yes", "no"] } };
    const asked = await serving.run("asker", { wait });
    await serving.until(asked, "waiting");
    const fork = (atStep: number, content: string) =>
      refusal(`/api/threads/${asked}/fork`, { keep: { atStep }, input: { content } });
    expect(await fork(0, "yes")).toBe("400 NOT_A_QUESTION");
    expect(await fork(1, "perhaps")).toBe("409 ANSWER_INVALID");
    const rerun = { content: "yes", meta: { for: "rerun" } };
    const body = { keep: { atStep: 0 }, input: rerun };
    expect(await refusal(`/api/threads/${asked}/fork`, body)).toBe("400 NOT_A_QUESTION");
    const family = await serving.ok<Relative[]>(`/api/threads/${asked}/family`);
    expect(family.map(({ threadId }) => threadId)).toEqual([asked]);
  });

  test("of a missing step, role or workflow is refused, and so is an impossible retry or comparison", async () => {
    const fork = (body: unknown) => refusal(`/api/threads/${id}/fork`, body);
    expect(await fork({ keep: { atStep: 99 } })).toBe("404 NO_SUCH_STEP");
    expect(await fork({ keep: { fromRole: "nobody" } })).toBe("404 NO_SUCH_ROLE");
    expect(await fork({ keep: { steps: [0], atStep: 1 } })).toBe("400 BAD_REQUEST");
    expect(await fork({ on: "nobody" })).toBe("404 WORKFLOW_NOT_FOUND");
    expect(await refusal(`/api/threads/${id}/retry`, {})).toBe("409 NOTHING_TO_RETRY");
    expect(await refusal(`/api/threads/${id}/diff?with=nobody`)).toBe("404 THREAD_NOT_FOUND");
  });
});

test("a deleted thread is not found", async () => {
  const id = await serving.run("counter");
  await serving.until(id, "completed");
  await serving.ok(`/api/threads/${id}`, undefined, "DELETE");
  for (const path of ["", "/steps", "/log", "/ledger", "/family", "/events"]) {
    expect(await refusal(`/api/threads/${id}${path}`)).toBe("404 THREAD_NOT_FOUND");
  }
});

test("an unknown path is refused with NO_SUCH_PATH", async () => {
  for (const path of ["/api", "/api/", "/api/x", "/api/threads/a/b/c", "/api/threads/"]) {
    expect(await refusal(path)).toBe("404 NO_SUCH_PATH");
  }
  expect(await refusal("/api/threads", {}, "PUT")).toBe("404 NO_SUCH_PATH");
  expect(await refusal("/x", {}, "POST")).toBe("404 NO_SUCH_PATH");
});

test("a list and a summary are filtered by time, cost and errors", async () => {
  const hour = 3_600_000;
  const id = await serving.run("asker");
  await serving.until(id, "waiting");
  const listed = (query: string) => serving.ok<ThreadRow[]>(`/api/threads?limit=1000&${query}`);
  const ids = (rows: readonly ThreadRow[]) => rows.map(({ threadId }) => threadId);
  const since = Date.now() - hour;
  expect(ids(await listed(`since=${since}&status=waiting`))).toContain(id);
  expect(await listed(`since=${Date.now() + hour}`)).toEqual([]);
  expect(await listed("minCost=0.5")).toEqual([]);
  expect(ids(await listed("hasError=true"))).not.toContain(id);
  const { hours } = await serving.ok<{ hours: { runs: number; failed: number }[] }>(
    `/api/threads/summary?since=${since}&workflow=asker`,
  );
  expect(hours.reduce((sum, { runs }) => sum + runs, 0)).toBeGreaterThan(0);
  for (const query of ["since=yesterday", "minCost=-1", "hasError=false", "minWorkedMs=1.5"]) {
    expect((await serving.fetch(`/api/threads?${query}`)).status).toBe(400);
  }
});
