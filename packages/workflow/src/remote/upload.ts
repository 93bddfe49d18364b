import { isWorkflowError, messageOf } from "../contract/error.ts";
import type { PrepareOptions } from "../bundle/prepare.ts";
import { fileUnreadable, noFiles, notUploadable, notUtf8 } from "./errors.ts";
import type { RemoteArguments } from "./protocol.ts";

/** Reads a file by its path. */
export type ReadFile = (path: string) => Promise<Uint8Array>;

/** A ready bundle, its source map and its types. */
export type ReadyBundle = { bytes: Uint8Array; map?: string; types?: string };

/** Options for sending bundles to a server. */
export type UploadOptions = {
  /** Reads files where the runtime has no file system, as in a browser. */
  readFile?: ReadFile | undefined;
  /** Makes a bundle from any file passed to `register` or `store`. By default only ready bundles are sent. */
  prepare?: ((file: string, options: PrepareOptions) => Promise<ReadyBundle>) | undefined;
};

/**
 * Returns a file as a bundle that can be sent.
 * @throws WorkflowError `NOT_A_BUNDLE` (usage) for a source, `FILE_NOT_FOUND`, `NO_FILES`; the errors of `prepare`.
 */
export async function uploadOf(
  file: string,
  options: PrepareOptions,
  { prepare, readFile }: UploadOptions,
): Promise<RemoteArguments["store"]> {
  const name = `${(file.split(/[/\\]/).at(-1) ?? "").replace(/(\.esm\.js|\.\w+)$/, "") || "bundle"}.esm.js`;
  const ready = await (prepare?.(file, options) ??
    readBundle(file, options, readFile ?? systemReadFile()));
  const { map, types } = ready;
  const text = textOf(file, ready.bytes);
  const declared = types === undefined ? undefined : name.replace(/\.esm\.js$/, ".d.ts");
  const files = {
    [name]: text,
    ...(map !== undefined && { [`${name}.map`]: map }),
    ...(declared !== undefined && { [declared]: types as string }),
  };
  return { file: name, files, types: declared };
}

async function readBundle(
  file: string,
  { types, onInputs }: PrepareOptions,
  readFile: ReadFile | null,
): Promise<ReadyBundle> {
  if (!file.endsWith(".esm.js")) throw notUploadable(file);
  if (readFile === null) throw noFiles();
  onInputs?.([file]);
  const bytes = await read(file, readFile);
  // The source map beside a bundle is optional.
  const map = await read(`${file}.map`, readFile).then(
    (found) => textOf(file, found),
    () => undefined,
  );
  const declared = types === undefined ? undefined : textOf(types, await read(types, readFile));
  return {
    bytes,
    ...(map !== undefined && { map }),
    ...(declared !== undefined && { types: declared }),
  };
}

async function read(file: string, readFile: ReadFile): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    throw isWorkflowError(error) ? error : fileUnreadable(file, messageOf(error));
  }
}

// Keep the exact bytes, including a byte order mark: any change would change the bundle's hash.
function textOf(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notUtf8(file);
  }
}

type FilesModule = { promises: { readFile: ReadFile } };

/** Returns the file reader of Node, Bun or Deno; null in a browser. An import would fail there. */
function systemReadFile(): ReadFile | null {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => FilesModule | undefined };
  };
  return process?.getBuiltinModule?.("fs")?.promises.readFile ?? null;
}
