import { channel } from "node:diagnostics_channel";
import { afterAll, mock } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// A test that forgets to name a storage root writes here, and never to the user's home. Temporary files are here too,
// and are removed with it.
const scratch = mkdtempSync(join(tmpdir(), "test-"));
process.env.TMPDIR = scratch;
process.env.UNCAGED_WORKFLOW_STORAGE_ROOT = join(scratch, "root");
process.env.HOME = join(scratch, "home");
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

// Bun recreates a diagnostics channel that is no longer referenced, and forgets its subscribers. With many test files
// in one process, this keeps the shared channel from the start.
Object.assign(globalThis, { heldChannel: channel("uncaged.workflow") });

// A local host in a test's process starts the programs that the gate has built, which is faster, like the command.
const built = process.env.TEST_COMMAND;
if (built !== undefined) {
  const programs = await import("../packages/workflow/src/system/programs.ts");
  const fileOf = (program: Parameters<typeof programs.fileOf>[0]): string =>
    join(built, "dist", `${program}.js`);
  const commandOf: typeof programs.commandOf = (program, args) => [
    process.execPath,
    ...programs.bunFlags,
    fileOf(program),
    ...args,
  ];
  await mock.module(join(import.meta.dir, "../packages/workflow/src/system/programs.ts"), () => ({
    ...programs,
    commandOf,
    fileOf,
  }));
}
