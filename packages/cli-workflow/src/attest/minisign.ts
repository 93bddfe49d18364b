/* Signs and verifies with the program minisign: https://jedisct1.github.io/minisign/. */
import { readFileSync } from "node:fs";
import type { Session } from "../session/session.ts";
import type { Signature } from "./envelope.ts";
import { notSigned } from "./errors.ts";
import { type Outcome, runTool, type SigningKey, type Tool, withFiles } from "./tool.ts";

const tool: Tool = { program: "minisign", packages: "minisign 0.10 or newer" };

/** Tells whether a text is a key or a signature of minisign. */
export const isMinisign = (text: string): boolean => text.startsWith("untrusted comment:");

/** Signs data. Returns null after Ctrl-C. @throws WorkflowError `NOT_SIGNED`, `NO_SIGNER`. */
export const minisignSign = (
  session: Session,
  key: SigningKey,
  data: Uint8Array,
): Promise<Signature | null> =>
  withFiles([data], async ([file = ""]) => {
    const out = `${file}.sig`;
    const comments = ["-c", "an attestation", "-t", "an attestation"];
    const args = ["-S", "-s", key.path, "-m", file, "-x", out, ...comments];
    const { isDone, isInterrupted, problem } = await runTool(
      session,
      tool,
      args,
      "inherit",
      key.signal,
    );
    if (isInterrupted) return null;
    if (!isDone) throw notSigned(key.given, problem);
    const text = readFileSync(out, "latin1");
    return { keyid: minisignKeyId(text) ?? "", text };
  });

/** Returns the id of the key of a public key or signature, in the notation of minisign; null for a malformed text. */
export function minisignKeyId(text: string): string | null {
  const bytes = Buffer.from(text.split("\n")[1] ?? "", "base64");
  if (bytes.length < 42) return null;
  return bytes.readBigUInt64LE(2).toString(16).toUpperCase().padStart(16, "0");
}

/** Checks a signature of the data with a public key. */
export const checkMinisign = (
  session: Session,
  key: string,
  text: string,
  data: Uint8Array,
): Promise<Outcome> =>
  withFiles([text, key, data], async ([signature = "", publicKey = "", file = ""]) => {
    const args = ["-V", "-p", publicKey, "-x", signature, "-m", file, "-q"];
    return await runTool(session, tool, args, "ignore");
  });

/** Tells whether a file is a public key of minisign, by its length. */
export const isMinisignPublic = (text: string): boolean =>
  Buffer.from(text.split("\n")[1] ?? "", "base64").length === 42;
