import { generateKeyPairSync, randomBytes } from "node:crypto";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, writeFileAtomic } from "@uncaged/workflow/internal";
import { identityKeyOf } from "./identity.ts";

/** Keys of a cluster on this machine. They are files in its folder that only its user can read. */
export type ClusterKeys = {
  /** Bearer token of the ingress and the admin interface. */
  token: string;
  /** Public half of the key with which the servers sign their requests to workers. */
  identityKey: string;
};

const tokenFile = (folder: string): string => join(folder, "token");

/** Path of the private key with which the servers sign their requests to workers. */
export const signingKeyFile = (folder: string): string => join(folder, "signing-key.pem");

const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/** Reads the keys in a cluster's folder; null when one is missing or invalid. */
export function readKeys(folder: string): ClusterKeys | null {
  const [token, identityKey] = [readToken(folder), identityKeyIn(folder)];
  return token !== null && identityKey !== null ? { token, identityKey } : null;
}

/** Returns the keys in a cluster's folder. Creates missing and invalid keys. Only one process at a time may call it. */
export function makeKeys(folder: string): ClusterKeys {
  makeFolder(folder);
  if (readToken(folder) === null) {
    writeFileAtomic(tokenFile(folder), `${randomBytes(32).toString("base64url")}\n`);
  }
  if (identityKeyIn(folder) === null) {
    const { privateKey } = generateKeyPairSync("ed25519");
    const pem = privateKey.export({ type: "pkcs8", format: "pem" });
    writeFileAtomic(signingKeyFile(folder), pem);
  }
  chmodSync(folder, 0o700);
  for (const file of [tokenFile(folder), signingKeyFile(folder)]) chmodSync(file, 0o600);
  const keys = readKeys(folder);
  if (!keys) throw new Error(`${folder}: the keys of the cluster changed while they were made`);
  return keys;
}

function readToken(folder: string): string | null {
  const text = textOf(tokenFile(folder))?.trim() ?? "";
  return tokenPattern.test(text) ? text : null;
}

function identityKeyIn(folder: string): string | null {
  const pem = textOf(signingKeyFile(folder));
  if (pem === null) return null;
  try {
    return identityKeyOf(pem);
  } catch {
    return null;
  }
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
