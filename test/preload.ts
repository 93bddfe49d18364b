import { channel } from "node:diagnostics_channel";
import { afterAll, mock } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Redirect the default storage root, the home and temporary files to a scratch folder, to protect the user's home.
const scratch = mkdtempSync(join(tmpdir(), "test-"));
// Some tests run a process as another user, which needs access to its folder inside this folder.
chmodSync(scratch, 0o711);
process.env.TMPDIR = scratch;
process.env.UNCAGED_WORKFLOW_STORAGE_ROOT = join(scratch, "root");
process.env.HOME = join(scratch, "home");
afterAll(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

// Bun recreates a diagnostics channel without references and loses its subscribers. This reference keeps the shared
// channel for all test files of a process.
Object.assign(globalThis, { heldChannel: channel("uncaged.workflow") });

// A local host in a test's process starts the built programs, because they start faster than the sources.
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
