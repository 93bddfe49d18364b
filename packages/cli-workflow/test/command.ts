import { join } from "node:path";

/*
 * The command that tests run: the built package whose folder is in `TEST_COMMAND` (set for runs of many test files),
 * else the source.
 */
const built = process.env.TEST_COMMAND;
const folder = built ?? join(import.meta.dir, "..");

/** The file that users run. */
export const command = join(folder, "bin/uncaged-workflow");

/** The program as a command line for shells. */
export const programWords = [
  process.execPath,
  "--no-env-file",
  "--no-install",
  `--config=${join(folder, "bin/bunfig.toml")}`,
  join(folder, built === undefined ? "src/main.ts" : "dist/main.js"),
];
