import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pack } from "../scripts/pack.ts";

/** Where the command and the bare scripts are. */
export type Built = { command: string; baseline: string };

const top = fileURLToPath(new URL("..", import.meta.url));

/**
 * Makes the command as it is published, and the bare scripts by the same bundler with the same
 * settings, in a folder inside this repository: the command finds its Bun above it.
 */
export async function makeCommand(folder: string): Promise<Built> {
  await pack();
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
  return { command: join(folder, "command/bin/uncaged-workflow"), baseline };
}

/** How the command starts Bun; the bare scripts are started so too. */
export const bunArguments = ["--no-env-file", "--no-install", "--config=/dev/null"];
