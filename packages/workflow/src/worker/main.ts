/**
 * The worker: the one process that runs all threads of one bundle hash. Its folder is `<root>/run`.
 *
 *     bun worker/main.ts <root> <hash> <idleMs>
 *
 * Without arguments it was prewarmed: it reads them from stdin, with its first request, and responds on stdout.
 */
import { isWorkflowError, toErrorRecord } from "../contract/error.ts";
import { O_APPEND, O_WRONLY } from "../system/port.ts";
import { readOrder, redirectPrints } from "../system/order.ts";
import { compileAsUsual, compileLate, markVariable } from "../system/prewarm.ts";
import { openOwnFile } from "../storage/files.ts";
import { type Root, runDir, workerLogPath } from "../storage/paths.ts";
import { recordEvents } from "./context.ts";
import { capturePrints, catchCrashes, guardExit } from "./isolate.ts";
import { type FirstRequest, runWorker } from "./worker.ts";

compileLate();
process.umask(0o077);
const order = process.argv.length > 2 ? null : (readOrder() ?? process.exit(0));
const [root, hash, idleText] = (order?.args ?? process.argv.slice(2)) as [Root, string, string];
try {
  if (order) process.chdir(runDir(root));
  const mark = process.env[markVariable] ?? "";
  const first: FirstRequest | null = order && {
    request: order.request,
    identity: order.identity,
    made: order.made,
    log: order.log,
    respond: redirectPrints(openOwnFile(workerLogPath(root, hash), O_WRONLY | O_APPEND)),
  };
  runWorker({ root, hash, idleMs: Number(idleText), mark, first }, (threads) => {
    guardExit();
    capturePrints();
    recordEvents();
    catchCrashes(threads);
    compileAsUsual();
  });
} catch (error) {
  // The last line of a worker's log is what the one that started it reports.
  if (!isWorkflowError(error)) console.error(error);
  console.error(JSON.stringify(toErrorRecord(error)));
  process.exit(1);
}
