import { afterAll, beforeAll, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ThreadDiff } from "@uncaged/workflow/host";
import type { WorktreeDiff } from "@uncaged/workflow/internal";
import { TestRepository } from "../../workflow-agents/test/worktree/repository.ts";
import { newFolder, removeFolders, Store } from "./program.ts";

/* `diff` of threads that work in git worktrees. */
const store = new Store();
const source = join(import.meta.dir, "../../workflow-agents/test/worktree/script.ts");
beforeAll(async () => void (await store.ok(["add", "script", source])), 180_000);
afterAll(removeFolders);

type Diff = ThreadDiff & { files: WorktreeDiff[] };

/** Returns a thread whose two steps are scripts, and a fork after the first step with another second script. */
async function pair(second: string, other: string) {
  const repository = new TestRepository(join(newFolder(), "repository"));
  const options = { env: repository.env, cwd: repository.folder };
  const flags = ["--wait", "--json"];
  const run = async (...args: string[]) =>
    (JSON.parse(await store.ok([...args, ...flags], options)) as { threadId: string }).threadId;
  writeFileSync(join(repository.env.HOME ?? "", "second"), second);
  const a = await run("run", "script", "--prompt", "printf 'one\ntwo\n' > both; seq 9 > 'a name'");
  writeFileSync(join(repository.env.HOME ?? "", "second"), other);
  const b = await run("fork", a, "--at-step", "1");
  return { repository, a, b };
}

test("shows the files of two forks", async () => {
  const moved = "git mv 'a name' moved";
  const { repository, a, b } = await pair(
    "echo three >> both; touch left; ln -s both link; printf '\\0\\1' > binary",
    `rm both; printf 'a\nb' > "new
line"; echo file > link; chmod +x 'a name'; printf '\\0\\2' > binary; ${moved}`,
  );
  const found = await store.json<Diff>(["diff", a, b]);
  expect(found).toMatchObject({ same: false, firstDifference: 2 });
  const [tree] = found.files;
  expect([found.files.length, tree?.name, tree?.problem]).toEqual([1, "thread", null]);
  const files = tree?.files.map(({ path, from, change, patch }) => [
    path,
    from,
    change,
    patch !== null,
  ]);
  expect(files).toEqual([
    ["binary", null, "changed", false],
    ["both", null, "removed", true],
    ["left", null, "removed", true],
    ["link", null, "changed", true],
    ["moved", "a name", "renamed", true],
    ["new\nline", null, "added", true],
  ]);
  expect(tree?.files[1]?.patch).toContain("\n-one\n-two\n-three\n");
  expect(tree?.files[3]?.patch?.match(/^diff --git /gm)?.length).toBe(2);
  expect(tree?.files[4]?.patch).toContain("rename from a name\n");
  const text = await store.ok(["diff", a, b]);
  const binary = `changed binary: git diff ${tree?.a} ${tree?.b} shows it`;
  expect(text).toContain(`\nfiles  thread\n${binary}\ndiff --git a/both b/both\n`);
  expect(text).toContain("\n-three\n");

  rmSync(repository.folder, { recursive: true });
  const gone = await store.json<Diff>(["diff", a, b]);
  expect(gone.files[0]).toMatchObject({
    files: [],
    problem: `repository ${join(repository.folder, ".git")} not found`,
  });
}, 60_000);
