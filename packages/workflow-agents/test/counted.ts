import { expect } from "bun:test";
import { addUsage, noUsage } from "@uncaged/workflow/interpreter";
import { type Attempt, roundedCost } from "@uncaged/workflow/records";
import type { Usage } from "@uncaged/workflow";
import type { Host, ThreadRef } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import { addTally, type Ledger, ledgerOf, noTally, type Tally } from "../src/ledger/ledger.ts";
import { costOf } from "../src/ledger/prices.ts";
import type { Came, Counted } from "./wire.ts";

type Requests = readonly Pick<
  Came<{ model: string }>,
  "body" | "counted" | "reported" | "finished"
>[];
/** The requests that a server received. `cost` is the cost of each answer if the server's models have no price. */
type Served = { came: Requests; cost?: number };

/** Spending by model: the tokens of each kind, and the cost in dollars. */
type Paid = Record<string, { usage: Usage; cost: number }>;
/** Spending, and the number of calls that failed before their usage was complete. */
type Account = { models: Paid; unknown: number };

const usageOf = ({ input, output, thinking, cacheRead, cacheWrite }: Counted): Usage => ({
  input_tokens: input,
  output_tokens: output,
  thinking_tokens: thinking,
  cache_read_tokens: cacheRead,
  cache_write_tokens: cacheWrite,
});

/** Returns the usage that servers counted and reported in events. */
function countedBy(servers: readonly Served[]): Account {
  const models: Paid = {};
  let unknown = 0;
  const all = servers.flatMap(({ came, cost }) => came.map((one) => ({ ...one, each: cost })));
  for (const { body, counted, reported, finished, each } of all) {
    // A declined request has an answer but no usage.
    const isDeclined = counted.requests === 0 && finished;
    if (!isDeclined && (counted.requests === 0 || counted.output !== reported.output)) unknown += 1;
    const usage = usageOf(reported);
    if (Bun.deepEquals(usage, noUsage)) continue;
    const known = models[body.model] ?? { usage: noUsage, cost: 0 };
    const cost = roundedCost(known.cost + (each ?? costOf(body.model, usage) ?? Number.NaN));
    models[body.model] = { usage: addUsage(known.usage, usage), cost };
  }
  return { models, unknown };
}

function accountOf(ledgers: readonly Ledger[]): Account {
  const models: Record<string, Tally> = {};
  for (const [model, tally] of ledgers.flatMap((one) => Object.entries(one.models))) {
    models[model] = addTally(models[model] ?? noTally, tally);
  }
  const paid = Object.entries(models)
    .filter(([, { tokens }]) => tokens > 0)
    .map(([model, { usage, cost }]) => [model, { usage, cost }]);
  const unknown = ledgers.reduce((sum, one) => sum + one.unknown, 0);
  return { models: Object.fromEntries(paid) as Paid, unknown };
}

/**
 * Expects the ledgers of all threads that called servers to equal the servers' counts: the tokens of each kind and
 * their cost by model, and the number of broken calls. Before a worker is killed during an answer, call {@link
 * untilRead}. A worker records a call before it sends the request, so after a kill the ledger may have up to
 * `mostUnknown` broken calls that no server received.
 */
export async function expectCounted(
  host: Host,
  threads: readonly ThreadRef[],
  servers: readonly Served[],
  mostUnknown?: number,
): Promise<void> {
  const attempts = await Promise.all(threads.map((ref) => host.attempts(ref)));
  const ledger = accountOf(attempts.map((all) => ledgerOf(all)));
  const server = countedBy(servers);
  expect(Object.keys(server.models).length).toBeGreaterThan(0);
  const unknown = Math.max(server.unknown, Math.min(ledger.unknown, mostUnknown ?? 0));
  expect(ledger).toEqual({ ...server, unknown });
}

/**
 * Waits until the threads' logs have all usage that servers reported, including the usage of unfinished answers. The
 * end of an answer may still be unread.
 */
export async function untilRead(
  host: Host,
  threads: readonly ThreadRef[],
  servers: readonly Served[],
): Promise<void> {
  // Counts a running attempt as lost, so that the ledger includes its usage.
  const over = (one: Attempt): Attempt =>
    one.status === "running" ? { ...one, status: "lost" } : one;
  const spent = async () => {
    const attempts = await Promise.all(threads.map((ref) => host.attempts(ref)));
    return accountOf(attempts.map((all) => ledgerOf(all.map(over)))).models;
  };
  await until(
    async () => Bun.deepEquals(await spent(), countedBy(servers).models),
    () => "the reported usage is not in the log",
  );
}
