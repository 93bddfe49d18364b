import { isHashBeginning } from "../storage/names.ts";
import type { Registry } from "./registry.ts";
import { ambiguousHash, versionOf, workflowNotFound, workflowOf } from "./versions.ts";

/** What is run: a bundle, and the name that its threads bear. */
export type Resolved = { name: string; hash: string };

/**
 * What a text means: a registered name, `name@hash` for one of its versions, or a hash; a hash may be
 * any unique beginning of it, in any case, of at least 4 digits when it stands alone. A name goes
 * before a hash. A bundle that no name points to bears its hash as its name.
 *
 * `stored` gives the hashes of the bundles that are there, and is asked only for a lone hash.
 * @throws WorkflowError `WORKFLOW_NOT_FOUND`, `VERSION_NOT_FOUND` (missing), `VERSION_AMBIGUOUS` (usage).
 */
export function resolve(registry: Registry, text: string, stored: () => string[]): Resolved {
  const named = registry.get(text);
  if (named) return { name: text, hash: named.hash };
  const at = text.indexOf("@");
  if (at > 0) {
    const name = text.slice(0, at);
    const { hash } = versionOf(name, workflowOf(registry, name), text.slice(at + 1));
    return { name, hash };
  }
  const beginning = text.toUpperCase();
  if (!isHashBeginning(beginning)) throw workflowNotFound(registry, text);
  const known = new Set([...hashesOf(registry), ...stored()]);
  const found = [...known].filter((hash) => hash.startsWith(beginning)).sort();
  const [only] = found;
  if (!only) throw workflowNotFound(registry, text);
  if (found.length > 1) throw ambiguousHash(text, found);
  return { name: nameOf(registry, only), hash: only };
}

/** Every hash that a registry names, in its histories too. */
export function hashesOf(registry: Registry): Set<string> {
  const hashes = new Set<string>();
  for (const { hash, history } of registry.values()) {
    hashes.add(hash);
    for (const version of history) hashes.add(version.hash);
  }
  return hashes;
}

function nameOf(registry: Registry, hash: string): string {
  let former: string | undefined;
  for (const [name, workflow] of registry) {
    if (workflow.hash === hash) return name;
    if (workflow.history.some((version) => version.hash === hash)) former ??= name;
  }
  return former ?? hash;
}
