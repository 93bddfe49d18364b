import { readDescriptor } from "../../bundle/descriptor-yaml.ts";
import { maxDescriptorBytes, proofsOf } from "../../bundle/proof.ts";
import { sealIn } from "../../bundle/seal.ts";
import { readHashed, sideProblems } from "../../bundle/store.ts";
import { SourceMap } from "../../bundle/source-map.ts";
import { isWorkflowError, messageOf } from "../../contract/error.ts";
import type { Problem } from "../../host/host.ts";
import { parseRegistry, SyntaxViolation } from "../../registry/parse.ts";
import { type Found, findRegistry } from "../../registry/read.ts";
import { maxRegistryBytes } from "../../registry/registry.ts";
import { versionsOf } from "../../registry/versions.ts";
import { readOwnFile } from "../../disk/files.ts";
import {
  backupPath,
  bundlePath,
  descriptorPath,
  loggedHashes,
  mapPath,
  type Root,
  registryPath,
  storedHashes,
  threadIdsOf,
} from "../../disk/paths.ts";
import { sha256 } from "../../record/sha256.ts";

/** Problems of the registry, its backup, and the versions used by it and by threads. */
export function registryProblems(root: Root): Problem[] {
  const path = registryPath(root);
  const problems: Problem[] = [];
  const needed = new Map<string, string>();
  for (const hash of loggedHashes(root)) {
    const { length } = threadIdsOf(root, hash);
    if (length > 0)
      needed.set(hash, length === 1 ? "a thread needs it" : `${length} threads need it`);
  }
  let found: Found | null = null;
  try {
    found = findRegistry(root);
  } catch (error) {
    const cause = isWorkflowError(error) ? error.cause : undefined;
    problems.push(...placed(path, cause instanceof SyntaxViolation ? cause : error));
  }
  if (found?.changed) problems.push(...placed(path, found.changed));
  for (const [name, workflow] of found?.registry ?? []) {
    for (const { hash } of versionsOf(workflow)) needed.set(hash, `a version of ${name}`);
  }
  const stored = new Set(storedHashes(root));
  for (const [hash, why] of needed) {
    if (stored.has(hash)) continue;
    problems.push({ path: bundlePath(root, hash), message: `the bundle is missing: ${why}` });
  }
  return problems.concat(backupProblems(root));
}

/** Problems of the registry's backup. */
function backupProblems(root: Root): Problem[] {
  const path = backupPath(root);
  try {
    const bytes = readOwnFile(path, maxRegistryBytes);
    const changed = bytes && parseRegistry(new TextDecoder().decode(bytes)).changed;
    return changed ? placed(path, changed) : [];
  } catch (error) {
    return placed(path, error);
  }
}

function placed(path: string, error: unknown): Problem[] {
  if (error instanceof SyntaxViolation) return [{ path, line: error.line, message: error.reason }];
  return [problemOf(path, error)];
}

/** Problems of a stored bundle and the files beside it; also its SHA-256, null if it can't be read. */
export function bundleProblems(
  root: Root,
  hash: string,
): { sha256: string | null; problems: Problem[] } {
  const path = bundlePath(root, hash);
  const problems: Problem[] = [];
  const attempt = (file: string, act: () => void) => {
    try {
      act();
    } catch (error) {
      problems.push(problemOf(file, error));
    }
  };
  let own: string | null = null;
  attempt(path, () => {
    own = sha256(readHashed(root, hash));
    const message = (where: string) => `its SHA-256 differs from the record in ${where}`;
    for (const { sha256: proof, where, isSuspect } of proofsOf(root, hash)) {
      const [, file = where, line] = /^(.*):(\d+)$/.exec(where) ?? [];
      // Report problems of the seal with its bundle, and problems of a start record with its thread.
      if (proof === own || file === descriptorPath(root, hash) || !file.endsWith(".yaml")) continue;
      if (isSuspect) {
        const reason = `the sha256 differs from the sha256 in ${path}`;
        problems.push({ path: file, line: Number(line), message: reason });
      } else problems.push({ path, message: message(where) });
    }
  });
  const beside = descriptorPath(root, hash);
  attempt(beside, () => {
    const bytes = readOwnFile(beside, maxDescriptorBytes);
    if (!bytes) {
      const message = "the descriptor is missing: add the bundle again";
      return void problems.push({ path: beside, message });
    }
    readDescriptor(sealIn(new TextDecoder().decode(bytes)).text, beside);
  });
  attempt(beside, () => void problems.push(...sideProblems(root, hash, own)));
  attempt(mapPath(root, hash), () => {
    const map = SourceMap.at(mapPath(root, hash));
    if (map && !SourceMap.isMap(map.text))
      problems.push({ path: mapPath(root, hash), message: "not a source map" });
  });
  return { sha256: own, problems };
}

/** Converts an error to a problem of a file. Path and line move from its message to fields. */
export function problemOf(path: string, error: unknown): Problem {
  const message = messageOf(error);
  if (!message.startsWith(`${path}:`)) return { path, message };
  const [, line, rest = message] =
    /^:(?:(\d+)(?::\d+)?:)? (.*)$/.exec(message.slice(path.length)) ?? [];
  return { path, ...(line && { line: Number(line) }), message: rest };
}
