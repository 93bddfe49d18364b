import { createPrivateKey, createPublicKey, type KeyObject, verify } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { badIdentityKey } from "./errors.ts";

/*
 * Restate's request identity: a server signs each request to a worker with a JWT (EdDSA) of the path and the time. The
 * SDK checks the time by this machine's clock and refuses all requests when the clock is a minute off. A worker with a
 * wrong clock must still receive requests to release its threads, so this check uses the time of the cluster.
 */

const prefix = "publickeyv1_";
const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** Returns the public half of a private key in PEM, in the format that servers print. */
export function identityKeyOf(pem: string): string {
  const { x = "" } = createPublicKey(createPrivateKey(pem)).export({ format: "jwk" });
  return prefix + base58(Buffer.from(x, "base64url"));
}

/** Reads a public key in the format that servers print. @throws WorkflowError `BAD_IDENTITY_KEY`. */
export function readIdentityKey(text: string): KeyObject {
  const bytes = text.startsWith(prefix) ? fromBase58(text.slice(prefix.length)) : null;
  if (bytes?.length === 32) {
    const key = { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") };
    return createPublicKey({ key, format: "jwk" });
  }
  throw badIdentityKey(text, prefix);
}

/**
 * Returns a check whether one of the servers' keys has signed a request. `now`: time of the cluster, in milliseconds.
 *
 * @throws WorkflowError `BAD_IDENTITY_KEY`.
 */
export function signatureCheck(
  identityKeys: readonly string[],
  now: () => number,
): (path: string, headers: IncomingHttpHeaders) => boolean {
  const keys = new Map(identityKeys.map((text) => [text, readIdentityKey(text)]));
  return (path, headers) => {
    const { "x-restate-signature-scheme": scheme, "x-restate-jwt-v1": jwt } = headers;
    if (scheme !== "v1" || typeof jwt !== "string") return false;
    const [head = "", claims = "", signature = "", ...rest] = jwt.split(".");
    const { alg, kid } = partOf(head);
    const key = keys.get(String(kid));
    if (!key || alg !== "EdDSA" || rest.length > 0) return false;
    const signed = Buffer.from(`${head}.${claims}`);
    if (!verify(null, signed, key, Buffer.from(signature, "base64url"))) return false;
    const { aud, nbf, exp } = partOf(claims);
    const seconds = now() / 1000;
    return aud === path && Number(nbf) <= seconds && seconds <= Number(exp);
  };
}

/** Decodes a part of a JWT; empty when it is not an object. */
function partOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function base58(bytes: Buffer): string {
  let text = "";
  for (let left = BigInt(`0x${bytes.toString("hex")}`); left > 0n; left /= 58n) {
    text = (alphabet[Number(left % 58n)] ?? "") + text;
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return "1".repeat(Math.max(0, zeros)) + text;
}

function fromBase58(text: string): Buffer | null {
  // Length of 32 bytes in base 58.
  if (text.length < 32 || text.length > 44) return null;
  let value = 0n;
  for (const letter of text) {
    const digit = alphabet.indexOf(letter);
    if (digit < 0) return null;
    value = value * 58n + BigInt(digit);
  }
  const hex = value.toString(16).padStart(64, "0");
  return hex.length === 64 ? Buffer.from(hex, "hex") : null;
}
