import { lstatSync } from "node:fs";
import { type ErrorRecord, WorkflowError, failedError } from "../contract/error.ts";
import { readOwnFile } from "../storage/files.ts";
import { registryPath, type Root } from "../storage/paths.ts";
import { type SyntaxViolation, maxYamlLength, type Parsed, parseRegistry } from "./parse.ts";
import { firstOddLine, maxRegistryBytes, readCanonical, type Registry } from "./registry.ts";

/** The registry as it lay on the disk. `text` is null when there is no file yet. */
export type Found = { registry: Registry; text: string | null; unknown: SyntaxViolation | null };

/** The copy of the registry as it was before its last change. */
export const backupPath = (root: Root): string => `${registryPath(root)}.bak`;

/**
 * The registry of a storage root. A root that never had one has an empty one; a file that is empty,
 * cut, or anything else than a registry is an error, and stays as it is.
 *
 * A registry in the form that we write is read without the YAML library.
 * @throws WorkflowError `REGISTRY_BROKEN` with file, line and column.
 */
export async function readRegistry(root: Root): Promise<Registry> {
  return (await findRegistry(root)).registry;
}

/** {@link readRegistry} with the text, for who will write it again or look for faults. */
export async function findRegistry(root: Root): Promise<Found> {
  const path = registryPath(root);
  const bytes = readOwnFile(path, maxRegistryBytes);
  if (!bytes) {
    if (exists(backupPath(root))) throw lost(root);
    return { registry: new Map(), text: null, unknown: null };
  }
  const parsed = await parseBytes(bytes);
  if (parsed.kind === "broken") throw broken(root, parsed.violation);
  return { registry: parsed.registry, text: parsed.text, unknown: parsed.unknown };
}

type ParsedBytes =
  | (Extract<Parsed, { kind: "registry" }> & { text: string })
  | Extract<Parsed, { kind: "broken" }>;

async function parseBytes(bytes: Uint8Array): Promise<ParsedBytes> {
  const text = decode(bytes);
  if (text === null) return { kind: "broken", violation: badByte(bytes) };
  const registry = readCanonical(text);
  if (registry) return { kind: "registry", registry, unknown: null, text };
  if (text.length > maxYamlLength) return { kind: "broken", violation: tooLong(text) };
  const parsed = await parseRegistry(text);
  return parsed.kind === "broken" ? parsed : { ...parsed, text };
}

// The decoder drops a byte order mark at the beginning, so a file with one is read as any other.
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function tooLong(text: string): SyntaxViolation {
  const reason = "a registry of this size must be exactly in the form that is written here";
  return { line: firstOddLine(text), column: 1, reason };
}

function badByte(bytes: Uint8Array): SyntaxViolation {
  const lines = Buffer.from(bytes).toString("latin1").split("\n");
  const bad = lines.findIndex((line) => decode(Buffer.from(line, "latin1")) === null);
  return { line: bad + 1, column: 1, reason: "the line is no UTF-8" };
}

function broken(root: Root, violation: SyntaxViolation): WorkflowError {
  const { line, column, reason } = violation;
  const copy = exists(backupPath(root))
    ? `correct it, or copy ${backupPath(root)} there: the registry before its last change`
    : "correct it; there is no older copy";
  const record: ErrorRecord = {
    code: "REGISTRY_BROKEN",
    kind: "failed",
    message: `${registryPath(root)}:${line}:${column}: ${reason}`,
    hint: copy,
  };
  return new WorkflowError(record, { cause: violation });
}

function lost(root: Root): WorkflowError {
  return failedError(
    "REGISTRY_BROKEN",
    `${registryPath(root)} is gone, but there was one`,
    `copy ${backupPath(root)} there, or remove that file too to begin anew`,
  );
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
