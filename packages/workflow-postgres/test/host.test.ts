// @postgres: starts a server
import { afterAll, afterEach, describe, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host } from "@uncaged/workflow/host";
import { hostContract } from "@uncaged/workflow/testing";
import { openPostgresHost } from "../src/host/host.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, stopShared } from "./fixtures/shared.ts";
import { TestWorker } from "./fixtures/workers.ts";

const folder = mkdtempSync(join(tmpdir(), "postgres-host-"));
const closing: (() => Promise<void>)[] = [];
const workerEnv = { UNCAGED_OF_CONTRACT: "the worker's" };

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stopShared();
});

async function opened(): Promise<Host> {
  const { url, drop } = await emptySchema();
  closing.push(drop);
  const host = await openPostgresHost({ url, pool: 4 });
  closing.push(() => host.close());
  const worker = await TestWorker.start({ url, env: workerEnv });
  closing.push(() => worker.kill());
  return host;
}

async function put(host: Host, text: string, name?: string): Promise<string> {
  const file = join(mkdtempSync(join(folder, "bundle-")), "bundle.esm.js");
  writeFileSync(file, text);
  if (name === undefined) return (await host.store(file, { sandbox: "off" })).hash;
  return (await host.register(name, file, { sandbox: "off" })).hash;
}

describe.skipIf(missingPostgres !== "")(`the host on PostgreSQL${missingPostgres}`, () => {
  for (const { name, check } of hostContract()) {
    test(name, async () => {
      const host = await opened();
      await check({ host, put: (text, as) => put(host, text, as), workerEnv });
    }, 60_000);
  }
});
