import { parseArgs } from "node:util";
import { countOf, failuresIn, inParallel, processFiles, top } from "./tests.ts";

/*
 * The tests that start processes, ten times over and several files at once: one that depends on an
 * order or a time that nothing guarantees fails here sooner or later.
 *
 *     bun run flaky [--times 10] [test file…]
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { times: { type: "string", default: "10" } },
});
const files = positionals.length > 0 ? positionals : processFiles;

let failed = 0;
for (let round = 1; round <= Number(values.times); round += 1) {
  const child = Bun.spawn([process.execPath, "test", "--timeout=60000", ...inParallel, ...files], {
    cwd: top,
    env: { ...process.env, NO_COLOR: "1", CI: "1" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  const output = stdout + stderr;
  console.log(
    `round ${round}: ${countOf(output, "pass")} passed, ${countOf(output, "fail")} failed`,
  );
  if (code === 0) continue;
  failed += 1;
  console.log(`\n${failuresIn(output)}\n`);
}
console.log(failed === 0 ? "no round failed" : `${failed} of ${values.times} rounds failed`);
process.exitCode = failed === 0 ? 0 : 1;
