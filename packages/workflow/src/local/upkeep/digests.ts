import { join } from "node:path";
import { blobIds, readBlob } from "../../disk/blobs.ts";
import { ifThere, readOwnFile, withFile } from "../../disk/files.ts";
import { windowsOf } from "../../disk/line-file.ts";
import type { LogOutline } from "../../disk/log.ts";
import { blobsDir, mapPath, type Root } from "../../disk/paths.ts";
import { lineOffsets } from "../../record/lines.ts";
import { sha256 } from "../../record/sha256.ts";
import { endedStatus, forkFromIn, type ThreadRef } from "../../record/thread.ts";
import { SourceMap } from "../../bundle/source-map.ts";
import type { StatedThread, Statement } from "./attestation.ts";

/** Digits of a line's SHA-256 that locate the line. */
export const locatorDigits = 8;

/** The SHA-256 of a file's bytes and of its first line, and the locators of its lines. */
export type LinesDigest = {
  sha256: string;
  first: string;
  records: number;
  bytes: number;
  lines: string;
};

/** Digests a file of lines; null when it is missing. Bytes without a newline count as a line. */
export function digestLines(path: string): LinesDigest | null {
  const whole = new Bun.CryptoHasher("sha256");
  const found = { first: "", records: 0, bytes: 0 };
  const locators: string[] = [];
  const take = (line: Uint8Array) => {
    const sum = sha256(line);
    if (found.records === 0) found.first = sum;
    found.records += 1;
    locators.push(sum.slice(0, locatorDigits));
  };
  const read = () =>
    withFile(path, (fd) => {
      for (const { bytes, rest } of windowsOf(fd)) {
        whole.update(bytes).update(rest);
        found.bytes += bytes.length + rest.length;
        const offsets = lineOffsets(bytes);
        for (let n = 1; n < offsets.length; n += 1)
          take(bytes.subarray(offsets[n - 1], (offsets[n] as number) - 1));
        if (rest.length > 0) take(rest);
      }
      return { sha256: whole.digest("hex"), ...found, lines: locators.join("") };
    });
  return ifThere(read);
}

const digestOf = (content: Uint8Array | string) => ({ sha256: sha256(content) });

/**
 * Returns the facts in an ended thread's log; null for a thread that has not ended. `first` is the digest of its first
 * line.
 */
export function threadFacts({ start, end, steps }: LogOutline, first: string): StatedThread | null {
  if (!end) return null;
  const { status } = endedStatus(end) as { status: StatedThread["status"] };
  const { returnCode, reason, value } = end.meta;
  const forkFrom = forkFromIn(start);
  return {
    ...{ threadId: start.threadId, workflow: start.name, hash: start.hash },
    ...{ status, returnCode, reason, steps },
    ...{ startedAt: timeOf(start.timestamp), endedAt: timeOf(end.timestamp) },
    forkFrom: forkFrom
      ? { ...forkFrom, origin: start.forkFrom?.origin ?? forkFrom.threadId }
      : null,
    start: { sha256: first },
    summary: digestOf(end.content),
    value: value === undefined ? null : digestOf(JSON.stringify(value)),
  };
}

/** Returns a moment in RFC 3339; null for a moment outside the calendar. */
export function timeOf(moment: number): string | null {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

type Sources = Statement["predicate"]["sources"];
const largestMap = 256 << 20;

/**
 * Returns the SHA-256 of a bundle's source map and of each source in it; null without a source map. `sources` is null
 * if the file is not a source map.
 * @throws WorkflowError the errors of the disk.
 */
export function digestMap(
  root: Root,
  hash: string,
): { sha256: string; sources: Sources | null } | null {
  const bytes = readOwnFile(mapPath(root, hash), largestMap);
  if (bytes === null) return null;
  return { sha256: sha256(bytes), sources: sourcesIn(new TextDecoder().decode(bytes)) };
}

function sourcesIn(text: string): Sources | null {
  if (!SourceMap.isMap(text)) return null;
  const { sources, sourcesContent } = JSON.parse(text) as Record<string, unknown[] | undefined>;
  return (sources ?? []).map((name, n) => {
    const content = sourcesContent?.[n];
    return { name: String(name), digest: typeof content === "string" ? digestOf(content) : null };
  });
}

/** Returns the SHA-256 of each blob of a thread, by id. @throws WorkflowError `BLOB_DAMAGED`. */
export function digestBlobs(root: Root, { hash, threadId }: ThreadRef): Map<string, string> {
  const folder = blobsDir(root, hash, threadId);
  const found = new Map<string, string>();
  for (const id of blobIds(root, hash, threadId).sort()) {
    const bytes = readBlob(join(folder, id), id);
    if (bytes !== null) found.set(id, sha256(bytes));
  }
  return found;
}
