import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pauseThread, resumeThread } from "../src/client/control.ts";
import { forkThread, retryThread } from "../src/client/fork.ts";
import { killThread } from "../src/client/kill.ts";
import { listLive } from "../src/client/live.ts";
import { removeThread } from "../src/client/remove.ts";
import { dataPath } from "../src/storage/paths.ts";
import { asker, bundleOf, counter, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

const ended = { role: "__end__", meta: { returnCode: 143, reason: "killed" } };

describe("pause", () => {
  test("stops at the next yield, is seen, and resume goes on where it stood", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    await store.whenSteps(ref, 2);
    await pauseThread(store.root, ref);
    const { steps } = await store.whenStatus(ref, "paused");
    expect((await listLive(store.root)).map(({ status }) => status)).toEqual(["paused"]);
    await Bun.sleep(40);
    expect((await store.read(ref)).steps).toHaveLength(steps.length);
    await resumeThread(store.root, ref, { env: {} });
    const later = await store.whenSteps(ref, steps.length + 2);
    expect(later.steps.map(({ content }) => Number(content))).toEqual(later.steps.map((_, n) => n));
  });

  test("during a role that takes its time waits for the role's step, and lets it be killed", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf('await sleep(200); yield step("slow"); yield step("late");'),
    );
    const ref = await store.start(hash);
    await pauseThread(store.root, ref);
    expect((await store.read(ref)).status).toBe("running");
    expect((await store.whenStatus(ref, "paused")).steps.map(({ role }) => role)).toEqual(["slow"]);
    await killThread(store.root, ref);
    expect(store.roles(ref)).toEqual([undefined, "slow", "__end__"]);
  });

  test("that the worker does not survive leaves the thread interrupted, and resume takes it up", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    await pauseThread(store.root, ref);
    const { steps } = await store.whenStatus(ref, "paused");
    await store.signalWorkers("SIGKILL");
    expect((await store.read(ref)).status).toBe("interrupted");
    expect(await listLive(store.root)).toEqual([]);
    await resumeThread(store.root, ref, { env: {} });
    await store.whenSteps(ref, steps.length + 1);
  });

  test("of what has ended, waits without a worker, or is interrupted is refused", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(counter));
    await store.whenStatus(ref, "completed");
    expect(await codeOf(pauseThread(store.root, ref))).toMatch(/THREAD_ENDED|NOT_RUNNING/);
    const open = await store.start(await store.add(endless));
    await store.signalWorkers("SIGKILL");
    expect(await codeOf(pauseThread(store.root, open))).toBe("NOT_RUNNING");
  });
});

describe("resume", () => {
  test("of what runs is refused", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    expect(await codeOf(resumeThread(store.root, ref, { env: {} }))).toBe("ALREADY_RUNNING");
  });

  test("of what has ended says that an ended log is final", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(counter));
    await store.whenStatus(ref, "completed");
    expect(await codeOf(resumeThread(store.root, ref, { env: {} }))).toBe("THREAD_ENDED");
    expect(store.roles(ref)).toHaveLength(5);
  });

  test("by eight at once starts it once", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    await store.whenSteps(ref, 1);
    await store.signalWorkers("SIGKILL");
    const said = await Promise.all(
      Array.from({ length: 8 }, () => codeOf(resumeThread(store.root, ref, { env: {} }))),
    );
    expect(said.filter((code) => code === "ALREADY_RUNNING")).toHaveLength(7);
    const { steps } = await store.whenSteps(ref, 10);
    expect(steps.map(({ content }) => Number(content))).toEqual(steps.map((_, n) => n));
  });

  test("gives the workflow the environment of who resumes, and the options of who started", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf(`
        yield step("a", \`\${env.WHO} \${options.x} \${input.params?.p} \${input.prompt}\`);
        await sleep(input.steps.length ? 1 : 1e6);
      `),
    );
    const ref = await store.start(hash, "go", {
      env: { WHO: "starter" },
      options: { x: 1 },
      params: { p: 2 },
    });
    await store.whenSteps(ref, 1);
    await store.signalWorkers("SIGKILL");
    await resumeThread(store.root, ref, { env: { WHO: "resumer" } });
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ content }) => content)).toEqual(["starter 1 2 go", "resumer 1 2 go"]);
    expect(readFileSync(dataPath(store.root, hash, ref.threadId), "utf8")).not.toContain("WHO");
  });
});

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
    test(`ends ${what} at once, with one end record`, async () => {
      const store = new TestStore();
      const ref = await store.start(await store.add(bundleOf(`${body} yield step("never");`)));
      await until(async () => (await listLive(store.root)).length === 1);
      const begin = performance.now();
      await killThread(store.root, ref);
      expect(performance.now() - begin).toBeLessThan(3_000);
      expect(store.lines(ref).at(-1)).toMatchObject(ended);
      expect((await store.read(ref)).status).toBe("killed");
      expect(store.roles(ref)).not.toContain("never");
      expect(await listLive(store.root)).toEqual([]);
      expect(await codeOf(killThread(store.root, ref))).toBe("THREAD_ENDED");
      await until(() => store.workers().length === 0);
      expect(store.roles(ref).filter((role) => role === "__end__")).toHaveLength(1);
    });
  }

  test("ends a child process and its own child, which the workflow started with the signal", async () => {
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
    await until(
      () =>
        ![child, grandchild].some(
          (pid) =>
            existsSync(`/proc/${pid}/cmdline`) &&
            readFileSync(`/proc/${pid}/cmdline`, "utf8") !== "",
        ),
    );
    expect(store.lines(ref).at(-1)).toMatchObject(ended);
  });

  test("runs the finally of the generator, which may still read the thread's context", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf(
        `try { await aborted; } finally { console.log("cleaned up"); } yield step("never");`,
      ),
    );
    const ref = await store.start(hash);
    await killThread(store.root, ref);
    await until(() => store.notes(ref).includes("cleaned up"));
  });

  test("ends a paused, an interrupted and a waiting thread", async () => {
    const store = new TestStore();
    const hash = await store.add(endless);
    const paused = await store.start(hash);
    await pauseThread(store.root, paused);
    await store.whenStatus(paused, "paused");
    await killThread(store.root, paused);
    const interrupted = await store.start(hash);
    const waiting = await store.start(await store.add(asker));
    await store.whenStatus(waiting, "waiting");
    await store.signalWorkers("SIGKILL");
    for (const ref of [interrupted, waiting]) await killThread(store.root, ref);
    for (const ref of [paused, interrupted, waiting]) {
      expect(store.lines(ref).at(-1)).toMatchObject(ended);
      expect((await store.read(ref)).status).toBe("killed");
    }
  });

  test("by eight at once writes one end", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    const said = await Promise.all(
      Array.from({ length: 8 }, () => codeOf(killThread(store.root, ref))),
    );
    expect(said.some((code) => code.startsWith("no error"))).toBe(true);
    expect(store.roles(ref).filter((role) => role === "__end__")).toHaveLength(1);
    expect(store.roles(ref).at(-1)).toBe("__end__");
  });
});

describe("thread rm", () => {
  test("refuses what runs, is paused or waits, and leaves nothing of it with force", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    expect(await codeOf(removeThread(store.root, ref))).toBe("THREAD_RUNNING");
    await pauseThread(store.root, ref);
    await store.whenStatus(ref, "paused");
    expect(await codeOf(removeThread(store.root, ref))).toBe("THREAD_RUNNING");
    await removeThread(store.root, ref, { force: true });
    const folder = dirname(dataPath(store.root, ref.hash, ref.threadId));
    expect(readdirSync(folder)).toEqual([]);
    await until(() => store.workers().length === 0);
    expect(readdirSync(folder)).toEqual([]);
    expect(await codeOf(store.read(ref))).toBe("THREAD_NOT_FOUND");
  });

  test("with force that meets the very beginning of a thread leaves nothing of it", async () => {
    const store = new TestStore();
    const hash = await store.add(endless);
    for (let n = 0; n < 10; n += 1) {
      const ref = await store.start(hash);
      await removeThread(store.root, ref, { force: true });
      expect(readdirSync(dirname(dataPath(store.root, hash, ref.threadId)))).toEqual([]);
    }
  });

  test("that races resume, kill and fork leaves a whole log or none", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    for (let n = 0; n < 5; n += 1) {
      const ref = await store.start(hash, "", { options: { count: 50, delayMs: 2 } });
      const said = await Promise.all([
        codeOf(removeThread(store.root, ref, { force: true })),
        codeOf(resumeThread(store.root, ref, { env: {} })),
        codeOf(killThread(store.root, ref)),
        codeOf(forkThread(store.root, ref, { env: {} })),
      ]);
      expect(said[0]).toStartWith("no error");
      expect(existsSync(dataPath(store.root, hash, ref.threadId))).toBe(false);
    }
    for (const name of readdirSync(dirname(dataPath(store.root, hash, "x")))) {
      if (!name.endsWith(".data.jsonl")) continue;
      const ref = { hash, threadId: name.slice(0, 26) };
      expect((await store.whenStatus(ref, "completed")).steps).toHaveLength(50);
    }
  });
});

describe("fork and retry", () => {
  test("of a thread that is being written take whole steps, byte for byte", async () => {
    const store = new TestStore();
    const hash = await store.add(endless);
    const ref = await store.start(hash, "", { options: { delayMs: 0 }, maxRounds: 100_000 });
    await store.whenSteps(ref, 5);
    const forks = [];
    for (let n = 0; n < 10; n += 1) forks.push(await forkThread(store.root, ref, { env: {} }));
    await killThread(store.root, ref);
    const source = readFileSync(dataPath(store.root, hash, ref.threadId), "utf8").split("\n");
    for (const { threadId, forkFrom } of forks) {
      await killThread(store.root, { hash, threadId }).catch(() => undefined);
      const lines = readFileSync(dataPath(store.root, hash, threadId), "utf8").split("\n");
      expect(lines.slice(1, forkFrom.steps + 1)).toEqual(source.slice(1, forkFrom.steps + 1));
      const numbers = lines.slice(1, -2).map((line) => Number(JSON.parse(line).content));
      expect(numbers).toEqual(numbers.map((_, index) => index));
    }
  });

  test("keep what they are told to, replace the last, and count all steps against maxRounds", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    const ref = await store.start(hash, "", { options: { count: 6 } });
    await store.whenStatus(ref, "completed");
    const fork = async (options: Parameters<typeof forkThread>[2]) => {
      const { threadId } = await forkThread(store.root, ref, options);
      return await store.whenStatus({ hash, threadId }, "completed");
    };
    const contents = async (options: Parameters<typeof forkThread>[2]) =>
      (await fork(options)).steps.map(({ content }) => content).join(" ");
    expect(await contents({ env: {} })).toBe("0 1 2 3 4 5");
    expect(await contents({ env: {}, keep: { atStep: 0 } })).toBe("0 1 2 3 4 5");
    expect(await contents({ env: {}, keep: { fromRole: "count#2" } })).toBe("0 1 2 3 4 5");
    expect(await contents({ env: {}, keep: { steps: [1, 3] } })).toBe("1 3 2 3 4 5");
    expect(await contents({ env: {}, keep: { atStep: 2 }, edit: { content: "x" } })).toBe(
      "0 x 2 3 4 5",
    );
    const short = await fork({ env: {}, keep: { atStep: 3 }, maxRounds: 4 });
    expect(short.steps).toHaveLength(4);
    expect(short.result?.summary).toContain("maxRounds 4");
    const none = await fork({ env: {}, keep: { atStep: 3 }, maxRounds: 2 });
    expect(none.steps).toHaveLength(3);
    expect(await codeOf(forkThread(store.root, ref, { env: {}, keep: { atStep: 7 } }))).toBe(
      "NO_SUCH_STEP",
    );
  });

  test("retry takes up what failed or was killed with every step, and nothing else", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf(`yield step("a"); if (input.steps.length < 2) throw new Error("not yet");`),
    );
    const ref = await store.start(hash);
    expect((await store.whenStatus(ref, "failed")).result?.summary).toBe("not yet");
    const first = await retryThread(store.root, ref, { env: {} });
    await store.whenStatus(first, "failed");
    const second = await retryThread(store.root, first, { env: {} });
    const done = await store.whenStatus(second, "completed");
    expect(done.steps).toHaveLength(3);
    expect(await codeOf(retryThread(store.root, done, { env: {} }))).toBe("NOTHING_TO_RETRY");
    const more = await retryThread(store.root, done, { env: {}, maxRounds: 200 });
    expect((await store.whenStatus(more, "completed")).steps).toHaveLength(4);
  });
});
