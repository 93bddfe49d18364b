import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  dataPath,
  type Root,
  runDir,
  socketName,
  threadsDir,
  workerInfoPath,
} from "../../disk/paths.ts";
import { realSystem } from "../../system/real.ts";
import { askLive, listWorkers, LiveWorkers } from "./live.ts";

const hash = "EYHPV6X8XHTCS";
const threadId = "01KQXKW1000000000000000000";
const root = mkdtempSync(join(tmpdir(), "uw-live-")) as Root;
afterAll(() => rmSync(root, { recursive: true, force: true }));

const ended = "01KQXKW2000000000000000000";

function writeLogs(): void {
  const parameters = { prompt: "", options: { maxRounds: 9 } };
  const start = { name: "count", hash, parameters, timestamp: 1 };
  const step = { role: "a", content: "", meta: {}, timestamp: 2 };
  const end = {
    role: "__end__",
    content: "",
    meta: { returnCode: 0, reason: "returned" },
    timestamp: 3,
  };
  const lines = { [threadId]: [step], [ended]: [step, end] };
  mkdirSync(threadsDir(root, hash), { recursive: true, mode: 0o700 });
  for (const [id, records] of Object.entries(lines)) {
    const log = [{ ...start, threadId: id }, ...records].map((record) => JSON.stringify(record));
    writeFileSync(dataPath(root, hash, id), `${log.join("\n")}\n`, { mode: 0o600 });
  }
}

test("a worker is stuck when its response is not a list of threads", async () => {
  mkdirSync(runDir(root), { mode: 0o700 });
  const identity = JSON.stringify({ pid: 4242, startTime: "1", bootId: "b" });
  writeFileSync(workerInfoPath(root, hash), `${identity}\n+${threadId}\n+${ended}\n`, {
    mode: 0o600,
  });
  writeLogs();
  for (const body of ['"x"', "null", "[]", '{"threads":7}']) {
    const server = Bun.serve({
      unix: join(runDir(root), socketName(hash)),
      fetch: () => new Response(body),
    });
    try {
      const live = await askLive(root, hash);
      const row = { threadId, hash, pid: 4242, status: "running", workflow: "count" };
      expect(live).toMatchObject([{ ...row, role: "a", steps: 1 }]);
    } finally {
      await server.stop(true);
    }
  }
});

test("a lost worker that left its socket is listed, and an exiting worker is not", async () => {
  const socket = join(runDir(root), socketName(hash));
  let takesAway = false;
  const error = { code: "WORKER_CLOSING", kind: "failed", message: "the worker is ending" };
  const server = Bun.serve({
    unix: socket,
    fetch() {
      if (takesAway) rmSync(socket);
      return Response.json({ error }, { status: 409 });
    },
  });
  try {
    expect(await listWorkers(root)).toEqual([{ hash, state: "gone", pid: null, orphans: [] }]);
    takesAway = true;
    expect(await listWorkers(root)).toEqual([]);
  } finally {
    await server.stop(true);
  }
});

test("a worker is queried again when a recently running thread may wait", async () => {
  let status = "running";
  const server = Bun.serve({
    unix: join(runDir(root), socketName(hash)),
    fetch: () => Response.json({ pid: 1, threads: [{ threadId, status, steps: 1 }] }),
  });
  try {
    const live = new LiveWorkers(root, 60_000);
    const ref = { hash, threadId };
    expect((await live.find(ref))?.status).toBe("running");
    status = "waiting";
    const since = realSystem.clock.elapsed() + 1;
    expect((await live.find(ref, since))?.status).toBe("running");
    expect((await live.find(ref, since, true))?.status).toBe("waiting");
  } finally {
    await server.stop(true);
  }
});
