import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Descriptor } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import {
  type Built,
  type SourceKind,
  buildBundle,
  buildModule,
  readSource,
  statSource,
} from "./build.ts";
import { checkBytes, type Finding } from "./check.ts";
import { inspectBundle } from "./inspect.ts";
import { originalPosition, type SourceMap } from "./module.ts";
import { maxBundleSize } from "./store.ts";

/** A sound bundle, ready for `putBundle`. */
export type PreparedBundle = {
  bytes: Uint8Array;
  descriptor: Descriptor;
  map?: string;
  types?: string;
};

const maxTypesSize = 16 << 20;
const maxTextSize = 16 << 20;
const maxDetails = 1000;

/** The options of `prepareBundle`. */
export type PrepareOptions = {
  /** The path of a `.d.ts` file to keep beside the bundle. */
  types?: string;
  /** Other kinds of sources than TypeScript; the first that matches makes the module. */
  sources?: readonly SourceKind[];
  /** How long the bundle may take to load. */
  timeoutMs?: number;
};

/**
 * Makes a bundle of a file: an `.esm.js` is taken as it is, a `.ts`, `.mts` or `.tsx` is built first,
 * and so is what one of `options.sources` makes a module of. Then its source is checked and it is
 * loaded in a process apart. Writes nothing to a storage root.
 *
 * @throws WorkflowError those of `readSource`, `buildBundle` and the kind of source; `NOT_A_BUNDLE`
 * (usage: another ending); `BUNDLE_REFUSED` with the first finding in the message and all in `details`; those of
 * `inspectBundle`.
 */
export async function prepareBundle(
  file: string,
  options: PrepareOptions = {},
): Promise<PreparedBundle> {
  const types = options.types === undefined ? undefined : await readTypes(options.types);
  const { bytes, map } = await bytesOf(file, options.sources ?? []);
  const findings = checkBytes(bytes, file);
  if (findings.length > 0) throw await refuse(file, findings, map);
  const descriptor = await inspectBytes(bytes, { ...options, file, map });
  return {
    bytes,
    descriptor,
    ...(map && { map: map.text }),
    ...(types !== undefined && { types }),
  };
}

async function bytesOf(
  file: string,
  sources: readonly SourceKind[],
): Promise<{ bytes: Uint8Array; map?: SourceMap }> {
  await statSource(file);
  if (file.endsWith(".esm.js")) return { bytes: await readSource(file, maxBundleSize) };
  const { code, map } = await built(file, sources);
  return { bytes: code, map: { text: map, folder: dirname(file) } };
}

async function built(file: string, sources: readonly SourceKind[]): Promise<Built> {
  if (/\.(ts|mts|tsx)$/.test(file) && !/\.d\.m?ts$/.test(file)) return await buildBundle(file);
  const kind = sources.find((each) => each.matches(file));
  if (!kind) throw notABundle(file);
  const text = await readText(file, maxTextSize, "NOT_UTF8", "write the source as UTF-8");
  return await buildModule(await kind.module(text, file), file);
}

async function inspectBytes(
  bytes: Uint8Array,
  { file, map, timeoutMs }: { file: string; map?: SourceMap; timeoutMs?: number },
): Promise<Descriptor> {
  const folder = await mkdtemp(join(tmpdir(), "uncaged-add-"));
  try {
    const path = join(folder, "bundle.esm.js");
    await writeFile(path, bytes);
    return await inspectBundle(path, { file, map, timeoutMs });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const readTypes = (path: string): Promise<string> =>
  readText(path, maxTypesSize, "BAD_TYPES", "give the .d.ts file that belongs to the bundle");

async function readText(path: string, max: number, code: string, hint: string): Promise<string> {
  const bytes = await readSource(path, max);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const message = `${show(path)} is no UTF-8 text`;
    throw new WorkflowError({ code, message, hint }, { cause });
  }
}

function notABundle(file: string): WorkflowError {
  const data = /\.(json|ya?ml)$/.test(file);
  const unknown = data ? "; nothing here makes a workflow of JSON or YAML" : "";
  return new WorkflowError({
    code: "NOT_A_BUNDLE",
    kind: "usage",
    message: `${show(file)} is no bundle and no TypeScript source${unknown}`,
    hint: "give an .esm.js file, or a .ts, .mts or .tsx file to build",
  });
}

async function refuse(file: string, findings: Finding[], map?: SourceMap): Promise<WorkflowError> {
  const lines: string[] = [];
  for (const finding of findings.slice(0, maxDetails)) {
    lines.push(`${await positionOf(finding, file, map)}: ${finding.message} (${finding.rule})`);
  }
  const more = findings.length > 1 ? `, and ${findings.length - 1} more` : "";
  return new WorkflowError({
    code: "BUNDLE_REFUSED",
    message: `${lines[0]}${more}`,
    hint: "a bundle is one ES module that exports run and descriptor and imports only Node's own modules",
    details: lines,
  });
}

// In built code a line means nothing to the author: the source's line, or the file alone.
async function positionOf(finding: Finding, file: string, map?: SourceMap): Promise<string> {
  if (!map) return `${file}:${finding.line}:${finding.column}`;
  return (await originalPosition(map, finding)) ?? file;
}
