/**
 * The crash test: kills and freezes commands, a server and workers from outside, at random moments, while observers
 * follow. Then it brings every thread to its end, and `audit.ts` checks the result.
 *
 *     bun run crashtest --minutes 1 --seed 1
 *
 * The seed determines the drawn values; the order of the draws and the moment of a signal depend on the machine. Exits
 * 1 when a shown or acknowledged record is lost or duplicated, a command reports an unexpected error, a thread does not
 * end, or a process remains.
 *
 *     bun run crashtest --cluster --faults 100 --nodes 3 --seed 1
 *
 * does the same to a cluster on this machine, with three workers, and
 *
 *     bun run crashtest --database --faults 100 --seed 1
 *
 * to a PostgreSQL server with a replica.
 */
import { rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { audit } from "../audit.ts";
import { Product } from "./product.ts";
import { attempt, isOpen, names, Usage, User } from "./user.ts";
import { kinds as databaseKinds } from "../../packages/workflow-postgres/test/faults/acts.ts";
import { crashDatabase } from "../../packages/workflow-postgres/test/faults/run.ts";
import { kinds } from "../../packages/workflow-restate/test/faults/faults.ts";
import { crashCluster } from "../../packages/workflow-restate/test/faults/run.ts";

const usageText = `usage: bun run crashtest [--minutes N] [--seed S] [--keep]
       bun run crashtest --cluster [--faults N] [--nodes 1|3] [--kinds KIND,…] [--seed S]
       bun run crashtest --database [--faults N] [--kinds KIND,…] [--seed S]
`;

function optionsOf(argv: string[]) {
  try {
    return parseArgs({
      args: argv,
      options: {
        minutes: { type: "string", default: "1" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        keep: { type: "boolean", default: false },
        cluster: { type: "boolean", default: false },
        database: { type: "boolean", default: false },
        faults: { type: "string", default: "30" },
        nodes: { type: "string", default: "1" },
        kinds: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    return misused(`${(error as Error).message}\n`);
  }
}

function misused(why = ""): never {
  process.stderr.write(`${why}${usageText}`);
  process.exit(2);
}

const values = optionsOf(process.argv.slice(2));
if (values.help) {
  process.stdout.write(usageText);
  process.exit(0);
}
const seed = Number(values.seed);
const lastsMs = Number(values.minutes) * 60_000;
const faults = Number(values.faults);
const nodes = values.nodes === "3" ? 3 : 1;
if (!Number.isInteger(seed) || !(lastsMs > 0) || !(faults > 0)) misused();
const isChosen = (kind: string) => values.kinds?.split(",").includes(kind) ?? true;
if (values.cluster) {
  process.exit(await crashCluster({ faults, nodes, seed, kinds: kinds.filter(isChosen) }));
}
if (values.database) {
  process.exit(await crashDatabase({ faults, seed, kinds: databaseKinds.filter(isChosen) }));
}

const product = new Product(seed);
const begin = performance.now();
const usage = new Usage(product);
const { violations, unexpected, refusals, verbs } = usage;

async function loop(once: () => Promise<void>, pauseMs: number): Promise<void> {
  while (performance.now() - begin < lastsMs) {
    await once();
    await Bun.sleep(Math.random() * pauseMs);
  }
}

/** Kills every worker again, and brings every thread to its end. Every later command must succeed. */
async function finish(): Promise<void> {
  product.isHarsh = false;
  let open = (await usage.threads()).filter(isOpen);
  const killed = product.workers();
  for (const { pid } of killed) attempt(() => process.kill(pid, "SIGKILL"));
  const endsAt = performance.now() + 120_000;
  for (let round = 1; open.length > 0 && performance.now() < endsAt; round += 1) {
    for (const { threadId, status } of open) {
      // In the first round no worker runs: a resume right after a kill must work.
      if ((status === "running" && round > 1) || status === "corrupt") continue;
      const input = status === "waiting" ? ["--input", "go"] : [];
      const { code, text } = await product.command("resume", threadId, ...input);
      // The thread may have changed since the list was made.
      if (code === null || /^(ALREADY_RUNNING|THREAD_ENDED|NOT_WAITING|WAITING)$/.test(code))
        continue;
      violations.push(
        `resume of ${threadId} failed, although it was ${status} without faults: ${text}`,
      );
    }
    await Bun.sleep(20);
    open = (await usage.threads()).filter(isOpen);
  }
  for (const { threadId, status } of open) violations.push(`${threadId} does not end: ${status}`);
  const { value, text } = await product.command("verify");
  if (!value || value.ok === false) violations.push(`verify: ${text}`);
  await product.stopServer();
  for (const late = performance.now() + 15_000; performance.now() < late; await Bun.sleep(50)) {
    if (product.processes().length === 0) return;
  }
  violations.push(`processes still run: ${product.processes().join(" ")}`);
}

function report(): number {
  const found = audit(product.root, product.notes);
  const { kills, freezes, commands, requests } = product.counts;
  const counted = (map: Map<string, number>) =>
    [...map].sort(([, a], [, b]) => b - a).map(([what, times]) => `${what} ${times}`);
  const rows: [string, string | number][] = [
    ["kills, freezes", `${kills}, ${freezes}`],
    ["commands, requests", `${commands}, ${requests}`],
    ["of which", counted(verbs).join(", ")],
    ["refused", counted(refusals).join(", ")],
    ["threads", found.threads],
    ["steps", found.steps],
    ["acknowledged, shown", `${found.acknowledged}, ${found.shown}`],
    ["lost", found.lost.length],
    ["doubled", found.doubled.length],
    ["broken", found.broken.length + violations.length + unexpected.size],
    ["torn tails cut", found.torn],
    ["duration", `${Math.round((performance.now() - begin) / 1000)} s`],
    ["seed", seed],
  ];
  for (const [what, value] of rows) console.log(`${what.padEnd(20)} ${value}`);
  const findings = [...found.lost, ...found.doubled, ...found.broken, ...violations];
  for (const [text, times] of unexpected) findings.push(`${times} times ${text}`);
  for (const finding of findings) console.log(`! ${finding}`);
  return findings.length === 0 ? 0 : 1;
}

/** Ends the remaining processes, frozen or not. */
function endAll(): void {
  for (const pid of product.processes()) attempt(() => process.kill(Number(pid), "SIGKILL"));
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    endAll();
    process.exit(130);
  });
}
product.isHarsh = false;
for (const name of [...names, ...names]) await usage.addVersion(name);
product.isHarsh = true;
const serving = product.serve();
const users = Array.from(
  { length: 9 },
  (_, number) => new User(product, usage, seed * 31 + number),
);
await Promise.all(
  users.map((user, number) => {
    if (number === 0) return loop(() => user.strike(), 150);
    return number < 6 ? loop(() => user.act(), 30) : loop(() => user.observe(), 100);
  }),
);
await finish();
await serving;
const code = report();
endAll();
if (values.keep || code !== 0) console.log(`kept in ${product.folder}`);
else rmSync(product.folder, { recursive: true, force: true });
process.exit(code);
