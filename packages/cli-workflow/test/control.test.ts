import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asker } from "../../workflow/test/fixtures/bundles.ts";
import { bundlePath, type Root } from "../../workflow/src/disk/paths.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

type View = {
  threadId: string;
  status: string;
  prompt: string;
  hash: string;
  maxRounds: number;
  steps: { role: string; content: string; meta: Record<string, unknown> }[];
};

let store: Store;
let ended: string;

beforeAll(async () => {
  store = await playStore({ inMemory: true });
  ended = await store.play({}, "--wait", "--prompt", "first");
});

const read = (id: string) => store.json<View>(["thread", id]);

test("ps shows a paused thread, and resume continues it", async () => {
  const { id, open } = await store.playGated(2, { steps: 4 });
  expect(await store.ok(["pause", id])).toContain(`paused ${id}`);
  open();
  await store.until(id, "paused");
  expect(await store.ok(["ps"])).toMatch(new RegExp(`${id} +paused`));
  expect(await store.ok(["resume", id])).toBe(`resumed ${id}`);
  expect((await store.until<View>(id, "completed")).steps).toHaveLength(4);
});

test("resume --wait waits for the end, and resume --follow shows it; both accept only one thread", async () => {
  const { id: paused, open } = await store.playGated(2, { steps: 4, code: 3 });
  await store.ok(["pause", paused]);
  open();
  await store.until(paused, "paused");
  const waited = await store.run(["resume", paused, "--wait", "--json"]);
  expect(waited.code).toBe(3);
  expect(JSON.parse(waited.stdout)).toMatchObject({ threadId: paused, result: { returnCode: 3 } });
  const asks = await store.play({ ask: 2, steps: 3 }, "--wait").catch(String);
  expect(asks).toContain("exit code 6");
  const followed = await store.run(["resume", "@last", "--input", "yes", "--follow"]);
  expect(followed.code).toBe(0);
  expect(followed.stdout).toContain("__input__");
  expect(followed.stdout).toEndWith("completed: played\n");
  const two = await store.run(["resume", paused, ended, "--wait"]);
  expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining("take one thread") });
});

test("an approval accepts only a decision: any other answer is refused with exit code 2, and the thread still waits", async () => {
  const schema = { properties: { decision: { enum: ["approve", "reject"] }, note: {} } };
  const file = join(store.folder, "asker.esm.js");
  writeFileSync(file, asker);
  await store.ok(["add", "asker", file]);
  const ask = async () => {
    const wait = JSON.stringify({ for: "approval", schema });
    const { stdout } = await store.run(["run", "asker", "--option", `wait=${wait}`, "--wait"]);
    return stdout.trim();
  };
  const id = await ask();
  const refused = await store.run(["resume", id, "--input", "fine"]);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("must be approve or reject");
  const edited = await store.run(["resume", id, "--edit", "{}"]);
  expect(edited).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /no tool call to edit; .*--approve; or reject it: .*--refuse REASON/,
    ),
  });
  expect(await read(id)).toMatchObject({ status: "waiting", steps: [{ role: "__wait__" }] });
  const decided = async (thread: string, ...args: string[]) => {
    await store.ok(["resume", thread, ...args, "--wait"]);
    return (await read(thread)).steps[1]?.meta.value;
  };
  expect(await decided(id, "--input", "no")).toEqual({ decision: "reject", note: "" });
  expect(await decided(await ask(), "--approve")).toEqual({ decision: "approve", note: "" });
  const why = ["--refuse", "too long"];
  expect(await decided(await ask(), ...why)).toEqual({ decision: "reject", note: "too long" });
});

test("the answer to a thread that was paused while waiting reports that the thread stays paused", async () => {
  // A worker with only waiting threads exits.
  const other = await store.play({ ms: 60_000 });
  const id = await store.play({ ask: 2, steps: 3 });
  await store.until(id, "waiting");
  await store.ok(["pause", id]);
  expect(await store.ok(["resume", id, "--input", "yes"])).toStartWith(
    `answered ${id}; it is paused, continue it: uncaged-workflow resume ${id}`,
  );
  expect(await store.ok(["resume", id])).toBe(`resumed ${id}`);
  await store.until(id, "completed");
  await store.ok(["kill", other]);
});

test("several threads are killed together, and a failure does not stop the other kills", async () => {
  const ids = [await store.play({ ms: 60_000 }), await store.play({ ms: 60_000 })];
  const { code, stdout, stderr } = await store.run(["kill", ids[0] ?? "", ended, ids[1] ?? ""]);
  expect(code).toBe(1);
  expect(stdout).toBe(ids.map((id) => `killed ${id}\n`).join(""));
  expect(stderr).toMatch(/^error: [^\n]*has ended[^\n]*\n$/);
});

test("thread rm deletes ended threads, and with --force running threads", async () => {
  const id = await store.play({}, "--wait");
  expect(await store.ok(["thread", "rm", id])).toBe(`deleted ${id}`);
  expect((await store.run(["thread", id])).code).toBe(4);
  const running = await store.play({ ms: 60_000 });
  expect(await store.ok(["thread", "rm", "--force", running])).toBe(`deleted ${running}`);
  expect((await store.run(["thread", running])).code).toBe(4);
});

test("fork omits the last step, or keeps steps up to a role or a number", async () => {
  const kept = async (...args: string[]) => {
    const id = await store.ok(["fork", ended, ...args]);
    await store.until(id, "completed");
    const { forkFrom } = await store.json<{ forkFrom: { steps: number } }>(["thread", id]);
    return forkFrom.steps;
  };
  expect(await kept()).toBe(2);
  expect(await kept("--from-role", "planner")).toBe(1);
  expect(await kept("--from-role", "coder")).toBe(3);
  expect(await kept("--from-role", "coder#1")).toBe(2);
  expect(await kept("--at-step", "0")).toBe(0);
});

test("fork --edit replaces the last kept step with JSON", async () => {
  const edit = '{"content":"better","meta":{"n":1}}';
  const id = await store.ok(["fork", ended, "--at-step", "1", "--edit", edit, "--wait"]);
  expect((await read(id)).steps[0]).toMatchObject({ content: "better", meta: { n: 1 } });
});

test("fork --input answers only a question, and checks the answer like resume", async () => {
  const asking = `export const descriptor = { description: "", roles: {} };
    export async function* run(input) {
      const { steps } = input;
      if (steps.length < 1) yield { role: "reader", content: "read", meta: {} };
      const meta = { for: "colour", schema: { enum: ["red", "green"] } };
      const answer = steps[2] ?? (yield { role: "__wait__", content: "Which?", meta });
      return { returnCode: 0, summary: answer.content };
    }`;
  writeFileSync(join(store.folder, "colour.esm.js"), asking);
  await store.ok(["add", "colour", join(store.folder, "colour.esm.js")]);
  const id = (await store.run(["run", "colour", "--wait"])).stdout.trim();
  await store.ok(["resume", id, "--input", "red", "--wait"]);
  const before = await store.json<View[]>(["threads"]);
  const refused = async (step: number, ...args: string[]) => {
    const { code, stderr } = await store.run(["fork", id, "--at-step", String(step), ...args]);
    return [code, stderr.trim()];
  };
  const hint = `fork ${id} --at-step 2 --input …`;
  for (const [step, message] of [
    [0, "the fork does not keep a question; the question is step 2"],
    [1, "step 1 is not a question; the question is step 2"],
    [3, "step 3 is not a question; the question is step 2"],
  ] as const) {
    const said = [2, expect.stringMatching(new RegExp(`${message}.*${hint}$`, "s"))];
    expect(await refused(step, "--input", "blue")).toEqual(said);
  }
  const unfit = [1, expect.stringContaining("invalid answer to colour")];
  expect(await refused(2, "--input", "blue")).toEqual(unfit);
  expect(await refused(3, "--edit", '{"content":"blue"}')).toEqual(unfit);
  expect(await store.json<View[]>(["threads"])).toEqual(before);
  const fork = await store.ok(["fork", id, "--at-step", "2", "--input", "green", "--wait"]);
  expect((await read(fork)).steps[2]?.content).toBe("green");
});

function editor(script: string): Record<string, string> {
  const path = join(store.folder, `editor-${crypto.randomUUID()}`);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o700);
  return { EDITOR: path };
}

test("fork --edit opens the last kept step in the editor", async () => {
  const seen = join(store.folder, "seen");
  const env = editor(`cp "$1" ${seen}; sed -i.bak 's/planner 1: first/a better plan/' "$1"`);
  const id = await store.ok(["fork", ended, "--at-step", "1", "--edit", "--wait"], { env });
  expect((await read(id)).steps[0]?.content).toBe("a better plan");
  expect(readFileSync(seen, "utf8")).toContain("planner 1: first");
});

test("fork --edit does not fork if the step is unchanged or the editor fails", async () => {
  const threads = () => store.json<View[]>(["threads"]);
  const before = await threads();
  const attempts: [Record<string, string>, number, string][] = [
    [editor("exit 0"), 1, "was not changed"],
    [editor("exit 3"), 1, "exit code 3"],
    [{ EDITOR: "/no/such/editor" }, 1, "was not found"],
    [{}, 2, "neither VISUAL nor EDITOR"],
    [editor('echo nonsense > "$1"'), 2, "invalid edited step"],
  ];
  for (const [env, wanted, message] of attempts) {
    const { code, stdout, stderr } = await store.run(["fork", ended, "--edit"], { env });
    expect({ code, stdout }).toEqual({ code: wanted, stdout: "" });
    expect(stderr).toMatch(/^(?:[^\n]*not found\n)?error: [^\n]+\n$/);
    expect(stderr).toContain(message);
  }
  expect(await threads()).toEqual(before);
});

test("fork --on continues on another version", async () => {
  const changed = join(store.folder, "changed.esm.js");
  const source = readFileSync(join(import.meta.dir, "bundle/play.esm.js"), "utf8");
  writeFileSync(changed, source.replace('summary: "played"', 'summary: "changed"'));
  const hash = await store.ok(["add", "changed", changed]);
  const id = await store.ok(["fork", ended, "--on", "changed", "--wait"]);
  expect(await read(id)).toMatchObject({
    hash,
    workflow: "changed",
    result: { summary: "changed" },
  });
});

test("retry continues a failed thread, and with more rounds a thread out of rounds", async () => {
  const failed = await store.play({ fail: 2 });
  await store.until(failed, "failed");
  const again = await store.run(["retry", failed, "--wait"], { env: { PLAY_WELL: "1" } });
  expect(again.code).toBe(0);
  const limited = ["run", "play", "--params", "{}", "--max-rounds", "2"];
  const short = (await store.run([...limited, "--wait"])).stdout.trim();
  const more = await store.ok(["retry", short, "--max-rounds", "9", "--wait"]);
  expect((await read(more)).steps).toHaveLength(3);
});

test("diff names the first difference and shows each step that differs", async () => {
  const other = await store.ok(["fork", ended, "--at-step", "1", "--prompt", "second", "--wait"]);
  const { code, stdout } = await store.run(["diff", ended, other]);
  expect(code).toBe(0);
  expect(stdout).toContain("first difference: step 2\n");
  expect(stdout).toContain("\nstep 1  planner  same\n");
  expect(stdout).toContain("-coder 2: first\n+coder 2: second\n");
  expect(await store.ok(["diff", ended, ended])).toContain("are the same: 3 steps");
});

test("threads returns pages, and filters by workflow and status", async () => {
  const all = (await store.ok(["threads", "-q", "--limit", "1000"])).split("\n");
  const page = (await store.ok(["threads", "-q", "--limit", "2", "--offset", "1"])).split("\n");
  expect(page).toEqual(all.slice(1, 3));
  const failed = await store.json<View[]>(["threads", "--status", "failed", "killed"]);
  expect(new Set(failed.map(({ status }) => status))).toEqual(new Set(["failed", "killed"]));
  const changed = await store.ok(["threads", "changed", "-q"]);
  expect(changed.split("\n")).toHaveLength(1);
  expect(await store.ok(["threads", "--workflow", "changed", "-q"])).toBe(changed);
  const { hash } = await read(changed);
  for (const workflow of [`changed@${hash}`, `changed@${hash.slice(0, 3)}`]) {
    expect(await store.ok(["threads", "--workflow", workflow, "-q"])).toBe(changed);
  }
  const ofVersion = (await store.ok(["threads", hash.slice(0, 8).toLowerCase(), "-q"])).split("\n");
  expect(ofVersion).toContain(changed);
  expect((await store.run(["threads", "changed@ZZZ"])).code).toBe(4);
  await store.ok(["remove", "changed"]);
  expect(await store.ok(["threads", "changed", "-q"])).toBe(changed);
});

test("logs shows the debug log or its last lines, and follows it", async () => {
  const lines = (await store.ok(["logs", ended])).split("\n");
  expect(lines.at(-1)).toMatch(/^20\d\d-.*Z [0-9A-HJKMNP-TV-Z]{8} {2}ended: returned/);
  expect((await store.ok(["logs", ended, "--tail", "1"])).split("\n")).toEqual(lines.slice(-1));
  expect(await store.ok(["logs", ended, "--tail", "0"])).toBe("");
  expect(await store.ok(["logs", ended, "--since", "2999-01-01"])).toBe("");
  const id = await store.play({ ms: 100 });
  expect(await store.ok(["logs", id, "-f"])).toContain("ended: returned");
});

describe("in a separate process", () => {
  let onRoot: Store;
  beforeAll(async () => {
    onRoot = await playStore();
  });

  test("follow ends when the worker has died, and names the next command", async () => {
    const id = await onRoot.play({ ms: 60_000 });
    const child = onRoot.start(["follow", id]);
    const text = Promise.all([child.stdout.text(), child.stderr.text()]);
    await onRoot.killWorkers();
    expect(await child.exited).toBe(1);
    const [stdout, stderr] = await text;
    expect(stdout).toContain("interrupted");
    expect(stderr).toContain(`uncaged-workflow resume ${id}`);
    await onRoot.ok(["kill", id]);
  });

  test("follow in a pipe reports a pause once, and continues with the thread", async () => {
    const { id, open } = await onRoot.playGated(2);
    await onRoot.ok(["pause", id]);
    open();
    await onRoot.until(id, "paused");
    const child = onRoot.start(["follow", id]);
    const reader = child.stderr.getReader();
    const { value } = await reader.read();
    const note = `paused; continue it: uncaged-workflow resume ${id}\n`;
    expect(new TextDecoder().decode(value)).toBe(note);
    await onRoot.ok(["resume", id]);
    expect(await child.exited).toBe(0);
    expect(await child.stdout.text()).toContain("completed");
  });

  test("Ctrl-C ends the view but not the thread", async () => {
    const { id, open } = await onRoot.playGated(3);
    for (const args of [
      ["follow", id],
      ["logs", id, "-f"],
    ]) {
      const child = onRoot.start(args);
      const text = child.stderr.text();
      await child.stdout.getReader().read();
      child.kill("SIGINT");
      expect(await child.exited).toBe(130);
      expect(await text).toContain(args[0] === "follow" ? `${id} continues` : "");
    }
    open();
    expect((await onRoot.until<View>(id, "completed")).steps).toHaveLength(3);
  });
});

describe("all threads of a storage root", () => {
  let all: Store;
  beforeAll(async () => {
    all = await playStore({ inMemory: true });
  });

  test("are paused, and are killed after confirmation", async () => {
    const ids = [await all.play({ ms: 60_000 }), await all.play({ ms: 60_000 })];
    const asks = await all.play({ ask: 2, steps: 3 });
    await all.until(asks, "waiting");
    const paused = await all.json<{ stopped: { threadId: string }[] }>(["pause", "--all"]);
    expect(paused.stopped.map(({ threadId }) => threadId).sort()).toEqual([...ids].sort());
    const refused = await all.run(["kill", "--all"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(`kill 3 threads of ${all.root} (`);
    expect(refused.stderr).toContain("confirm it: --yes");
    expect((await all.run(["ps"])).stderr).toContain("uncaged-workflow pause --all");
    const killed = await all.ok(["kill", "--all", "--yes"]);
    for (const id of [...ids, asks]) expect(killed).toContain(`killed ${id}`);
    expect((await all.run(["kill", "--all"])).stderr).toContain(`no thread of ${all.root} runs`);
  });

  test("can't be combined with the id of a thread, and one of the two is required", async () => {
    for (const command of ["pause", "kill"]) {
      expect((await all.run([command])).stderr).toContain("missing a thread");
      expect((await all.run([command, "@last", "--all"])).code).toBe(2);
    }
    expect((await all.run(["resume"])).stderr).toContain("--interrupted");
    expect((await all.run(["resume", "@last", "--interrupted"])).code).toBe(2);
    expect((await all.run(["resume", "--interrupted", "--approve"])).code).toBe(2);
  });
});

describe("an interrupted thread", () => {
  test("is resumed by wake --resume or after confirmation; other interrupted threads are listed", async () => {
    const onRoot = await playStore();
    const id = await onRoot.play({ ms: 60_000 });
    await onRoot.until(id, "running");
    await signalWorkers(onRoot.root as Root, "SIGKILL");
    const asked = await onRoot.run(["resume", "--interrupted"]);
    expect(asked).toMatchObject({ code: 2, stdout: "" });
    expect(asked.stderr).toContain(`interrupted: ${id} of play`);
    expect(await onRoot.ok(["wake", "--resume"])).toBe(`resumed ${id}`);
    await signalWorkers(onRoot.root as Root, "SIGKILL");
    expect(await onRoot.ok(["resume", "--interrupted", "--yes"])).toBe(`resumed ${id}`);
    await onRoot.ok(["pause", id]);
    await signalWorkers(onRoot.root as Root, "SIGKILL");
    const left = await onRoot.run(["wake", "--resume"]);
    expect(left).toMatchObject({ code: 0, stdout: "" });
    expect(left.stderr).toContain(
      `not resumed: ${id} of play: it is paused; resume it: uncaged-workflow resume ${id}`,
    );
    await onRoot.ok(["kill", "--all", "--yes"]);
  });

  test("makes wake fail if a confirmed resume failed", async () => {
    const onRoot = await playStore();
    const id = await onRoot.play({ ms: 60_000 });
    await onRoot.until(id, "running");
    await signalWorkers(onRoot.root as Root, "SIGKILL");
    const { hash } = await onRoot.json<View>(["thread", id]);
    writeFileSync(bundlePath(onRoot.root as Root, hash), "");
    const { code, stdout, stderr } = await onRoot.run(["resume", "--interrupted", "--yes"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`not resumed: ${id} of play`);
  });
});
