import { isRecord } from "../../contract/show.ts";
import { readOwnFile, writeFileAtomic } from "../../disk/files.ts";
import { type Root, serverPath } from "../../disk/paths.ts";
import { createRoot } from "../../disk/root.ts";

/**
 * Where the HTTP server of this storage root listens, or listened last, and the token that it asks
 * for. It is in `run/server.json`, which only its owner can read, and outlives the server: a page
 * that was open goes on when the server is started again.
 */
export type ServerAddress = { url: string; token: string; pid: number };

const maxBytes = 64 * 1024;

/** The server's address, or null when none was ever written, or the file holds none. */
export function readServerAddress(root: string): ServerAddress | null {
  const bytes = readOwnFile(serverPath(root as Root), maxBytes);
  try {
    const value: unknown = bytes && JSON.parse(new TextDecoder().decode(bytes));
    if (!isRecord(value)) return null;
    const { url, token, pid } = value;
    const isText = typeof url === "string" && typeof token === "string";
    return isText && typeof pid === "number" ? { url, token, pid } : null;
  } catch {
    return null;
  }
}

/** Writes the server's address, and makes the storage root where it is missing. */
export function writeServerAddress(root: string, address: ServerAddress): void {
  createRoot(root as Root);
  writeFileAtomic(serverPath(root as Root), `${JSON.stringify(address)}\n`);
}
