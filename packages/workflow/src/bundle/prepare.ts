import { writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { findBubblewrap } from "../sandbox/bubblewrap.ts";
import type { SandboxMode } from "../sandbox/mode.ts";
import {
  type Built,
  buildBundle,
  buildModule,
  readSource,
  type SourceKind,
  statSource,
} from "./build.ts";
import { checkBytes, refuse } from "./check.ts";
import { inTemporary } from "./child.ts";
import { inspectBundle, type ReadAtLoad } from "./inspect.ts";
import { SourceMap } from "./source-map.ts";
import { maxBundleSize } from "../disk/bundle-files.ts";
import type { SideFiles } from "./store.ts";
import { bounded, fileWarnings, readWarnings } from "./warnings.ts";
import { notABundle, scriptUnclear, sourceNotUtf8, typesNotUtf8 } from "./errors.ts";

/** A valid bundle, ready for `putBundle`. */
export type PreparedBundle = SideFiles & { bytes: Uint8Array };

const maxTextSize = 16 << 20;

/** Options for making a bundle from a file. */
export type PrepareOptions = {
  /** Path of a `.d.ts` file to store beside the bundle. */
  types?: string;
  /** Kinds of sources other than TypeScript; the first matching kind makes the module. */
  sources?: readonly SourceKind[];
  /** A folder to which imports of a TypeScript source are limited. */
  within?: string;
  /** Whether to load the bundle in a sandbox (default `auto`: if bubblewrap works). */
  sandbox?: SandboxMode;
  /** Receives the paths of the files that the bundle was built from, before the bundle is checked. */
  onInputs?: (files: string[]) => void;
  /** Receives a warning with file, line and column for code that may not work in a started thread. */
  onWarning?: (warning: string) => void;
};

/**
 * Makes a bundle from a file: uses an `.esm.js` file unchanged, and builds a `.ts`, `.mts` or `.tsx` file or a source
 * of a kind in `sources`. Then checks the bundle's code and loads the bundle in a child process. Writes nothing to a
 * storage root.
 *
 * @throws WorkflowError the errors of `readSource`, `buildBundle`, `inspectBundle` and the kind of source;
 * `NOT_A_BUNDLE` (usage); `BUNDLE_REFUSED` with the first finding in the message and all in `details`.
 */
export async function prepareBundle(
  file: string,
  { types, sandbox, onInputs, onWarning, ...options }: PrepareOptions = {},
): Promise<PreparedBundle> {
  // Start the search early: its result is cached, and it runs while the bundle is built and checked.
  if (sandbox !== "off") void findBubblewrap({ PATH: process.env.PATH });
  const declared = types === undefined ? null : await readText(types, typesNotUtf8);
  const built = file.endsWith(".esm.js") ? null : await build(file, options);
  onInputs?.(built?.inputs ?? [resolve(file)]);
  const bytes = built?.code ?? (await readSource(file, maxBundleSize));
  const map = built ? new SourceMap(built.map, dirname(file)) : await mapBeside(file, bytes);
  refuse(checkBytes(bytes, file), file, built ? map : undefined);
  const warnings = built && map ? fileWarnings(new TextDecoder().decode(bytes), map) : [];
  const onReads = (reads: ReadAtLoad[]) => warnings.push(...readWarnings(reads, map, file));
  const descriptor = await inTemporary("uncaged-add-", async (folder) => {
    const path = join(folder, "bundle.esm.js");
    await writeFile(path, bytes);
    return await inspectBundle(path, { file, map, sandbox, onReads });
  });
  if (onWarning) for (const warning of bounded(warnings)) onWarning(warning);
  return {
    bytes,
    descriptor,
    ...(map && { map: map.text }),
    ...(declared !== null && { types: declared }),
  };
}

const mapComment = "sourceMappingURL=";

/**
 * Returns the source map of a bundle: inline, or from a file of the same folder that the bundle's comment or the
 * bundle's file name identifies. Ignores an unreadable map.
 */
async function mapBeside(file: string, bytes: Uint8Array): Promise<SourceMap | undefined> {
  const code = new TextDecoder().decode(bytes);
  const comment = code.lastIndexOf(mapComment);
  const [url = ""] = comment < 0 ? [] : code.slice(comment + mapComment.length).split(/\s/, 1);
  const name = basename(file).replace(/\.esm\.js$/, "");
  const names = [url, `${basename(file)}.map`, `${name}.map`];
  for (const one of names) {
    const text = one.startsWith("data:") ? inlineText(one) : await fileText(dirname(file), one);
    if (text !== null && SourceMap.isMap(text)) return new SourceMap(text, dirname(file));
  }
  return undefined;
}

function inlineText(url: string): string | null {
  const [, encoding, data = ""] = /^data:application\/json[^,]*?(;base64)?,(.*)$/.exec(url) ?? [];
  try {
    return encoding ? Buffer.from(data, "base64").toString("utf8") : decodeURIComponent(data);
  } catch {
    return null;
  }
}

async function fileText(folder: string, name: string): Promise<string | null> {
  // Read only files in the bundle's folder: the comment of a foreign bundle may name any file of this machine.
  if (name === "" || name !== basename(name)) return null;
  try {
    return new TextDecoder().decode(await readSource(join(folder, name), maxBundleSize));
  } catch {
    return null;
  }
}

async function build(
  file: string,
  { sources = [], within }: Pick<PrepareOptions, "sources" | "within">,
): Promise<Built> {
  await statSource(file);
  if (/\.(ts|mts|tsx)$/.test(file) && !/\.d\.m?ts$/.test(file)) {
    return await buildBundle(file, within);
  }
  const kinds = sources.filter((each) => each.matches(file));
  if (kinds.length > 0) {
    const text = await readText(file, sourceNotUtf8);
    const kind = kinds.find((each) => each.recognizes?.(text, file) ?? true);
    if (kind) return await buildModule(await kind.module(text, file), text, file);
  }
  if (/\.[cm]?jsx?$/.test(file)) throw scriptUnclear(file, plainName(file));
  throw notABundle(file, /\.(json|ya?ml)$/.test(file));
}

const plainName = (file: string): string => basename(file).replace(/\.\w+$/, "");

async function readText(path: string, refused: typeof typesNotUtf8): Promise<string> {
  const bytes = await readSource(path, maxTextSize);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw refused(path, cause);
  }
}
