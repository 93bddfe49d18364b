import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Attempt, isWorkflowError } from "@uncaged/workflow";
import { openLocalHost, settled, type ThreadRef } from "@uncaged/workflow/host";
import { ledgerOf } from "../src/ledger/ledger.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { expectCounted, untilRead } from "./counted.ts";
import { openaiServer } from "./openai-server.ts";
import { openRoot } from "../../workflow/src/storage/root.ts";
import { signalWorkers } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { type Reply, tokensOf, type WireServer } from "./wire.ts";

/* Twenty agents of one role at once: each attempt has its own text, tokens, cost, duration and session. */
const folder = mkdtempSync(join(tmpdir(), "uncaged-crowd-"));
const host = openLocalHost({ path: join(folder, "root") });
const cwd = join(import.meta.dir, "crowd");
const idleBefore = process.env.UNCAGED_WORKFLOW_IDLE_MS;

const textOf = (number: number): string => `part ${number}: ${"word ".repeat(number + 5)}`;
const numbers = Array.from({ length: 20 }, (_, number) => number);

let tokenMs = 0;
let held: Promise<unknown> | undefined;
const reply = (body: unknown): Reply => {
  const [, number] = /Part (\d+)/.exec(JSON.stringify(body)) ?? [];
  return { text: textOf(Number(number)), tokenMs, held, heldAfter: 8 };
};
let servers: WireServer<{ model: string }>[] = [];

/** What the commands have begun and spent, as if they had asked a server. */
const spentFile = join(folder, "spent");
const commands = {
  cost: 0.5,
  get came() {
    if (!existsSync(spentFile)) return [];
    const lines = readFileSync(spentFile, "utf8").trim().split("\n");
    const outputs = lines.flatMap((line) => (JSON.parse(line) as { spent?: number }).spent ?? []);
    const broken = Array.from({ length: lines.length - 2 * outputs.length }, () => null);
    return [...outputs, ...broken].map((output) => {
      const rest = { requests: 1, input: 0, thinking: 0, cacheRead: 0, cacheWrite: 0 };
      const [counted, reported] = [
        { ...rest, output: output ?? 1 },
        { ...rest, output: output ?? 0 },
      ];
      return { body: { model: "house" }, counted, reported, finished: output !== null };
    });
  },
};

/** Forgets what was counted before. */
function countAnew(): void {
  for (const { came } of servers) came.splice(0);
  rmSync(spentFile, { force: true });
}

beforeAll(async () => {
  process.env.UNCAGED_WORKFLOW_IDLE_MS = "500";
  servers = [await anthropicServer(reply), await openaiServer(reply)];
  await host.register("crowd", join(cwd, "crowd.ts"));
}, 180_000);

afterAll(async () => {
  if (idleBefore === undefined) delete process.env.UNCAGED_WORKFLOW_IDLE_MS;
  else process.env.UNCAGED_WORKFLOW_IDLE_MS = idleBefore;
  for (const server of servers) await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
});

function environment(ms: number): Record<string, string> {
  tokenMs = ms;
  const [anthropic, openai] = servers;
  return {
    PATH: process.env.PATH ?? "",
    ANTHROPIC_API_KEY: anthropic?.key ?? "",
    ANTHROPIC_BASE_URL: anthropic?.url ?? "",
    OPENAI_API_KEY: openai?.key ?? "",
    OPENAI_BASE_URL: openai?.url ?? "",
    CROWD_MS: String(ms),
    CROWD_SPENT: spentFile,
  };
}

async function start(
  by: string,
  ms: number,
  more: Record<string, unknown> = {},
): Promise<ThreadRef> {
  const options = { by, ...more };
  const env = environment(ms);
  return await host.start({ workflow: "crowd", prompt: "Write.", options, env, cwd });
}

const said = ({ turns }: Attempt): string =>
  turns.map((turn) => (turn.kind === "tool" ? "" : turn.text)).join("");

/** The attempts in which something was written, by the number of their part. */
function byPart(attempts: readonly Attempt[]): Map<number, Attempt[]> {
  const parts = new Map<number, Attempt[]>();
  for (const attempt of attempts) {
    const [, number] = /^part (\d+):/.exec(said(attempt)) ?? [];
    if (number === undefined) continue;
    parts.set(Number(number), [...(parts.get(Number(number)) ?? []), attempt]);
  }
  return parts;
}

const models = ["claude-opus-5-5", "gpt-5.2", "house"];
/** The servers count one more for the end of an answer. */
const outputOf = (number: number): number => tokensOf(textOf(number)) + (number % 3 === 2 ? 0 : 1);

/** One whole attempt for each part, with nothing of another one's. */
function expectWhole(attempts: readonly Attempt[], ms: number): void {
  const lost = new Set(
    attempts.flatMap(({ status, attempt }) => (status === "lost" ? attempt : [])),
  );
  // What a lost role's parts had finished was done again.
  const ended = attempts.filter(
    ({ status, parent }) => status === "committed" && !lost.has(parent ?? ""),
  );
  const parts = byPart(ended);
  expect([...parts.keys()].sort((a, b) => a - b)).toEqual(numbers);
  for (const [number, [attempt, ...others]] of parts) {
    expect(others).toEqual([]);
    if (!attempt) throw new Error(`there is no part ${number}`);
    expect(said(attempt)).toBe(textOf(number));
    const output = outputOf(number);
    expect([attempt.usage?.output_tokens, attempt.model]).toEqual([output, models[number % 3]]);
    expect(attempt.cost).toBeGreaterThan(0);
    const { startedAt, endedAt } = attempt;
    expect((endedAt ?? 0) - (startedAt ?? 0)).toBeGreaterThanOrEqual((output - 3) * ms);
    // One that was killed goes on in the session that it had begun.
    const session_id = expect.stringMatching(new RegExp(`^session-${number}\\+?$`));
    expect(attempt.session).toEqual(number % 3 === 2 ? { agent: "node", session_id } : null);
  }
}

describe.each(["all", "team", "bare"])("twenty agents by %s", (by) => {
  test("are kept apart while they run, when killed, when resumed, at the end and in a fork", async () => {
    countAnew();
    const end = Promise.withResolvers<void>();
    held = end.promise;
    const ref = await start(by, 1000);
    let live: readonly Attempt[] = [];
    await until(async () => {
      live = await host.attempts(ref);
      return byPart(live).size === numbers.length;
    });
    for (const [number, [attempt]] of byPart(live)) {
      expect(textOf(number)).toStartWith(attempt ? said(attempt) : "nothing");
    }
    await untilRead(host, [ref], [...servers, commands]);
    await signalWorkers(openRoot({ path: join(folder, "root") }), "SIGKILL");
    held = undefined;
    end.resolve();
    expect((await settled(host, ref)).status).toBe("interrupted");
    const broken = (await host.attempts(ref)).filter(({ status }) => status === "lost");
    expect(broken.length).toBeGreaterThan(5);
    for (const [number, attempts] of byPart(broken)) {
      for (const attempt of attempts) expect(textOf(number)).toStartWith(said(attempt));
    }

    // The worker's socket may still take a connection while the system ends the process.
    const isLost = (error: unknown) => isWorkflowError(error) && error.code === "WORKER_LOST";
    const resume = () => host.control(ref, { kind: "resume", env: environment(2) });
    await resume().catch((error: unknown) => (isLost(error) ? resume() : Promise.reject(error)));
    expect((await settled(host, ref)).status).toBe("completed");
    const ended = await host.attempts(ref);
    expectWhole(ended, 2);
    expect(ended.filter(({ status }) => status === "lost")).toHaveLength(broken.length);
    await expectCounted(host, [ref], [...servers, commands]);
    const ledger = ledgerOf(ended);
    const output = numbers.reduce((sum, number) => sum + outputOf(number), 0);
    expect(ledger.total.usage.output_tokens - ledger.lost.usage.output_tokens).toBe(output);

    const { steps } = await host.read(ref);
    const fork = await host.fork(ref, { keep: { atStep: steps.length }, env: environment(2) });
    await settled(host, fork);
    const saved = await host.attempts(fork);
    expectWhole(saved, 2);
    expect(ledgerOf(saved).saved.usage.output_tokens).toBe(output);
    expect(ledgerOf(saved).total.tokens).toBe(0);
    await expectCounted(host, [ref, fork], [...servers, commands]);
  }, 180_000);
});

test("twenty steps of one role, one after the other, each have their own attempt", async () => {
  const ref = await start("rounds", 0);
  expect((await settled(host, ref)).status).toBe("completed");
  const attempts = await host.attempts(ref);
  expect(attempts.map(({ step }) => step)).toEqual(numbers.map((number) => number + 1));
  expect(attempts.map(said)).toEqual(numbers.map(textOf));
}, 180_000);

test("each of twenty resumes its own session in the next round", async () => {
  const ref = await start("all", 0, { rounds: 2 });
  expect((await settled(host, ref)).status).toBe("completed");
  const second = (await host.attempts(ref)).filter(({ step }) => (step ?? 0) > numbers.length);
  const sessions = [...byPart(second)].flatMap(([number, [attempt]]) => {
    return attempt?.session ? [[number, attempt.session.session_id]] : [];
  });
  const byCommand = numbers.filter((number) => number % 3 === 2);
  expect(sessions.sort(([a], [b]) => Number(a) - Number(b))).toEqual(
    byCommand.map((number) => [number, `session-${number}+`]),
  );
}, 180_000);
