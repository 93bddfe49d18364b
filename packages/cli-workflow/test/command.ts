import { join } from "node:path";

/*
 * The command line as tests run it: built, from the package whose folder is in `TEST_COMMAND`, where many files are tested;
 * else from its source.
 */
const built = process.env.TEST_COMMAND;
const folder = built ?? join(import.meta.dir, "..");

/** The file that users call. */
export const command = join(folder, "bin/uncaged-workflow");

/** The program as a command line, for shells. */
export const programWords = [
  process.execPath,
  "--no-env-file",
  "--no-install",
  `--config=${join(folder, "bin/bunfig.toml")}`,
  join(folder, built === undefined ? "src/main.ts" : "dist/main.js"),
];
