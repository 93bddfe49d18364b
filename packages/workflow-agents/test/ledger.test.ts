import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { removeFolders, Store } from "../../cli-workflow/test/program.ts";
import type { Ledger } from "../src/ledger/ledger.ts";

const store = new Store();
afterAll(removeFolders);

beforeAll(async () => {
  await store.ok(["add", "spend", join(import.meta.dir, "spend/spend.ts")]);
});

type Started = { threadId: string; status: string; result: { summary: string } };

/** Runs a command that waits for a thread, and returns its output. The thread may fail. */
async function ended(...args: string[]): Promise<Started> {
  const { stdout, stderr } = await store.run([...args, "--wait", "--json"]);
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as Started;
}

const run = (...args: string[]) => ended("run", "spend", ...args);
const ledgerOf = (id: string) => store.json<Ledger>(["thread", id, "--ledger"]);

test("the command thread shows the spending of each role and the total", async () => {
  const { threadId, status } = await run();
  expect(status).toBe("completed");
  const ledger = await ledgerOf(threadId);
  expect(ledger.total).toMatchObject({ tokens: 3300, cost: 0.009, unpriced: 0 });
  expect(ledger.roles.coder).toMatchObject({ tokens: 2200, cost: 0.006 });
  const text = await store.ok(["thread", threadId]);
  expect(text).toContain("spent     3,300 tokens, $0.0090\n");
  expect(text).toContain("planner  1,000       0     100         0  $0.0030\n");
  expect(text).toContain("all      3,000       0     300         0  $0.0090");
});

test("--max-cost stops a thread before the call that could exceed it, and retry continues", async () => {
  const { threadId, status, result } = await run("--max-cost", "0.02");
  expect(status).toBe("failed");
  expect(result.summary).toContain("maxCost $0.0200 would be exceeded: $0.0060 are spent");
  const text = await store.ok(["thread", threadId]);
  expect(text).toContain("error     BUDGET_EXCEEDED\n");
  expect(text).toContain(`retry ${threadId} --max-cost N`);
  const { stdout, stderr } = await store.run(["follow", threadId]);
  expect(stdout).toContain("failed in coder (return code 1): maxCost $0.0200 would be exceeded");
  expect(stderr).toContain(
    `2,200 tokens, $0.0060\ncontinue with a higher limit: uncaged-workflow retry`,
  );

  const again = await ended("retry", threadId, "--max-cost", "1");
  expect(again.status).toBe("completed");
  const { total, saved, attempts } = await ledgerOf(again.threadId);
  expect(total).toMatchObject({ tokens: 1100, cost: 0.003 });
  expect(saved).toMatchObject({ tokens: 2200, cost: 0.006 });
  expect(attempts.map(({ kind }) => kind)).toEqual(["saved", "saved", "own"]);
  expect(await store.ok(["thread", again.threadId])).toContain("saved by the fork");
});

test("--max-tokens limits the tokens of a thread, and fork accepts it too", async () => {
  const { threadId, status } = await run("--max-tokens", "3000");
  expect(status).toBe("failed");
  const fork = await ended("fork", threadId, "--at-step", "0", "--max-tokens", "10000");
  expect(fork.status).toBe("completed");
});

test("an invalid limit is refused before anything starts", async () => {
  for (const [option, value] of [
    ["--max-cost", "0"],
    ["--max-cost", "-1"],
    ["--max-cost", "1e3"],
    ["--max-cost", "."],
    ["--max-cost", ""],
    ["--max-tokens", "0"],
    ["--max-tokens", "2.5"],
  ]) {
    const { code, stderr } = await store.run(["run", "spend", `${option}=${value}`]);
    expect([code, stderr.split("\n")[0]]).toEqual([
      2,
      expect.stringContaining(`${option} can't be`),
    ]);
  }
});

test("an unreadable answer is kept whole, and its cost counts", async () => {
  const { threadId, result } = await run("--params", '{"prose":true}');
  expect(result.summary).toContain("the agent's answer does not fit the role's schema");
  const text = await store.ok(["thread", threadId]);
  expect(text).toContain("error     EXTRACTION_FAILED\n");
  expect(text).toContain("reply     I paid\n          something.\n");
  const { total, attempts } = await ledgerOf(threadId);
  // The agent is called again twice because of the invalid answer.
  expect(total).toMatchObject({ tokens: 3300, cost: 0.009 });
  expect(attempts).toMatchObject([{ step: null, role: "planner", kind: "lost" }]);
  const events = await store.ok(["logs", threadId]);
  expect(events).toContain("step_error");
});

test("follow shows the spending of each step, as plain lines in a pipe", async () => {
  const { threadId } = await run();
  const lines = (await store.ok(["follow", threadId])).split("\n");
  expect(lines[0]).toMatch(
    /^ {2}1 {2}planner {5} +[\d.]+s {2}1,100 tokens, \$0\.0030 {2}\{"paid": true\}$/,
  );
  expect(lines).toHaveLength(4);
});
