import { afterAll, expect, test } from "bun:test";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRoleModerator, durable, END, type Role, waitFor } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { roleSteps, worktree } from "../src/entry/index.ts";
import { TestRepository } from "./worktree/repository.ts";

/* Tests roles in a worktree that ask or are retried, and options that are refused. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-worktree-roles-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const next = (name: string) => join(folder, `${name}-${(count += 1)}`);
const repositoryOf = () => new TestRepository(next("repository"));

test("a fork from a role's question begins with the role's files", async () => {
  const repository = repositoryOf();
  const asker: Role<Record<string, unknown>> = async ({ cwd, steps }) => {
    if (steps.length > 0) return { content: readFileSync(join(cwd, "draft"), "utf8"), meta: {} };
    writeFileSync(join(cwd, "draft"), "drafted");
    return waitFor("approval", { content: "Good?" });
  };
  const tree = worktree();
  const run = createRoleModerator({
    roles: { asker: tree(asker) },
    moderator: ({ steps }) => (steps.length < 2 ? "asker" : END),
  });
  const worktrees = join(next("root"), "worktrees", "thread");
  const given = { cwd: repository.folder, env: repository.env, options: { worktrees } };
  const asked = await runThread(run, given);
  expect([asked.status, asked.steps[0]?.role]).toEqual(["waiting", "__wait__"]);
  const answer = { role: "__input__", content: "yes", meta: { for: "approval" } };
  const elsewhere = { worktrees: join(next("root"), "worktrees", "fork") };
  const steps = [...asked.steps, answer];
  const forked = await runThread(run, { ...given, options: elsewhere, steps });
  expect(forked.steps.at(-1)?.content).toBe("drafted");
});

test('a role with its own field "worktree" and an invalid name are refused at definition', () => {
  const schema = { type: "object", properties: { worktree: { type: "string" } } };
  const role = Object.assign(async () => ({ content: "", meta: {} }), {
    descriptor: { description: "", schema },
  });
  expect(() => worktree()(role)).toThrow("has the field worktree, which records its commit");
  expect(() => worktree({ name: "../x" })).toThrow('invalid name of a worktree: "../x"');
});

test("a timed-out try ends before the next try, which begins without its files", async () => {
  const repository = repositoryOf();
  let tries = 0;
  const slow: Role<Record<string, unknown>> = async ({ cwd, signal }) => {
    const number = (tries += 1);
    const found = existsSync(join(cwd, "half"));
    if (number === 1 && signal && !signal.aborted) await once(signal, "abort");
    writeFileSync(join(cwd, "half"), `${number}`);
    return { content: `${number} ${found}`, meta: {} };
  };
  const tree = worktree();
  const run = durable(async function* (step, input, options) {
    const playing = roleSteps(step, input, options);
    const retry = { attempts: 2, backoff: 1 };
    return (yield* playing("slow", tree(slow), "", { timeout: 4000, retry })).content;
  });
  const worktrees = join(next("root"), "worktrees", "thread");
  const given = { cwd: repository.folder, env: repository.env, options: { worktrees } };
  const { steps } = await runThread(run, given);
  expect(steps.at(-1)?.content).toBe("2 false");
});
