import { readRegistry } from "../registry/read.ts";
import type { Registry } from "../registry/registry.ts";
import { hashesOf } from "../registry/resolve.ts";
import { ambiguousHash, versionsOf } from "../registry/versions.ts";
import { loggedHashes, storedHashes } from "../storage/list.ts";
import { isHash, isHashBeginning } from "../storage/names.ts";
import type { Root } from "../storage/paths.ts";

/** Threads of this name, of this version, or of both. */
export type Meant = { name?: string; hash?: string };

/**
 * The threads that a text means: those of a name, `name@hash`, a hash, or a unique beginning of one, of
 * at least 4 digits when it stands alone. A name goes before a hash. One that is not registered may have
 * been: its threads are still there.
 *
 * @throws WorkflowError `VERSION_AMBIGUOUS` (usage).
 */
export async function meantBy(root: Root, text: string): Promise<Meant[]> {
  // Threads are listed also where the registry can't be read.
  const registry: Registry = await readRegistry(root).catch(() => new Map());
  const at = text.indexOf("@");
  if (at > 0) return versionsMeant(root, registry, text.slice(0, at), text.slice(at + 1));
  const digits = text.toUpperCase();
  if (registry.has(text) || !isHashBeginning(digits)) return [{ name: text }];
  if (isHash(digits)) return [{ hash: digits }];
  const known = [...hashesOf(registry), ...storedHashes(root)];
  const hash = onlyOne(text, beginningWith(digits, [...known, ...loggedHashes(root)]));
  return hash === undefined ? [{ name: text }] : [{ name: text }, { hash }];
}

function versionsMeant(root: Root, registry: Registry, name: string, text: string): Meant[] {
  const digits = text.toUpperCase();
  if (digits === "") return [];
  const workflow = registry.get(name);
  const versions = workflow ? versionsOf(workflow).map(({ hash }) => hash) : [];
  const hash = onlyOne(text, beginningWith(digits, versions));
  if (hash !== undefined) return [{ name, hash }];
  return beginningWith(digits, loggedHashes(root)).map((logged) => ({ name, hash: logged }));
}

const beginningWith = (digits: string, hashes: readonly string[]): string[] =>
  [...new Set(hashes)].filter((hash) => hash.startsWith(digits)).sort();

function onlyOne(text: string, hashes: string[]): string | undefined {
  if (hashes.length > 1) throw ambiguousHash(text, hashes);
  return hashes[0];
}
