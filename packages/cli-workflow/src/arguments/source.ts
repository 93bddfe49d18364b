import { statSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { isWorkflowError } from "@uncaged/workflow/host";
import type { Session } from "../session/session.ts";
import { sourcesFor } from "./names.ts";

const endings = [".ts", ".mts", ".tsx", ".json", ".yaml", ".yml", ".esm.js"];
/** Endings of sources that can be built, and of similar files: the reader reports what is wrong with such a file. */
const sourceEnding = /\.([cm]?[jt]sx?|json|ya?ml)$/i;

/**
 * The file that a word means where a workflow or a file may stand, else null. With a slash it is a file; with the
 * ending of one it is, unless a workflow has that very name.
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

/** A bundle made of a file and stored under its hash alone, and the name of its threads: that of the file. */
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

/** The hint that a name which no workflow has may be that of a file beside; null when there is none. */
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
