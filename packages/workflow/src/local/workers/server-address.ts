import { isRecord } from "../../contract/show.ts";
import { readOwnFile, writeFileAtomic } from "../../disk/files.ts";
import { type Root, serverPath } from "../../disk/paths.ts";
import { createRoot } from "../../disk/root.ts";

/**
 * The current or last address of this storage root's HTTP server, and its token. Stored in `run/server.json`, which
 * only its owner can read. The file outlives the server, so that an open page continues after a restart. `publicUrl` is
 * the URL of the proxy in front of the server.
 */
export type ServerAddress = { url: string; publicUrl?: string; token: string; pid: number };

const maxBytes = 64 * 1024;

/** Reads the server's address; null if the file is missing or invalid. */
export function readServerAddress(root: string): ServerAddress | null {
  const bytes = readOwnFile(serverPath(root as Root), maxBytes);
  try {
    const value: unknown = bytes && JSON.parse(new TextDecoder().decode(bytes));
    if (!isRecord(value)) return null;
    const { url, publicUrl, token, pid } = value;
    const isText = typeof url === "string" && typeof token === "string";
    if (!isText || typeof pid !== "number") return null;
    return { url, ...(typeof publicUrl === "string" && { publicUrl }), token, pid };
  } catch {
    return null;
  }
}

/** Writes the server's address; creates the storage root if it is missing. */
export function writeServerAddress(root: string, address: ServerAddress): void {
  createRoot(root as Root);
  writeFileAtomic(serverPath(root as Root), `${JSON.stringify(address)}\n`);
}
