import { parseArgs } from "node:util";
import {
  aloneFiles,
  browserAloneFiles,
  browserParallelFiles,
  builtEnvironment,
  clusterFiles,
  countOf,
  failedTests,
  failuresIn,
  inParallel,
  inTime,
  parallelFiles,
  processFiles,
  top,
} from "./tests.ts";

/*
 * The tests that start processes, ten times over and several files at once: one that depends on an
 * order or a time that nothing guarantees fails here sooner or later. Those that start servers of a
 * cluster, or measure time or memory, run after the others, one by one, as in the gate. A failure
 * ends no round; the last lines name each test that has failed, and in how many of the rounds.
 *
 *     bun run flaky [--times 10] [part of a path…]
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: "string", default: "10" } },
});
const isChosen = (path: string): boolean =>
  positionals.length === 0
    ? processFiles.includes(path)
    : positionals.some((each) => path.includes(each));

/** The runs of a round, one after the other. */
const runs = [
  { options: inParallel, files: [...parallelFiles, ...browserParallelFiles].filter(isChosen) },
  { options: [], files: [...clusterFiles, ...aloneFiles, ...browserAloneFiles].filter(isChosen) },
].filter(({ files }) => files.length > 0);

async function testOutput(args: readonly string[]): Promise<{ code: number; output: string }> {
  const child = Bun.spawn([process.execPath, "test", inTime, ...args], {
    cwd: top,
    env: await builtEnvironment(),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  return { code, output: stdout + stderr };
}

/** In how many rounds each test has failed. */
const rounds = new Map<string, number>();

/** Runs the files once, prints what has failed and how long it took, and gives whether nothing has failed. */
async function runRound(round: number): Promise<boolean> {
  const begin = performance.now();
  const ended: { code: number; output: string }[] = [];
  for (const { options, files } of runs) ended.push(await testOutput([...options, ...files]));
  const seconds = ((performance.now() - begin) / 1000).toFixed(0);
  const output = ended.map((each) => each.output).join("\n");
  const counts = `${countOf(output, "pass")} passed, ${countOf(output, "fail")} failed`;
  console.log(`round ${round}: ${counts}, ${seconds} s`);
  const broken = ended.filter(({ code }) => code !== 0);
  for (const each of broken) console.log(`\n${failuresIn(each.output)}\n`);
  const failed = broken.flatMap((each) => {
    const tests = failedTests(each.output);
    return tests.length > 0 ? tests : ["a run that ended without a failed test"];
  });
  for (const test of new Set(failed)) rounds.set(test, (rounds.get(test) ?? 0) + 1);
  return broken.length === 0;
}

if (runs.length === 0) throw new Error(`no test file has ${positionals.join(" or ")} in its path`);
const times = Number(values.times);
let failed = 0;
for (let round = 1; round <= times; round += 1) {
  if (!(await runRound(round))) failed += 1;
}
console.log(failed === 0 ? "no round failed" : `${failed} of ${times} rounds failed`);
for (const [test, count] of [...rounds].sort(([, a], [, b]) => b - a)) {
  console.log(`${test}: ${count} of ${times}`);
}
process.exitCode = failed === 0 ? 0 : 1;
