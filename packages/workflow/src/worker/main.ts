/**
 * The worker: the single process that runs all threads of one bundle hash, in the folder `<root>/run`.
 *
 *     bun worker/main.ts <root> <hash> <idleMs>
 */
import { isWorkflowError, toErrorRecord } from "../contract/error.ts";
import type { Root } from "../disk/paths.ts";
import { markVariable } from "../system/worker-env.ts";
import { recordEvents } from "./context.ts";
import { isolate } from "./isolate.ts";
import { runWorker } from "./worker.ts";

process.umask(0o077);
const [root, hash, idleMs] = process.argv.slice(2) as [Root, string, string];
try {
  const mark = process.env[markVariable] ?? "";
  runWorker({ root, hash, idleMs: Number(idleMs), mark }, (threads) => {
    isolate(threads);
    recordEvents();
  });
} catch (error) {
  // Clients read the last line of this log when the worker exits before it responds.
  if (!isWorkflowError(error)) console.error(error);
  console.error(JSON.stringify(toErrorRecord(error)));
  process.exit(1);
}
