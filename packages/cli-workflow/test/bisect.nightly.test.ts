import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import { byScript } from "../src/bisect/judge.ts";
import { newFolder, playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(180_000);
afterAll(removeFolders);

const core = join(import.meta.dir, "../../workflow/src/entry/index.ts");

/** A version that doubles a number, then adds the answer; from version 6 on it subtracts it. */
const sourceOf = (version: number) => `import { durable } from "${core}";
import { appendFileSync } from "node:fs";
export const descriptor = { description: "sums ${version}", roles: {} };
export const run = durable(async function* (step, { prompt }, { cwd }) {
  const doubled = yield* step("doubler", () => {
    appendFileSync(cwd + "/ran", "${version} ");
    return Number(prompt) * 2;
  });
  const { value } = yield* step.wait<number>("addend", { schema: { type: "number" } });
  ${version === 8 ? 'yield* step("late", () => 0);' : ""}
  return String(doubled ${version < 6 ? "+" : "-"} value);
});
`;

let store: Store;
let id: string;
const hashes: string[] = [];

beforeAll(async () => {
  store = await playStore();
  for (let version = 1; version <= 8; version += 1) {
    const file = join(store.folder, "sum.ts");
    writeFileSync(file, sourceOf(version));
    hashes.push((await store.json<{ hash: string }>(["add", "sum", file])).hash);
  }
  id = await store.ok(["run", `sum@${hashOf(1)}`, "--prompt", "4"]);
  await store.until(id, "waiting");
  await store.ok(["resume", id, "--input", "3", "--wait"]);
});

const hashOf = (version: number): string => hashes[version - 1] ?? "";

type Answer = { firstBad: string | null; tested: { version: string; result: string }[] };
const bisect = (bad: number, ...args: string[]) =>
  store.run(["bisect", id, "--good", hashOf(1), "--bad", hashOf(bad), ...args]);
const ran = () => Bun.file(join(store.folder, "ran")).text();

test("finds the version that a script calls bad, runs no role and writes nothing", async () => {
  const before = store.tree();
  const seen = join(store.folder, "seen");
  const script = `cat > "$BISECT_VERSION.json"; echo "$BISECT_STATUS $UNCAGED_WORKFLOW_STORAGE_ROOT" >> ${seen}; grep -q '"summary":"11"' "$BISECT_VERSION.json"`;
  const { code, stdout } = await bisect(7, "--script", script, "--json");
  const { firstBad, tested } = JSON.parse(stdout) as Answer;
  const of = (n: number, result: string) => ({ version: hashOf(n), result });
  expect([code, firstBad, tested]).toEqual([
    0,
    hashOf(6),
    [of(7, "bad"), of(1, "good"), of(4, "good"), of(5, "good"), of(6, "bad")],
  ]);
  const [status = "", root = ""] = (await Bun.file(seen).text()).trim().split(/\s/);
  expect([status, root === store.root, existsSync(root)]).toEqual(["completed", false, false]);
  expect([await ran(), store.tree()]).toEqual(["1 ", before]);
});

test("judges by status, keeps steps, skips versions and runs roles on request", async () => {
  const expected = ["--expect-status", "completed", "--json"];
  const { stdout } = await bisect(8, ...expected, "--step", "1");
  expect((JSON.parse(stdout) as Answer).firstBad).toBe(hashOf(8));
  const skipping = `grep -q '"summary":"11"' && exit 0; [ $BISECT_VERSION = ${hashOf(7)} ] && exit 1`;
  const skipped = await bisect(7, "--script", `${skipping}; exit 125`, "--json");
  expect([skipped.code, (JSON.parse(skipped.stdout) as Answer).firstBad]).toEqual([1, null]);
  expect(await ran()).toBe("1 ");
  const live = await bisect(8, ...expected, "--live");
  expect([live.code, JSON.parse(live.stdout)]).toMatchObject([
    1,
    { error: { code: "BISECT_RANGE" } },
  ]);
  expect(await ran()).toBe("1 8 ");
});

test("a script uses the temporary root in place of a host, and an abort ends it", async () => {
  const host = openLocalHost({ path: store.root, env: {} });
  const view = await host.read(await host.find(id));
  await host.close();
  const env = { ...store.env, UNCAGED_WORKFLOW_HOST: "https://example.com" };
  const judge = (script: string, signal = new AbortController().signal) =>
    byScript(script, store.folder, env)(view, "/temporary", signal);
  const isLocal =
    'test -z "$UNCAGED_WORKFLOW_HOST" && test "$UNCAGED_WORKFLOW_STORAGE_ROOT" = /temporary';
  expect(await judge(isLocal)).toBe("good");
  const controller = new AbortController();
  const begun = join(store.folder, "begun");
  const judged = judge(`touch ${begun}; exec sleep 600`, controller.signal);
  await until(() => existsSync(begun));
  controller.abort();
  expect(await judged).toBe(null);
});

test("a killed bisect changes nothing, and the next one removes its folder", async () => {
  const temporary = newFolder();
  const options = { env: { TMPDIR: temporary } };
  const before = store.tree();
  const begun = join(store.folder, "killed");
  const args = ["bisect", id, "--good", hashOf(1), "--bad", hashOf(7), "--script"];
  const child = store.start([...args, `echo $$ > ${begun}; exec sleep 600`], options);
  await until(() => existsSync(begun) && readFileSync(begun, "utf8").endsWith("\n"));
  const left = readdirSync(temporary);
  expect(left).toEqual([expect.stringMatching(/^uncaged-bisect-/) as string]);
  const script = `grep -q '"summary":"11"'`;
  const bisected = async () =>
    JSON.parse(await store.ok([...args, script, "--json"], options)) as Answer;
  expect((await bisected()).firstBad).toBe(hashOf(6));
  expect(readdirSync(temporary)).toEqual(left);
  child.kill("SIGKILL");
  await child.exited;
  process.kill(Number(readFileSync(begun, "utf8")), "SIGKILL");
  expect([store.tree(), readdirSync(temporary)]).toEqual([before, left]);
  expect((await bisected()).firstBad).toBe(hashOf(6));
  expect([store.tree(), readdirSync(temporary)]).toEqual([before, []]);
});

test("refuses an invalid range, and a script that can't judge", async () => {
  for (const [args, code, message] of [
    [["--good", hashOf(4), "--bad", hashOf(4), "--expect-status", "completed"], 2, "not older"],
    [["--good", hashOf(1), "--bad", "ZZZZZZ", "--expect-status", "completed"], 4, "no version"],
    [["--good", hashOf(1), "--bad", hashOf(8)], 2, "--expect-status is missing"],
    [["--good", hashOf(1), "--bad", hashOf(8), "--script", " "], 2, "--expect-status is missing"],
    [
      ["--good", hashOf(1), "--bad", hashOf(8), "--script", "no-such-program"],
      1,
      "exited with 127",
    ],
  ] as const) {
    const before = store.tree();
    const { code: exit, stderr, stdout } = await store.run(["bisect", id, ...args]);
    expect({ args, exit, stdout, message: stderr }).toEqual({
      ...{ args, exit: code, stdout: "" },
      message: expect.stringContaining(message) as string,
    });
    expect(store.tree()).toEqual(before);
  }
});

test("a check counts the threads that it leaves out", async () => {
  const path = join(store.root, "logs", hashOf(1), `${id}.data.jsonl`);
  writeFileSync(path, readFileSync(path, "utf8").replace("doubler", "tripler"));
  const { code, stdout, stderr } = await store.run(["check", "sum", "--on", hashOf(2)]);
  expect([code, stdout, stderr]).toEqual([
    ...[0, "0 threads\n"],
    "left out, corrupt or moved: 1 thread\n",
  ]);
});
