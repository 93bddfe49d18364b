import type { StoredBundle } from "../store/store.ts";
import { makeFolder, readOwnFile, removeFile, writeFileAtomic } from "./files.ts";
import { bundlePath, bundlesDir, descriptorPath, mapPath, type Root, typesPath } from "./paths.ts";

/** Maximum size of a bundle, in bytes. */
export const maxBundleSize = 64 << 20;

/**
 * Writes a bundle's files, the code last: once the code exists, the other files are durable. Rewrites existing files,
 * because an earlier write may be in the page cache without having reached the disk.
 */
export function writeBundleFiles(
  root: Root,
  { hash, code, descriptor, types, map }: StoredBundle,
): void {
  makeFolder(bundlesDir(root));
  writeFileAtomic(descriptorPath(root, hash), descriptor);
  if (types !== undefined) writeFileAtomic(typesPath(root, hash), types);
  if (map !== undefined) writeFileAtomic(mapPath(root, hash), map);
  writeFileAtomic(bundlePath(root, hash), code);
}

/** Reads a bundle's files; null when its code is missing. */
export function readBundleFiles(root: Root, hash: string): StoredBundle | null {
  const code = readOwnFile(bundlePath(root, hash), maxBundleSize);
  if (code === null) return null;
  const text = (path: string): string | undefined => {
    const bytes = readOwnFile(path, maxBundleSize);
    return bytes ? new TextDecoder().decode(bytes) : undefined;
  };
  const types = text(typesPath(root, hash));
  const map = text(mapPath(root, hash));
  return {
    hash,
    code,
    descriptor: text(descriptorPath(root, hash)) ?? "",
    ...(types !== undefined && { types }),
    ...(map !== undefined && { map }),
  };
}

/** Removes a bundle's files, the code first. */
export function removeBundleFiles(root: Root, hash: string): void {
  for (const pathOf of [bundlePath, descriptorPath, typesPath, mapPath]) {
    removeFile(pathOf(root, hash));
  }
}
