import { statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { isWorkflowError } from "@uncaged/workflow/host";
import type { Session } from "../session/session.ts";
import { sourcesFor } from "./names.ts";

const endings = [".ts", ".mts", ".tsx", ".json", ".yaml", ".yml", ".esm.js"];
/** File extensions of sources, and of similar files. The reader of sources reports errors in such files. */
const sourceEnding = /\.([cm]?[jt]sx?|json|ya?ml)$/i;

/**
 * Returns the file named by a word that may be a workflow or a file; null for a workflow. A word with a slash is a
 * file. A word with a source's extension is a file too, unless a workflow has exactly that name.
 */
export async function fileMeant(session: Session, word: string): Promise<string | null> {
  if (word.includes("/") || word.includes(sep)) return word;
  if (!sourceEnding.test(word)) return null;
  const isName = await session.host.workflow(word).then(
    () => true,
    (error: unknown) => {
      if (isWorkflowError(error) && error.code === "WORKFLOW_NOT_FOUND") return false;
      throw error;
    },
  );
  return isName ? null : word;
}

/** Builds a bundle from a file and stores the bundle only under its hash. Its threads are named after the file. */
export async function storedFrom(
  session: Session,
  file: string,
): Promise<{ workflow: string; name: string }> {
  const sources = await sourcesFor(session, file);
  const { hash } = await session.host.store(file, {
    sources,
    onWarning: (warning) => session.note(`warning: ${warning}`),
  });
  return { workflow: hash, name: basename(file) };
}

/** Returns a hint for an unknown workflow name that may mean a file in this folder; null if there is no such file. */
export function fileHint({ cwd }: Session, name: string): string | null {
  const names = [name, ...endings.map((ending) => `${name}${ending}`)];
  const file = names.find((one) => isFile(join(cwd, one)));
  return file === undefined ? null : `run the file: uncaged-workflow run ./${file}`;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
