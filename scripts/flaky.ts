import { parseArgs } from "node:util";
import {
  aloneFiles,
  browserAloneFiles,
  browserParallelFiles,
  builtEnvironment,
  countOf,
  failuresIn,
  inParallel,
  inTime,
  parallelFiles,
  processFiles,
  top,
} from "./tests.ts";

/*
 * The tests that start processes, ten times over and several files at once: one that depends on an
 * order or a time that nothing guarantees fails here sooner or later. Those that measure time or memory
 * run after the others, one by one, as in the gate: beside others they would measure those.
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
  { options: [], files: [...aloneFiles, ...browserAloneFiles].filter(isChosen) },
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

/** Runs the files once, prints what has failed, and gives whether nothing has. */
async function runRound(round: number): Promise<boolean> {
  const ended: { code: number; output: string }[] = [];
  for (const { options, files } of runs) ended.push(await testOutput([...options, ...files]));
  const output = ended.map((each) => each.output).join("\n");
  console.log(
    `round ${round}: ${countOf(output, "pass")} passed, ${countOf(output, "fail")} failed`,
  );
  const broken = ended.filter(({ code }) => code !== 0);
  for (const each of broken) console.log(`\n${failuresIn(each.output)}\n`);
  return broken.length === 0;
}

if (runs.length === 0) throw new Error(`no test file has ${positionals.join(" or ")} in its path`);
let failed = 0;
for (let round = 1; round <= Number(values.times); round += 1) {
  if (!(await runRound(round))) failed += 1;
}
console.log(failed === 0 ? "no round failed" : `${failed} of ${values.times} rounds failed`);
process.exitCode = failed === 0 ? 0 : 1;
