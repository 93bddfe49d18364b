import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorktreeMeta } from "@uncaged/workflow";
import { openLocalHost, settled, type ThreadRef } from "@uncaged/workflow/host";
import { TestRepository } from "./worktree/repository.ts";

/* Tests the removal of a thread's worktrees in several states of its repository. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-worktree-removal-")));
const root = join(folder, "root");
const host = openLocalHost({ path: root });
const source = join(import.meta.dir, "worktree/writers.ts");

beforeAll(async () => void (await host.register("writers", source)), 180_000);
afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

let count = 0;
const repositoryOf = () => new TestRepository(join(folder, `repository-${(count += 1)}`));

async function play(repository: TestRepository) {
  const env = { ...repository.env, PLACE: repository.folder };
  const cwd = repository.folder;
  const ref = await host.start({ workflow: "writers", prompt: "go", env, cwd });
  return await ended(ref);
}

async function ended(ref: ThreadRef) {
  const view = await settled(host, ref);
  expect(view.status).toBe("completed");
  return { ref, view, trees: view.steps.map(({ meta }) => meta.worktree as WorktreeMeta) };
}

const treeOf = ({ threadId }: ThreadRef) => join(root, "worktrees", threadId, "thread");
const left = () => readdirSync(join(root, "worktrees"));
const removal = (ref: ThreadRef) => host.remove(ref).catch((error: Error) => error.message);
/** Collects garbage 8 days ahead of time, which deletes the threads in the trash with their worktrees. */
const emptyTrash = () => host.collect({ now: Date.now() + 8 * 86_400_000, trash: true });

test("a locked worktree prevents the removal of its thread", async () => {
  const repository = repositoryOf();
  const { ref } = await play(repository);
  repository.git("worktree", "lock", "--reason", "I look at it", treeOf(ref));
  expect(await removal(ref)).toBe(`the worktree ${treeOf(ref)} of ${ref.threadId} is locked`);
  expect((await host.read(ref)).steps.length).toBe(3);
  repository.git("worktree", "unlock", treeOf(ref));
  await host.remove(ref);
  await emptyTrash();
  expect([left(), repository.git("for-each-ref", "refs/uncaged")]).toEqual([[], ""]);
}, 30_000);

test("a moved or deleted repository does not prevent the removal of a thread", async () => {
  const [moved, deleted] = [repositoryOf(), repositoryOf()];
  const refs = [(await play(moved)).ref, (await play(deleted)).ref];
  renameSync(moved.folder, `${moved.folder}-moved`);
  rmSync(deleted.folder, { recursive: true });
  for (const ref of refs) await host.remove(ref);
  await emptyTrash();
  expect(left()).toEqual([]);
}, 30_000);

test("gc collects the leftovers of an interrupted removal", async () => {
  const repository = repositoryOf();
  const { ref } = await play(repository);
  const kept = await play(repository);
  for (const name of readdirSync(join(root, "logs", ref.hash))) {
    if (name.startsWith(ref.threadId)) rmSync(join(root, "logs", ref.hash, name));
  }
  const late = Date.now() + 2 * 3_600_000;
  const seen = await host.collect({ dryRun: true, now: late });
  expect(seen.leftovers).toEqual([join(root, "worktrees", ref.threadId)]);
  expect(existsSync(treeOf(ref))).toBe(true);
  await host.collect({ now: late });
  expect(left()).toEqual([kept.ref.threadId]);
  expect(repository.git("for-each-ref", `refs/uncaged/${ref.threadId}`)).toBe("");
  for (const { commit } of kept.trees) repository.git("cat-file", "-e", commit);
  await host.remove(kept.ref);
  await emptyTrash();
}, 30_000);

test("a later gc finishes a removal that git prevented", async () => {
  const repository = repositoryOf();
  const { ref } = await play(repository);
  const config = join(repository.folder, ".git/config");
  const text = readFileSync(config, "utf8");
  writeFileSync(config, `${text}[broken\n`);
  await host.remove(ref);
  const kept = await emptyTrash();
  const git = join(repository.folder, ".git");
  expect(kept.emptied).toEqual([]);
  expect(kept.problems).toEqual([
    {
      path: join(root, "worktrees", ref.threadId),
      message: expect.stringContaining(
        `${git}: can't delete the refs of the thread's worktrees: fatal:`,
      ),
    },
  ]);
  expect(left()).toEqual([ref.threadId]);
  writeFileSync(config, text);
  expect(await emptyTrash()).toMatchObject({ emptied: [expect.any(String)], problems: [] });
  expect([left(), repository.git("for-each-ref", "refs/uncaged")]).toEqual([[], ""]);
}, 30_000);

test("only a thread's own worktrees are removed, even if a note names another worktree", async () => {
  const repository = repositoryOf();
  const { ref } = await play(repository);
  const own = `${repository.folder}-own`;
  repository.git("worktree", "add", "-q", "-b", "mine", own);
  const note = `${treeOf(ref)}.json`;
  const said = JSON.parse(readFileSync(note, "utf8")) as object;
  writeFileSync(
    note,
    JSON.stringify({ ...said, entry: join(repository.folder, ".git/worktrees/own") }),
  );
  await host.remove(ref);
  await emptyTrash();
  expect(existsSync(join(own, "README.md"))).toBe(true);
  expect(repository.git("worktree", "list").trim().split("\n").length).toBe(2);
  expect(left()).toEqual([]);
}, 30_000);
