import type { Environment } from "@uncaged/workflow/host";
import { placeOf, realOrNull } from "@uncaged/workflow/sandbox";
import { createHash } from "node:crypto";
import { constants, type BigIntStats } from "node:fs";
import { open } from "node:fs/promises";
import { sep } from "node:path";

/** The program of a command: the found path, the real path, and the SHA-256 of the file. */
export type AgentFile = { at: string; path: string; sha256: string };

/** Finds the program of a command. Returns null if it is missing. */
export async function agentFile(command: string, env: Environment): Promise<AgentFile | null> {
  const place = placeOf(command, env);
  return place && { ...place, sha256: await digestOfProgram(place.path) };
}

/** Digests by file. A changed file has a new change time, which only root can forge. */
const known = new Map<string, string>();

async function digestOfProgram(path: string): Promise<string> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const key = keyOf(await file.stat({ bigint: true }));
    const before = known.get(key);
    if (before !== undefined) return before;
    const hash = createHash("sha256");
    for await (const chunk of file.createReadStream({ autoClose: false })) hash.update(chunk);
    const digest = hash.digest("hex");
    if (keyOf(await file.stat({ bigint: true })) === key) known.set(key, digest);
    return digest;
  } finally {
    await file.close();
  }
}

const keyOf = ({ ctimeNs, dev, ino, mtimeNs, size }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(":");

/** Tells whether a program is in one of these folders, by its found path or its real path. */
export function liesIn({ at, path }: AgentFile, folders: readonly string[]): boolean {
  const all = folders.flatMap((folder) => [folder, realOrNull(folder) ?? folder]);
  return all.some((folder) => [at, path].some((one) => one.startsWith(`${folder}${sep}`)));
}
