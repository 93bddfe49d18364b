import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolders, Store } from "./program.ts";

/* What EditFile keeps beside a thread's log: for its forks and retries, and for other versions. */
afterAll(removeFolders);

const steps = [
  {
    id: "Tool_Edit",
    tool: "EditFile",
    input: { file_path: "a.txt", old_string: "old", new_string: "new" },
    out: { $undoId: "=_toolResult.undoId" },
    next: "Pause_Keep",
  },
  { id: "Pause_Keep", resumeResultTarget: "$answer", next: "Branch_Keep" },
  { id: "Branch_Keep", cases: [["$answer.approved", "Stop_End"]], next: "Tool_Undo" },
  { id: "Tool_Undo", tool: "UndoEdit", input: { undoId: "=$undoId" }, next: "Stop_End" },
  { id: "Stop_End" },
];
const registry = { vars: ["$undoId(STRING)", "$answer(OBJECT)"] };

type View = { status: string; hash: string };

test("an edit is taken back after a kill, in a fork and on another version", async () => {
  const store = new Store();
  const file = join(store.folder, "edit.json");
  const add = async (name: string) => {
    writeFileSync(file, JSON.stringify({ version: "3.18", name, registry, steps }));
    await store.ok(["add", "edit", file]);
  };
  const text = join(store.folder, "a.txt");
  const edited = () => readFileSync(text, "utf8");
  const approve = async (id: string, approved: boolean) => {
    await store.ok(["resume", id, "--input", JSON.stringify({ approved })]);
    await store.until<View>(id, "completed");
  };
  writeFileSync(text, "old");
  await add("first");
  const id = await store.ok(["run", "edit"]);
  const { hash } = await store.until<View>(id, "waiting");
  expect(edited()).toBe("new");
  const folder = (of: string, by = id) => join(store.root, "logs", of, `${by}.blobs`);
  const [undoId = "none"] = readdirSync(folder(hash));
  await store.killWorkers();

  await add("second");
  const other = await store.json<{ threadId: string }>(["fork", id, "--on", "edit"]);
  const { hash: newer } = await store.until<View>(other.threadId, "waiting");
  expect(newer).not.toBe(hash);
  expect(readdirSync(folder(newer, other.threadId))).toEqual([undoId]);

  await approve(id, false);
  expect(edited()).toBe("old");
  // Again, where nothing is left to be taken back.
  const fork = await store.json<{ threadId: string }>(["fork", id, "--from-role", "__wait__"]);
  await store.until<View>(fork.threadId, "waiting");
  await approve(fork.threadId, false);
  expect(edited()).toBe("old");

  expect(await store.ok(["verify"])).not.toContain("problem");
  await store.ok(["thread", "rm", id]);
  expect(existsSync(folder(hash))).toBe(false);
  writeFileSync(text, "new");
  await approve(other.threadId, false);
  expect(edited()).toBe("old");
  const { stderr, stdout } = await store.run(["gc", "--dry-run"]);
  expect(stdout + stderr).not.toContain(".blobs");
}, 180_000);
