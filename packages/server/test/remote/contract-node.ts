import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ServingProcess } from "../serving.ts";

/** Builds the program that checks a rule as plain JavaScript for any runtime. Returns its file. */
export async function buildProgram(folder: string): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "contract-program.ts")],
    target: "browser",
    outdir: folder,
    naming: "contract.mjs",
  });
  const [output] = outputs;
  if (!output) throw new Error("the program was not built");
  return output.path;
}

/**
 * Checks a rule in a runtime against a new server process, and calls `during` with the server meanwhile. Returns the
 * runtime's exit code and errors.
 */
export async function checkIn(
  runtime: string,
  program: string,
  rule: string,
  during: (serving: ServingProcess, done: () => boolean) => Promise<void> = async () => {},
): Promise<{ code: number; stderr: string }> {
  const serving = new ServingProcess();
  serving.more = { UNCAGED_OF_CONTRACT: "the server's" };
  serving.place = "/";
  await serving.begin();
  const bundles = join(serving.folder, "bundles");
  mkdirSync(bundles);
  const url = `http://127.0.0.1:${serving.port}`;
  const child = Bun.spawn([runtime, program, url, bundles, rule], {
    cwd: serving.folder,
    env: { TOKEN: serving.token },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const acting = during(serving, () => child.exitCode !== null);
  const [code, stderr] = await Promise.all([child.exited, child.stderr.text()]);
  await acting;
  await serving.remove();
  return { code, stderr };
}
