import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "@uncaged/workflow/host";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { codeOf, messageOf, until } from "../../workflow/test/fixtures/until.ts";
import type { PlannerOutput } from "../src/entry/index.ts";
import { tick } from "../src/entry/service.ts";
import { cron, does, hello, poll, TestHome, workflow } from "./home.ts";
import { positionIn } from "../src/home/notice.ts";
import { plan } from "./parts.ts";

/* Concurrent changes and errors around runs. Each change happens at the worst moment. */
setDefaultTimeout(120_000);
afterEach(removeStores);

/** Returns a host that runs other code before or instead of one of its methods. */
function hostWith(host: Host, name: keyof Host, act: (...args: never[]) => unknown): Host {
  return new Proxy(host, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      const bound = value.bind(target) as (...args: unknown[]) => unknown;
      if (key !== name) return bound;
      return async (...args: never[]) => (await act(...args)) ?? (await bound(...args));
    },
  });
}

const slow = plan([does("slow", "wait"), does("next", "say next", ["slow"])]);

/** Returns a confirmed plan whose agents work in their own folder. */
async function confirmed(home: TestHome, output: PlannerOutput) {
  const made = workflow(output);
  const cwd = join(home.store.folder, made.id);
  mkdirSync(cwd, { recursive: true });
  const { id } = await home.plans.create({ ...made, metadata: { cwd } });
  await home.plans.confirm(id);
  const calls = join(cwd, "calls");
  const begun = () => until(() => existsSync(calls) && readFileSync(calls, "utf8") !== "");
  return { id, begun, go: () => writeFileSync(join(cwd, "go"), "") };
}

test("two processes that resume a plan at once do not pause its run again", async () => {
  const home = new TestHome();
  const { begun, go, id } = await confirmed(home, slow);
  await begun();
  await home.plans.pause(id);
  const host = hostWith(home.host, "row", async () => {
    if (home.plans.get(id).phase === "paused") await home.plans.resume(id);
  });
  await home.open({ host }).refresh();
  expect(home.plans.get(id).phase).toBe("executing");
  go();
  expect((await home.ended(id)).phase).toBe("completed");
});

test("a run is cancelled even when another process writes its end first", async () => {
  const home = new TestHome();
  const { begun, id } = await confirmed(home, slow);
  await begun();
  const host: Host = new Proxy(home.host, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      const bound = value.bind(target) as (...args: unknown[]) => unknown;
      if (key !== "control") return bound;
      return async (...args: unknown[]) => {
        const done = await bound(...args);
        await home.plans.refresh();
        return done;
      };
    },
  });
  expect((await home.open({ host }).cancel(id)).workflow.phase).toBe("failed");
});

test("a draft that is replaced during its confirmation stays, and is not confirmed", async () => {
  const home = new TestHome();
  const { plans } = home;
  const { id } = await plans.create(workflow(hello({ trigger: cron })));
  await plans.confirm(id);
  const changedTo = (name: string) => plans.replace({ ...plans.get(id), name });
  await changedTo("First");
  const check = async () => {
    await changedTo("Second");
    return { mode: "off" as const };
  };
  const other = home.open({ check });
  expect(await messageOf(other.confirm(id))).toContain("this plan has changed");
  expect([plans.get(id).name, plans.draft(id)?.name]).toEqual(["A plan", "Second"]);
  rmSync(plans.folder, { recursive: true });
  expect(plans.draft(id)).toBeNull();
  expect(await messageOf(plans.confirm(id))).toContain("is active and can't become active");
});

test("a run that cannot be resumed stops neither other runs nor triggers", async () => {
  const home = new TestHome();
  const [bad, good] = [await confirmed(home, slow), await confirmed(home, slow)];
  const waiting = await confirmed(home, hello({ trigger: poll }));
  for (const { begun } of [bad, good]) await begun();
  await home.store.signalWorkers("SIGKILL");
  const [run] = (await home.plans.show(bad.id)).runs;
  const host = hostWith(home.host, "control", (ref: { threadId: string }) => {
    if (run?.id.endsWith(ref.threadId)) throw new Error("it can't be resumed");
  });
  const env = { ...home.store.env, PATH: process.env.PATH ?? "" };
  const cwd = home.store.folder;
  const ticked = tick(home.open({ host }), {
    ...{ host, env },
    commandOf: async () => ({ argv: ["echo", "it"], cwd, env }),
  });
  expect(await messageOf(ticked)).toContain("it can't be resumed");
  expect((await home.plans.show(waiting.id)).trigger_state?.last_result).toBe("it\n");
  for (const { id } of [bad, good]) {
    const { pending } = positionIn(home.plans.get(id).metadata);
    expect(pending.map(({ text }) => text)).toEqual([expect.stringContaining("was interrupted")]);
  }
  good.go();
  expect((await home.ended(good.id)).phase).toBe("completed");
  expect(home.plans.get(bad.id).phase).toBe("executing");
});

test("a plan of another program without a confirmation here fails its run with one line", async () => {
  const home = new TestHome();
  const { id } = await home.plans.create(workflow(hello({ trigger: cron })));
  home.plans.database.run("UPDATE workflows SET phase = 'active'");
  expect(await codeOf(home.plans.run(id))).toBe("EXECUTOR_ERROR");
  const { phase, runs } = await home.plans.show(id);
  expect([phase, runs[0]?.status]).toEqual(["active", "failed"]);
  expect(runs[0]?.error).toContain("it was never confirmed");
});

test("rebuilt rows do not undo an end that another process writes during the rebuild", async () => {
  const home = new TestHome();
  const { begun, go, id } = await confirmed(home, slow);
  await begun();
  // The plan reads the log, and then requests the descriptor.
  const host = hostWith(home.host, "descriptor", async () => {
    go();
    await home.ended(id);
  });
  const { database } = home.plans;
  database.run("CREATE TABLE undone (id TEXT)");
  database.run(`CREATE TRIGGER undo AFTER UPDATE OF status ON workflow_runs
    WHEN old.status <> 'running' AND new.status = 'running'
    BEGIN INSERT INTO undone VALUES (new.id); END`);
  expect(await home.open({ host }).rebuild()).toEqual({ runs: 1 });
  expect(database.rows("SELECT * FROM undone")).toEqual([]);
  expect([home.plans.get(id).phase, home.plans.runs()]).toEqual(["completed", []]);
});
