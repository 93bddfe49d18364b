import { afterAll, expect, test } from "bun:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { readFileSync } from "node:fs";
import { programWords } from "./command.ts";
import { playStore, removeFolders } from "./program.ts";

afterAll(removeFolders);

const mebibyte = 1024 * 1024;

/** The resident memory of a process, in bytes. */
const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

test.skipIf(process.platform !== "linux").each([
  ["one after the other", 1],
  ["all at once", 10_000],
])(
  "10,000 calls take bounded memory: %s",
  async (_, atOnce) => {
    const store = await playStore();
    const id = await store.play();
    await store.until(id, "completed");
    const [command = "", ...args] = programWords;
    const transport = new StdioClientTransport({
      command,
      args: [...args, "mcp"],
      env: store.env,
      cwd: store.folder,
    });
    const client = new Client({ name: "load", version: "1" });
    await client.connect(transport);
    const call = async (n: number) => {
      const name = n % 2 === 0 ? "get_thread" : "search_threads";
      const done = await client.callTool({ name, arguments: n % 2 === 0 ? { threadId: id } : {} });
      const { error } = (done.structuredContent ?? {}) as { error?: { code: string } };
      return error?.code ?? "done";
    };
    for (let n = 0; n < 1000; n += 1) await call(n);
    const before = memoryOf(transport.pid ?? 0);
    const ends: Record<string, number> = {};
    for (let n = 0; n < 10_000; n += atOnce) {
      const codes = await Promise.all(Array.from({ length: atOnce }, (__, k) => call(n + k)));
      for (const code of codes) ends[code] = (ends[code] ?? 0) + 1;
    }
    const grown = memoryOf(transport.pid ?? 0) - before;
    expect(Object.keys(ends).filter((code) => code !== "TOO_MANY_CALLS")).toEqual(["done"]);
    expect(grown / mebibyte).toBeLessThan(150);
    expect(await call(0)).toBe("done");
    await client.close();
  },
  300_000,
);
