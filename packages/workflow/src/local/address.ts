import { readOwnFile, writeFileAtomic } from "../storage/files.ts";
import { type Root, serverPath } from "../storage/paths.ts";
import { createRoot } from "../storage/root.ts";

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
  if (!bytes) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isAddress(value) ? value : null;
  } catch {
    return null;
  }
}

/** Writes the server's address, and makes the storage root where it is missing. */
export function writeServerAddress(root: string, address: ServerAddress): void {
  createRoot(root as Root);
  writeFileAtomic(serverPath(root as Root), `${JSON.stringify(address)}\n`);
}

function isAddress(value: unknown): value is ServerAddress {
  if (typeof value !== "object" || value === null) return false;
  const { url, token, pid } = value as Partial<Record<string, unknown>>;
  return typeof url === "string" && typeof token === "string" && typeof pid === "number";
}
