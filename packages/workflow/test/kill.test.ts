import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { killThread } from "../src/local/workers/control.ts";
import { listLive } from "../src/local/workers/live.ts";
import { bundleOf } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

const ended = { role: "__end__", meta: { returnCode: 143, reason: "killed" } };

/** Whether a process runs. A zombie process has no command line. */
function isRunning(pid: number | undefined): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "";
  } catch {
    return false;
  }
}

describe("kill (F11)", () => {
  const kills: [string, string][] = [
    ["a sleep", "await sleep(1e6);"],
    ["a role that ignores the signal", "await new Promise(() => {});"],
    [
      "a pending fetch",
      `const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Promise(() => {}) });
       try { await fetch(server.url, { signal }); } finally { await server.stop(true); }`,
    ],
    ["a wait", 'yield step("__wait__", "?", { for: "leave" });'],
  ];
  for (const [what, body] of kills) {
    test(`ends ${what} immediately, with one end record`, async () => {
      const store = new TestStore();
      const ref = await store.start(await store.add(bundleOf(`${body} yield step("never");`)));
      await until(async () => (await listLive(store.root)).length === 1);
      // None of these bodies ends within the time limit of the test.
      await killThread(store.root, ref);
      expect(store.lines(ref).at(-1)).toMatchObject(ended);
      expect((await store.read(ref)).status).toBe("killed");
      expect(store.roles(ref)).not.toContain("never");
      expect(await listLive(store.root)).toEqual([]);
      expect(await codeOf(killThread(store.root, ref))).toBe("THREAD_ENDED");
      expect(store.roles(ref).filter((role) => role === "__end__")).toHaveLength(1);
    });
  }

  test("ends a child process and its own child, which the workflow ends at the abort signal", async () => {
    const store = new TestStore();
    const pids = join(store.folder, "pids");
    const hash = await store.add(
      `import { spawn } from "node:child_process";\n${bundleOf(`
        const child = spawn("sh", ["-c", 'sleep 1000 & echo $! $$ > "$0"; wait', options.pids],
          { detached: true, stdio: "ignore" });
        signal.addEventListener("abort", () => process.kill(-child.pid, "SIGTERM"));
        await new Promise((resolve) => child.on("exit", resolve));
        yield step("never");
      `)}`,
    );
    const ref = await store.start(hash, "", { options: { pids } });
    await until(() => existsSync(pids) && readFileSync(pids, "utf8").includes("\n"));
    const [grandchild, child] = readFileSync(pids, "utf8").trim().split(" ").map(Number);
    await killThread(store.root, ref);
    await until(() => ![child, grandchild].some(isRunning));
    expect(store.lines(ref).at(-1)).toMatchObject(ended);
  });
});
