import { readFile, realpath } from "node:fs/promises";
import { basename, dirname, relative, resolve, sep } from "node:path";
import { isWorkflowError, type RegisterOptions } from "@uncaged/workflow/host";
import { hashOf } from "@uncaged/workflow/internal";
import type { Session } from "../session/session.ts";
import { sourceListed } from "./listed.ts";
import { sourcesFor } from "./names.ts";

/** Builds a file if needed and registers it under a name. Prints warnings as notes and includes them in the result. */
export async function addFile(
  session: Session,
  name: string,
  path: string,
  options: Pick<RegisterOptions, "types" | "sandbox"> = {},
) {
  const sources = await sourcesFor(session, path);
  const warnings: string[] = [];
  const onWarning = (warning: string) => {
    warnings.push(warning);
    session.note(`warning: ${warning}`);
  };
  const added = await session.host.register(name, path, { ...options, sources, onWarning });
  return warnings.length > 0 ? { ...added, warnings } : added;
}

/**
 * Returns the project's first file that changed since the current version of a workflow was built, relative to the
 * current folder. Returns null if no file changed, if the project does not list the workflow, or if a file needed for
 * the comparison is missing.
 */
export async function editedSource(session: Session, name: string): Promise<string | null> {
  const source = sourceListed(session, name);
  if (source === null) return null;
  const edited = await editedFile(session, name, source).catch((error: unknown) => {
    // The run itself reports an unknown name or a damaged version.
    if (isWorkflowError(error)) return null;
    throw error;
  });
  return edited === null ? null : relative(session.cwd, edited);
}

async function editedFile({ host, project }: Session, name: string, source: string) {
  const bytes = await bytesAt(source);
  if (!bytes) return null;
  const { hash, sources, document } = await host.version(name);
  if (source.endsWith(".esm.js")) return hashOf(bytes) === hash ? null : source;
  if (sources.length === 0) return null;
  // A build records the real path of its source. A document keeps the given path.
  const entry = document === null ? await realpath(source) : source;
  const top = project && (await realpath(project.folder));
  if (!sources.includes(basename(entry))) return source;
  for (const file of sources) {
    const path = resolve(dirname(entry), file);
    const isOwn = path === entry || (top !== null && isInside(await realpathOf(path), top));
    if (!isOwn || (document !== null && !isDocument.test(file))) continue;
    const now = await bytesAt(path);
    if (!now) continue;
    const built = await host.source(name, file);
    if (new TextDecoder().decode(now) !== built.replace(/^\uFEFF/, "")) return path;
  }
  return null;
}

const isDocument = /\.(json|ya?ml)$/i;

const isInside = (path: string, folder: string): boolean =>
  path.startsWith(folder.endsWith(sep) ? folder : folder + sep) &&
  !path.split(sep).includes("node_modules");

const realpathOf = (path: string): Promise<string> => realpath(path).catch(() => path);

const bytesAt = (path: string): Promise<Uint8Array | null> => readFile(path).catch(() => null);
