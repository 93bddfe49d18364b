import type { WorkflowError } from "../contract/error.ts";
import { readOwnFile } from "../disk/files.ts";
import { backupPath, type Root, registryPath } from "../disk/paths.ts";
import { system } from "../system/system.ts";
import { type Parsed, parseRegistry, SyntaxViolation } from "./parse.ts";
import { maxRegistryBytes, type Registry } from "./registry.ts";
import { registryBroken, registryLost } from "./errors.ts";

/** The registry on disk. `text` is null without a file. */
export type Found = Parsed & { text: string | null };

/**
 * Reads the registry of a storage root; empty when the root never had one. An empty, truncated or invalid file is an
 * error, and is not changed.
 * @throws WorkflowError `REGISTRY_BROKEN` with file, line and column.
 */
export async function readRegistry(root: Root): Promise<Registry> {
  return findRegistry(root).registry;
}

/** Like {@link readRegistry}, with the text for a later write. */
export function findRegistry(root: Root): Found {
  const bytes = readOwnFile(registryPath(root), maxRegistryBytes);
  if (!bytes) {
    if (hasBackup(root)) throw lost(root);
    return { registry: new Map(), text: null, unknown: null, changed: null, lines: new Map() };
  }
  try {
    const text = decode(bytes);
    return { ...parseRegistry(text), text };
  } catch (error) {
    throw error instanceof SyntaxViolation ? broken(root, error) : error;
  }
}

// The decoder drops a leading byte order mark, so such a file reads like any other.
const decoder = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Uint8Array): string {
  const text = decoded(bytes);
  if (text !== null) return text;
  const lines = Buffer.from(bytes).toString("latin1").split("\n");
  const bad = lines.findIndex((line) => decoded(Buffer.from(line, "latin1")) === null);
  throw new SyntaxViolation(bad + 1, 1, "the line is not UTF-8");
}

/** Decodes UTF-8; null for invalid bytes. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

function broken(root: Root, violation: SyntaxViolation): WorkflowError {
  const at = `${registryPath(root)}:${violation.line}:${violation.column}`;
  return registryBroken(at, violation, hasBackup(root) ? backupPath(root) : null);
}

function lost(root: Root): WorkflowError {
  return registryLost(registryPath(root), backupPath(root));
}

const hasBackup = (root: Root): boolean => system.files.statLink(backupPath(root)) !== null;
