import { relative } from "node:path";
import { readBundle, sideProblems } from "../../bundle/store.ts";
import { bundleDiffers } from "../../bundle/errors.ts";
import { lostJournal, readJournal } from "../../disk/journal.ts";
import { diskError, systemCode } from "../../disk/disk-error.ts";
import { type LogOutline, outlineLog } from "../../disk/log.ts";
import {
  blobsDir,
  bundlePath,
  dataPath,
  journalPath,
  mapPath,
  type Root,
} from "../../disk/paths.ts";
import { corruptError, journalCorrupt, notFound } from "../../record/errors.ts";
import { sha256 } from "../../record/sha256.ts";
import { type Sum, sumText } from "../../record/sum.ts";
import type { ThreadRef } from "../../record/thread.ts";
import { openRoot } from "../../disk/root.ts";
import { checkHere } from "../../disk/threads.ts";
import { system } from "../../system/system.ts";
import { notAttestable, sourceMapDiffers } from "../errors.ts";
import { readView } from "../threads/view.ts";
import { type StatedRecords, type Statement, statementOf } from "./attestation.ts";
import { digestBlobs, digestLines, digestMap, type LinesDigest, threadFacts } from "./digests.ts";

/** The programs that make a statement. */
export type Makers = Pick<Statement["predicate"], "engine" | "runtime">;

/**
 * Makes the statement that attests an ended thread of a storage root. First checks every stated fact: the chains of log
 * and journal, the records of the bundle's SHA-256, the blobs.
 *
 * @throws WorkflowError `THREAD_NOT_FOUND`, `THREAD_NOT_ENDED`, `THREAD_MOVED`, `LOG_CORRUPT`, `BUNDLE_MISSING`,
 *   `BUNDLE_CHANGED`, `SOURCE_MAP_CHANGED`, `BLOB_DAMAGED`, and the errors of the disk.
 */
export async function attestThread(
  folder: string,
  ref: ThreadRef,
  makers: Makers,
): Promise<Statement> {
  const root = openRoot({ path: folder });
  const { hash, threadId } = ref;
  const path = dataPath(root, hash, threadId);
  const log = await endedLog(root, ref, path);
  const data = digestLines(path);
  const facts = data && threadFacts(log, data.first);
  if (!data || !facts) throw notFound(threadId);
  const beside = journalPath(root, hash, threadId);
  const { broken, fold } = readJournal(beside, log.journal);
  const damage = broken ?? lostJournal(root, ref);
  if (damage) throw journalCorrupt(`${beside}:${damage.line}`, damage.reason, threadId);
  const journal = digestLines(beside);
  const named = (file: string, sum: string) => ({
    name: relative(root, file),
    digest: { sha256: sum },
  });
  const bundle = sha256(await readBundle(root, hash));
  if ((log.start.sha256 ?? bundle) !== bundle)
    throw bundleDiffers(bundlePath(root, hash), `${path}:1`);
  const map = mapOf(root, hash, bundle);
  return statementOf(
    [named(path, data.sha256), ...(journal ? [named(beside, journal.sha256)] : [])],
    {
      thread: facts,
      log: statedRecords(data, log.sum),
      journal: journal && statedRecords(journal, fold.sum),
      bundle: named(bundlePath(root, hash), bundle),
      sourceMap: map && named(mapPath(root, hash), map.sha256),
      sources: map?.sources ?? [],
      blobs: [...digestBlobs(root, ref)].map(([id, sum]) =>
        named(`${blobsDir(root, hash, threadId)}/${id}`, sum),
      ),
      attestedAt: new Date(system.clock.now()).toISOString(),
      ...makers,
    },
  );
}

const statedRecords = (
  { records, bytes, lines }: LinesDigest,
  head: Sum | null,
): StatedRecords => ({
  ...{ records, bytes, head: head === null ? null : sumText(head), lines },
});

/** Returns the outline of an ended thread's sound log. */
async function endedLog(root: Root, ref: ThreadRef, path: string): Promise<LogOutline> {
  const log = quiet(path, ref.threadId);
  if (log.kind === "empty") throw notFound(ref.threadId);
  if (log.broken) throw corruptError(path, log.broken);
  if (log.kind === "headless") throw notFound(ref.threadId);
  if (log.torn > 0 && log.end) {
    const reason = "bytes follow the end record";
    throw corruptError(path, { line: log.steps + 3, offset: log.size, reason });
  }
  checkHere(root, ref);
  if (!log.end) throw notAttestable(ref.threadId, (await readView(root, ref)).status);
  return log;
}

function quiet(path: string, threadId: string) {
  try {
    return outlineLog(path);
  } catch (error) {
    if (systemCode(error) === "ENOENT") throw notFound(threadId);
    throw diskError(error, "read", path);
  }
}

/** Returns the digests of a bundle's source map. Throws if the file differs from the stored digest. */
function mapOf(root: Root, hash: string, bundle: string): ReturnType<typeof digestMap> {
  const path = mapPath(root, hash);
  const problem = sideProblems(root, hash, bundle).find((one) => one.path === path);
  if (problem) throw sourceMapDiffers(path, problem.message);
  return digestMap(root, hash);
}
