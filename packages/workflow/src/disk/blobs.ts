import { join } from "node:path";
import type { Blobs } from "../contract/contract.ts";
import { blobIdOf, isBlobId } from "../record/blob-names.ts";
import { system } from "../system/system.ts";
import { makeFolder, readOwnFile, syncFolder, writeFileAtomic, writeFileLater } from "./files.ts";
import { blobsDir, namesIn, type Root } from "./paths.ts";
import { blobDamaged } from "./errors.ts";

// Maximum size of a thread's blobs in bytes, the same limit as for a thread's values: undo data must not fill the disk.
const mostBytes = 256 * 1024 * 1024;

/** Lists the ids of a thread's blobs, unordered. */
export const blobIds = (root: Root, hash: string, threadId: string): string[] =>
  namesIn(blobsDir(root, hash, threadId)).filter(isBlobId);

/**
 * Returns the blobs of a thread, one file each. A blob and its name are durable before `put` resolves. A blob never
 * changes; an existing blob is not written again.
 */
export function threadBlobs(root: Root, hash: string, threadId: string): Blobs {
  const folder = blobsDir(root, hash, threadId);
  let total: number | null = null;
  return {
    async put(bytes) {
      const id = blobIdOf(bytes);
      if (isWhole(join(folder, id), id)) {
        // The process that wrote the blob may have ended before the blob's name was durable.
        syncFolder(folder);
        return id;
      }
      total ??= sizeOfAll(folder);
      if (total + bytes.length > mostBytes) return null;
      total += bytes.length;
      makeFolder(folder);
      await writeFileLater(join(folder, id), bytes);
      return id;
    },
    get: async (id) => (isBlobId(id) ? readBlob(join(folder, id), id) : null),
    ids: async () => blobIds(root, hash, threadId),
  };
}

/**
 * Reads a blob's file; null when it is missing. @throws WorkflowError `BLOB_DAMAGED` when the bytes don't match the id.
 */
export function readBlob(path: string, id: string): Uint8Array | null {
  const bytes = readOwnFile(path, mostBytes);
  if (bytes === null || blobIdOf(bytes) === id) return bytes;
  throw blobDamaged(path);
}

function isWhole(path: string, id: string): boolean {
  const bytes = system.files.exists(path) ? readOwnFile(path, mostBytes) : null;
  return bytes !== null && blobIdOf(bytes) === id;
}

const sizeOfAll = (folder: string): number =>
  namesIn(folder)
    .map((name) => system.files.statLink(join(folder, name))?.size ?? 0)
    .reduce((sum, size) => sum + size, 0);

type Thread = { hash: string; threadId: string };

/** Copies blobs from one thread to another. Skips blobs that are missing in the source. Durable on return. */
export function copyBlobs(
  root: Root,
  { ref, ids }: { ref: Thread; ids: readonly string[] },
  to: Thread,
): void {
  const source = blobsDir(root, ref.hash, ref.threadId);
  const folder = blobsDir(root, to.hash, to.threadId);
  for (const id of new Set(ids)) {
    const bytes = isBlobId(id) ? readOwnFile(join(source, id), mostBytes) : null;
    if (bytes === null) continue;
    makeFolder(folder);
    writeFileAtomic(join(folder, id), bytes);
  }
}
