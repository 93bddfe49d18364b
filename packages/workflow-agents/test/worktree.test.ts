import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorktreeMeta } from "@uncaged/workflow";
import { openLocalHost, settled, type ThreadRef } from "@uncaged/workflow/host";
import { anthropicServer } from "./anthropic-server.ts";
import type { Reply, WireServer } from "./wire.ts";
import { TestRepository } from "./worktree/repository.ts";

/* Tests workflows whose roles, models with tools and commands, code in worktrees of a real git repository. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-worktree-")));
const root = join(folder, "root");
const host = openLocalHost({ path: root });
let server: WireServer<object>;

/** The texts that Alice and Bob write. The planner puts Bob's text into the script that Bob runs. */
let texts = { alice: "parse()", bob: "print()", shared: "" };

function reply(body: object): Reply {
  const { system, messages } = body as { system: unknown; messages: { role: string }[] };
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const who = /You (?:are )?(\w+)/.exec(JSON.stringify(system))?.[1];
  const write = (path: string, content: string) => ({
    name: "writeFile",
    input: { path, content },
  });
  const shared = texts.shared && [write("README.md", `# ${who} ${texts.shared}\n`)];
  if (turn > 0) return { text: `${who} is done` };
  if (who === "plan") {
    const script = `bob() { echo '${texts.bob}' > 'the printer.js'; ${texts.shared && "echo '# Bob' > README.md"}\n}\n`;
    return { tools: [write("PLAN.sh", script)] };
  }
  if (who === "Alice") {
    const command = { name: "runCommand", input: { argv: ["mkdir", "-p", "src"] } };
    return { tools: [command, write("src/parser.js", texts.alice), ...(shared || [])] };
  }
  return { tools: [{ name: "listFiles", input: {} }] };
}

beforeAll(async () => {
  server = await anthropicServer(reply);
  await host.register("team", join(import.meta.dir, "worktree/team.ts"));
  await host.register("group", join(import.meta.dir, "worktree/group.ts"));
}, 180_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

let count = 0;
const newRepository = () => new TestRepository(join(folder, `repository ${(count += 1)}`));
const envOf = ({ env }: TestRepository) => ({
  ...env,
  ANTHROPIC_API_KEY: server.key,
  ANTHROPIC_BASE_URL: server.url,
});

async function play(repository: TestRepository, workflow: string, prompt = "go") {
  const env = envOf(repository);
  const ref = await host.start({ workflow, prompt, env, cwd: repository.folder });
  return await ended(ref);
}

async function ended(ref: ThreadRef) {
  const view = await settled(host, ref);
  expect([view.status, "result" in view ? view.result : null]).toMatchObject(["completed", {}]);
  const trees = view.steps.map(({ meta }) => meta.worktree as WorktreeMeta);
  return { ref, view, trees };
}

test("roles code in separate worktrees, and a fork begins with the files of its step", async () => {
  const repository = newRepository();
  const before = repository.seen();
  texts = { alice: "parse()", bob: "print()", shared: "" };
  const { ref, view, trees } = await play(repository, "team");
  expect(view.steps.map(({ role }) => role)).toEqual(
    "planner alice bob merger reviewer".split(" "),
  );
  const files = trees.map(({ commit }) => repository.files(commit));
  const plan = ["PLAN.sh", "README.md"];
  expect(files).toEqual([
    plan,
    [...plan, "src/parser.js"],
    [...plan, "the printer.js"],
    [...plan, "src/parser.js", "the printer.js"],
    [...plan, "src/parser.js", "the printer.js"],
  ]);
  expect(trees.map(({ name }) => name)).toEqual(["thread", "alice", "bob", "thread", "thread"]);
  // Bob's command prints the number of commits in his worktree.
  expect(view.steps[2]?.content.trim()).toBe("2");
  expect(view.steps[3]?.meta).toMatchObject({ merged: ["alice", "bob"], conflicts: [] });
  // A step without changes has the commit that it began with.
  expect(trees[4]?.commit).toBe(trees[3]?.commit as string);
  const asSeen = repository.seen();
  for (const what of ["status --porcelain", "stash list", "branch --all", "head"]) {
    expect([what, asSeen[what]]).toEqual([what, before[what]]);
  }
  // A role's branch points to its last commit.
  expect(repository.git("log", "--format=%s", "-1", trees[1]?.branch ?? "").trim()).toBe("alice");

  texts = { alice: "parse(again)", bob: "print(again)", shared: "" };
  const fork = await host.fork(ref, { keep: { atStep: 2 }, env: envOf(repository) });
  const forked = await ended(fork);
  expect(forked.trees[1]).toEqual(trees[1] as WorktreeMeta);
  const merged = forked.trees[4]?.commit ?? "";
  expect(repository.git("show", `${merged}:src/parser.js`)).toBe("parse()");
  expect(repository.git("show", `${merged}:the printer.js`)).toBe("print()\n");
  const other = await host.fork(ref, { keep: { atStep: 1 }, env: envOf(repository) });
  const redone = await ended(other);
  expect(repository.git("show", `${redone.trees[3]?.commit}:src/parser.js`)).toBe("parse(again)");

  expect((await host.verify()).problems).toEqual([]);
  // The forks keep the commits of their steps after the source thread is removed.
  await host.remove(ref);
  const emptyTrash = () => host.collect({ now: Date.now() + 8 * 86_400_000, trash: true });
  await emptyTrash();
  repository.git("reflog", "expire", "--expire=now", "--all");
  repository.git("gc", "-q", "--prune=now");
  expect(repository.git("cat-file", "-t", forked.trees[1]?.commit ?? "").trim()).toBe("commit");
  expect(existsSync(join(root, "worktrees", ref.threadId))).toBe(false);
  for (const one of [fork, other]) await host.remove(one);
  await emptyTrash();
  expect(repository.seen()).toEqual(before);
  expect(readdirSync(join(root, "worktrees"))).toEqual([]);
}, 120_000);

test("a merge reports its conflicts to the role that resolves them", async () => {
  const repository = newRepository();
  texts = { alice: "parse()", bob: "print()", shared: "alike" };
  const { view, trees } = await play(repository, "team");
  expect(view.steps[3]).toMatchObject({
    content: "merged alice, bob; they conflict in\n- README.md",
    meta: { merged: ["alice", "bob"], conflicts: ["README.md"] },
  });
  const path = join(root, "worktrees", view.threadId, "thread");
  expect(readFileSync(join(path, "README.md"), "utf8")).toMatch(/^<<<<<<< .*\n# Alice alike\n=/);
  expect(repository.git("log", "--merges", "--format=%s", trees[4]?.branch ?? "")).toBe(
    "merger\nmerger\n",
  );
}, 60_000);

test("each member of a parallel group has its own worktree", async () => {
  const repository = newRepository();
  const script = 'code() { echo "part $1" > "part $1"; }';
  const { view, trees } = await play(repository, "group", script);
  expect(view.steps.length).toBe(5);
  expect(
    trees
      .slice(1, 4)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(["coder@0", "coder@1", "coder@2"]);
  expect(repository.files(trees[4]?.commit ?? "")).toEqual([
    ...["PLAN.sh", "README.md", "part 1", "part 2", "part 3"],
  ]);
  for (const [at, name] of ["part 1", "part 2", "part 3"].entries()) {
    const own = trees.find((tree) => tree.name === `coder@${at}`);
    expect(repository.files(own?.commit ?? "")).toEqual(["PLAN.sh", "README.md", name]);
  }
}, 60_000);
