/*
 * Signs and verifies with the program ssh-keygen. A signature is an armored text in the format of
 * https://github.com/openssh/openssh-portable/blob/master/PROTOCOL.sshsig. OpenSSH handles passphrases, ssh-agent,
 * security keys and lists of allowed signers.
 */
import { readFileSync } from "node:fs";
import type { Session } from "../session/session.ts";
import type { Signature } from "./envelope.ts";
import { notSigned } from "./errors.ts";
import { type Outcome, runTool, type SigningKey, type Tool, withFiles } from "./tool.ts";

/** Signature namespace. It prevents a signature for another purpose from passing as an attestation, and vice versa. */
const namespace = "attest@uncaged-workflow";
const tool: Tool = { program: "ssh-keygen", packages: "OpenSSH 8.2 or newer" };
const principal = "signer";

/** Returns a signature of data; null after Ctrl-C. @throws WorkflowError `NOT_SIGNED`, `NO_SIGNER`. */
export const sshSign = (
  session: Session,
  key: SigningKey,
  data: Uint8Array,
): Promise<Signature | null> =>
  withFiles([data], async ([file = ""]) => {
    const args = ["-Y", "sign", "-f", key.path, "-n", namespace, file];
    const { isDone, isInterrupted, problem } = await runTool(
      session,
      tool,
      args,
      "inherit",
      key.signal,
    );
    if (isInterrupted) return null;
    if (!isDone) throw notSigned(key.given, problem);
    const text = readFileSync(`${file}.sig`, "latin1");
    return { keyid: sshKeyId(text) ?? "", text };
  });

const armor = /^-----BEGIN SSH SIGNATURE-----\n([\w+/=\n]+)\n-----END SSH SIGNATURE-----\n$/;

/**
 * Returns the fingerprint of the key in a signature, as OpenSSH shows it; null for a text that is not an SSH signature.
 */
export function sshKeyId(text: string): string | null {
  const base64 = armor.exec(text)?.[1]?.replaceAll("\n", "") ?? "";
  const bytes = Buffer.from(base64, "base64");
  // ssh-keygen would also accept base64 that is not canonical.
  if (bytes.length < 14 || bytes.toString("base64") !== base64) return null;
  const key = bytes.subarray(14, 14 + bytes.readUInt32BE(10));
  const sum = new Bun.CryptoHasher("sha256").update(key).digest("base64");
  return `SHA256:${sum.replace(/=+$/, "")}`;
}

/** Verifies a signature of the data with the key in the signature. Does not identify the key's owner. */
export const checkSsh = (session: Session, text: string, data: Uint8Array): Promise<Outcome> =>
  withFiles([text], async ([file = ""]) => {
    const args = ["-Y", "check-novalidate", "-n", namespace, "-s", file];
    return await runTool(session, tool, args, data);
  });

/**
 * Returns the signer of a signature: a name of an allowed-signers file, or "" for a public key; null with the problem
 * if no allowed key verifies the signature.
 */
export const sshSigner = (
  session: Session,
  keys: SshKeys,
  text: string,
  data: Uint8Array,
): Promise<{ signer: string } | { signer: null; problem: string }> =>
  withFiles([text, keys.allowed], async ([file = "", allowed = ""]) => {
    const find = ["-Y", "find-principals", "-f", allowed, "-s", file];
    const found = await runTool(session, tool, find, data);
    let problem = found.problem;
    for (const name of found.isDone ? found.stdout.split("\n").filter(Boolean) : []) {
      const args = ["-Y", "verify", "-f", allowed, "-I", name, "-n", namespace, "-s", file];
      const verified = await runTool(session, tool, args, data);
      if (verified.isDone) return { signer: keys.isNamed ? name : "" };
      problem = verified.problem;
    }
    return { signer: null, problem };
  });

/** The text of an allowed-signers file. `isNamed` is false if the text was made from a file of public keys. */
export type SshKeys = { allowed: string; isNamed: boolean };

const publicKey = /^(ssh|ecdsa|sk)-[\w@.-]+ +[A-Za-z0-9+/]+={0,2}( |$)/;

/**
 * Returns the keys in a file of public keys or allowed signers; null for a file without keys or with an invalid line.
 */
export function sshKeysIn(text: string): SshKeys | null {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "" && !line.startsWith("#"));
  if (lines.length === 0) return null;
  if (lines.every((line) => publicKey.test(line)))
    return { allowed: lines.map((line) => `${principal} ${line}\n`).join(""), isNamed: false };
  const isAllowed = lines.every((line) => / (ssh|ecdsa|sk)-[\w@.-]+ +[A-Za-z0-9+/]+/.test(line));
  return isAllowed ? { allowed: text, isNamed: true } : null;
}
