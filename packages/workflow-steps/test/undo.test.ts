import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RoleOutput, WorkflowOptions } from "@uncaged/workflow";
import { threadBlobs } from "../../workflow/src/disk/blobs.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { defaultAdapters } from "../src/entry/adapters.ts";
import { Engine, fold, type StepDocument, stepsBundle } from "../src/entry/index.ts";

const [threadId, hash] = ["01KQXKW18CT8G75T53R8F4G7YG", "EYHPV6X8XHTCS"];
let folder: string;
let cwd: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-undo-"));
  cwd = mkdtempSync(join(folder, "cwd-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(cwd, name);
const text = (name: string) => readFileSync(path(name), "utf8");
const put = (name: string, content: string) => writeFileSync(path(name), content);
const blobsOf = (id = threadId) => threadBlobs(openRoot({ path: join(folder, "root") }), hash, id);

const edit = (id: string, from: string, to: string, next: string, more: object = {}) => ({
  id: `Tool_${id}`,
  tool: "EditFile",
  input: { file_path: "a.txt", old_string: from, new_string: to },
  out: { [`$${id}`]: "=_toolResult.undoId" },
  next,
  ...more,
});
const write = (name: string, content: string, next: string) => ({
  id: "Tool_w",
  tool: "WriteFile",
  input: { file_path: name, content },
  out: { $w: "=_toolResult.undoId", $did: "=_result" },
  next,
});
const undo = (of: string, next: string, more: object = {}, input: object = {}) => ({
  id: `Tool_undo_${of}`,
  tool: "UndoEdit",
  input: { undo_id: `=$${of}`, ...input },
  out: { $did: "=_result" },
  next,
  ...more,
});
const stop = { id: "Stop_End" };

const documentOf = (steps: StepDocument[]) => ({
  version: "3.18",
  name: "undo",
  registry: { vars: ["$a(ANY)", "$b(ANY)", "$w(ANY)", "$did(ANY)"] },
  steps,
});

type Run = { steps: RoleOutput[]; variables: Record<string, unknown>; error: unknown };

/** Runs a thread that starts with `steps`. With `lose`, the thread ends before the commit of the step `lose`. */
async function running(
  document: StepDocument[],
  { steps = [], lose, id = threadId }: { steps?: RoleOutput[]; lose?: string; id?: string } = {},
): Promise<Run> {
  const { run } = stepsBundle(documentOf(document), {
    adapters: (options) => defaultAdapters({ options }),
  });
  const options: WorkflowOptions = {
    ...{ threadId: id, maxRounds: 100, cwd, env: {}, blobs: blobsOf(id) },
    ...(id !== threadId && { forkFrom: { threadId, steps: steps.length } }),
  };
  const all = [...steps];
  let error: unknown = null;
  try {
    for await (const step of run({ prompt: "", steps }, options)) {
      if (step.role === lose) break;
      all.push(step);
    }
  } catch (thrown) {
    error = thrown;
  }
  const { variables } = fold(documentOf(document), { prompt: "", threadId, steps: all });
  return { steps: all, variables, error };
}

test("undo reverts an edit by its undoId, and removes a created file", async () => {
  put("a.txt", "old\n");
  const { variables } = await running([
    edit("a", "old", "new", "Tool_w"),
    write("sub/b.txt", "b", "Tool_undo_a"),
    undo("a", "Tool_undo_w"),
    undo("w", "Stop_End"),
    stop,
  ]);
  expect(variables.$did).toBe("removed sub/b.txt");
  expect(text("a.txt")).toBe("old\n");
  expect(existsSync(path("sub/b.txt"))).toBe(false);
});

test("binary bytes, a byte order mark and an empty file are restored unchanged", async () => {
  const bytes = Uint8Array.of(0, 255, 10, 254, 10, 13);
  writeFileSync(path("b.bin"), bytes);
  const takenBack = [write("b.bin", "text", "Tool_undo_w"), undo("w", "Stop_End"), stop];
  expect((await running(takenBack)).error).toBeNull();
  expect(new Uint8Array(readFileSync(path("b.bin")))).toEqual(bytes);
  put("b.bin", "");
  await running(takenBack);
  expect(text("b.bin")).toBe("");
  put("a.txt", "\ufeffold");
  await running([edit("a", "old", "new", "Tool_undo_a"), undo("a", "Stop_End"), stop]);
  expect(text("a.txt")).toBe("\ufeffold");
});

test("a file that changed after the edit is not reverted, unless the step forces the undo", async () => {
  put("a.txt", "1");
  const twice = [edit("a", "1", "2", "Tool_b"), edit("b", "2", "3", "Tool_undo_a")];
  const refused = await running([...twice, undo("a", "Stop_End"), stop]);
  expect(String(refused.error)).toContain('"a.txt" has changed since the edit');
  expect(text("a.txt")).toBe("3");
  put("a.txt", "1");
  await running([...twice, undo("a", "Stop_End", {}, { force: true }), stop]);
  expect(text("a.txt")).toBe("1");
  const back = [edit("a", "1", "2", "Tool_b"), edit("b", "2", "3", "Tool_undo_b")];
  await running([...back, undo("b", "Tool_undo_a"), undo("a", "Stop_End"), stop]);
  expect(text("a.txt")).toBe("1");
  const { steps } = await running([edit("a", "1", "2", "Stop_End"), stop]);
  rmSync(path("a.txt"));
  const gone = [edit("a", "1", "2", "Tool_undo_a"), undo("a", "Stop_End"), stop];
  const lost = await running(gone, { steps: steps.slice(0, 1).map(leadingTo("Tool_undo_a")) });
  expect(String(lost.error)).toContain('"a.txt" is gone since the edit');
});

const leadingTo = (next: string) => (step: RoleOutput) => ({
  ...step,
  meta: { ...step.meta, next },
});

test("a failed edit can't be undone, and an unknown undoId is refused", async () => {
  put("a.txt", "1");
  const { error } = await running([edit("a", "none", "2", "Stop_End"), stop]);
  expect(String(error)).toContain("does not contain the text");
  const git = await running([write(".git/hooks/x", "x", "Stop_End"), stop]);
  expect(String(git.error)).toContain("belongs to Git");
  expect(await blobsOf().ids()).toEqual([]);
  const unknown = await running([undo("a", "Stop_End", {}, { undo_id: "0".repeat(32) }), stop]);
  expect(String(unknown.error)).toContain("no change with the undoId");
});

test("a call that is lost after its change runs once", async () => {
  put("a.txt", "a");
  const grow = [edit("a", "a", "aa", "Tool_undo_a"), undo("a", "Stop_End"), stop];
  expect((await running(grow, { lose: "Tool_a" })).steps).toEqual([]);
  expect(text("a.txt")).toBe("aa");
  const kept = await blobsOf().ids();
  // The next worker repeats the step. A repeated edit would find its old text in the new text.
  const again = await running(grow, { lose: "Tool_undo_a" });
  expect(await blobsOf().ids()).toEqual(kept);
  expect([again.variables.$a, text("a.txt")]).toEqual([kept[0], "a"]);
  // A repeated undo does not revert itself.
  const ended = await running(grow, { steps: again.steps });
  expect([ended.error, text("a.txt"), ended.variables.$did]).toEqual([null, "a", "restored a.txt"]);
});

test("the file before a lost write can still be restored", async () => {
  put("b.txt", "mine");
  const replace = [write("b.txt", "theirs", "Tool_undo_w"), undo("w", "Stop_End"), stop];
  await running(replace, { lose: "Tool_w" });
  expect(text("b.txt")).toBe("theirs");
  const { variables } = await running(replace);
  expect([variables.$did, text("b.txt")]).toEqual(["restored b.txt", "mine"]);
  const make = [write("new.txt", "new", "Tool_undo_w"), undo("w", "Stop_End"), stop];
  await running(make, { lose: "Tool_w" });
  await running(make, { lose: "Tool_undo_w" });
  expect(existsSync(path("new.txt"))).toBe(false);
});

test("a call runs again if it was lost before its change, or if its file has changed", async () => {
  put("a.txt", "old");
  const steps = [edit("a", "old", "new", "Tool_undo_a"), undo("a", "Stop_End"), stop];
  await running(steps, { lose: "Tool_a" });
  put("a.txt", "old");
  expect((await running(steps, { lose: "Tool_undo_a" })).error).toBeNull();
  put("a.txt", "an old text");
  const { error, variables } = await running(steps, { lose: "Tool_undo_a" });
  expect([error, variables.$did, text("a.txt")]).toEqual([null, null, "an old text"]);
});

test("the same edit again in a loop is a separate edit", async () => {
  put("a.txt", "a");
  const loop = {
    id: "Loop_Twice",
    source: [1, 2],
    mode: "serial",
    children: ["Tool_a"],
    next: "Stop_End",
  };
  const steps = [loop, edit("a", "a", "ab", "RETURN"), stop] as StepDocument[];
  expect((await running(steps)).error).toBeNull();
  expect(text("a.txt")).toBe("abb");
  expect(await blobsOf().ids()).toHaveLength(2);
});

test("an engine without a thread stores no undo data, and undoId is null", async () => {
  put("a.txt", "old");
  const engine = new Engine(documentOf([edit("a", "old", "new", "Stop_End"), stop]));
  const context = await engine.execute({}, defaultAdapters({ options: { cwd } }));
  expect(context.snapshot().variables.$a).toBeNull();
  expect(text("a.txt")).toBe("new");
});
