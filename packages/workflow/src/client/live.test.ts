import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holderPath, type Root, runDir, socketName } from "../storage/paths.ts";
import { askLive } from "./live.ts";

const hash = "EYHPV6X8XHTCS";
const threadId = "01KQXKW1000000000000000000";
const root = mkdtempSync(join(tmpdir(), "uw-live-")) as Root;
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("takes a worker for stuck whose answer is no list of threads", async () => {
  mkdirSync(runDir(root), { mode: 0o700 });
  const identity = JSON.stringify({ pid: 4242, startTime: "1", bootId: "b" });
  writeFileSync(holderPath(root, hash), `${identity}\n+${threadId}\n`, { mode: 0o600 });
  for (const body of ['"x"', "null", "[]", '{"threads":7}']) {
    const server = Bun.serve({
      unix: join(runDir(root), socketName(hash)),
      fetch: () => new Response(body),
    });
    try {
      const live = await askLive(root, hash);
      expect(live).toMatchObject({ pid: 4242, threads: [{ threadId, status: "running" }] });
    } finally {
      await server.stop(true);
    }
  }
});
