import { copyFileSync, cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack, packStandalone } from "../scripts/pack.ts";

/** Where the command and the bare scripts are, run by Bun and as binaries. */
export type Built = { command: string; standalone: string; baseline: string };

const top = fileURLToPath(new URL("..", import.meta.url));

/**
 * Makes the command as it is published, and the bare scripts by the same bundler with the same
 * settings, in a folder inside this repository: the command finds its Bun above it.
 */
export async function makeCommand(folder: string): Promise<Built> {
  await pack();
  const standalone = join(folder, "uncaged-workflow");
  copyFileSync(await packStandalone(), standalone);
  cpSync(join(top, ".pack/cli-workflow"), join(folder, "command"), { recursive: true });
  const baseline = join(folder, "baseline");
  const { success, logs } = await Bun.build({
    entrypoints: ["parent", "child", "folders"].map((name) =>
      join(top, `bench/baseline/${name}.ts`),
    ),
    outdir: baseline,
    target: "bun",
    format: "esm",
    minify: { whitespace: true, syntax: true },
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
  for (const name of ["parent", "child"]) await compile(join(baseline, name));
  return { command: join(folder, "command/bin/uncaged-workflow"), standalone, baseline };
}

/** Makes a binary of a bare script, as the standalone one is made, beside it. */
async function compile(path: string): Promise<void> {
  const { success, logs } = await Bun.build({
    entrypoints: [`${path}.js`],
    target: "bun",
    format: "esm",
    bytecode: true,
    compile: {
      outfile: path,
      execArgv: ["--no-install"],
      autoloadDotenv: false,
      autoloadBunfig: false,
    },
  });
  if (!success) throw new Error(logs.map(String).join("\n"));
}

/** How the command starts Bun; the bare scripts are started so too. */
export const bunArguments = ["--no-env-file", "--no-install", "--config=/dev/null"];
