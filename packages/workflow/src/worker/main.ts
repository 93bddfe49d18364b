/**
 * The worker: the one process that runs all threads of one bundle hash. Its folder is `<root>/run`.
 *
 *     bun worker/main.ts <root> <hash> <idleMs>
 */
import { isWorkflowError, toErrorRecord } from "../contract/error.ts";
import type { Root } from "../storage/paths.ts";
import { keepBuiltIns } from "./built-ins.ts";
import { recordEvents } from "./context.ts";
import { capturePrints, catchCrashes, guardExit, keepAwait } from "./isolate.ts";
import { runWorker } from "./worker.ts";

process.umask(0o077);
const [root, hash, idleText] = process.argv.slice(2) as [Root, string, string];
keepAwait();
keepBuiltIns();
try {
  runWorker({ root, hash, idleMs: Number(idleText) }, (threads) => {
    guardExit();
    capturePrints();
    recordEvents();
    catchCrashes(threads);
  });
} catch (error) {
  // The last line of a worker's log is what the one that started it reports.
  if (!isWorkflowError(error)) console.error(error);
  console.error(JSON.stringify(toErrorRecord(error)));
  process.exit(1);
}
