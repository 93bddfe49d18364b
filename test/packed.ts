import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { top } from "./source.ts";

/** Installs packages with npm into a folder, with an empty home. */
export function npmInstall(folder: string, home: string, packages: readonly string[]): void {
  mkdirSync(home, { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  const args = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--prefix", folder];
  const env = { ...process.env, HOME: home, npm_config_cache: join(top, ".cache/npm") };
  const { exitCode, stderr } = Bun.spawnSync(["npm", ...args, ...packages], { cwd: folder, env });
  if (exitCode !== 0) throw new Error(stderr.toString());
}
