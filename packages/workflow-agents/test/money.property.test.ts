import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { totalTokens } from "@uncaged/workflow/interpreter";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { ledgerOf, type Ledger } from "../src/ledger/ledger.ts";
import {
  type Plan,
  plain,
  type Turn,
  usageOf,
  useMortalSystem,
  useRealSystem,
  World,
} from "./money-world.ts";

/*
 * Tests that crashes of workers, idle exits, retries and deletions of the debug log at random moments do not change a
 * thread's spending: its result under a limit, the usage in its steps, and its ledger. The only difference is the usage
 * of interrupted calls, which the ledger counts as lost.
 */
setDefaultTimeout(300_000);
const seeds = isWhole ? 1000 : 80;
beforeAll(useMortalSystem);
afterAll(useRealSystem);

type Random = (below: number) => number;
function randomOf(seed: number): Random {
  let state = seed * 2654435761;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    const mixed = Math.imul(state ^ (state >>> 12), 0x297a2d39);
    return ((mixed ^ (mixed >>> 15)) >>> 0) % below;
  };
}

function planOf(random: Random): Plan {
  let number = 0;
  const turn = (tools: readonly ("work" | "approved" | "nested")[], isLast: boolean): Turn => {
    const [input, output] = [10 + random(500), 1 + random(200)];
    const count = isLast ? 0 : 1 + random(2);
    const calls = Array.from({ length: count }, () => ({
      tool: tools[random(tools.length)] as "work",
      n: (number += 1),
    }));
    const early = random(3) === 0 ? usageOf(input, 1) : null;
    return { ...plain(input, output), calls, early };
  };
  const turns = (tools: readonly ("work" | "approved" | "nested")[]): Turn[] => {
    const count = 1 + random(3);
    return Array.from({ length: count }, (_, nth) => turn(tools, nth === count - 1));
  };
  const names = ["planner", "coder"].slice(0, 1 + random(2));
  return {
    roles: names.map((name) => ({ name, turns: turns(["work", "approved", "nested"]) })),
    nested: turns(["work"]),
  };
}

/** A chain of threads. Each is a retry of the previous thread. */
type Line = { world: World; threads: string[] };

const metaOf = ({ world, threads }: Line) =>
  world.steps(threads.at(-1) as string).map(({ role, content, meta }) => {
    const { usage, cost, model, models } = meta;
    return { role, content, usage, cost, model, models };
  });

function endOf({ world, threads }: Line) {
  const { end } = world.log(threads.at(-1) as string);
  return { content: end?.content, reason: end?.meta.reason };
}

const ledgers = async ({ world, threads }: Line): Promise<Ledger[]> =>
  await Promise.all(threads.map(async (one) => ledgerOf(await world.attempts(one))));

async function undisturbed(plan: Plan, options: Record<string, unknown>): Promise<Line> {
  const world = new World(plan);
  const thread = id(0);
  await world.create(thread, options);
  expect(await world.drive(thread, { exits: () => false })).toBe("ended");
  return { world, threads: [thread] };
}

/** Runs a thread to its end, with random crashes, idle exits, deletions of the debug log and retries. */
async function disturbed(
  plan: Plan,
  options: Record<string, unknown>,
  random: Random,
  { retries }: { retries: boolean },
): Promise<Line & { deaths: number }> {
  const world = new World(plan);
  const threads = [id(0)];
  let [deaths, forks] = [0, 0];
  await world.create(id(0), options);
  for (;;) {
    const thread = threads.at(-1) as string;
    const driving = {
      left: deaths < 6 && random(3) > 0 ? random(60) : Number.POSITIVE_INFINITY,
      exits: () => random(2) === 0,
    };
    const isWaiting = world.steps(thread).at(-1)?.role === "__wait__";
    const state = isWaiting
      ? await world.answer(thread, driving)
      : await world.drive(thread, driving);
    if (state === "died") deaths += 1;
    if (random(2) === 0) rmSync(world.info(thread), { force: true });
    if (state === "ended") return { world, threads, deaths };
    if (retries && forks < 2 && random(4) === 0) {
      forks += 1;
      await world.kill(thread);
      threads.push(id(forks));
      await world.create(id(forks), options, thread);
    }
  }
}

const id = (n: number): string => `01J000000000000000000000${String(n).padStart(2, "0")}`;

/** Expects a seed's result to equal the expected result. */
const expectOf = (seed: number, found: object, expected: object): void =>
  expect({ seed, ...found }).toEqual({ seed, ...expected });

const tokensOf = (all: readonly { tokens: number }[]): number =>
  all.reduce((sum, { tokens }) => sum + tokens, 0);

/** Returns the spending in the error message of an exceeded limit: dollars, or a number of tokens. */
function countedIn(message = ""): string {
  const [, cost, tokens = ""] = /(?:(\$[\d.]+)|([\d,]+) tokens) are spent/.exec(message) ?? [];
  return cost ?? tokens.replaceAll(",", "");
}

async function check(seed: number, plan: Plan, lines: { expected: Line; found: Line }) {
  const { expected, found } = lines;
  const [whole] = (await ledgers(expected)) as [Ledger];
  const all = await ledgers(found);
  const last = all.at(-1) as Ledger;
  const end = endOf(found);
  // The ledger counts no more tokens than the provider reported.
  const reported = tokensOf(
    found.world.served.map((one) => ({ tokens: totalTokens(one.reported) })),
  );
  expectOf(seed, { isMore: tokensOf(all.map(({ total }) => total)) > reported }, { isMore: false });
  if (end.reason === "failed") {
    const { cost, tokens } = last.total;
    const counted = end.content?.includes("maxCost") ? `$${cost.toFixed(4)}` : String(tokens);
    expectOf(seed, { counted: countedIn(end.content) }, { counted });
  }
  // The ledger does not depend on the debug logs.
  for (const thread of found.threads) rmSync(found.world.info(thread), { force: true });
  const sums = (ledger: Ledger) => ({ ...ledger, attempts: [] });
  expectOf(seed, { all: (await ledgers(found)).map(sums) }, { all: all.map(sums) });
  const isRetried = found.threads.length > 1;
  const lost = all.some((one) => one.lost.tokens > 0);
  if (isRetried || (lost && end.reason === "returned")) {
    expectOf(seed, { end, meta: metaOf(found) }, { end: endOf(expected), meta: metaOf(expected) });
  }
  if (!isRetried && lost && end.reason === "returned") {
    const kept = last.total.tokens - last.lost.tokens;
    expectOf(seed, { kept }, { kept: whole.total.tokens });
  }
  if (!isRetried && !lost) {
    const of = (line: Line, { total, roles, models }: Ledger) => ({
      ...{ end: endOf(line), meta: metaOf(line), total, roles, models },
    });
    expectOf(seed, of(found, last), of(expected, whole));
  }
  return { lost, isFailed: end.reason === "failed", isRetried };
}

test("random crashes, idle exits and retries do not change a thread's spending", async () => {
  const seen = { lost: 0, failed: 0, overCost: 0, retried: 0 };
  for (let seed = 1; seed <= seeds; seed += 1) {
    const random = randomOf(seed);
    const plan = planOf(random);
    const retries = random(3) === 0;
    const isLimited = !retries && random(2) === 0;
    const isCost = random(2) === 0;
    const limit = isCost
      ? { maxCost: (12 + random(16)) / 1000 }
      : { maxTokens: 3000 + random(4000) };
    const options: Record<string, unknown> = isLimited ? limit : {};
    const expected = await undisturbed(plan, options);
    const found = await disturbed(plan, options, random, { retries });
    const { lost, isFailed, isRetried } = await check(seed, plan, { expected, found });
    seen.lost += Number(lost);
    seen.failed += Number(isFailed);
    seen.overCost += Number(isFailed && "maxCost" in options);
    seen.retried += Number(isRetried);
    for (const { world } of [expected, found]) world.remove();
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(seeds / 20);
});

type Lines = readonly string[];
const damages: ((lines: Lines, random: Random, other: Lines) => Lines | string | null)[] = [
  () => null,
  (lines, random) => lines.toSpliced(random(lines.length), 1),
  (lines, random) => {
    const at = random(lines.length);
    return lines.toSpliced(at, 0, lines[at] as string);
  },
  (lines, random) => {
    const at = random(lines.length - 1);
    return lines.with(at, lines[at + 1] as string).with(at + 1, lines[at] as string);
  },
  (lines, random, other) => lines.with(random(lines.length), other[random(other.length)] as string),
  (_, __, other) => other,
  (lines, random) => lines.slice(0, random(lines.length)),
  (lines, random) => {
    const whole = `${lines.join("\n")}\n`;
    const at = random(whole.length);
    return whole.slice(0, at) + (whole[at] === "7" ? "8" : "7") + whole.slice(at + 1);
  },
  (lines, random) => {
    const whole = `${lines.join("\n")}\n`;
    return whole.slice(0, random(whole.length));
  },
];

test("a damaged journal causes no repeated request or tool call, and the thread continues only after the journal is restored", async () => {
  let refused = 0;
  const foreign = new World({ roles: [{ name: "planner", turns: [plain(1, 1)] }], nested: [] });
  await foreign.create(id(9), {});
  await foreign.drive(id(9));
  const other = readFileSync(foreign.journal(id(9)), "utf8")
    .trimEnd()
    .split("\n");
  for (let seed = 1; seed <= seeds / 5; seed += 1) {
    const random = randomOf(seed);
    const plan = planOf(random);
    const world = new World(plan);
    await world.create(id(0), {});
    let state = await world.drive(id(0));
    while (state === "waiting") {
      const path = world.journal(id(0));
      const whole = readFileSync(path, "utf8");
      const damaged = damages[random(damages.length)]?.(whole.trimEnd().split("\n"), random, other);
      if (typeof damaged === "string") writeFileSync(path, damaged);
      else if (damaged) writeFileSync(path, damaged.map((line) => `${line}\n`).join(""));
      else rmSync(path);
      const before = { served: world.served.length, done: [...world.done] };
      const answered = await world.answer(id(0)).catch((thrown: unknown) => thrown);
      if (answered instanceof Error) {
        refused += 1;
        const { code, message } = answered as Error & { code?: string };
        const now = { served: world.served.length, done: [...world.done] };
        const found = { code, isNamed: message.startsWith(`${path}:`), ...now };
        expectOf(seed, found, { code: "LOG_CORRUPT", isNamed: true, ...before });
        writeFileSync(path, whole, { mode: 0o600 });
        state = await world.answer(id(0));
      } else state = answered as typeof state;
    }
    const expected = await undisturbed(plan, {});
    const line = { world, threads: [id(0)] };
    expectOf(
      seed,
      { meta: metaOf(line), served: world.served.length },
      { meta: metaOf(expected), served: expected.world.served.length },
    );
    for (const one of [world, expected.world]) one.remove();
  }
  foreign.remove();
  expect(refused).toBeGreaterThan(seeds / 20);
});
